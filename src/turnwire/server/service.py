"""The running server without its sockets: store, engine, keys, access checks, background tasks."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from turnwire.agents import registry
from turnwire.background import BackgroundTasks
from turnwire.core.conversation.state import Options
from turnwire.core.error_codes import ERRORS, Refused
from turnwire.core.times import iso
from turnwire.data_dir import cannot_use, cause_of, make_data_dir
from turnwire.dialects.rpc.classic.projector import ClassicProjector
from turnwire.dialects.rpc.projector import RpcProjector
from turnwire.dialects.rpc.relayed import pack, unpack
from turnwire.dialects.v2 import frames
from turnwire.dialects.v2 import relayed as v2_relayed
from turnwire.engine import Engine, EngineSettings, Talk
from turnwire.engine.clock import SystemClock
from turnwire.errors import TurnwireError
from turnwire.ports import (
    Agent,
    BlobRow,
    Bus,
    Clock,
    ConversationRow,
    PreparesSessions,
    StorageUnavailable,
    Store,
    Timer,
    WireProtocol,
)
from turnwire.server.access.auth import Auth
from turnwire.server.access.connection_audit import ConnectionAudit
from turnwire.server.access.gate import Gate
from turnwire.server.access.isolation import has_other_users, isolate, risks
from turnwire.server.access.keys import Keys, Who
from turnwire.server.access.public import Public
from turnwire.server.access.share_links import ShareLinks
from turnwire.server.access.shares import Shares
from turnwire.server.api.changes import News
from turnwire.server.api.problems import refusal_of
from turnwire.server.other_nodes import OtherNodes, bus_name, bus_of
from turnwire.server.shared_blobs import SharedBlobs
from turnwire.server.sockets.backlog import Backlog
from turnwire.server.sockets.hub import Hub
from turnwire.server.tcp.watchdog import Watchdog
from turnwire.settings import Settings, flag_of_v2
from turnwire.turn_streams import stream_projector as streams
from turnwire.turn_streams.agui.sent import AguiSent
from turnwire.turn_streams.aisdk.sent import UiSent

__all__ = ["Service"]

_log = logging.getLogger("turnwire")
_TIDY_MS = 6 * 3600_000
_TRY_SECONDS = 1.0
_PREPARE_MS = 1_000  # after the start, so that waiting pages are served first
_DELETE = "Delete conversations that you do not need, or have the limit raised."
_DATA_DIR_SETTING = "the setting data_dir (--data-dir DIR, or TURNWIRE_DATA_DIR)"


class Service:
    """Everything that the parts of a running server share. Made by `open`, ended by `close`."""

    def __init__(
        self, settings: Settings, store: Store, clock: Clock, bus: Bus | None = None
    ) -> None:
        self.settings = settings
        self.store = store
        self.roots = [Path(root).expanduser().resolve() for root in settings.roots]
        agents, self.usual_agent = _agents(settings)  # used if a new conversation names no agent
        self.news = News()
        self.rpc = self._rpc("rpc", RpcProjector)
        self.rpc_classic = self._rpc("rpc-classic", ClassicProjector)
        self.aisdk = _turn_streams("aisdk", UiSent)
        self.agui = _turn_streams("agui", AguiSent)
        self.engine = Engine(
            store,
            agents,
            settings=_engine_settings(settings, self.roots),
            clock=clock,
            bus=bus,
            bus_name=bus_name(settings),
            protocols=[self.rpc, self.rpc_classic, self.aisdk, self.agui],
            changed=self.news.tell,
            load=lambda: {"sockets": len(self.hub)},
        )
        self.keys = Keys(store, clock)
        self.share_links = ShareLinks(store, self.keys, clock)
        self.shared_blobs = SharedBlobs(store)
        self.public = Public(settings.public_url)
        self.gate = Gate(
            address=settings.host,
            hosts=[*settings.hosts, *self.public.hosts],
            origins=[*settings.origins, *self.public.origins],
            is_secure=self.public.is_secure,
        )
        self.auth = Auth(self.gate, self.keys, settings.authenticate)
        self.hub = Hub(settings, self.keys)
        self.connection_audit = ConnectionAudit(self.write_down)
        self.watchdog = Watchdog(settings.slow_loop_seconds)
        self.backlog = Backlog(settings.max_buffered_bytes)
        self.shares = Shares(settings)
        self.speaks_v2 = settings.protocol_v2 if settings.protocol_v2 is not None else flag_of_v2()
        self.owner: Who | None = None
        self.is_draining = False  # this server is about to stop
        self.turns_away = False  # no client may connect any more
        self.risks: list[str] = []  # warnings: what users can reach of the owner's through agents
        self.others = OtherNodes(self)
        self._background = BackgroundTasks()
        self._tidying: Timer | None = None
        self._preparing: Timer | None = None
        self._trying = asyncio.Lock()
        self._tried_at = -math.inf
        self._trouble: TurnwireError | None = None

    def _rpc(self, name: str, projector: type[RpcProjector]) -> WireProtocol:
        """Returns RPC, or a profile of it."""
        return WireProtocol(
            name,
            lambda row: projector(
                row.agent,
                row.native_session_id,
                self.engine.new_id()[:8],
                has_several=row.state.handover is not None,
            ),
            pack,
            unpack,
        )

    @classmethod
    async def open(cls, settings: Settings, clock: Clock | None = None) -> Service:
        """Opens the store, recovers conversations after a crash, and starts.

        Raises TurnwireError.
        """
        path = settings.data_path
        make_data_dir(path, _DATA_DIR_SETTING)
        store = await _open_store(settings)
        try:
            bus = await bus_of(settings, store)
            service = cls(settings, store, clock or SystemClock(), bus)
            try:
                service.owner = await service.keys.owner(path)
            except OSError as failure:
                cause = f"the owner's token cannot be kept in {path}: {cause_of(failure)}"
                raise cannot_use(cause, _DATA_DIR_SETTING) from None
            await service._isolate_agents()
            await service.engine.start()
            service._tidy()
            service.watchdog.start()
            if settings.protocol_v2 is None and not service.speaks_v2:
                rule = ERRORS["CHAT_PROTOCOL_DISABLED"]
                _log.warning("%s %s", rule.meaning, rule.what_to_do)
            service._preparing = service.engine.clock.call_after(
                _PREPARE_MS, service._prepare_usual_agent
            )
        except BaseException:
            await store.close()
            raise
        return service

    async def _isolate_agents(self) -> None:
        """Isolates agents before the first of them starts.

        Logs the risks for the owner that remain.
        """
        agents = self.engine.agents
        chosen = await isolate(self.settings, agents)
        if await has_other_users(self.settings, self.store, self.engine.clock.now()):
            self.risks = await asyncio.to_thread(risks, self.settings, agents, chosen)
            for risk in self.risks:
                _log.warning("%s", risk)

    def _prepare_usual_agent(self) -> None:
        """Prepares the default agent, so that the first conversation does not wait for that."""
        agent = self.engine.agents.get(self.usual_agent)
        if isinstance(agent, PreparesSessions) and agent.unavailable() is None:
            self._run_in_background(_prepared(agent), "the default agent cannot be prepared")

    async def drain(self) -> None:
        """Prepares a stop: hands conversations over to other nodes, and waits for running turns.

        `readyz` fails from now on. Clients of conversations that do not run here are told to
        connect again; the others stay until their turn has ended. New clients are served with the
        help of other nodes. Without other nodes they are told to connect again.
        """
        self.is_draining = True
        engine = self.engine
        self.turns_away = not await engine.has_other_nodes()
        self.hub.close_all(4000, None, lambda each: each.conversation_id not in engine.alive)
        await engine.drain(self.settings.drain_grace)

    async def close(self) -> None:
        """Ends running turns, closes clients so that they reconnect, and closes the store."""
        if self._tidying is not None:
            self._tidying()
        if self._preparing is not None:
            self._preparing()
        await self.engine.stop()
        await self.hub.stop()
        self.connection_audit.write_summary()
        if self._background:
            await asyncio.wait(self._background, timeout=2)
        await self.store.close()
        self.watchdog.stop()

    async def check_store(self) -> None:
        """Raises Refused if the store cannot be written. The result is cached for a second."""
        async with self._trying:
            now = asyncio.get_running_loop().time()
            if now >= self._tried_at + _TRY_SECONDS:
                self._tried_at, self._trouble = now, None
                try:
                    await self.store.check_writable()
                except TurnwireError as trouble:
                    self._trouble = trouble
            if self._trouble is not None:
                raise refusal_of(self._trouble)

    async def check_room(self, who: Who, more: int = 0, *, conversations: int = 0) -> None:
        """Raises Refused if `more` bytes or `conversations` would exceed the quota of this user.

        Other commands that are carried out at the same moment do not count yet.
        """
        if who.user is None:
            return
        kept = await self.store.stored(who.user)
        quota, most = self.settings.max_user_blob_bytes, self.settings.max_conversations_per_user
        if kept.bytes + more > quota:
            said = f"This user has stored {kept.bytes:,} of {quota:,} bytes (max_user_blob_bytes)."
            raise _no_room(said, kept=kept.bytes, quota=quota)
        if kept.conversations + conversations > most:
            said = f"This user has {kept.conversations:,} conversations, and may have no more"
            said += " (max_conversations_per_user)."
            raise _no_room(said, kept=kept.conversations, quota=most)

    # --- access ---------------------------------------------------------------------------------

    async def talk(self, conversation_id: str, who: Who, *, closed: bool = False) -> Talk:
        """Returns a conversation that this user may see. `closed`: an archived one as well.

        Raises Refused. The error for a conversation of another user is the same as for a missing
        one.
        """
        talk = await self.engine.open(conversation_id)
        if not who.may_see(talk.row.user):
            raise Refused("CONVERSATION_NOT_FOUND", conversation_id=conversation_id)
        if talk.row.archived and not closed:
            raise Refused("CONVERSATION_CLOSED", conversation_id=conversation_id)
        return talk

    async def readable_blob(self, blob_id: str, who: Who) -> BlobRow:
        """Returns a blob that this user may see. Raises Refused if there is none with this id."""
        row = await self.store.blob(blob_id)
        if row is not None:
            if who.may_see(row.user):
                return row
            if row.conversation_id is not None:
                about = await self.store.conversation(row.conversation_id)
                if about is not None and who.may_see(about.user):
                    return row
        raise Refused("INVALID_PAYLOAD", f"There is no blob {blob_id!r}. Upload it first.")

    # --- closing connections, and background tasks ----------------------------------------------

    def has_changed(self, conversation_id: str, user: str | None) -> None:
        """Notifies the lists of this node and of all others of a conversation that has changed."""
        self.news.tell(conversation_id, user)
        if self.engine.cluster is not None:
            self.engine.cluster.tell_changed(conversation_id, user)

    def cut(self, conversation_id: str) -> None:
        """Closes the connections of all followers of an archived or deleted conversation."""
        self.cut_here(conversation_id)
        self.others.cut(conversation_id)

    def cut_here(self, conversation_id: str) -> None:
        """Closes those of this node."""
        error = Refused("CONVERSATION_CLOSED", conversation_id=conversation_id)
        self.hub.close_all(4504, error, lambda each: each.conversation_id == conversation_id)

    async def revoke(self, token_id: str, by: str) -> bool:
        """Revokes a token, and closes every connection that was authenticated with it.

        Returns False if there is no valid token with this id.
        """
        done = await self.keys.revoke(token_id, by)
        self.hub.cut({token_id})
        self.others.revoke(token_id)
        return done

    async def end_share(self, row: ConversationRow, share_id: str, who: Who) -> None:
        """Ends a share link of a conversation, on every node. Ending it again is harmless."""
        if await self.share_links.end(row, share_id, who.name):
            self.others.revoke(share_id)

    async def end_shares(self, row: ConversationRow, who: Who) -> None:
        """Ends every share link of a conversation, on every node."""
        for share_id in await self.share_links.end_all(row, who.name):
            self.others.revoke(share_id)

    def revoked_elsewhere(self, token_id: str) -> None:
        """Closes the connections of a token that another node has revoked."""
        self.keys.revoked_elsewhere(token_id)
        self.hub.cut({token_id})

    def sign_out_here(self, user: str) -> None:
        """Closes the connections of this user to this node."""
        self.keys.sign_out(user)
        error = Refused("UNAUTHORIZED", "This user was signed out.")
        self.hub.cut_off(lambda who: who.user == user, error)

    def sign_out(self, user: str) -> None:
        """Closes every connection of this user, and voids their tickets and links."""
        self.sign_out_here(user)
        self.others.sign_out(user)
        self._run_in_background(
            self.keys.void_tickets(user), "the tickets of a user cannot be deleted"
        )

    def authenticate_again(self) -> None:
        """Has the application's users connect again: a sign-out on another node may be missed."""
        self.hub.close_all(4000, None, lambda each: each.who.is_of_application)

    def write_down(
        self, action: str, who: Who, conversation_id: str | None = None, **data: Any
    ) -> None:
        """Writes an action of this user to the audit trail, in the background."""
        work = self.store.note(
            action,
            at=iso(self.engine.clock.now()),
            by=who.name,
            conversation_id=conversation_id,
            data=data,
        )
        self._run_in_background(work, "the audit trail cannot be written")

    def _tidy(self) -> None:
        """Deletes old tokens now and every few hours."""
        self._run_in_background(self.keys.forget(), "old tokens cannot be deleted")
        self._tidying = self.engine.clock.call_after(_TIDY_MS, self._tidy)

    def _run_in_background(self, work: Coroutine[Any, Any, None], trouble: str) -> None:
        self._background.run(_quietly(work, trouble))


