"""A client of the RPC protocol on its WebSocket: its calls, its streams, and the server's calls."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from turnwire.core.error_codes import Refused
from turnwire.core.opening import Opening
from turnwire.core.status import Capabilities
from turnwire.dialects.rpc import frames as r
from turnwire.dialects.rpc import methods as m
from turnwire.dialects.rpc.projector import Line
from turnwire.engine import Talk
from turnwire.engine.fanout.channel import FollowAgain
from turnwire.engine.fanout.follow import Place
from turnwire.errors import TurnwireError
from turnwire.ports import WireProtocol
from turnwire.server.access.keys import Who
from turnwire.server.api.problems import refusal_of
from turnwire.server.new_conversation import NewConversation, begin
from turnwire.server.rpc import asking, history
from turnwire.server.rpc.follower import RpcFollower
from turnwire.server.rpc.stay import Stay
from turnwire.server.rpc.written import Written
from turnwire.server.sockets.commands import check_id
from turnwire.server.sockets.outlet import Gone, Send, Wire
from turnwire.server.sockets.peer import Client

if TYPE_CHECKING:
    from turnwire.server.service import Service

__all__ = ["RpcConnection", "rpc_error"]

_log = logging.getLogger("turnwire")
_HEARTBEAT = r.write(r.Heartbeat())


def rpc_error(refused: Refused, method: str | None = None) -> Written:
    """Returns an error answer. It has the id of the call that was refused, if there is one."""
    return Written(r.write(r.Answer(refused.data.get("id"), None, r.error_of(refused, method))))


class RpcConnection(Client):
    """One RPC client. It follows one conversation at a time, from `connect` to `disconnect`."""

    id_name = "id"
    follows_at_once = False  # calls are answered before the client connects to a conversation

    def __init__(self, service: Service, who: Who, send: Send, wire: Wire | None) -> None:
        super().__init__(service, who, send, wire)
        self._stay: Stay | None = None  # None outside of a conversation
        self._follower: RpcFollower | None = None
        self._is_written = False  # whether the audit trail has a row of this stay
        self._answered: set[str] = set()  # ids of calls that are answered but still carried out

    def leave(self) -> None:
        """Stops following the conversation."""
        stay, self._stay = self._stay, None
        if stay is None:
            return
        self.conversation_id = None
        if self._follower is not None:
            self.service.engine.detach(stay.talk.id, self._follower, stay.connection_id)
            self._follower = None
        if self._is_written:
            about = self._about(stay)
            self.service.connection_audit.disconnected(
                self.who, stay.talk.id, **about, code=self.code
            )

    @property
    def is_idle(self) -> bool:
        """Returns whether no frame waits to be sent, and no conversation is being opened."""
        return super().is_idle and not (self._follower is not None and self._follower.is_opening)

    @property
    def protocol(self) -> WireProtocol:
        """Returns the protocol whose projector makes the messages."""
        return self.service.rpc

    # --- calls ------------------------------------------------------------------------------------

    def read_frame(self, value: Any) -> r.Call | r.Reply:
        """Reads a frame of the client. Raises Refused."""
        return r.read_frame(value)

    async def take(self, value: Any) -> None:
        """Carries out a call and answers it, or takes the reply to a call of the server."""
        frame = self.read_frame(value)
        if isinstance(frame, r.Call) and asking.takes_long(frame):
            self.do_beside(self._take(frame))
        else:
            await self._take(frame)

    async def _take(self, frame: r.Call | r.Reply) -> None:
        try:
            if isinstance(frame, r.Reply):
                await asking.take_reply(frame, self._stay, self)
            else:
                await self._carry_out(frame)
        except TurnwireError as error:
            refused = refusal_of(error)
            refused.data["id"] = frame.id
            if frame.id not in self._answered:
                self.refuse(frame, refused)
            if refused.code == "CONVERSATION_NOT_FOUND" and self._is_gone(refused):
                self.end(refused)
        except Exception:
            _log.exception("conversation %s: a call failed", self.conversation_id)
            if frame.id not in self._answered:
                self.refuse(frame, Refused("INTERNAL_ERROR", id=frame.id))
        finally:
            self._answered.discard(frame.id)

    def refuse(self, frame: r.Call | r.Reply, refused: Refused) -> None:
        """Answers a call or a reply with an error."""
        method = frame.method if isinstance(frame, r.Call) else None
        self.outlet.put(rpc_error(refused, method))

    def _is_gone(self, refused: Refused) -> bool:
        return self._stay is not None and refused.data.get("conversation_id") == self._stay.talk.id

    async def _carry_out(self, call: r.Call) -> None:
        if self._stay is not None and self._stay.has(call.id):
            raise Refused("INVALID_PAYLOAD", "This id still has a stream: choose another one.")
        match call.params:
            case m.Connect() as wish:
                await self._connect(call.id, wish)
            case m.Disconnect():
                for frame in self._here().ends():
                    self.outlet.put(frame)
                self.leave()
                self.answer(call.id, {})
            case m.GetCapabilities(provider=name):
                agent = name or (await self._stay.talk.agent() if self._stay else None)
                stay = self._stay if name is None else None
                able = None if stay is None else await self._able_in(stay)
                self.answer(call.id, asking.capabilities(self.service, agent, self.who, able))
            case m.GetHistory():
                await self._load(call.id, m.LoadHistory(limit=500))
            case m.LoadHistory() as wish:
                await self._load(call.id, wish)
            case m.GetHistorySessions() as wish:
                self.answer(call.id, await history.sessions(self.service, self.who, wish))
            case _:
                await asking.ask(call, self._here(), self)

    async def _load(self, call_id: str, wish: m.LoadHistory) -> None:
        name = wish.conversation or self._here().talk.id
        talk = await self.service.talk(name, self.who, closed=True)
        self.answer(call_id, await history.page(self.service, talk, wish))

    def _here(self) -> Stay:
        if self._stay is None:
            said = "This connection is in no conversation. Call connect first."
            raise Refused("CONVERSATION_NOT_FOUND", said)
        return self._stay

    def answer(self, call_id: str, result: Any) -> None:
        """Sends the answer to a call."""
        self.put(call_id, Written(r.write(r.Answer(call_id, result, None))))

    def put(self, call_id: str, *frames: Written) -> None:
        """Sends the answer to a call, and the frames that directly follow it."""
        self._answered.add(call_id)
        if frames:
            self.outlet.receive([*frames])

    # --- a conversation ---------------------------------------------------------------------------

    async def _connect(self, call_id: str, wish: m.Connect) -> None:
        if self._stay is not None:
            said = "This connection is in a conversation already. Call disconnect first."
            raise Refused("INVALID_PAYLOAD", said)
        talk = await self._talk(wish)
        place = Place(wish.last_sequence, wish.epoch, wish.tail)
        await self.enter(Stay(talk, call_id, wish, self.service.engine.new_id()), place)

    async def enter(self, stay: Stay, place: Place) -> None:
        """Follows a conversation from a place on."""
        talk, call_id = stay.talk, stay.call_id
        self._stay = stay
        self.conversation_id = talk.id
        follower = RpcFollower(self.outlet, stay.tell, size=self.settings.buffer_bytes)
        self._follower = follower
        audit = self.service.connection_audit
        self._is_written = audit.connected(self.who, talk.id, **self._about(stay))
        first = self.service.engine.attach(
            talk.row,
            place,
            follower,
            client_id=self.who.client_id,
            connection_id=stay.connection_id,
            user=self.who.name,
            is_owner=self.who.is_owner,
            reached=lambda: self.outlet.reached,
            protocol=self.protocol,
        )
        try:
            async with aclosing(first):
                await self._open(stay, first)
            follower.let_go()
        except Gone:
            pass  # the read loop notices it
        except Exception as error:
            if call_id not in self._answered and not isinstance(error, FollowAgain):
                self.leave()
                raise
            # The client has a part of the log, and gets the rest only if it reconnects.
            if not isinstance(error, TurnwireError):
                self.end(Refused("INTERNAL_ERROR"))
                raise
            self.end(error)

    async def _talk(self, wish: m.Connect) -> Talk:
        if wish.conversation is not None:
            return await self.service.talk(wish.conversation, self.who)
        options = dict(wish.options)
        if wish.system_prompt is not None:
            able = asking.capabilities(self.service, wish.provider, self.who)
            if "system_prompt" not in able.options:
                raise Refused("NOT_SUPPORTED", "This agent takes no system prompt.")
            options["system_prompt"] = wish.system_prompt
        new = NewConversation(
            wish.provider, wish.title, wish.cwd, wish.model, wish.permission_mode, options
        )
        own_id = wish.client_message_id
        check_id(own_id)
        return await begin(self.service, self.who, new, resume=wish.resume, own_id=own_id)

    async def _able_in(self, stay: Stay) -> Capabilities:
        """Returns what the agent of a conversation offers to this user."""
        return await self.service.engine.capabilities_of(stay.talk.row, is_owner=self.who.is_owner)

    async def _open(self, stay: Stay, first: AsyncIterator[Line]) -> None:
        """Sends the answer to `connect`, then the entries that the client has missed.

        The answer is sent after the first read of the log: if the read fails, the answer is an
        error.
        """
        opening: Opening | None = None
        async for line in first:
            if isinstance(line.news, Opening):
                opening = line.news
                continue
            if opening is not None:
                await self.greet(stay, opening)
                opening = None
            for frame in stay.tell_first(line):
                await self.outlet.send_first(frame)

    async def greet(self, stay: Stay, opening: Opening) -> None:
        """Answers `connect`."""
        able = await self._able_in(stay)
        connected = r.Connected(
            stay.talk.id,
            opening.epoch,
            opening.start.after + 1,
            opening.head,
            opening.start.resumed,
            asking.capabilities(self.service, able.agent, self.who, able),
            await stay.talk.status(),
            opening.limits.max_frame_bytes,
            opening.limits.max_queue,
            opening.limits.heartbeat_seconds,
            opening.connection_id,
            stay.talk.row.native_session_id,
            opening.start.reset,
        )
        await self.answer_first(stay, connected)

    async def answer_first(self, stay: Stay, connected: Any) -> None:
        """Sends the answer to `connect`, before all other frames of the conversation."""
        self._answered.add(stay.call_id)
        await self.outlet.send_first(Written(r.write(r.Answer(stay.call_id, connected, None))))

    def _about(self, stay: Stay) -> dict[str, str]:
        return {
            "connection_id": stay.connection_id,
            "token_id": self.who.token_id,
            "protocol": "rpc",
        }

    # --- frames for the client --------------------------------------------------------------------

    def error(self, refused: Refused) -> Written | None:
        """Returns a frame with a refusal, or with the reason why the connection ends."""
        return rpc_error(refused)

    def heartbeat(self) -> Written | None:
        """Returns a heartbeat frame."""
        return Written(_HEARTBEAT)
