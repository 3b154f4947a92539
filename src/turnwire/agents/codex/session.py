"""One opened session of Codex: a thread of an app-server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from turnwire.agents.codex.app_server import AppServer, RequestFailed
from turnwire.agents.codex.commands import COMMANDS, command_in, run_control
from turnwire.agents.codex.first_start import first_alone
from turnwire.agents.codex.prompts import answer_prompt, input_of
from turnwire.agents.codex.rollout import call_in, has_message, questions_in
from turnwire.agents.codex.settings import Settings
from turnwire.agents.local import LocalSession
from turnwire.agents.process import GuardedProcess
from turnwire.core import events as ev
from turnwire.core.answers import as_text
from turnwire.core.content import Content
from turnwire.core.controls import Control, ControlResult
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.conversation.state import Reply
from turnwire.core.events import NormalizedStreamEvent
from turnwire.dialects.codex import CodexStreamAdapter, Line
from turnwire.dialects.codex import messages as m
from turnwire.dialects.codex.requests import answer_of, cancelled, is_answered, refusal_of
from turnwire.errors import BadLine
from turnwire.ports import AgentGone

__all__ = ["CodexSession"]

_MOST = 2048  # events in the output buffer; above this Codex's output is paused
_BEGIN = 30.0  # seconds that a message for a turn waits until the turn has begun
_LEAVE = 2.0  # seconds that an idle program has to exit by itself


class CodexSession(LocalSession):
    """One process of Codex with one thread: started by `begin`, ended by `close`."""

    def __init__(self, settings: Settings, models: Sequence[str]) -> None:
        super().__init__()
        self._settings = settings
        self._models = models  # that may be chosen
        self._adapter = CodexStreamAdapter(name_of=settings.name_of)
        self._server = AppServer(self._heard, self._ended)
        self._closing = False
        self._thread_id: str | None = None
        self._path: str | None = None  # of Codex's own record of the thread
        self._starting = False  # a turn was asked for, and has not begun
        self._stopping = False  # the turn that has not begun is to be stopped
        self._begun = asyncio.Event()  # a turn that was asked for has begun, or never will
        self._begun.set()
        self._usage = m.TokenUsage()

    @property
    def native_session_id(self) -> str | None:
        """Returns the id of the thread."""
        return self._thread_id

    async def begin(
        self,
        start: Callable[[], Awaitable[GuardedProcess]],
        home: Path,
        *,
        resume: str | None = None,
        fork: dict[str, Any] | None = None,
    ) -> None:
        """Starts the program with its CODEX_HOME, and opens the thread.

        Raises AgentGone or RequestFailed.
        """
        async with first_alone(home):
            await self._server.begin(start)
        await self._settings.read(self._server)
        chosen = self._settings.for_thread()
        if resume is not None:
            answer = await self._server.request(
                "thread/resume", threadId=resume, excludeTurns=True, **chosen
            )
        elif fork is not None:
            answer = await self._server.request("thread/fork", excludeTurns=True, **fork, **chosen)
        else:
            new = self._settings.for_new_thread()
            answer = await self._server.request("thread/start", **new)
        opened = msgspec.convert(answer, _Opened)
        self._thread_id, self._path = opened.thread.id, opened.thread.path
        await self._correct(opened)

    async def _correct(self, opened: _Opened) -> None:
        """Gives a resumed thread the chosen model and effort, where it keeps those of its last turn."""
        if not self._settings.is_model_chosen or opened.model is None:
            return
        if (opened.model, opened.reasoning_effort) != self._settings.model:
            await self._update(self._settings.changed("model"))

    def tell_forgotten(self, before: str) -> None:
        """Reports that this thread is new, because the thread `before` no longer exists."""
        said = "Codex does not know the earlier messages: its own record of the thread is gone."
        self._say(self._news("session_lost", {"session_id": before, "message": said}))

    async def close(self) -> list[EndedProcess]:
        """Ends the program and all processes it started. An idle program may exit by itself."""
        self._closing = self._closed = True
        self._ready.set()
        self._begun.set()
        idle = not (self._adapter.turn_id or self._starting)
        ended = await self._server.end(leave=_LEAVE if idle else 0.0)
        await super().close()
        return ended

    # --- input from people --------------------------------------------------------------------

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        """Begins a turn with a message. `/review` and `/compact` are commands of Codex.

        Without content the turn continues with what the thread knows already.
        """
        self._check_open()
        command = command_in(content)
        if command is not None:
            self._begin(COMMANDS[command.name].method, **command.params)
        else:
            given = input_of(content)
            self._begin("turn/start", input=given, clientUserMessageId=turn_uuid)

    async def steer(self, content: list[Content], *, message_id: str) -> bool:
        """Hands a message to the running turn. Codex takes it before its next model request."""
        self._check_open()
        with suppress(TimeoutError):
            async with asyncio.timeout(_BEGIN):
                await self._begun.wait()
        self._check_open()
        if self._adapter.turn_id is None or command_in(content) is not None:
            return False
        try:
            await self._server.request(
                "turn/steer",
                threadId=self._thread_id,
                expectedTurnId=self._adapter.turn_id,
                input=input_of(content),
                clientUserMessageId=message_id,
            )
        except RequestFailed:  # the turn has ended meanwhile, or is a review
            return False
        return True

    async def has_taken(self, message_id: str) -> bool:
        """Returns whether Codex's own record of the thread has a message."""
        return await asyncio.to_thread(has_message, self._path, message_id)

    def _begin(self, method: str, **params: Any) -> None:
        self._starting, self._stopping = True, False
        self._begun.clear()
        self._start(self._begin_turn(method, params))

    async def _begin_turn(self, method: str, params: dict[str, Any]) -> None:
        try:
            await self._server.request(method, threadId=self._thread_id, **params)
        except RequestFailed as refused:
            self._starting = False
            self._begun.set()
            whose = ("codex", self._thread_id or "", None, None)
            failed = ev.TurnFailed(*whose, "turn_refused", f"Codex refuses the turn: {refused}")
            summary = ev.ResultSummary(*whose, "failed", True)
            self._say(ev.TurnStarted(*whose), failed, summary)
        except AgentGone:
            self._begun.set()  # the end of the process is reported by itself

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        """Delivers people's answers and decisions: as the answer to a request, else as a prompt."""
        self._check_open()
        late: list[Reply] = []
        for reply in replies:
            request = self._adapter.waiting(reply.request_id)
            if request is None or request.is_cancelled:
                late.append(reply)
                continue
            result = answer_of(request, reply.decision, reply.answer, reply.remember)
            self._adapter.answered(request.id, result)
            self._server.answer(request.id, result)
        if resumed and late:
            await self._deliver_in_words(late)

    async def _deliver_in_words(self, replies: list[Reply]) -> None:
        """Sends answers as a prompt, because the process that asked has ended."""
        answers: list[tuple[list[Any], Any]] = []
        for reply in replies:
            if not reply.in_words:
                told = {"request_id": reply.request_id, "delivered_as": "prompt"}
                named = {"request_id": reply.request_id, "in_words": True}
                self._say(self._news("answer_delivered", told, ev.AnswerDelivered, **named))
            if reply.decision != "deny":
                answers.append(await asyncio.to_thread(self._quoted, reply))
        self._begin("turn/start", input=[{"type": "text", "text": answer_prompt(answers)}])

    def _quoted(self, reply: Reply) -> tuple[list[Any], Any]:
        """Returns an answer with what Codex had asked, or called, according to its record."""
        called = call_in(self._path, reply.request_id, self._settings.client_tools)
        if called is not None:
            return [{"question": called}], as_text(reply.answer)
        return questions_in(self._path, reply.request_id), reply.answer

    async def choose(
        self,
        *,
        model: str | None,
        permission_mode: str | None,
        max_thinking_tokens: int | UnsetType | None = UNSET,
    ) -> None:
        """Changes the model, the effort or the permission mode from now on."""
        self._check_open()
        for name, wanted in (("model", model), ("permission_mode", permission_mode)):
            if wanted is None:
                continue
            before = self._settings.chosen(name)
            try:
                await self._settings.read(self._server)
                self._settings.choose(name, wanted)
                self._expect()
                await self._update(self._settings.changed(name))
            except RequestFailed as refused:
                self._settings.choose(name, before)
                self._expect()
                told = {"message": str(refused), "wanted": {name: wanted}, "stays": {name: before}}
                choices = {"wanted": _choice(name, wanted), "stays": _choice(name, before)}
                self._say(self._news("choice_refused", told, ev.ChoiceRefused, **choices))

    def _expect(self) -> None:
        """Tells the adapter which settings a person has chosen, so that it reports only others."""
        model, effort = self._settings.model
        self._adapter.expects(self._settings.name_of(model, effort), self._settings.permission_mode)

    async def _update(self, changes: dict[str, Any]) -> None:
        await self._server.request("thread/settings/update", threadId=self._thread_id, **changes)

    async def control(self, control: Control) -> ControlResult:
        """Carries out a control, and returns its result. Raises Refused or AgentGone."""
        self._check_open()
        return await run_control(
            control,
            self._server,
            self._thread_id,
            self._usage,
            self._models,
            self._settings.default_model,
        )

    async def interrupt(self) -> None:
        """Interrupts the running turn, if there is one."""
        self._check_open()
        for request in self._adapter.open_requests():
            result = cancelled(request)
            if result is not None and not request.is_cancelled and not is_answered(request):
                request.is_cancelled = True  # it is withdrawn, and not answered by a person
                self._server.answer(request.id, result)
        if self._adapter.turn_id is not None:
            self._start(self._stop(self._adapter.turn_id))
        elif self._starting:
            self._stopping = True  # as soon as its id is known

    async def _stop(self, turn_id: str) -> None:
        with suppress(RequestFailed, AgentGone):  # it has ended in the meantime
            await self._server.request("turn/interrupt", threadId=self._thread_id, turnId=turn_id)

    # --- output of the program ----------------------------------------------------------------

    def _heard(self, lines: list[Line | BadLine]) -> None:
        """Processes lines that arrived together."""
        events: list[NormalizedStreamEvent] = []
        for line in lines:
            if isinstance(line, BadLine):
                whose = ("codex", self._thread_id or "", None, None)
                told = Raw(msgspec.json.encode(line.raw.decode(errors="replace")))
                events.append(ev.UnknownEvent(*whose, "bad_line", told, line.detail))
                continue
            events += self._adapter.feed(line)
            self._note(line.message)
        if events:
            self._hand_over(events)
            if len(self._out) > _MOST:
                self._start(self._hold_back())

    def _note(self, message: m.CodexMessage) -> None:
        match message:
            case m.TurnStarted() if self._adapter.turn_id is not None:
                self._starting = False
                self._begun.set()
                if self._stopping:
                    self._stopping = False
                    self._start(self._stop(self._adapter.turn_id))
            case m.TurnCompleted():
                self._starting = self._starting and self._adapter.turn_id is None
                self._begun.set()
            case m.TokenUsageUpdated():
                self._usage = message.token_usage
            case m.Asked() if (refusal := refusal_of(message)) is not None:
                self._server.answer(message.id, refusal.result)
            case m.Asked() if self._adapter.asked(str(message.id)) is None:
                self._server.refuse(message.id, f"Turnwire does not support {message.method}.")
            case m.UnknownMessage(id=request_id) if request_id is not None:
                self._server.refuse(request_id, f"Turnwire does not know {message.method}.")
            case _:
                pass

    async def _hold_back(self) -> None:
        """Pauses the program until the reader has caught up, so that memory stays bounded."""
        self._server.pause()
        await self._let_read(_MOST // 2)
        self._server.resume()

    async def _ended(self, broken: str | None) -> None:
        """Handles the end of the output."""
        self._begun.set()
        if not self._closing:  # an intended close is not a loss
            self._die(await self._server.why_gone(broken))

    def _news(
        self, subtype: str, told: Any, kind: type[ev.SystemEvent] = ev.SystemEvent, **typed: Any
    ) -> ev.SystemEvent:
        data = Raw(msgspec.json.encode(told))
        return kind("codex", self._thread_id or "", None, None, subtype, data, **typed)


def _choice(name: str, value: str | None) -> ev.Choice:
    return ev.Choice(model=value) if name == "model" else ev.Choice(permission_mode=value)


class _Thread(msgspec.Struct):
    id: str
    path: str | None = None


class _Opened(msgspec.Struct, rename="camel"):
    thread: _Thread
    model: str | None = None
    reasoning_effort: str | None = None
