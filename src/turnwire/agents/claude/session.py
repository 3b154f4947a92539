"""One conversation with Claude: what the program says becomes events, what people say its lines."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Raw, structs

from turnwire.agents.claude import questions
from turnwire.agents.claude.lines import is_for_sdk, told_by_us, unreadable
from turnwire.agents.claude.permissions import Permissions
from turnwire.agents.claude.prompts import NotShown, prompt_line, prompt_uuid
from turnwire.agents.claude.second import ONE_AT_A_TIME, SecondQuestions
from turnwire.agents.claude.stopped import StopWatch
from turnwire.agents.claude.transport import GuardedTransport, Recorder
from turnwire.agents.claude.turn import TurnWatch
from turnwire.agents.local import LocalSession
from turnwire.agents.process import GuardedProcess
from turnwire.core import answers
from turnwire.core import events as ev
from turnwire.core.content import Content, TextContent
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.conversation.state import Reply
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.questions import questions_of
from turnwire.dialects import claude
from turnwire.dialects.claude import control, messages, system
from turnwire.errors import BadLine
from turnwire.ports import AgentGone

__all__ = ["ClaudeSession", "Forgotten"]

_log = logging.getLogger("turnwire.claude")
_MOST = 2048  # events that may wait for the reader before the program waits for it
_LEAVE = 2.0  # seconds that an idle program has to leave by itself
_FORGOTTEN = "No conversation found"  # so the program says it


class Forgotten(AgentGone):
    """There is no session of this name any more, or it was killed before it was written down."""


class ClaudeSession(LocalSession):
    """The program behind it is started by `begin` and ended by `close`."""

    def __init__(
        self,
        native_session_id: str | None,
        *,
        hold: float,
        model: str | None = None,
        permission_mode: str | None = None,
    ) -> None:
        super().__init__()
        self._name = native_session_id
        self._chosen = {"model": model, "permission_mode": permission_mode or "default"}
        self._gate = questions.Gate(hold)
        self._second = SecondQuestions()
        self._answered: dict[str, Reply] = {}  # for calls of our tool that the gate let through
        self._beside: str | None = None  # what the model is to hear with the next answer
        self._adapter = claude.ClaudeStreamAdapter()
        self._transport: GuardedTransport | None = None
        self._client: Any = None  # claude_agent_sdk.ClaudeSDKClient
        self._permissions = Permissions()
        self._turn = TurnWatch()
        self._stopped = StopWatch(lambda: self._process.below())
        # What waits until it is known who died of a stop.
        self._late: list[NormalizedStreamEvent] | None = None
        self._closing = False
        self._has_background = False
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
        self._say(told_by_us("", "session_lost", session_id=before, message=said))

    # --- what people say ----------------------------------------------------------------------

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        """Begin a turn."""
        self._check_open()
        name = prompt_uuid(turn_uuid)
        try:
            line = prompt_line(content, name)
        except NotShown as problem:
            session_id = self._adapter.session_id
            self._say(*self._turn.failed("image_error", str(problem), session_id))
            return
        self._turn.prompt = name
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
        as_results: list[Reply] = []
        for reply in replies:
            if reply.kind == "permission":
                self._decide(reply)
                continue
            # Of a process that is gone only its own question comes back, and if it was put aside.
            lost = not self._resumes or reply.parent_tool_use_id is not None
            in_words = resumed and lost
            (words if in_words else as_results).append(reply)
            if resumed and in_words != reply.in_words:
                self._tell_delivery(reply, "prompt" if in_words else "tool_result")
        self._resumes = False
        given = [reply.answer for reply in words if reply.decision != "deny"]
        if words and not as_results:
            names = ":".join(reply.request_id for reply in words)
            said: list[Content] = [TextContent(answers.in_words(given))]
            self._turn.prompt = prompt_uuid(f"answer:{names}")
            self._write(prompt_line(said, self._turn.prompt))
        elif given:
            self._beside = answers.in_words(given)
        for reply in as_results:
            self._gate.give(reply)

    def _tell_delivery(self, reply: Reply, how: str) -> None:
        """What was promised with the answer, before this session was opened, has come otherwise."""
        about = {"request_id": reply.request_id, "delivered_as": how}
        self._say(told_by_us(self._adapter.session_id, "answer_delivered", **about))

    async def choose(self, *, model: str | None, permission_mode: str | None) -> None:
        """Another model, or another permission mode, from now on."""
        self._check_open()
        if model is not None:
            await self._choose("model", model, self._client.set_model)
        if permission_mode is not None:
            await self._choose("permission_mode", permission_mode, self._client.set_permission_mode)

    async def _choose(self, what: str, wanted: str, tell: Callable[[str], Awaitable[None]]) -> None:
        try:
            await tell(wanted)
        except Exception as error:  # the SDK raises bare ones
            self._check_open()  # one that is gone has refused nothing
            about = {"wanted": {what: wanted}, "stays": {what: self._chosen[what]}}
            session_id = self._adapter.session_id
            self._say(told_by_us(session_id, "choice_refused", message=str(error), **about))
        else:
            self._chosen[what] = wanted

    async def interrupt(self) -> None:
        """Stop the turn."""
        self._check_open()
        if self._turn.calls:
            await self._stopped.look()
        if self._turn.is_busy:
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
            # What works in the background would speak of its end, in the place of the answer to a
            # question that was put aside.
            idle = not (self._turn.is_busy or self._resumes or self._has_background)
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
        if self._turn.asks:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LEAVE):
                    await self._turn.idle.wait()

    @property
    def _process(self) -> GuardedProcess:
        assert self._transport is not None
        assert self._transport.process is not None
        return self._transport.process

    # --- to the program -----------------------------------------------------------------------

    def _write(self, line: bytes) -> None:
        assert self._transport is not None
        self._transport.send(line)

    def _answer(self, request_id: str, response: Any) -> None:
        said = control.ControlSuccess(request_id, Raw(msgspec.json.encode(response)))
        with suppress(AgentGone):  # it asked on its way out
            self._write(claude.encode(control.ControlResponse(said)) + b"\n")

    def _decide(self, reply: Reply) -> None:
        decision = self._permissions.decide(reply)
        if decision is not None:
            self._answer(reply.request_id, decision)

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

    def _heard(self, lines: list[bytes]) -> list[bytes]:
        """All lines that are there together. Returns those that are the SDK's to answer."""
        events: list[NormalizedStreamEvent] = []
        for_sdk: list[bytes] = []
        for raw in lines:
            if not raw.strip():
                continue
            try:
                line = claude.decode(raw)
            except BadLine as bad:
                events.append(unreadable(self._adapter.session_id, raw, bad))
                continue
            if type(line.message) is messages.StreamEvent and self._muted.is_set():
                fed = self._adapter.feed(line)  # most lines are these
                if self._second.is_open:
                    fed = [each for event in fed for each in self._second.follow(event)]
                events += fed
                continue
            if is_for_sdk(line.message):
                for_sdk.append(line.raw)
            events += self._meaning(line)
        if events:
            self._tell(events)
        return for_sdk

    def _tell(self, events: list[NormalizedStreamEvent]) -> None:
        if self._late is not None:
            self._late += events
        elif self._stopped.is_needed and any(map(_is_stopped, events)):
            self._late = events
            self._start(self._name_the_dead())
        else:
            if not self._turn.runs:
                self._stopped.forget()  # it had come to its end before it was stopped
            self._say(*events)
            if len(self._out) > _MOST:
                self._start(self._hold_back())

    async def _name_the_dead(self) -> None:
        """The end of a turn that was stopped says what died of it, and they may need a moment."""
        processes = await self._stopped.died()
        assert self._late is not None
        late, self._late = self._late, None
        self._say(
            *(
                structs.replace(event, processes=processes) if _is_stopped(event) else event
                for event in late
            )
        )

    async def _hold_back(self) -> None:
        """Let a reader that is behind catch up, so that memory stays bounded."""
        self._process.pause()
        await self._let_read(_MOST // 2)
        self._process.resume()

    def _meaning(self, line: claude.Line) -> list[NormalizedStreamEvent]:
        match line.message:
            case control.ControlRequest(request_id, control.McpMessage(questions.SERVER, said)):
                answer = questions.answer_call(said, self._answered)
                self._answer(request_id, {"mcp_response": answer})
                return []  # it is between us and the program
            case message:
                was_hopeless = self._turn.is_hopeless
                at_once = self._turn.hear(message, self._adapter.session_id)
                self._note(message)
        if self._turn.is_hopeless and not was_hopeless:
            self._start(self._stop())
        events = [*at_once, *self._adapter.feed(line)]
        for event in events:
            if isinstance(event, ev.SessionInit):
                self._chosen["model"] = event.model or self._chosen["model"]
                self._chosen["permission_mode"] = event.permission_mode or "default"
        ends = any(isinstance(event, ev.ResultSummary) for event in events)
        if ends:
            self._gate.turn_ended()
        if self._muted.is_set():
            told = [each for event in events for each in self._second.follow(event)]
            return [self._turn.follow(event) for event in told]
        if ends:
            self._muted.set()  # that was the end of the turn that nobody wanted
        return []

    def _note(self, message: claude.ClaudeMessage) -> None:
        """Remember what is needed later, and do what has to be done at once."""
        self._permissions.hear(message)
        match message:
            case messages.ResultMessage(is_error=True) if not self._turn.runs:
                self._last_error = "; ".join(message.errors or []) or message.result
            case system.BackgroundTasksChanged(tasks=tasks):
                self._has_background = bool(tasks)
                self._gate.set_background(working=self._has_background)
            case _:
                pass

    async def _ended(self, broken: str | None) -> Exception | None:
        """Nothing more will be heard; if nobody had asked for that, this says why."""
        if self._closed:
            return None
        if broken is not None:
            await self._process.end()
        await self._process.wait()
        why = broken or self._process.how_it_ended()
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
            self._say(*self._second.refused(call))
            return questions.deny(ONE_AT_A_TIME)
        self._say(*(self._turn.follow(event) for event in self._second.admitted(call)))
        if not self._resumes and self._turn.runs:
            self._say(self._question(call, str(asked.get("tool_name")), tool_input, agent_id))
        reply = await self._gate.wait(call, can_defer=agent_id is None and not self._resumes)
        if reply is None:
            return questions.put_aside()
        if reply.decision == "deny":
            return questions.deny(reply.reason or "The question was cancelled.")
        if asked.get("tool_name") == questions.TOOL:  # it asks for the answer when it runs
            self._answered[call] = reply
        beside, self._beside = self._beside, None
        return questions.allow(reply, tool_input, beside)

    def _question(
        self, call: str, tool: str, tool_input: Any, agent_id: str | None
    ) -> NormalizedStreamEvent:
        whose = self._adapter.whose(agent_id)
        return ev.QuestionAsked(*whose, call, call, tool, questions_of(tool_input), tool_input)


def _is_stopped(event: NormalizedStreamEvent) -> bool:
    return isinstance(event, ev.TurnCompleted) and event.interrupted
