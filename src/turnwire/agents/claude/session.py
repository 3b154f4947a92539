"""One opened session of Claude Code: turns its output into events, and input into its lines."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, TypeGuard

import msgspec
from msgspec import UNSET, UnsetType, structs

from turnwire.agents.claude.extensions.hook_runs import HookRuns
from turnwire.agents.claude.extensions.mcp_router import OwnServers
from turnwire.agents.claude.extensions.tool_host import ToolHost
from turnwire.agents.claude.options.live_settings import Chosen
from turnwire.agents.claude.options.mcp_toggles import Switches
from turnwire.agents.claude.process import control_runner
from turnwire.agents.claude.process.claude_process import ClaudeProcess
from turnwire.agents.claude.process.line_routing import is_for_sdk, told_by_us, unreadable
from turnwire.agents.claude.process.session_opening import Opening
from turnwire.agents.claude.process.transport import Recorder
from turnwire.agents.claude.questions.control_requests import ControlRequests
from turnwire.agents.claude.questions.question_delivery import QuestionDelivery
from turnwire.agents.claude.questions.question_tools import defer
from turnwire.agents.claude.sessions.history import has_message
from turnwire.agents.claude.turn.ordered_output import OrderedOutput
from turnwire.agents.claude.turn.prompts import NotShown, prompt_line, prompt_uuid
from turnwire.agents.claude.turn.steering import Steering
from turnwire.agents.claude.turn.titles import find_title
from turnwire.agents.claude.turn.turn_tracker import TurnTracker
from turnwire.agents.local import LocalSession
from turnwire.agents.process import GuardedProcess
from turnwire.core import events as ev
from turnwire.core.blocks import ToolResultBlock
from turnwire.core.content import Content, TextContent
from turnwire.core.controls import Control, ControlResult
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.conversation.state import Reply
from turnwire.core.error_codes import Refused
from turnwire.core.events import NormalizedStreamEvent
from turnwire.dialects import claude
from turnwire.dialects.claude import control, messages, system
from turnwire.errors import BadLine
from turnwire.ports import AgentGone, SessionPiece

__all__ = ["ClaudeSession"]

_MOST = 2048  # events in the output buffer; above this the program's output is paused
_LEAVE = 2.0  # seconds that an idle program has to exit by itself
_BEGIN = 30.0  # seconds that a message for a turn waits until the turn has begun
_GO_ON = TextContent("Go on.")  # for a turn whose message Claude has already


class ClaudeSession(LocalSession):
    """One process of Claude Code: started by `begin`, ended by `close`, never restarted."""

    def __init__(self, opening: Opening) -> None:
        super().__init__()
        conversation_id = opening.start.conversation_id
        self._opening = opening
        self._is_nameless = opening.names_itself  # until the first message gives a title
        self._closing = False
        self._adapter = claude.ClaudeStreamAdapter()
        self._process = ClaudeProcess(self._heard, self._ended, self._check_open)
        self._chosen = Chosen(
            self._process,
            opening,
            check_open=self._check_open,
            refused=self._tell_refused,
        )
        self._turn = TurnTracker()
        self._steering = Steering(self._adapter.whose)
        self._output = OrderedOutput(self._turn, self._process.below, self._hand_over, self._start)
        self._requests = ControlRequests(
            opening.bounds.modes, answer=self._process.answer, tell=self._tell_answer
        )
        self.hooks = HookRuns(opening.hooks, conversation_id, self._hook_ran)
        self._delivery = QuestionDelivery(
            self._turn,
            opening.hold,
            self.hooks,
            opening.client_tools,
            whose=self._adapter.whose,
            say=self._say,
            delivered=self._tell_delivery,
        )
        self._servers = OwnServers(
            ToolHost(
                opening.tools,
                conversation_id,
                answer=self._process.answer,
                progress=self._tool_progress,
                start=self._start,
            ),
            Switches(opening.servers, opening.start.mcp_off),
            asking=self._delivery.answer_call,
            answer=self._process.answer,
        )

    @property
    def native_session_id(self) -> str | None:
        """Claude Code's own id of this session, or None if it is not known yet."""
        return self._adapter.session_id or self._opening.start.native_session_id

    @property
    def is_mirrored(self) -> bool:
        """Whether the session's record is handed over in pieces."""
        return self._opening.mirror is not None

    @property
    def has_pieces(self) -> bool:
        """Whether pieces of the session's record wait to be taken."""
        mirror = self._opening.mirror
        return mirror is not None and mirror.has_pieces

    async def take_pieces(self) -> list[SessionPiece]:
        """Returns the pieces of the session's record since the last call."""
        mirror = self._opening.mirror
        return [] if mirror is None else await mirror.take()

    async def ask(self, asked: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        """Runs as the PreToolUse hook of a tool that asks a person."""
        output = await self._delivery.ask(asked, tool_use_id, context)
        if output == defer():
            await self._take_back()  # else Claude would begin a turn with it after the deferral
        return output

    async def begin(
        self,
        start: Callable[[], Awaitable[GuardedProcess]],
        connect: Callable[[Any], Any],
        recorder: Recorder | None = None,
    ) -> None:
        """Starts the program and completes the handshake. Raises AgentGone."""
        # A session that ended with a deferred question normally asks it again by itself. It may
        # also be handling the loss of its background tasks, or have finished that already.
        question, opening = self._delivery.question, self._opening
        if opening.deferred is not None:
            question.open(opening.deferred.call)
        await self._process.begin(start, connect, recorder)
        if self._process.about.session_state != "running" and question.state == "resuming":
            question.happens("not_continued")
        thinks = opening.start.max_thinking_tokens
        if thinks is not None:  # not a command line option: that could not be changed later
            await self._chosen.max_thinking_tokens(thinks)
        if self._servers.switches.are_needed:
            with suppress(Refused):  # a client that asks for the status sees the real state
                await control_runner.set_switches(self._servers.switches, self._process.request)

    def tell_forgotten(self, before: str) -> None:
        """Reports that this session is new, because the session `before` no longer exists."""
        said = "Claude does not know the earlier messages: its own record of the session is gone."
        self._say(told_by_us("", "session_lost", {"session_id": before, "message": said}))

    async def close(self) -> list[EndedProcess]:
        """Ends the program and all processes it started. An idle program may exit by itself."""
        was_closing, self._closing = self._closing, True
        if not self._is_over and not was_closing:
            await self._delivery.defer()
        self._closed = True
        self._ready.set()
        # A program that exits by itself reports the end of its background tasks. That report would
        # take the place of the answer to a deferred question.
        is_resuming = self._delivery.question.state == "resuming"
        idle = not (self._turn.is_busy or is_resuming or self._delivery.gate.has_background)
        ended = await self._process.end(leave=_LEAVE if idle else 0.0)
        await super().close()
        return ended

    # --- input from people --------------------------------------------------------------------

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        """Begins a turn with a message. Without content Claude goes on with what it knows already."""
        self._check_open()
        name = prompt_uuid(turn_uuid)
        try:
            line = prompt_line(content or [_GO_ON], name)
        except NotShown as problem:
            session_id = self._adapter.session_id
            self._say(*self._turn.failed("image_error", str(problem), session_id))
            return
        self._turn.prompt = name
        if self._is_nameless:
            self._is_nameless = False
            self._start(self._name_by(content))
        if self._delivery.is_in_the_way:  # the deferred question was cancelled in the meantime
            self._start(self._prompt_later(line))
        else:
            self._process.write(line)

    async def steer(self, content: list[Content], *, message_id: str) -> bool:
        """Hands a message to the running turn. Claude takes it at a tool call, or after its text."""
        self._check_open()
        if self._turn.prompt is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_BEGIN):
                    await self._turn.begun.wait()
            self._check_open()
        # At a question the turn may end at any moment, and Claude would begin another one with it.
        is_free = self._turn.runs and self._delivery.question.state == "idle"
        if not (is_free and self._steering.is_reported):
            return False
        name = prompt_uuid(message_id)
        try:
            line = prompt_line(content, name)
        except NotShown:
            return False
        match content:
            case [TextContent(text=text)] if text.startswith("/"):  # begins a turn of its own
                return False
        self._steering.add(name, message_id, content)
        self._process.write(line)
        return True

    async def has_taken(self, message_id: str) -> bool:
        """Returns whether Claude's own record of the session has a message."""
        session_id, config = self.native_session_id, self._opening.config
        if session_id is None:
            return False
        return await asyncio.to_thread(has_message, config, session_id, prompt_uuid(message_id))

    async def _take_back(self) -> None:
        """Takes back the messages that Claude has not taken into the turn yet."""
        for name in self._steering.waiting:
            with suppress(Refused):  # it was taken in the meantime
                await self._process.request(
                    {"subtype": "cancel_async_message", "message_uuid": name}
                )

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        """Delivers people's answers and decisions to the program."""
        self._check_open()
        to_claude = [reply for reply in replies if not self._requests.deliver(reply)]
        line = self._delivery.deliver(to_claude, resumed=resumed)
        if line is not None:
            self._process.write(line)

    async def choose(
        self,
        *,
        model: str | None,
        permission_mode: str | None,
        max_thinking_tokens: int | UnsetType | None = UNSET,
    ) -> None:
        """Changes the model, the permission mode or the thinking limit from now on."""
        self._check_open()
        if model is not None:
            await self._chosen.model(model, self._opening.bounds.model_for(model) or model)
        if permission_mode is not None:
            await self._chosen.permission_mode(permission_mode)
        if max_thinking_tokens is not UNSET:
            await self._chosen.max_thinking_tokens(max_thinking_tokens)

    async def control(self, control: Control) -> ControlResult:
        """Carries out a control, and returns its result. Raises Refused or AgentGone."""
        self._check_open()
        if self._delivery.is_in_the_way:  # its turn is over: the deferred question gets no answer
            await self._delivery.take_back(self._stop)
        return await control_runner.run_control(
            control,
            self._process.request,
            self._process.about,
            switches=self._servers.switches,
            models=self._opening.models,
            default=self._opening.bounds.model,
        )

    async def interrupt(self) -> None:
        """Interrupts the running turn, if there is one."""
        self._check_open()
        if self._turn.calls:
            await self._output.note_running()
        if self._turn.is_busy:
            await self._stop()

    async def _stop(self) -> None:
        self._adapter.interrupt_requested()
        await self._process.interrupt(drop_queued=bool(self._steering.waiting))

    async def _prompt_later(self, line: bytes) -> None:
        """Sends a prompt after the deferred question, which gets no answer, has been withdrawn."""
        await self._delivery.take_back(self._stop)
        self._process.write(line)

    async def _name_by(self, content: list[Content]) -> None:
        title = await find_title(content, self._process.request)
        if title is not None:
            named = {"title": title}
            self._news("session_title_changed", named, ev.TitleProposed, title=title)

    # --- output of the program ----------------------------------------------------------------

    def _heard(self, lines: list[bytes]) -> list[bytes]:
        """Processes lines that arrived together. Returns the lines that the SDK has to handle."""
        events: list[NormalizedStreamEvent] = []
        for_sdk: list[bytes] = []
        second = self._delivery.second
        for raw in lines:
            if not raw.strip():
                continue
            try:
                line = claude.decode(raw)
            except BadLine as bad:
                events.append(unreadable(self._adapter.session_id, raw, bad))
                continue
            if type(line.message) is messages.StreamEvent and not self._delivery.is_muted:
                fed = self._adapter.feed(line)  # the fast path: most lines are stream events
                if second.is_open:
                    fed = [each for event in fed for each in second.follow(event)]
                events += fed
                continue
            if is_for_sdk(line.message, self._servers.has):
                for_sdk.append(line.raw)
            events += self._meaning(line)
        if events and self._output.emit(events) and len(self._out) > _MOST:
            self._start(self._hold_back())
        return for_sdk

    async def _hold_back(self) -> None:
        """Pauses the program until the reader has caught up, so that memory stays bounded."""
        self._process.process.pause()
        await self._let_read(_MOST // 2)
        self._process.process.resume()

    def _meaning(self, line: claude.Line) -> list[NormalizedStreamEvent]:
        match line.message:
            case control.ControlRequest(request_id, control.McpMessage(str(server), said)) if (
                self._servers.take(request_id, server, said)
            ):
                return []  # handled by a server of this process
            case messages.TranscriptMirror() as lines if self._opening.mirror is not None:
                self._opening.mirror.hear(lines)
                return []  # for the store, not for people
            case system.SessionStateChanged(state="idle") if self._turn.prompt is not None:
                return []  # sent before the program read the prompt
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
        is_muted = self._delivery.is_muted  # covers the end of the turn, too
        if any(isinstance(event, ev.ResultSummary) for event in events):
            events = self._go_on(events)
        if is_muted:
            return []
        taken = self._steering.hear(line.message)
        events = [*(taken if self._turn.runs else ()), *self._steering.follow(events)]
        told = [each for event in events for each in self._delivery.second.follow(event)]
        return [self._turn.follow(event) for event in told]

    def _go_on(self, events: list[NormalizedStreamEvent]) -> list[NormalizedStreamEvent]:
        """Sends the answer as a prompt if a resumed turn ended without asking its question."""
        line = self._delivery.end_turn(is_done=any(map(_is_done, events)))
        if line is None:
            return events
        self._process.write(line)
        return [
            structs.replace(event, origin="resume") if _is_done(event) else event
            for event in events
        ]

    def _note(self, message: claude.ClaudeMessage) -> None:
        """Updates the open requests, the settings, the background state and the running tools."""
        self._requests.hear(message)
        match message:
            case messages.ResultMessage(is_error=True) if not self._turn.runs:
                self._process.last_error = "; ".join(message.errors or []) or message.result
            case system.StatusChanged(permissionMode=str(mode)):
                self._chosen.says(None, mode)
            case system.BackgroundTasksChanged(tasks=tasks):
                self._delivery.gate.set_background(working=bool(tasks))
            case control.ControlCancelRequest(request_id):
                self._servers.tools.cancel(request_id)
            case _:
                pass

    async def _ended(self, broken: str | None) -> Exception | None:
        """Handles the end of the output. Returns the reason if the session was not being closed."""
        if self._closing:  # an intended close is not a loss
            self._turn.idle.set()
            return None
        why = await self._process.why_gone(broken)
        self._die(why)
        return AgentGone(why)

    # --- events of Turnwire itself ------------------------------------------------------------

    def _news(
        self, subtype: str, told: dict[str, Any], kind: type[ev.SystemEvent], **typed: Any
    ) -> None:
        self._say(told_by_us(self._adapter.session_id, subtype, told, kind, **typed))

    def _tell_refused(self, wanted: dict[str, Any], stays: dict[str, Any], why: str) -> None:
        told = {"message": why, "wanted": wanted, "stays": stays}
        typed = {"wanted": ev.Choice(**wanted), "stays": ev.Choice(**stays)}
        self._news("choice_refused", told, ev.ChoiceRefused, **typed)

    def _tell_answer(self, result: ToolResultBlock) -> None:
        self._say(ev.UserMessage(*self._adapter.whose(None), [result], "tool"))

    def _tell_delivery(self, reply: Reply, how: str) -> None:
        """Reports that an answer was not delivered as its acknowledgement said."""
        told = {"request_id": reply.request_id, "delivered_as": how}
        typed = {"request_id": reply.request_id, "in_words": how == "prompt"}
        self._news("answer_delivered", told, ev.AnswerDelivered, **typed)

    def _hook_ran(self, run: ev.HookRun) -> None:
        told = msgspec.to_builtins(run)
        news = told_by_us(self._adapter.session_id, "hook_run", told, ev.HookRan, run=run)
        _, _, parent, agent_id = self._adapter.whose(run.agent_id)
        self._output.add(structs.replace(news, parent_tool_use_id=parent, agent_id=agent_id))

    def _tool_progress(self, tool_use_id: str, name: str, line: str) -> None:
        parent, agent_id = self._turn.voices.get(tool_use_id, (None, None))
        who = ("claude", self._adapter.session_id, parent, agent_id)
        self._output.add(ev.ToolProgress(*who, tool_use_id, name, None, line))


def _is_done(event: NormalizedStreamEvent) -> TypeGuard[ev.TurnCompleted]:
    """Whether the event ends a turn normally: not interrupted, and without a deferred question."""
    return (
        isinstance(event, ev.TurnCompleted)
        and not event.interrupted
        and event.deferred_tool_use_id is None
    )
