"""The agent `replay`: plays a recorded conversation. Each prompt plays the next recorded turn."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from turnwire.agents.local import LocalSession
from turnwire.agents.recording import Beat, RecordedTurn, tool_results, turns_of
from turnwire.core import events as ev
from turnwire.core.content import Content
from turnwire.core.conversation.state import Reply
from turnwire.core.events import NormalizedStreamEvent
from turnwire.ports import AgentCapabilities, AgentGone, AgentSession, SessionStart

__all__ = ["ReplayAgent"]

_LONGEST_PAUSE = 3.0  # seconds; longer pauses of the recording are shortened
_NAME = "replay:"
_SAMPLE = Path(__file__).parents[1] / "samples" / "tour.jsonl"


class ReplayAgent:
    """Plays recorded output of Claude Code. Prompts and answers do not change what is played."""

    name = "replay"
    description = "Plays a recorded conversation of Claude Code."
    capabilities = AgentCapabilities(
        questions_survive=True, forks=True, takes_recap=False, reasons=True, delegates=True
    )

    def __init__(
        self,
        recording: str | Path | None = None,
        speed: float = 1.0,
        longest_pause: float = _LONGEST_PAUSE,
    ) -> None:
        """Uses the sample recording of Turnwire if `recording` is None.

        `speed` 2 is twice as fast; 0 plays without pauses. A pause of more than `longest_pause`
        seconds in the recording is shortened to that.
        """
        self._path = Path(recording or _SAMPLE)
        self._speed = speed
        self._longest_pause = longest_pause

    def unavailable(self) -> str | None:
        """Returns why the agent cannot be used: the recording does not exist. Else None."""
        if self._path.is_file():
            return None
        return f"There is no recording {self._path.name}. Name another one."

    async def version(self) -> str | None:
        """Returns None: a recording has no version."""
        return None

    async def open(self, start: SessionStart) -> AgentSession:
        """Reads the recording. A resumed session or a fork continues with the next turn."""
        try:
            turns = await asyncio.to_thread(turns_of, self._path)
        except OSError as error:
            reason = error.strerror or str(error)
            raise AgentGone(f"The recording {self._path.name} cannot be read: {reason}.") from error
        played = (start.native_session_id or "").removeprefix(_NAME)
        forked = 0 if start.fork is None else start.fork.turns
        number = int(played) if played.isdigit() else forked
        return ReplaySession(turns, number, self._speed, self._longest_pause)


class _Growing(Struct):
    """A message that is being streamed."""

    begun: ev.MessageStarted
    finished: int = 0  # number of completed blocks


class ReplaySession(LocalSession):
    """An agent session that plays one recording."""

    def __init__(
        self, turns: list[RecordedTurn], played: int, speed: float, longest_pause: float
    ) -> None:
        super().__init__()
        self._turns = turns
        self._played = played  # number of turns, including the running one
        self._speed = speed
        self._longest_pause = longest_pause
        self._floor = asyncio.Lock()  # one turn at a time
        self._stop = asyncio.Event()
        self._in_turn = False
        self._whose = ("replay", "replay", None, None)
        self._streaming: dict[tuple[str | None, str], _Growing] = {}
        self._asked: dict[str, ev.QuestionAsked | ev.PermissionRequested] = {}  # by tool call
        self._answered = asyncio.Event()

    @property
    def native_session_id(self) -> str | None:
        """Returns an id that contains the number of turns played so far."""
        return f"{_NAME}{self._played}"

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        """Plays the next turn, and the turns after it that the agent began by itself."""
        self._check_open()
        self._start(self._play_next())

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        """Continues the recording. The content of the answers changes nothing."""
        self._check_open()
        for reply in replies:
            for call, request in list(self._asked.items()):
                if reply.request_id in (call, request.request_id):
                    del self._asked[call]
            self._answered.set()
        if resumed and replies:
            self._start(self._resume(replies[-1]))

    async def interrupt(self) -> None:
        """Skips the rest of the turn."""
        self._check_open()
        if self._in_turn:
            self._stop.set()

    # --- playing ------------------------------------------------------------------------------

    async def _play_next(self) -> None:
        async with self._floor:
            if self._played >= len(self._turns):
                self._over()
                return
            self._played += 1
            await self._play(self._turns[self._played - 1].beats)
            await self._play_unprompted()

    async def _play_unprompted(self) -> None:
        while self._played < len(self._turns) and not self._turns[self._played].prompted:
            self._played += 1
            await self._play(self._turns[self._played - 1].beats)

    async def _resume(self, reply: Reply) -> None:
        """Plays the rest of a turn whose question was asked by an earlier process."""
        async with self._floor:
            for number, turn in enumerate(self._turns, 1):
                position = turn.position_of(reply.request_id)
                if position is None:
                    continue
                self._played = max(self._played, number)
                rest = turn.beats[position:]
                began = ev.TurnStarted(*self._fields(rest))
                await self._play([Beat(0.0, [began]), *_whole_messages(rest)])
                await self._play_unprompted()
                return
            self._over()

    async def _play(self, beats: list[Beat]) -> None:
        self._stop.clear()
        for beat in beats:
            if not await self._pause(beat):
                self._cut()
                return
            for event in beat.events:
                self._follow(event)
            self._say(*beat.events)
            await self._let_read()

    async def _pause(self, beat: Beat) -> bool:
        """Waits for the recorded pause and for open requests. Returns False if interrupted."""
        seconds = min(beat.after, self._longest_pause) / self._speed if self._speed > 0 else 0.0
        if seconds > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._stop.wait()
        else:
            await asyncio.sleep(0)
        while self._waits(beat) and not self._stop.is_set():
            self._answered.clear()
            await self._answered_or_stopped()
        return not (self._stop.is_set() and self._in_turn)

    async def _answered_or_stopped(self) -> None:
        waits = [asyncio.create_task(event.wait()) for event in (self._answered, self._stop)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _waits(self, beat: Beat) -> bool:
        """Returns True if this beat was recorded after an answer that is still missing now."""
        open_requests = {asked.request_id for asked in self._asked.values()}
        for event in beat.events:
            if self._asked.keys() & tool_results(event):
                return True
            if isinstance(event, ev.RequestWithdrawn) and event.request_id in open_requests:
                return True  # an interrupt withdrew it in the recording, but not in this session
            voice = event.parent_tool_use_id
            mine = [asked for asked in self._asked.values() if asked.parent_tool_use_id == voice]
            if mine and isinstance(
                event, ev.QuestionAsked | ev.PermissionRequested | ev.TurnCompleted | ev.TurnFailed
            ):
                return True
        return False

    def _follow(self, event: NormalizedStreamEvent) -> None:
        """Tracks open requests and messages, so that an interrupt can end them."""
        match event:
            case ev.TurnStarted():
                self._in_turn = True
                self._whose = (event.provider, event.session_id, None, None)
            case ev.TurnCompleted() | ev.TurnFailed():
                self._in_turn = False
            case ev.MessageStarted():
                self._streaming[event.parent_tool_use_id, event.message_id] = _Growing(event)
            case ev.AssistantMessage():
                growing = self._streaming.get((event.parent_tool_use_id, event.message_id))
                if growing is not None:
                    growing.finished = max(growing.finished, event.index + len(event.content))
            case ev.MessageCompleted() | ev.MessageDiscarded():
                self._streaming.pop((event.parent_tool_use_id, event.message_id), None)
            case ev.QuestionAsked() | ev.PermissionRequested():
                self._asked[event.tool_use_id] = event
            case ev.RequestWithdrawn(request_id=gone):
                kept = self._asked.items()
                self._asked = {call: asked for call, asked in kept if asked.request_id != gone}
            case _:
                pass

    # --- endings that were not recorded -------------------------------------------------------

    def _cut(self) -> None:
        """Ends the turn after an interrupt: withdraws requests and discards open messages."""
        for asked in self._asked.values():
            self._say(ev.RequestWithdrawn(*self._whose, asked.request_id))
        for growing in self._streaming.values():
            said, void = growing.begun, growing.finished
            whose = (said.provider, said.session_id, said.parent_tool_use_id, said.agent_id)
            self._say(ev.MessageDiscarded(*whose, said.message_id, void, "turn_ended"))
        self._asked.clear()
        self._streaming.clear()
        self._in_turn = False
        self._say(
            ev.TurnCompleted(*self._whose, None, True),
            ev.ResultSummary(*self._whose, "interrupted", False),
        )

    def _over(self) -> None:
        why = "The recording is over."
        self._say(
            ev.TurnStarted(*self._whose),
            ev.TurnFailed(*self._whose, "recording_over", why),
            ev.ResultSummary(*self._whose, "recording_over", True, errors=[why]),
        )

    def _fields(self, beats: list[Beat]) -> tuple[str, str, None, None]:
        for beat in beats:
            for event in beat.events:
                return event.provider, event.session_id, None, None
        return "replay", "replay", None, None


_STREAMED = (
    ev.ContentStarted,
    ev.ContentDelta,
    ev.ContentCompleted,
    ev.UsageUpdated,
    ev.MessageCompleted,
    ev.MessageDiscarded,
)


def _whole_messages(beats: list[Beat]) -> list[Beat]:
    """Drops the stream events of messages that began before the question."""
    begun: set[str] = set()
    kept: list[Beat] = []
    for beat in beats:
        events: list[NormalizedStreamEvent] = []
        for event in beat.events:
            if isinstance(event, ev.MessageStarted):
                begun.add(event.message_id)
            if isinstance(event, _STREAMED) and event.message_id not in begun:
                continue
            events.append(event)
        if events:
            kept.append(Beat(beat.after, events))
    return kept
