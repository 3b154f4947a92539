"""The agent `demo` and its sessions, which handle prompts, answers, controls and interrupts."""

from __future__ import annotations

import asyncio
import os
import signal
import uuid
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from msgspec import Raw, structs

from turnwire.agents.client_tools import CLIENT_TOOLS
from turnwire.agents.demo.message import Message
from turnwire.agents.demo.options import DemoOptions, demo_options
from turnwire.agents.demo.scenes import play, play_answered, words_of
from turnwire.agents.demo.script import Place, short_key
from turnwire.agents.demo.turn import PROVIDER, Failed, Stopped, Turn, Work
from turnwire.agents.local import LocalSession
from turnwire.agents.wire import runs_as_child
from turnwire.core import events as ev
from turnwire.core.content import Content, TextContent
from turnwire.core.controls import Control, ControlResult, Done, StopTask
from turnwire.core.conversation.state import Reply
from turnwire.core.error_codes import Refused
from turnwire.core.events import NormalizedStreamEvent
from turnwire.ports import AgentCapabilities, AgentGone, SessionStart

__all__ = ["DemoAgent"]

_Script: TypeAlias = Callable[[Turn], Awaitable[None]]

_GARBAGE = [b'{"half": ', b"Segmentation fault (core dumped)", b"\xff\xfe\x00", b'"two\nlines"']
_FLOOD_PIECE = "All work and no play makes a flood. " * 455  # 16 KB


class DemoAgent:
    """An agent without a key and a network. Words in the prompt choose the scenes that it plays."""

    name = "demo"
    description = "Needs no key and no network. Shows everything that a conversation can do."
    capabilities = AgentCapabilities(
        commands=["session.control"],
        options=["delay", "obey_interrupt", "silent", CLIENT_TOOLS],
        questions_survive=True,
        takes_recap=False,  # it acts on the words of a message
        controls=["stop_task"],
        forks=True,
        steers=True,
        is_free=True,
        reasons=True,
        delegates=True,
        edits_calls=True,
    )

    def __init__(self, **options: Any) -> None:
        self._options = demo_options(options)

    def unavailable(self) -> str | None:
        """Returns None: the demo is always available."""
        return None

    async def version(self) -> str | None:
        """Returns None: the demo is a part of Turnwire."""
        return None

    async def open(self, start: SessionStart) -> DemoSession:
        """Opens a session. A resumed session keeps its id and accepts answers to its questions.

        Raises AgentGone if the options are invalid.
        """
        try:
            options = demo_options({**structs.asdict(self._options), **start.options})
        except TypeError as error:
            raise AgentGone(str(error)) from None
        if options.never_start:
            await asyncio.Event().wait()
        name = start.native_session_id or f"demo-{short_key(start.conversation_id)}"
        return DemoSession(options, name, start.cwd)