async def _prepared(agent: PreparesSessions) -> None:
    try:
        await agent.prepare()
    except Exception as error:  # of any library of the agent; the first session reports it too
        raise TurnwireError(f"{type(error).__name__}: {error}") from error


async def _quietly(work: Coroutine[Any, Any, None], trouble: str) -> None:
    try:
        await work
    except TurnwireError as failure:
        _log.warning("%s: %s", trouble, failure.message)


def _no_room(said: str, **data: Any) -> Refused:
    return Refused("PAYLOAD_TOO_LARGE", f"{said} {_DELETE}", **data)


async def _open_store(settings: Settings) -> Store:
    """Opens the database of the settings, or the file in the data directory."""
    from turnwire.stores.open_store import open_store

    if settings.store:
        is_synchronous = settings.synchronous_replication
        store: Store = await open_store(settings.store, is_synchronous=is_synchronous)
        return store
    database = settings.data_path / "turnwire.db"
    try:
        store = await open_store(database)
    except StorageUnavailable as failure:
        raise cannot_use(f"{database}: {failure.message}", _DATA_DIR_SETTING) from failure
    return store


def _agents(settings: Settings) -> tuple[dict[str, Agent], str]:
    if settings.made_agents is not None:
        return dict(settings.made_agents), settings.agent
    return registry.chosen(settings.agents, settings.agent, settings.agent_options)


