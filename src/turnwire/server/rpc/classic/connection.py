"""A client of the profile `classic` on its WebSocket."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from turnwire.core.error_codes import Refused
from turnwire.core.opening import Opening
from turnwire.core.status import Capabilities
from turnwire.dialects.rpc import frames as r
from turnwire.dialects.rpc import methods as m
from turnwire.dialects.rpc.classic import frames as f
from turnwire.dialects.rpc.classic.methods import Connect, read_frame
from turnwire.dialects.v2 import commands as c
from turnwire.engine import Answer, Talk
from turnwire.engine.fanout.follow import Place
from turnwire.ports import WireProtocol
from turnwire.server.access.keys import Who
from turnwire.server.new_conversation import NewConversation, begin
from turnwire.server.rpc import asking
from turnwire.server.rpc.classic import history
from turnwire.server.rpc.classic.stay import ClassicStay
from turnwire.server.rpc.connection import RpcConnection
from turnwire.server.rpc.stay import Stay
from turnwire.server.rpc.written import Written
from turnwire.server.sockets.outlet import Send, Wire

if TYPE_CHECKING:
    from turnwire.server.service import Service

__all__ = ["ClassicConnection"]

# A reply that was refused with one of these codes came too late. Other clients have answered.
_TOO_LATE = frozenset(
    [
        "CONVERSATION_INTERRUPTED",
        "CONVERSATION_NOT_FOUND",
        "DUPLICATE_INPUT_RESPONSE",
        "INPUT_TIMEOUT",
        "INVALID_QUESTION_ID",
        "NO_PENDING_INPUT",
    ]
)


class ClassicConnection(RpcConnection):
    """One client of the profile `classic`."""

    _last: str | None = None  # the conversation that the client has left with `disconnect`

    def __init__(
        self, service: Service, who: Who, send: Send, wire: Wire | None, *, text_errors: bool
    ) -> None:
        """`text_errors`: an error is a text; otherwise an object with the text as its `message`."""
        super().__init__(service, who, send, wire)
        self._text_errors = text_errors

    @property
    def protocol(self) -> WireProtocol:
        """Returns the protocol whose projector makes the messages."""
        return self.service.rpc_classic

    def read_frame(self, value: Any) -> r.Call | r.Reply:
        """Reads a frame of the client. Raises Refused."""
        return read_frame(value)

    # --- frames for the client --------------------------------------------------------------------

    def error(self, refused: Refused) -> Written | None:
        """Returns a refusal. Returns None if it belongs to no call: the client knows no such."""
        own_id = refused.data.get("id")
        if not isinstance(own_id, str) or own_id.startswith(r.OURS):
            return None
        return self._refusal(own_id, f.error_for(refused))

    def _refusal(self, call_id: str, error: f.Error) -> Written:
        said = error.message if self._text_errors else error
        return Written(r.write(f.Answer(call_id, None, said)))

    def heartbeat(self) -> None:
        """Returns None: the client knows no heartbeat. The socket's own pings are sent."""

    def refuse(self, frame: r.Call | r.Reply, refused: Refused) -> None:
        """Answers a call with an error. Repeats a call of the server if its reply is invalid."""
        if isinstance(frame, r.Call):
            self.outlet.put(self._refusal(frame.id, f.error_for(refused, frame.method)))
        elif isinstance(self._stay, ClassicStay) and str(refused.code) not in _TOO_LATE:
            self.outlet.receive(self._stay.call_again(frame.id))

    def answer(self, call_id: str, result: Any) -> None:
        """Sends the answer to a call."""
        self.put(call_id, Written(r.write(f.Answer(call_id, result, None))))

    # --- calls ------------------------------------------------------------------------------------

    async def _carry_out(self, call: r.Call) -> None:
        match call.params:
            case Connect() as wish:
                await self._join(call.id, wish)
            case m.Disconnect():
                if self._stay is not None:
                    self._last = self._stay.talk.id
                    self.outlet.receive(self._stay.ends())
                    self.leave()
                self.answer(call.id, f.Told("disconnected"))
            case m.GetHistory():
                self.answer(call.id, await history.messages(self.service, self._here().talk))
            case m.GetHistorySessions(limit=limit):
                self.answer(call.id, await history.sessions(self.service, self.who, limit))
            case m.Interrupt():
                await self._interrupt(call.id, self._classic())
            case m.SetModel(model=model):
                await asking.do(c.SetModel(payload=c.ModelChoice(model)), self._here(), self)
                self.answer(call.id, f.ModelChanged(model or ""))
            case m.SetPermissionMode(mode=mode):
                choice = c.PermissionModeChoice(mode)
                await asking.do(c.SetPermissionMode(payload=choice), self._here(), self)
                self.answer(call.id, f.ModeChanged(mode))
            case _:
                await asking.ask(call, self._here(), self)

    def _classic(self) -> ClassicStay:
        stay = self._here()
        assert isinstance(stay, ClassicStay)
        return stay

    async def _interrupt(self, call_id: str, stay: ClassicStay) -> None:
        """Ends what the client waits for: its query in the queue, else the running turn."""
        removed = False
        for queue_id in stay.waiting:
            command = c.QueueCommand(payload=c.QueueChange("remove", queue_id))
            await asking.do(
                command, stay, self, stay.talk.telling(partial(self._removed, queue_id))
            )
            removed = True
        if removed:
            self.answer(call_id, f.Told("interrupted"))
            return
        turn_id = stay.status.turn_id if stay.status is not None else None
        if turn_id is None:
            self.answer(call_id, f.Told("connected"))
            return
        stay.interrupts(turn_id, call_id)
        try:
            given = await asking.do(c.Interrupt(payload=c.Stop(turn_id, "hold")), stay, self)
        except BaseException:
            stay.drop_interrupt(turn_id, call_id)
            raise
        if given.ack.outcome == "already_ended" and stay.drop_interrupt(turn_id, call_id):
            self.answer(call_id, f.Told("connected"))

    def _removed(self, queue_id: str, _: Answer) -> None:
        self.outlet.receive(self._classic().stop_waiting(queue_id))

    # --- a conversation ---------------------------------------------------------------------------

    async def _join(self, call_id: str, wish: Connect) -> None:
        wish.check()
        if self._stay is not None:
            said = "This connection is in a conversation already. Call disconnect first."
            raise Refused("INVALID_PAYLOAD", said)
        talk, is_new = await self._found(wish)
        partials = wish.include_partial_messages is not False
        stay = ClassicStay(talk, call_id, self.service.engine.new_id(), has_partials=partials)
        if not is_new:
            await self._set(wish, stay)
        elif wish.thinking_enabled is False:
            await self._set_thinking(False, stay, self._able(talk.row.agent))
        await self.enter(stay, Place(tail=0))

    async def _found(self, wish: Connect) -> tuple[Talk, bool]:
        """Returns the conversation that the client means, and whether it is new."""
        if wish.existing is not None:
            return await self.service.talk(wish.existing, self.who), False
        name = wish.session_id or None
        if name is None and wish.continue_conversation:
            rows = await self.service.store.conversations(user=self.who.user, limit=1)
            name = rows[0].conversation_id if rows else None
        if name is None and wish.provider is None:
            name = self._last  # the client connects again on the same socket
        if name is not None:
            try:
                return await self.service.talk(name, self.who), False
            except Refused as refused:
                if refused.code != "CONVERSATION_NOT_FOUND" or name != wish.session_id:
                    raise
        return await self._new(wish, name), True

    async def _new(self, wish: Connect, own_id: str | None) -> Talk:
        agent = wish.provider or None
        able = self._able(agent)
        takes = asking.capabilities(self.service, agent, self.who).options
        options = {}
        if wish.system_prompt and "system_prompt" in takes:
            options["system_prompt"] = wish.system_prompt
        model = wish.model if wish.model and "session.set_model" in able.commands else None
        mode = _mode(wish, able)
        new = NewConversation(agent, None, None, model, mode, options)
        return await begin(self.service, self.who, new, own_id=own_id)

    async def _set(self, wish: Connect, stay: Stay) -> None:
        """Applies the options to an existing conversation, where they differ."""
        able, status = await self._able_in(stay), await stay.talk.status()
        if wish.model and wish.model != status.model and "session.set_model" in able.commands:
            await asking.do(c.SetModel(payload=c.ModelChoice(wish.model)), stay, self)
        mode = _mode(wish, able)
        if mode is not None and mode != (status.permission_mode or "default"):
            choice = c.PermissionModeChoice(mode)
            await asking.do(c.SetPermissionMode(payload=choice), stay, self)
        thinks = wish.thinking_enabled
        if thinks is not None and thinks is (status.max_thinking_tokens == 0):
            await self._set_thinking(thinks, stay, able)

    async def _set_thinking(self, thinks: bool, stay: Stay, able: Capabilities) -> None:
        if "session.set_max_thinking_tokens" in able.commands:
            most = c.ThinkingChoice(None if thinks else 0)
            await asking.do(c.SetMaxThinkingTokens(payload=most), stay, self)

    def _able(self, agent: str | None) -> Capabilities:
        name = agent or self.service.usual_agent
        return self.service.engine.capabilities(name, is_owner=self.who.is_owner)

    async def greet(self, stay: Stay, opening: Opening) -> None:
        """Answers `connect`."""
        agent, status = await stay.talk.agent(), await stay.talk.status()
        able = await self._able_in(stay)
        offers = able.commands
        told = f.Capabilities(
            can_interrupt="user.interrupt" in offers,
            can_switch_model="session.set_model" in offers,
            can_switch_permission_mode="session.set_permission_mode" in offers,
            supported_permission_modes=able.permission_modes,
            can_skip_permissions=False,
            can_send_rich_content=able.images,
            can_think="session.set_max_thinking_tokens" in offers,
            can_resume_session=True,
        )
        row = stay.talk.row
        connected = f.Connected(
            row.conversation_id, agent, "connected", told, status.model, row.cwd
        )
        await self.answer_first(stay, connected)


def _mode(wish: Connect, able: Capabilities) -> str | None:
    """Returns the permission mode that the client wants. Raises Refused if there is no such mode.

    Clients always send `default`. It is passed over if the agent has no modes.
    """
    offered = able.permission_modes
    if wish.permission_mode in (None, "", "default"):
        if wish.sandbox_mode in offered:
            return wish.sandbox_mode
        return "default" if wish.permission_mode and "default" in offered else None
    if wish.permission_mode not in offered:
        there = ", ".join(offered) or "none"
        said = f"permissionMode {wish.permission_mode!r} is not possible here; there is: {there}."
        raise Refused("NOT_SUPPORTED", said)
    return wish.permission_mode