class DemoSession(LocalSession):
    """An agent session of the demo."""

    def __init__(self, options: DemoOptions, session_id: str, cwd: str | None) -> None:
        super().__init__()
        self.options = options
        self.session_id = session_id
        # A turn or an answer that is delivered again after a crash is played again. Its blocks then
        # get other ids, as they would from a real model.
        self.key = uuid.uuid4().hex[:8]
        self.cwd = cwd
        self.may_delete = False
        self.works: dict[str, Work] = {}
        self._floor = asyncio.Lock()  # held by the running turn
        self._turn: Turn | None = None
        self._introduced = False
        self._afterwards: list[Callable[[], Awaitable[bool]]] = []

    @property
    def native_session_id(self) -> str | None:
        """Returns the session id, which is derived from the conversation's id."""
        return self.session_id

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        """Plays the scenes that the words of the prompt name."""
        self._check_open()
        text = text_of(content)
        turn = Turn(self, Place.begin(text, short_key(turn_uuid, self.key)), text)
        if not self.options.silent:
            self._start(self._run(turn, play))

    async def steer(self, content: list[Content], *, message_id: str) -> bool:
        """Hands a message to the running turn, which takes it after its current scene."""
        self._check_open()
        if self._turn is None or self._turn.stop.is_set():
            return False
        self._turn.steered.append((message_id, text_of(content)))
        return True

    async def has_taken(self, message_id: str) -> bool:
        """Returns False: the demo remembers nothing."""
        return False

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        """Continues the turn that asked, also if an earlier process asked the question."""
        self._check_open()
        for reply in replies:
            waiting = self._turn.waiting.get(reply.request_id) if self._turn else None
            if waiting is not None and not waiting.done():
                waiting.set_result(reply)
            elif resumed:
                self._start(self._resume(reply))

    async def interrupt(self) -> None:
        """Stops the turn at its next piece, unless the option `obey_interrupt` is off."""
        self._check_open()
        if self._turn is not None and self.options.obey_interrupt:
            self._turn.stop.set()

    async def control(self, control: Control) -> ControlResult:
        """Stops a background task. Refuses every other control."""
        self._check_open()
        if not isinstance(control, StopTask):
            return await super().control(control)
        work = self.works.get(control.task_id)
        if work is None:
            said = f"Nothing called {control.task_id!r} works in the background."
            raise Refused("INVALID_PAYLOAD", said)
        await work.stop()
        self._check_open()  # raises if the task ended because the session was closed
        return Done()

    # --- used by the turns --------------------------------------------------------------------

    def say(self, *events: NormalizedStreamEvent) -> None:
        """Emits these events in one batch."""
        self._say(*events)

    async def let_read(self) -> None:
        """Waits while too many events are unread."""
        await self._let_read()

    async def perish(self) -> None:
        """Ends the session as if killed. In a child process, really kills the process."""
        await self._let_read(0)
        if runs_as_child():
            os.kill(os.getpid(), signal.SIGKILL)
        self._die("The demo was killed in the middle of a tool, as it was asked to.")
        await asyncio.Event().wait()

    def afterwards(self, work: Callable[[], Awaitable[bool]]) -> None:
        """Runs `work` after the turn. If it returns True, a further turn reports its end."""
        self._afterwards.append(work)

    # --- turns --------------------------------------------------------------------------------

    async def _resume(self, reply: Reply) -> None:
        place = Place.from_id(reply.request_id)
        key = short_key(reply.request_id, self.key)
        if place is not None:
            turn = Turn(self, structs.replace(place, turn=key))
            await self._run(turn, partial(play_answered, reply=reply))
        else:
            answer = words_of(reply.answer)
            turn = Turn(self, Place.begin(answer, key))
            await self._run(turn, partial(_tell, text=turn.text("told", answer=answer)))

    async def _run(self, turn: Turn, script: _Script, origin: str | None = None) -> None:
        """Runs a turn. Emits its start and its end, also if it fails or is interrupted."""
        async with self._floor:
            self._turn = turn
            failed, interrupted = None, False
            turn.begin(first=not self._introduced, by_itself=origin is not None)
            self._introduced = True
            try:
                await self._misbehave(turn)
                await script(turn)
            except Stopped:
                interrupted = True
            except Failed as failure:
                failed = failure
            self._turn = None
            turn.end(failed, interrupted=interrupted, origin=origin)
            works, self._afterwards = self._afterwards, []
        for work in works:
            self._start(self._work_on(turn, work))

    async def _work_on(self, turn: Turn, work: Callable[[], Awaitable[bool]]) -> None:
        """Runs background work, then a turn without a prompt that reports it, unless stopped."""
        if not await work():
            return
        place = structs.replace(turn.place, turn=f"{turn.place.turn}r", number=0)
        report = Turn(self, place)
        said = partial(_tell, text=report.text("background_over"))
        await self._run(report, said, "task-notification")

    async def _misbehave(self, turn: Turn) -> None:
        options = self.options
        if options.garbage and runs_as_child():
            for nonsense in _GARBAGE:
                await self._let_read(0)  # each in its own line, so that no other event is lost
                self._say(ev.UnknownEvent(PROVIDER, self.session_id, None, None, "", Raw(nonsense)))
            await self._let_read(0)
        if options.flood:
            each = len(_FLOOD_PIECE) / (options.flood * 1e6)  # seconds
            async with Message(turn) as message:
                await message.flood(_FLOOD_PIECE, max(1, round(options.flood_seconds / each)), each)


def text_of(content: list[Content]) -> str:
    """Returns the text of a message."""
    return "\n".join(part.text for part in content if isinstance(part, TextContent))


async def _tell(turn: Turn, text: str) -> None:
    async with Message(turn) as message:
        await message.text(text)