def _turn_streams(name: str, shared: Callable[[frames.Frame], streams.StreamSent]) -> WireProtocol:
    """Returns a protocol whose streams are single turns, made of the frames of v2."""
    return WireProtocol(
        name,
        lambda row: streams.StreamProjector(row.conversation_id, shared),
        v2_relayed.pack,
        lambda packed: streams.unpack(packed, shared),
    )


def _engine_settings(settings: Settings, roots: list[Path]) -> EngineSettings:
    rules = Options(
        max_queue=settings.max_queue,
        on_disconnect=settings.on_disconnect,
        disconnect_grace=settings.disconnect_grace,
        question_seconds=settings.question_seconds,
        permission_seconds=settings.permission_seconds,
        max_budget_usd=settings.budget_usd_per_conversation,
    )
    return EngineSettings(
        options=rules,
        agent_idle=settings.agent_idle,
        node=settings.node or None,
        placement=settings.placement,
        has_several_machines=bool(settings.store),
        recover_in_background=bool(settings.store),  # which other servers may share
        max_frame_bytes=settings.max_frame_bytes,
        heartbeat_seconds=settings.heartbeat_seconds,
        budget_usd_per_user=settings.budget_usd_per_user,
        budget_period=settings.budget_period,
        roots=[str(root) for root in roots],
        max_agents_per_user=settings.max_agents_per_user,
    )
