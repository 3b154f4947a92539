"""One conversation with Claude: what the program says becomes events, what people say its lines."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Raw

from turnwire.agents.claude import questions
from turnwire.agents.claude.failures import explain, is_hopeless
from turnwire.agents.claude.prompts import TooLarge, prompt_line, prompt_uuid
from turnwire.agents.claude.transport import GuardedTransport, Recorder
from turnwire.agents.local import LocalSession
from turnwire.agents.process import GuardedProcess
from turnwire.core import events as ev
from turnwire.core.blocks import ToolUseBlock
from turnwire.core.content import Content, TextContent
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.conversation.state import Reply
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.questions import asks_a_person, questions_of
from turnwire.dialects import claude
from turnwire.dialects.claude import control, messages, system
from turnwire.errors import BadLine
from turnwire.ports import AgentGone

__all__ = ["ClaudeSession", "Forgotten"]

_log = logging.getLogger("turnwire.claude")
_LEAVE = 2.0  # seconds that an idle program has to leave by itself
_FORGOTTEN = "No conversation found"  # so the program says it
_ONE_AT_A_TIME = "Ask one question at a time: another one waits for its answer."


class Forgotten(AgentGone):
    """There is no session of this name any more, or it was killed before it was written down."""


class ClaudeSession(LocalSession):
    """The program behind it is started by `begin` and ended by `close`."""

    def __init__(self, native_session_id: str | None, *, hold: float) -> None:
        super().__init__()
        self._name = native_session_id
        self._gate = questions.Gate(hold)
        self._answered: dict[str, Reply] = {}  # for calls that the gate let through
        self._adapter = claude.ClaudeStreamAdapter()
        self._transport: GuardedTransport | None = None
        self._client: Any = None  # claude_agent_sdk.ClaudeSDKClient
        self._permissions: dict[str, Any] = {}  # by request: the input that was shown
        self._in_turn = False
        self._idle = asyncio.Event()  # no turn runs
        self._asks = False  # a question of this turn is on its way to the gate, or there
        self._closing = False
        self._prompt: str | None = None  # the uuid of one that the program has not begun with
        self._cause: str | None = None  # the word of the API's last error in this turn
        self._status: int | None = None  # and what HTTP says
        self._hopeless = False  # the turn was stopped because the API will not answer
        self._resumes = False  # the program goes on by itself with a question that was put aside
        self._muted = asyncio.Event()  # clear: nobody wants to hear what it says
        self._muted.set()
        self._last_error: str | None = None  # the program's last words, where it could not start

    @property
    def native_session_id(self) -> str | None:
        """The program's own name for it."""
        return self._adapter.session_id or self._name

    async def begin(
        self,
        start: Callable[[], Awaitable[GuardedProcess]],
        connect: Callable[[Any], Any],
        recorder: Recorder | None = None,
    ) -> None:
        """Start the program and shake hands with it. Raises AgentGone."""
        self._transport = GuardedTransport(start, self._heard, self._ended, recorder)
        self._client = connect(self._transport)
        try:
            await self._client.connect()
            about = await self._client.get_server_info()
        except Exception as error:  # the SDK raises bare ones
            why = self._last_error or f"Claude could not be started: {error}"
            raise (Forgotten if _FORGOTTEN in why else AgentGone)(why) from error
        # A session that ended with a question put aside asks it again, without being told to.
        self._resumes = bool(about and about.get("session_state") == "running")

    def tell_forgotten(self, before: str) -> None:
        """This session begins anew, because there is none any more of the name that it had."""
        said = "Claude does not know what was said before: its own record of it is gone."
        data = {"type": "system", "subtype": "session_lost", "session_id": before, "message": said}
        raw = Raw(msgspec.json.encode(data))
        self._say(ev.SystemEvent("claude", "", None, None, "session_lost", raw))

    # --- what people say ----------------------------------------------------------------------

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        """Begin a turn."""
        self._check_open()
        name = prompt_uuid(turn_uuid)
        try:
            line = prompt_line(content, name)
        except TooLarge as problem:
            self._say(*self._failed("image_error", str(problem)))
            return
        self._prompt = name
        if self._resumes:
            # The question that was put aside was cancelled meanwhile.
            self._resumes = False
            self._start(self._forget_question(line))
        else:
            self._write(line)

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        """A person's answers and decisions."""
        self._check_open()
        words: list[Reply] = []
        for reply in replies:
            if reply.kind == "permission":
                self._decide(reply)
            elif resumed and not self._resumes:
                words.append(reply)  # the process that asked was lost before it put it aside
            else:
                self._gate.give(reply)
        self._resumes = False
        if words:
            names = ":".join(reply.request_id for reply in words)
            said: list[Content] = [TextContent(questions.in_words(words))]
            self._prompt = prompt_uuid(f"answer:{names}")
            self._write(prompt_line(said, self._prompt))

    async def choose(self, *, model: str | None, permission_mode: str | None) -> None:
        """Another model, or another permission mode, from now on."""
        self._check_open()
        try:
            if model is not None:
                await self._client.set_model(model)
            if permission_mode is not None:
                await self._client.set_permission_mode(permission_mode)
        except Exception as error:  # the SDK raises bare ones
            said = {"type": "system", "subtype": "choice_refused", "message": str(error)}
            raw = Raw(msgspec.json.encode(said))
            session_id = self._adapter.session_id
            self._say(ev.SystemEvent("claude", session_id, None, None, "choice_refused", raw))

    async def interrupt(self) -> None:
        """Stop the turn."""
        self._check_open()
        if self._in_turn or self._prompt is not None:
            await self._stop()

    async def close(self) -> list[EndedProcess]:
        """End the program with everything that it started; an idle one may leave by itself."""
        if not self._is_over and not self._closing:
            self._closing = True
            await self._put_question_aside()
        was_closed, self._closed = self._closed, True
        self._ready.set()
        ended: list[EndedProcess] = []
        process = self._transport.process if self._transport else None
        if process is not None:
            idle = not self._in_turn and self._prompt is None and not self._resumes
            if idle:
                process.hang_up()
            ended = await process.end(leave=_LEAVE if idle else 0.0)
        if self._client is not None and not was_closed:
            with suppress(Exception):  # it may never have been connected
                await self._client.disconnect()
        if self._transport is not None:
            await self._transport.close()
        await super().close()
        return ended

    async def _put_question_aside(self) -> None:
        """A question that is still held outlives the process only if it is put aside before."""
        self._gate.leave()
        if self._asks and self._in_turn:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LEAVE):
                    await self._idle.wait()

    # --- to the program -----------------------------------------------------------------------

    def _write(self, line: bytes) -> None:
        assert self._transport is not None
        self._transport.send(line)

    def _answer(self, request_id: str, response: Any) -> None:
        said = control.ControlSuccess(request_id, Raw(msgspec.json.encode(response)))
        with suppress(AgentGone):  # it asked on its way out
            self._write(claude.encode(control.ControlResponse(said)) + b"\n")

    def _decide(self, reply: Reply) -> None:
        """Let a tool run, or not. One that was taken back meanwhile needs no answer."""
        shown = self._permissions.pop(reply.request_id, None)
        if shown is None:
            return
        if reply.decision == "allow":
            changed = shown if reply.updated_input is None else reply.updated_input
            allowed: dict[str, Any] = {"behavior": "allow", "updatedInput": changed}
            if reply.remember:
                allowed["updatedPermissions"] = reply.remember
            self._answer(reply.request_id, allowed)
        else:
            why = reply.reason or "The person said no."
            self._answer(reply.request_id, {"behavior": "deny", "message": why})

    async def _stop(self) -> None:
        self._adapter.interrupt_requested()
        try:
            await self._client.interrupt()
        except Exception as error:  # the SDK raises bare ones
            _log.debug("Claude did not take the interrupt: %s", error)

    async def _forget_question(self, line: bytes) -> None:
        """Take back a question that nobody will answer any more, then say what there is to say."""
        self._muted.clear()
        await self._stop()
        await self._muted.wait()
        self._write(line)

    # --- from the program ---------------------------------------------------------------------

    async def _heard(self, lines: list[bytes]) -> list[bytes]:
        """All lines that are there together. Returns those that are the SDK's to answer."""
        events: list[NormalizedStreamEvent] = []
        for_sdk: list[bytes] = []
        for raw in lines:
            if not raw.strip():
                continue
            try:
                line = claude.decode(raw)
            except BadLine as bad:
                events.append(_unreadable(self._adapter.session_id, raw, bad))
                continue
            if type(line.message) is messages.StreamEvent and self._muted.is_set():
                events += self._adapter.feed(line)  # most lines are these
                continue
            if self._is_for_sdk(line.message):
                for_sdk.append(line.raw)
            if self._is_ours_alone(line.message):
                continue
            for event in [*self._before(line.message), *self._adapter.feed(line)]:
                if self._muted.is_set():
                    events.append(self._changed(event))
                elif isinstance(event, ev.ResultSummary):
                    self._muted.set()  # behind the end of the turn that nobody wanted
        if events:
            self._say(*events)
            await self._let_read()
        return for_sdk

    def _is_for_sdk(self, message: claude.ClaudeMessage) -> bool:
        match message:
            case control.ControlResponse() | control.ControlCancelRequest():
                return True
            case control.ControlRequest(request=control.CanUseTool()):
                return False
            case control.ControlRequest(request=control.McpMessage(server_name=questions.SERVER)):
                return False
            case control.ControlRequest():
                return True
            case _:
                return False

    def _is_ours_alone(self, message: claude.ClaudeMessage) -> bool:
        """What is settled between us and the program, and means nothing to anybody else."""
        match message:
            case control.ControlRequest(
                request_id=request_id,
                request=control.McpMessage(server_name=questions.SERVER, message=said),
            ):
                self._answer(
                    request_id, {"mcp_response": questions.answer_call(said, self._answered)}
                )
                return True
            case _:
                return False

    def _before(self, message: claude.ClaudeMessage) -> list[NormalizedStreamEvent]:
        """Remember what matters later; whatever follows from it at once is returned."""
        match message:
            case control.ControlRequest(
                request_id=request_id, request=control.CanUseTool() as asked
            ):
                self._permissions[request_id] = asked.input
            case control.ControlCancelRequest(request_id=request_id):
                self._permissions.pop(request_id, None)
            case messages.AssistantMessage(error=str(error), parent_tool_use_id=None):
                self._cause = error
            case messages.ResultMessage(is_error=True):
                self._status = message.api_error_status
                self._last_error = "; ".join(message.errors or []) or message.result
            case system.ApiRetry(error=error) if is_hopeless(error) and not self._hopeless:
                self._hopeless, self._cause = True, error
                self._start(self._stop())
            case system.BackgroundTasksChanged(tasks=tasks):
                self._gate.set_background(working=bool(tasks))
            case messages.CommandLifecycle(command_uuid=name, state=state) if name == self._prompt:
                return self._dispatched(state)
            case _:
                pass
        return []

    def _dispatched(self, state: str | None) -> list[NormalizedStreamEvent]:
        """The program has begun with the prompt, or says that it never will."""
        if state not in ("started", "completed", "cancelled", "discarded"):
            return []
        self._prompt = None
        if state == "started":
            return []
        if state == "completed":  # it knows this prompt from a process before this one
            said = "Claude had begun with this before, and was interrupted. Say `go on`."
            return self._failed("already_begun", said)
        end = ev.TurnCompleted("claude", self._adapter.session_id, None, None, None, True)
        return _whole_turn(end, "interrupted")

    def _changed(self, event: NormalizedStreamEvent) -> NormalizedStreamEvent:
        """Follow the turn, and say more about a failure than the program does."""
        match event:
            case ev.TurnStarted():
                self._in_turn = True
                self._idle.clear()
            case ev.AssistantMessage(content=[ToolUseBlock() as call], parent_tool_use_id=None):
                self._asks = self._asks or asks_a_person(call.tool_name)
            case ev.TurnCompleted(interrupted=True) if self._hopeless:
                failed = ev.TurnFailed(
                    *("claude", event.session_id, None, None),
                    *("api_error", "The API does not take Claude's credential"),
                    event.origin,
                )
                return self._turn_ended(explain(failed, self._cause))
            case ev.TurnFailed():
                return self._turn_ended(explain(event, self._cause, self._status))
            case ev.TurnCompleted():
                return self._turn_ended(event)
            case _:
                pass
        return event

    def _turn_ended(self, event: NormalizedStreamEvent) -> NormalizedStreamEvent:
        self._in_turn = self._hopeless = self._asks = False
        self._idle.set()
        self._cause = self._status = None
        self._gate.turn_ended()
        return event

    def _failed(self, code: str, message: str) -> list[NormalizedStreamEvent]:
        """A turn that ends before it has begun."""
        failed = ev.TurnFailed("claude", self._adapter.session_id, None, None, code, message)
        return _whole_turn(explain(failed, None), "error")

    async def _ended(self) -> Exception | None:
        """The program has ended; if nobody had asked for that, this says why."""
        assert self._transport is not None
        assert self._transport.process is not None
        if self._closed:
            return None
        await self._transport.process.wait()
        why = self._transport.process.how_it_ended()
        if self._last_error:
            why = f"{self._last_error} ({why})"
        self._last_error = why
        self._die(why)
        return AgentGone(why)

    # --- the gate -----------------------------------------------------------------------------

    async def ask(self, asked: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        """The hook before a tool that asks a person."""
        call = str(tool_use_id or asked.get("tool_use_id"))
        tool_input, agent_id = asked.get("tool_input"), asked.get("agent_id")
        if not self._gate.admits(call):
            return questions.deny(_ONE_AT_A_TIME)
        if not self._resumes and self._in_turn:
            self._say(self._question(call, str(asked.get("tool_name")), tool_input, agent_id))
        reply = await self._gate.wait(call, can_defer=agent_id is None and not self._resumes)
        if reply is None:
            return questions.put_aside()
        if reply.decision == "deny":
            return questions.deny(reply.reason or "The question was cancelled.")
        self._answered[call] = reply
        return questions.allow(reply, tool_input)

    def _question(
        self, call: str, tool: str, tool_input: Any, agent_id: str | None
    ) -> NormalizedStreamEvent:
        whose = self._adapter.whose(agent_id)
        return ev.QuestionAsked(*whose, call, call, tool, questions_of(tool_input), tool_input)


def _whole_turn(end: ev.TurnCompleted | ev.TurnFailed, subtype: str) -> list[NormalizedStreamEvent]:
    who = ("claude", end.session_id, None, None)
    failed = isinstance(end, ev.TurnFailed)
    return [ev.TurnStarted(*who), end, ev.ResultSummary(*who, subtype, failed)]


def _unreadable(session_id: str, raw: bytes, bad: BadLine) -> NormalizedStreamEvent:
    data = Raw(msgspec.json.encode(raw.decode(errors="replace")))
    return ev.UnknownEvent("claude", session_id, None, None, "unreadable", data, str(bad))
