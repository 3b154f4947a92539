"""The engine: creates, opens, runs and follows the conversations of one store."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Self

from msgspec import Struct, structs

from turnwire.background import BackgroundTasks
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.budget import UserBudget
from turnwire.core.conversation.state import Options, Turn, status_of
from turnwire.core.error_codes import Refused
from turnwire.core.offers import Offers
from turnwire.core.partials import Partial
from turnwire.core.status import Status
from turnwire.core.times import iso
from turnwire.crash_points import CrashPoint, reach
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.sent import Sent
from turnwire.engine.actor.actor import Actor
from turnwire.engine.actor.budget import UserBudgets
from turnwire.engine.actor.commands import Answer, Ask
from turnwire.engine.actor.shared_answers import SharedAnswers
from turnwire.engine.actor.slots import Slots
from turnwire.engine.agents import KnownAgents
from turnwire.engine.catalog import Conversations
from turnwire.engine.clock import SystemClock
from turnwire.engine.fanout.channel import Channel, Follower
from turnwire.engine.fanout.channels import Channels
from turnwire.engine.fanout.follow import Place
from turnwire.engine.fanout.followers import V2, Following
from turnwire.engine.fanout.presence import Connections
from turnwire.engine.nodes.cluster import Cluster
from turnwire.engine.nodes.forwarding import AskHere, NotOwner, OwnerSilent
from turnwire.engine.nodes.routing import Routing
from turnwire.engine.ownership.node import Node
from turnwire.engine.ownership.owned_conversations import OwnedConversations
from turnwire.engine.ownership.owners import inbox_of
from turnwire.engine.ownership.placement import check_pinned_here
from turnwire.engine.ownership.recovery import Recovery
from turnwire.engine.ownership.stored_state import as_it_is
from turnwire.engine.settings import EngineSettings
from turnwire.engine.talk import Talk
from turnwire.ports import (
    Agent,
    AgentCapabilities,
    Bus,
    Claim,
    Clock,
    ConversationRow,
    Damaged,
    Lease,
    NewConversation,
    Owned,
    StorageUnavailable,
    Store,
    WireProtocol,
)

__all__ = ["Engine"]

_FORGOTTEN = "session_forgotten"  # the name of the news that a conversation was deleted


class Engine:
    """Runs conversations with any number of agents on one store.

    Example:

        async with Engine(store, {"demo": DemoAgent()}) as engine:
            talk = await engine.create("demo")
            await talk.send("Hello")
    """

    def __init__(
        self,
        store: Store,
        agents: Mapping[str, Agent],
        *,
        settings: EngineSettings | None = None,
        clock: Clock | None = None,
        bus: Bus | None = None,
        bus_name: str | None = None,
        protocols: Sequence[WireProtocol] = (),
        new_id: Callable[[], str] | None = None,
        changed: Callable[[str, str | None], None] | None = None,
        load: Callable[[], dict[str, int]] | None = None,
    ) -> None:
        """`bus` reaches the other nodes that share the store. `bus_name` is shown to operators: nodes
        with different names are warned that they do not hear each other. `protocols`: besides v2, those that
        followers may use. `changed` is called with the id and the user of each conversation that
        has changed, also on another node. `load` returns more numbers for the load of this node.
        """
        self.store = store
        self.agents = agents
        self.settings = settings or EngineSettings()
        self.clock = clock or SystemClock()
        self.new_id = new_id or (lambda: uuid.uuid4().hex)
        self._changed = changed or (lambda conversation_id, user: None)
        self._more_load = load or dict
        inbox = self.new_id()[:16]
        self._agents = KnownAgents(agents)
        self._conversations = Conversations(
            store, self._agents, self.clock, self.new_id, self._tell_forgotten
        )
        self._background = BackgroundTasks()
        budget, period = self.settings.budget_usd_per_user, self.settings.budget_period
        self._budgets = UserBudgets(store, self.clock, budget, period)
        self._slots = Slots(self.settings.max_agents_per_user)
        self.shared_answers = SharedAnswers()
        lease, recheck = round(self.settings.lease * 1000), self.settings.recheck
        self._channels = Channels(
            store, self.clock, recheck, self._background, self._attach, self._detach
        )
        self._node = Node(
            store,
            self.clock,
            lease,
            name=self.settings.node,
            inbox=inbox,
            agents=self._agents.available,
            load=self._load,
            bus=bus_name,
        )
        self._ownership = OwnedConversations(
            store,
            self.clock,
            self._node,
            self._channels,
            self._background,
            self._revive,
            self._claimed,
            self._left,
            may_be_pinned=self.settings.placement == "pinned" or self.settings.has_several_machines,
        )
        self._recovery = Recovery(
            store,
            self.clock,
            recheck,
            self._ownership,
            self._agents,
            self._background,
            in_background=self.settings.recover_in_background,
        )
        self._connections = Connections(store, self.clock, self.owner, lease, self._background.run)
        self._following = Following(
            store,
            self.clock,
            self._channels,
            self._ownership,
            self._connections,
            self._attach,
            self._agents,
            self.settings,
            self.new_id,
        )
        self.cluster: Cluster | None = None
        self._routing: Routing | None = None  # None: there are no other nodes
        if bus is not None:
            self.cluster = Cluster(
                bus,
                inbox,
                store=store,
                clock=self.clock,
                channels=self._channels,
                following=self._following,
                protocols={protocol.name: protocol for protocol in (V2, *protocols)},
                background=self._background,
                here=AskHere(self._ask_here, self._end_here),
                new_id=self.new_id,
                changed=self._changed,
                take=self._recovery.take,
            )
            self.cluster.mailbox.on(_FORGOTTEN, self._forget_session)
            self._routing = Routing(
                self.cluster, store, self.clock, self._ask_here, self.settings.lease
            )

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Recovers the conversations that a crash has left, and watches for more of them."""
        if self.cluster is not None:
            await self.cluster.open()
        await self._node.forget_the_dead()
        self._background.run(self._node.warn_of_others())
        with suppress(StorageUnavailable):  # then it joins later
            await self._ownership.join()
        self._background.run(self._connections.forget_the_dead())
        await self._recovery.begin()

    async def drain(self, grace: float) -> None:
        """Prepares a stop: releases all conversations, so that other nodes can run them at once.

        Running turns have `grace` seconds to end. From now on, this engine claims no conversation:
        commands are passed on to other nodes, and refused if there are none.
        """
        self._recovery.stop()
        await self._ownership.drain(grace)

    async def has_other_nodes(self) -> bool:
        """Returns whether other nodes can take the conversations of this one over."""
        return self.cluster is not None and bool(await self.cluster.transfers.others())

    async def stop(self) -> None:
        """Ends every agent and writes the end of its turn into the log."""
        self._recovery.stop()
        await self._ownership.stop()
        await self._following.stop()
        await self._background.done()  # such as the hand-over to other nodes
        if self.cluster is not None:
            await self.cluster.close()
        await self._background.done()

    def _revive(
        self,
        row: ConversationRow,
        claim: Claim,
        lease: Lease,
        channel: Channel,
        ended: Callable[[Actor], None],
        partials: list[Partial],
    ) -> Actor:
        check_pinned_here(row, self._node.name)
        return Actor(
            row,
            claim,
            lease,
            agent=self._agents.usable(row.agent),
            find_agent=partial(self._agents.usable, is_chosen=True),
            store=self.store,
            clock=self.clock,
            channel=channel,
            new_id=self.new_id,
            idle_seconds=self.settings.agent_idle,
            ended=ended,
            committed=partial(self._committed, row.conversation_id, row.user),
            budgets=self._budgets,
            slots=self._slots,
            roots=self.settings.roots,
            partials=partials,
            save_every=round(self.settings.save_every * 1000),
            node=self._node.name if self.settings.has_several_machines else None,
        )

    def _committed(self, conversation_id: str, user: str | None, head: int) -> None:
        reach(CrashPoint.HINTS)
        if self.cluster is not None:
            self.cluster.tell_changed(conversation_id, user)
        reach(CrashPoint.HINTED)
        self._changed(conversation_id, user)

    def _claimed(self, conversation_id: str) -> None:
        if self.cluster is not None:
            self.cluster.mailbox.tell_claimed(conversation_id)

    def _left(self, row: ConversationRow) -> None:
        if self.cluster is not None:
            self._background.run(self.cluster.transfers.give(row))

    def _tell_forgotten(self, agent: str, conversation_id: str, session: str | None) -> None:
        """Tells the other nodes to remove the agent's record of a session, too."""
        if self.cluster is not None:
            self.cluster.mailbox.announce(_FORGOTTEN, [agent, conversation_id, session])

    def _forget_session(self, told: list[Any]) -> None:
        agent, conversation_id, session = told
        self._background.run(self._conversations.forget_session(agent, conversation_id, session))

    def _attach(self, channel: Channel, row: ConversationRow, *protocols: str) -> bool:
        return self.cluster is not None and self.cluster.attach(channel, row, *protocols)

    def _detach(self, conversation_id: str) -> None:
        if self.cluster is not None:
            self.cluster.detach(conversation_id)

    # --- conversations ------------------------------------------------------------------------

    async def create(
        self,
        agent: str,
        *,
        conversation_id: str | None = None,
        user: str | None = None,
        title: str | None = None,
        cwd: str | None = None,
        model: str | None = None,
        permission_mode: str | None = None,
        options: Mapping[str, Any] | Struct | None = None,
        rules: Options | None = None,
        native_session_id: str | None = None,
    ) -> Talk:
        """Creates a conversation with one agent. Raises Refused, also if its id is taken."""
        wish = NewConversation(
            conversation_id or self.new_id(),
            agent,
            iso(self.clock.now()),
            user,
            title,
            cwd,
            model,
            permission_mode,
            native_session_id=native_session_id,
        )
        if self.settings.placement == "pinned":
            wish = structs.replace(wish, node=self._node.name)
        row = await self._conversations.begin(wish, options, rules or self.settings.options)
        return Talk(self, row)

    async def open(self, conversation_id: str) -> Talk:
        """Returns an existing conversation. Raises Refused with CONVERSATION_NOT_FOUND."""
        return Talk(self, await self._conversations.find(conversation_id))

    async def fork(
        self,
        conversation_id: str,
        at_sequence: int | None = None,
        *,
        new_conversation_id: str | None = None,
        title: str | None = None,
        user: str | None = None,
        permission_modes: Sequence[str] | None = None,
    ) -> Talk:
        """Creates a conversation that begins with another one's log, up to and with `at_sequence`.

        `at_sequence`: None means the newest entry at which a fork is possible. `permission_modes`:
        modes that the fork may keep; any other mode is replaced by the agent's default.

        The fork's agent knows what was said up to that entry: it forks its own session, it reads
        the log, or it is told; see `AgentCapabilities.forks`.

        Raises Refused. NOT_A_FORK_POINT names the nearest possible entries.
        """
        row = await self._conversations.fork(
            conversation_id,
            at_sequence,
            new_conversation_id,
            title=title,
            user=user,
            permission_modes=permission_modes,
        )
        return Talk(self, row)

    async def end(self, conversation_id: str, *, reason: str = "server_stopped") -> None:
        """Ends the agent and the turn of a conversation, as if the server stopped.

        The conversation can be woken again. `reason` is written into the log, such as `archived`.
        """
        await self._end_here(conversation_id, reason)
        row = await self.store.conversation(conversation_id)
        owner = inbox_of(row.owner) if row is not None else None
        if self.cluster is not None and owner is not None and owner != self.cluster.mailbox.inbox:
            # A node that does not answer reads it from the store when it renews its lease.
            with suppress(NotOwner, OwnerSilent):
                await self.cluster.end(owner, conversation_id, reason)

    async def _end_here(self, conversation_id: str, reason: str) -> None:
        actor = self.alive.get(conversation_id)
        if actor is not None:
            await actor.stop(reason)

    async def look_after(self, conversation_id: str) -> None:
        """Recovers a conversation after it was archived, or taken out of the archive.

        While a conversation is archived, its queue is held and its deadlines are ignored.
        """
        with suppress(Owned, Refused):  # another process owns it, or its agent is unavailable
            self._ownership.rest(await self._ownership.wake(conversation_id))

    async def remove(self, conversation_id: str, *, by: str | None = None) -> str | None:
        """Ends and deletes a conversation, with the agent's own record of its session.

        Returns what is left of that record, and why. Returns None if nothing is left. Raises
        Refused with CONVERSATION_NOT_FOUND.
        """
        await self.end(conversation_id, reason="deleted")
        return await self._conversations.delete(conversation_id, by=by)

    # --- agents -------------------------------------------------------------------------------

    def unavailable(self, name: str) -> str | None:
        """Returns why an agent is unavailable, and what to do. Returns None if it is available."""
        return self._agents.unavailable(name)

    async def agent_of(self, row: ConversationRow) -> str:
        """Returns the agent that speaks now: another one may have taken over since `row` was read."""
        actor = self.alive.get(row.conversation_id)
        if actor is not None:
            return actor.row.agent
        with suppress(StorageUnavailable, Damaged):  # then the command itself is refused
            row = await self.store.conversation(row.conversation_id) or row
        return row.agent

    async def check_able(self, row: ConversationRow, command: str) -> AgentCapabilities:
        """Returns the capabilities. Raises Refused with NOT_SUPPORTED if `command` is missing."""
        return self._agents.check_able(await self.agent_of(row), command)

    def capabilities(self, name: str, *, is_owner: bool = True) -> p.Capabilities:
        """Returns the commands and choices that this agent offers; few if it does not exist.

        `is_owner`: for the owner of the data, or for a program of the owner.
        """
        return self._agents.capabilities(name, is_owner=is_owner)

    async def capabilities_of(
        self, row: ConversationRow, *, is_owner: bool = True
    ) -> p.Capabilities:
        """Returns what the agent of a conversation offers, with what its session offers."""
        agent = await self.agent_of(row)
        offers = await self.offers_of(row)
        return self._agents.capabilities(agent, is_owner=is_owner, offers=offers)

    async def offers_of(self, row: ConversationRow) -> Offers | None:
        """Returns what the session of the agent offers. None: no session has said it yet."""
        actor = self.alive.get(row.conversation_id)
        if actor is not None:
            state = actor.state
        else:
            with suppress(StorageUnavailable, Damaged):  # then the command itself is refused
                row = await self.store.conversation(row.conversation_id) or row
            state = row.state
        return None if state.offered is None else state.offered.offers

    # --- following ----------------------------------------------------------------------------

    def follow(
        self, row: ConversationRow, place: Place, client_id: str, user: str | None = None
    ) -> AsyncGenerator[Sent, None]:
        """Yields the log after a place, then live messages; see `turnwire.engine.fanout.follow`.

        Ends with FollowAgain, or with Refused and CONVERSATION_NOT_FOUND if the conversation was
        deleted.
        """
        return self._following.follow(row, place, client_id, user)

    def attach(
        self,
        row: ConversationRow,
        place: Place,
        follower: Follower,
        *,
        client_id: str,
        connection_id: str,
        user: str | None,
        reached: Callable[[], int],
        protocol: WireProtocol = V2,
        is_owner: bool = True,
    ) -> AsyncGenerator[Any, None]:
        """Subscribes a follower and yields its first messages; later ones go to the follower.

        `reached` returns the newest entry that the follower was sent. `is_owner`: the follower is
        the owner of the data. Call `detach` at the end, also if not all messages were read.
        """
        return self._following.attach(
            row,
            place,
            follower,
            client_id=client_id,
            connection_id=connection_id,
            user=user,
            reached=reached,
            protocol=protocol,
            is_owner=is_owner,
        )

    def detach(self, conversation_id: str, follower: Follower, connection_id: str) -> None:
        """Ends the subscription of a follower."""
        self._following.detach(conversation_id, follower, connection_id)

    # --- current state ------------------------------------------------------------------------

    @property
    def owner(self) -> str:
        """The name of this process in the store; another one after it was expelled."""
        return self._node.owner

    def _load(self) -> dict[str, int]:
        actors = self._ownership.alive.values()
        agents = sum(actor.has_agent for actor in actors)
        load = {
            "conversations": len(actors),
            "agents": agents,
            "turns": sum(status_of(actor.state).running for actor in actors),
            "followers": len(self._connections),
            "lag_ms": self._ownership.lag_ms,
            "store_ms": self._ownership.store_ms,
            "draining": int(self._ownership.is_draining),
        }
        return {**load, **self._more_load()}

    @property
    def alive(self) -> Mapping[str, Actor]:
        """The conversations that this process owns and runs, by id."""
        return self._ownership.alive

    async def budget_of(self, user: str | None) -> UserBudget | None:
        """Returns what a user may spend and has spent. Returns None if there is no limit."""
        return await self._budgets.budget_of(user)

    async def status(self, conversation_id: str) -> Status:
        """Returns the current status of a conversation."""
        actor = self.alive.get(conversation_id)
        if actor is not None:
            return status_of(actor.state)
        row = await self._conversations.find(conversation_id)
        return status_of(as_it_is(row, self.clock.now()))

    def running_turn(self, conversation_id: str) -> Turn | None:
        """Returns the current turn of a conversation. Returns None if this process has none."""
        actor = self.alive.get(conversation_id)
        return actor.state.turn if actor is not None else None

    async def wake(self, conversation_id: str) -> Status:
        """Takes a conversation over and recovers it. Raises Owned."""
        return status_of((await self._ownership.wake(conversation_id)).state)

    # --- commands -----------------------------------------------------------------------------

    async def ask(
        self,
        conversation_id: str,
        asked: i.Asked,
        *,
        body: bytes,
        accepted: Callable[[Answer], None] | None = None,
    ) -> Answer:
        """Hands an input to its conversation and returns the answer. Raises Refused.

        `body` is the command as it was sent, to recognize a repeat.
        """
        digest = hashlib.sha256(body).digest()
        if self._routing is None:
            return await self._ask_here(conversation_id, asked, digest, accepted)
        is_here = conversation_id in self.alive
        return await self._routing.ask(conversation_id, asked, digest, accepted, runs_here=is_here)

    async def _ask_here(
        self,
        conversation_id: str,
        asked: i.Asked,
        digest: bytes,
        accepted: Callable[[Answer], None] | None,
    ) -> Answer:
        """Hands an input to a conversation of this node. Raises Owned if another node has it."""
        self._ownership.check_running()
        actor = await self._ownership.activate(conversation_id)
        done: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        actor.post(Ask(asked, digest, done, accepted))
        return await done
