"""One conversation with Claude: what the program says becomes events, what people say its lines."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeGuard

import msgspec
from msgspec import UNSET, UnsetType, structs

from turnwire.agents.claude import controls
from turnwire.agents.claude.asking import Asking
from turnwire.agents.claude.bounds import Bounds, bounds_of
from turnwire.agents.claude.chosen import Chosen
from turnwire.agents.claude.elicitations import DISMISSED, Elicitations
from turnwire.agents.claude.hook_runs import HookRuns
from turnwire.agents.claude.hooks import Hook
from turnwire.agents.claude.lines import is_for_sdk, told_by_us, unreadable
from turnwire.agents.claude.own_servers import OwnServers
from turnwire.agents.claude.permissions import Permissions
from turnwire.agents.claude.program import Program
from turnwire.agents.claude.prompts import NotShown, prompt_line, prompt_uuid
from turnwire.agents.claude.questions import Gate
from turnwire.agents.claude.second import SecondQuestions
from turnwire.agents.claude.stopped import StopWatch
from turnwire.agents.claude.switches import Switches
from turnwire.agents.claude.telling import Telling
from turnwire.agents.claude.titles import find_title
from turnwire.agents.claude.tool_host import ToolHost
from turnwire.agents.claude.tools import Tool
from turnwire.agents.claude.transport import Recorder
from turnwire.agents.claude.turn import TurnWatch
from turnwire.agents.local import LocalSession
from turnwire.agents.process import GuardedProcess
from turnwire.core import events as ev
from turnwire.core.content import Content
from turnwire.core.controls import Control, ControlResult
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.conversation.state import Reply
from turnwire.core.error_codes import Refused
from turnwire.core.events import NormalizedStreamEvent
from turnwire.dialects import claude
from turnwire.dialects.claude import control, messages, system
from turnwire.errors import BadLine
from turnwire.ports import AgentGone

__all__ = ["ClaudeSession"]

_MOST = 2048  # events that may wait for the reader before the program waits for it
_LEAVE = 2.0  # seconds that an idle program has to leave by itself


class ClaudeSession(LocalSession):
    """The program behind it is started by `begin` and ended by `close`."""

    def __init__(
        self,
        native_session_id: str | None,
        *,
        hold: float,
        has_question: bool | None = None,
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
        bounds: Bounds | None = None,
        most_thinking: int | None = None,
    ) -> None:
        super().__init__()
        self._name = native_session_id
        self._has_question = has_question  # put aside by a process before; none: nobody knows
        self._models = models
        self._bounds = bounds or bounds_of()
        self._thinks = max_thinking_tokens
        self._is_nameless = names_itself  # until it has a first message to be named by
        self._closing = False
        self._has_background = False
        self._muted = asyncio.Event()  # clear: nobody wants to hear what it says
        self._muted.set()
        self._adapter = claude.ClaudeStreamAdapter()
        self._program = Program(self._heard, self._ended, self._check_open)
        self._chosen = Chosen(
            self._program,
            model=model,
            permission_mode=permission_mode,
            most_thinking=most_thinking,
            check_open=self._check_open,
            refused=self._tell_refused,
        )
        self._turn = TurnWatch()
        self._stopped = StopWatch(lambda: self._program.process.below())
        self._telling = Telling(self._turn, self._stopped, self._say, self._start)
        self._permissions = Permissions(self._bounds.modes)
        self._elicitations = Elicitations()
        self._gate = Gate(hold)
        self._second = SecondQuestions()
        self.hooks = HookRuns(hooks, conversation_id, self._hook_ran)
        self._asking = Asking(
            self._turn,
            self._gate,
            self._second,
            self.hooks,
            whose=self._adapter.whose,
            say=self._say,
            delivered=self._tell_delivery,
        )
        self.ask = self._asking.ask  # the hook before a tool that asks a person
        self._tools = ToolHost(
            tools or {},
            conversation_id,
            answer=self._program.answer,
            progress=self._tool_progress,
            start=self._start,
        )
        self._switches = Switches(servers, mcp_off)
        self._servers = OwnServers(self._asking, self._tools, self._switches, self._program.answer)

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
        # A session that ended with a question put aside asks it again, without being told to. But
        # it may as well be at work on the news that its background work is lost, or be done with it.
        self._asking.resumes = self._has_question is not False
        await self._program.begin(start, connect, recorder)
        if self._program.about.session_state != "running":
            self._asking.resumes = False
        if self._thinks is not None:  # no option of its command line, which could not be taken back
            await self._chosen.max_thinking_tokens(self._thinks)
        if self._switches.are_needed:
            with suppress(Refused):  # whoever asks for the status sees what is on
                await controls.set_switches(self._switches, self._program.request)

    def tell_forgotten(self, before: str) -> None:
        """This session begins anew, because there is none any more of the name that it had."""
        said = "Claude does not know what was said before: its own record of it is gone."
        self._say(told_by_us("", "session_lost", {"session_id": before, "message": said}))

    async def close(self) -> list[EndedProcess]:
        """End the program with everything that it started; an idle one may leave by itself."""
        if not self._is_over and not self._closing:
            self._closing = True
            await self._asking.put_aside()
        self._closed = True
        self._ready.set()
        # What works in the background would speak of its end, in the place of the answer to a
        # question that was put aside.
        idle = not (self._turn.is_busy or self._asking.resumes or self._has_background)
        ended = await self._program.end(leave=_LEAVE if idle else 0.0)
        await super().close()
        return ended

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
            self._start(self._name_by(content))
        if self._asking.resumes:
            # The question that was put aside was cancelled meanwhile.
            self._asking.resumes = False
            self._start(self._forget_question(line))
        else:
            self._program.write(line)

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        """A person's answers and decisions."""
        self._check_open()
        to_claude = [reply for reply in replies if not self._answer_request(reply)]
        line = self._asking.deliver(to_claude, resumed=resumed)
        if line is not None:
            self._program.write(line)

    def _answer_request(self, reply: Reply) -> bool:
        """Whether it was the program or an MCP server that asked, and not Claude."""
        if reply.kind == "permission":
            decision = self._permissions.decide(reply)
            if decision is not None:
                self._program.answer(reply.request_id, decision)
            return True
        answer = self._elicitations.answer(reply)
        if answer is None:
            return False
        self._program.answer(reply.request_id, answer[0])
        if answer[1] is not None:
            self._say(ev.UserMessage(*self._adapter.whose(None), [answer[1]], "tool"))
        return True

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
            await self._chosen.model(model, self._bounds.model_for(model) or model)
        if permission_mode is not None:
            await self._chosen.permission_mode(permission_mode)
        if max_thinking_tokens is not UNSET:
            await self._chosen.max_thinking_tokens(max_thinking_tokens)

    async def control(self, control: Control) -> ControlResult:
        """Something beside the talk."""
        self._check_open()
        if self._asking.resumes:  # its turn is over: nobody will answer what was put aside
            self._asking.resumes = False
            await self._take_question_back()
        return await controls.carry_out(
            control,
            self._program.request,
            self._program.about,
            switches=self._switches,
            models=self._models,
            default=self._bounds.model,
        )

    async def interrupt(self) -> None:
        """Stop the turn."""
        self._check_open()
        if self._turn.calls:
            await self._stopped.look()
        if self._turn.is_busy:
            await self._stop()

    async def _stop(self) -> None:
        self._adapter.interrupt_requested()
        await self._program.interrupt()

    async def _forget_question(self, line: bytes) -> None:
        """Take back a question that nobody will answer any more, then say what there is to say."""
        await self._take_question_back()
        self._program.write(line)

    async def _take_question_back(self) -> None:
        self._muted.clear()
        await self._stop()
        await self._muted.wait()

    async def _name_by(self, content: list[Content]) -> None:
        title = await find_title(content, self._program.request)
        if title is not None:
            named = {"title": title}
            self._news("session_title_changed", named, ev.TitleProposed, title=title)

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
            if is_for_sdk(line.message, self._servers.has):
                for_sdk.append(line.raw)
            events += self._meaning(line)
        if events and self._telling.tell(events) and len(self._out) > _MOST:
            self._start(self._hold_back())
        return for_sdk

    async def _hold_back(self) -> None:
        """Let a reader that is behind catch up, so that memory stays bounded."""
        self._program.process.pause()
        await self._let_read(_MOST // 2)
        self._program.process.resume()

    def _meaning(self, line: claude.Line) -> list[NormalizedStreamEvent]:
        match line.message:
            case control.ControlRequest(request_id, control.McpMessage(str(server), said)) if (
                self._servers.take(request_id, server, said)
            ):
                return []  # it is between us and the program
            case system.SessionStateChanged(state="idle") if self._turn.prompt is not None:
                return []  # it said so before it saw what there is to do
            case message:
                was_hopeless = self._turn.is_hopeless
                at_once = self._turn.hear(message, self._adapter.session_id)
                self._note(message)
        if self._turn.is_hopeless and not was_hopeless:
            self._start(self._stop())
        events = [*at_once, *self._adapter.feed(line)]
        for event in events:
            if isinstance(event, ev.SessionInit):
                self._chosen.says(event.model, event.permission_mode or "default")
        ends = any(isinstance(event, ev.ResultSummary) for event in events)
        if ends:
            self._gate.turn_ended()
            events = self._go_on(events)
        if self._muted.is_set():
            told = [each for event in events for each in self._second.follow(event)]
            return [self._turn.follow(event) for event in told]
        if ends:
            self._muted.set()  # that was the end of the turn that nobody wanted
        return []

    def _go_on(self, events: list[NormalizedStreamEvent]) -> list[NormalizedStreamEvent]:
        """A turn that ends without the question that it was resumed with goes on with the answer."""
        line = self._asking.turn_ended(is_done=any(map(_is_done, events)))
        if line is None:
            return events
        self._program.write(line)
        return [
            structs.replace(event, origin="resume") if _is_done(event) else event
            for event in events
        ]

    def _note(self, message: claude.ClaudeMessage) -> None:
        """Remember what is needed later, and do what has to be done at once."""
        self._permissions.hear(message)
        self._elicitations.hear(message)
        match message:
            case control.ControlRequest(request_id, control.RequestUserDialog()):
                self._program.answer(request_id, DISMISSED)
            case messages.ResultMessage(is_error=True) if not self._turn.runs:
                self._program.last_error = "; ".join(message.errors or []) or message.result
            case system.StatusChanged(permissionMode=str(mode)):
                self._chosen.says(None, mode)
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
        why = await self._program.why_gone(broken)
        self._die(why)
        return AgentGone(why)

    # --- news of our own ----------------------------------------------------------------------

    def _news(
        self, subtype: str, told: dict[str, Any], kind: type[ev.SystemEvent], **typed: Any
    ) -> None:
        self._say(told_by_us(self._adapter.session_id, subtype, told, kind, **typed))

    def _tell_refused(self, wanted: dict[str, Any], stays: dict[str, Any], why: str) -> None:
        told = {"message": why, "wanted": wanted, "stays": stays}
        typed = {"wanted": ev.Choice(**wanted), "stays": ev.Choice(**stays)}
        self._news("choice_refused", told, ev.ChoiceRefused, **typed)

    def _tell_delivery(self, reply: Reply, how: str) -> None:
        """What was promised with the answer, before this session was opened, has come otherwise."""
        told = {"request_id": reply.request_id, "delivered_as": how}
        typed = {"request_id": reply.request_id, "in_words": how == "prompt"}
        self._news("answer_delivered", told, ev.AnswerDelivered, **typed)

    def _hook_ran(self, run: ev.HookRun) -> None:
        told = msgspec.to_builtins(run)
        news = told_by_us(self._adapter.session_id, "hook_run", told, ev.HookRan, run=run)
        _, _, parent, agent_id = self._adapter.whose(run.agent_id)
        self._telling.add(structs.replace(news, parent_tool_use_id=parent, agent_id=agent_id))

    def _tool_progress(self, tool_use_id: str, name: str, line: str) -> None:
        parent, agent_id = self._turn.voices.get(tool_use_id, (None, None))
        who = ("claude", self._adapter.session_id, parent, agent_id)
        self._telling.add(ev.ToolProgress(*who, tool_use_id, name, None, line))


def _is_done(event: NormalizedStreamEvent) -> TypeGuard[ev.TurnCompleted]:
    """Whether a turn has come to its end, by itself and with nothing left to ask."""
    return (
        isinstance(event, ev.TurnCompleted)
        and not event.interrupted
        and event.deferred_tool_use_id is None
    )
