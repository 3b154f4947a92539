"""One conversation with Claude: what the program says becomes events, what people say its lines."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType, structs

from turnwire.agents.claude import controls, questions
from turnwire.agents.claude.elicitations import DISMISSED, Elicitations
from turnwire.agents.claude.hook_runs import HookRun, HookRuns
from turnwire.agents.claude.hooks import Hook
from turnwire.agents.claude.lines import is_for_sdk, told_by_us, unreadable
from turnwire.agents.claude.permissions import Permissions
from turnwire.agents.claude.prompts import NotShown, prompt_line, prompt_uuid
from turnwire.agents.claude.second import ONE_AT_A_TIME, SecondQuestions
from turnwire.agents.claude.stopped import StopWatch
from turnwire.agents.claude.switches import Switches
from turnwire.agents.claude.tool_host import ToolHost
from turnwire.agents.claude.tools import Tool
from turnwire.agents.claude.transport import GuardedTransport, Recorder
from turnwire.agents.claude.turn import TurnWatch
from turnwire.agents.local import LocalSession
from turnwire.agents.process import GuardedProcess
from turnwire.core import answers
from turnwire.core import events as ev
from turnwire.core.content import Content, TextContent
from turnwire.core.controls import Control, ControlResult
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.conversation.state import Reply
from turnwire.core.error_codes import Refused
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.questions import questions_of
from turnwire.dialects import claude
from turnwire.dialects.claude import control, messages, system
from turnwire.dialects.claude.answers import InitializeAnswer
from turnwire.errors import BadLine
from turnwire.ports import AgentGone

__all__ = ["ClaudeSession", "Forgotten"]

_log = logging.getLogger("turnwire.claude")
_MOST = 2048  # events that may wait for the reader before the program waits for it
_LEAVE = 2.0  # seconds that an idle program has to leave by itself
_FORGOTTEN = "No conversation found"  # so the program says it
_NAMED_BY = 2000  # characters of the first message


class Forgotten(AgentGone):
    """There is no session of this name any more, or it was killed before it was written down."""


class ClaudeSession(LocalSession):
    """The program behind it is started by `begin` and ended by `close`."""

    def __init__(
        self,
        native_session_id: str | None,
        *,
        hold: float,
        names_itself: bool = False,
        model: str | None = None,
        permission_mode: str | None = None,
        max_thinking_tokens: int | None = None,
        conversation_id: str = "",
        hooks: Sequence[Hook] = (),
        tools: Mapping[str, Sequence[Tool]] | None = None,
        servers: Collection[str] = (),
        mcp_off: Collection[str] = (),
        models: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self._models = models
        self._switches = Switches(servers, mcp_off)
        self.hooks = HookRuns(hooks, conversation_id, self._hook_ran)
        self._tools = ToolHost(
            tools or {},
            conversation_id,
            answer=self._answer,
            progress=self._tool_progress,
            start=self._start,
        )
        self._name = native_session_id
        self._chosen: dict[str, Any] = {
            "model": model,
            "permission_mode": permission_mode or "default",
            "max_thinking_tokens": None,
        }
        self._thinks = max_thinking_tokens
        self._is_nameless = names_itself  # until it has a first message to be named by
        self._gate = questions.Gate(hold)
        self._second = SecondQuestions()
        self._answered: dict[str, Reply] = {}  # for calls of our tool that the gate let through
        self._beside: str | None = None  # what the model is to hear with the next answer
        self._adapter = claude.ClaudeStreamAdapter()
        self._transport: GuardedTransport | None = None
        self._client: Any = None  # claude_agent_sdk.ClaudeSDKClient
        self._permissions = Permissions()
        self._elicitations = Elicitations()
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
        self._about = InitializeAnswer()  # what the program is and offers

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
        self._about = msgspec.convert(about or {}, InitializeAnswer)
        # A session that ended with a question put aside asks it again, without being told to.
        self._resumes = self._about.session_state == "running"
        if self._thinks is not None:  # no option of its command line, which could not be taken back
            await self._choose("max_thinking_tokens", self._thinks, self._think)
        if self._switches.are_needed:
            with suppress(Refused):  # whoever asks for the status sees what is on
                await controls.set_switches(self._switches, self._request)

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
        if self._is_nameless:
            self._is_nameless = False
            self._start(self._find_title(content))
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
            if self._answer_server(reply):
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

    def _answer_server(self, reply: Reply) -> bool:
        """Whether it was an MCP server that asked: then the program is told, and the log."""
        answer = self._elicitations.answer(reply)
        if answer is None:
            return False
        self._answer(reply.request_id, answer[0])
        if answer[1] is not None:
            self._say(ev.UserMessage(*self._adapter.whose(None), [answer[1]], "tool"))
        return True

    def _tell_delivery(self, reply: Reply, how: str) -> None:
        """What was promised with the answer, before this session was opened, has come otherwise."""
        about = {"request_id": reply.request_id, "delivered_as": how}
        self._say(told_by_us(self._adapter.session_id, "answer_delivered", **about))

    async def choose(
        self,
        *,
        model: str | None,
        permission_mode: str | None,
        max_thinking_tokens: int | UnsetType | None = UNSET,
    ) -> None:
        """Another model, another permission mode, more or less reasoning, from now on."""
        self._check_open()
        if model is not None:
            await self._choose("model", model, self._client.set_model)
        if permission_mode is not None:
            await self._choose("permission_mode", permission_mode, self._client.set_permission_mode)
        if max_thinking_tokens is not UNSET:
            await self._choose("max_thinking_tokens", max_thinking_tokens, self._think)

    async def _think(self, tokens: int | None) -> None:
        said = {"subtype": "set_max_thinking_tokens", "max_thinking_tokens": tokens}
        await self._request(said)

    async def _choose(self, what: str, wanted: Any, tell: Callable[[Any], Awaitable[None]]) -> None:
        try:
            await tell(wanted)
        except Exception as error:  # the SDK raises bare ones
            self._check_open()  # one that is gone has refused nothing
            about = {"wanted": {what: wanted}, "stays": {what: self._chosen[what]}}
            session_id = self._adapter.session_id
            self._say(told_by_us(session_id, "choice_refused", message=str(error), **about))
        else:
            self._chosen[what] = wanted

    async def control(self, control: Control) -> ControlResult:
        """Something beside the talk."""
        self._check_open()
        if self._resumes:  # its turn is over: nobody will answer the question that was put aside
            self._resumes = False
            await self._take_question_back()
        return await controls.carry_out(
            control, self._request, self._about, switches=self._switches, models=self._models
        )

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
        await self._take_question_back()
        self._write(line)

    async def _take_question_back(self) -> None:
        self._muted.clear()
        await self._stop()
        await self._muted.wait()

    async def _request(self, request: dict[str, Any]) -> Any:
        """A control request and its answer, as the SDK's own methods send them. Raises Refused."""
        try:
            return await self._client._query._send_control_request(request)
        except Exception as error:  # the SDK raises bare ones
            self._check_open()  # one that is gone has refused nothing
            raise Refused("INVALID_PAYLOAD", f"Claude Code refuses: {error}") from error

    async def _find_title(self, content: list[Content]) -> None:
        """Have the program name the conversation by its first message, beside the turn."""
        words = "\n".join(part.text for part in content if isinstance(part, TextContent))
        asked = {"subtype": "generate_session_title", "description": words[:_NAMED_BY]}
        with suppress(Refused, AgentGone, TimeoutError):  # then the first words are its title
            answer = await self._request({**asked, "persist": True})
            title = answer.get("title") if isinstance(answer, dict) else None
            if isinstance(title, str):
                self._say(
                    told_by_us(self._adapter.session_id, "session_title_changed", title=title)
                )

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
            if is_for_sdk(line.message, self._is_ours):
                for_sdk.append(line.raw)
            events += self._meaning(line)
        if events:
            self._tell(events)
        return for_sdk

    def _is_ours(self, server: str) -> bool:
        return self._tools.has(server) or self._switches.is_off(server)

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
            case control.ControlRequest(request_id, control.McpMessage(str(server), said)) if (
                self._switches.is_off(server)
            ):
                self._answer(request_id, {"mcp_response": self._switches.answer(server, said)})
                return []
            case control.ControlRequest(request_id, control.McpMessage(str(server), said)) if (
                self._tools.has(server)
            ):
                self._tools.take(request_id, server, said)
                return []
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
        self._elicitations.hear(message)
        match message:
            case control.ControlRequest(request_id, control.RequestUserDialog()):
                self._answer(request_id, DISMISSED)
            case messages.ResultMessage(is_error=True) if not self._turn.runs:
                self._last_error = "; ".join(message.errors or []) or message.result
            case system.StatusChanged(permissionMode=str(mode)):
                self._chosen["permission_mode"] = mode
            case system.BackgroundTasksChanged(tasks=tasks):
                self._has_background = bool(tasks)
                self._gate.set_background(working=self._has_background)
            case control.ControlCancelRequest(request_id):
                self._tools.cancel(request_id)
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
        was_asked = self._resumes or not self._turn.runs or self._gate.has_answer(call)
        if agent_id is not None or not was_asked:  # a sub-agent's is never put aside
            refused = await self.hooks.before_question(asked, call)
            if refused is not None:
                return refused
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

    # --- what the application adds ------------------------------------------------------------

    def _hook_ran(self, run: HookRun) -> None:
        told = msgspec.to_builtins(run)
        news = told_by_us(self._adapter.session_id, "hook_run", **told)
        _, _, parent, agent_id = self._adapter.whose(run.agent_id)
        self._say_in_order(structs.replace(news, parent_tool_use_id=parent, agent_id=agent_id))

    def _tool_progress(self, tool_use_id: str, name: str, line: str) -> None:
        parent, agent_id = self._turn.voices.get(tool_use_id, (None, None))
        who = ("claude", self._adapter.session_id, parent, agent_id)
        self._say_in_order(ev.ToolProgress(*who, tool_use_id, name, None, line))

    def _say_in_order(self, event: NormalizedStreamEvent) -> None:
        """Behind what waits until it is known who died of a stop."""
        if self._late is not None:
            self._late.append(event)
        else:
            self._say(event)


def _is_stopped(event: NormalizedStreamEvent) -> bool:
    return isinstance(event, ev.TurnCompleted) and event.interrupted
