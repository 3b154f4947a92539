"""Checks the log of a conversation: its numbers, its turns, its tools, and what waits for a person."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from turnwire.core.questions import asks_a_person
from turnwire.core.status import Status, TurnEnd
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.check_blocks import BlockCheck
from turnwire.dialects.v2.check_connection import Say
from turnwire.dialects.v2.frames import ServerFrame

__all__ = ["LogCheck"]


class _End(Struct, frozen=True, gc=False):
    """How a turn ended, as it was first said."""

    mark: int
    after: int


class _Request(Struct, frozen=True, gc=False):
    """A question or a permission that is open."""

    turn_id: int | None
    tool_use_id: str


class LogCheck:
    """One log, as far as this client got to know it. Another epoch is another log."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self.head = 0  # the newest number that is known
        self.whole = True  # nothing was passed over, so that what is not known is not there
        self._marks: dict[int, int] = {}  # number -> a hash of the entry, to know it again
        self._last_turn = 0
        self._open_turn: int | None = None
        self._taken_up: str | None = None  # the queued message that it is about
        self._queue: set[str] = set()
        self._ends: dict[int, _End] = {}
        self._interrupted: set[int] = set()
        self._traces: dict[int, str] = {}
        self._turn_of_trace: dict[str, int] = {}
        self._calls: dict[str, int | None] = {}  # without a result, and the turn of each
        self._own_calls: dict[
            int | None, dict[str, None]
        ] = {}  # those of the agent itself, by turn
        self._answered: set[str] = set()
        self._requests: dict[str, _Request] = {}  # open
        self._own_requests: dict[int | None, dict[str, None]] = {}
        self._waiting_calls: set[str] = set()  # those that an open request is about
        self._resolved: set[str] = set()
        self.entries = self.turns = self.tools = 0  # for the report
        self.blocks = BlockCheck(say)

    # --- connections --------------------------------------------------------------------------

    def connected(self, info: p.SessionInfo) -> None:
        """A connection begins in this log."""
        self.blocks.connection += 1
        self._open_turn = None  # the state will say
        if info.head < self.head:
            self._say("head_backwards", f"head {info.head}, but entry {self.head} was there")
        if info.first - 1 > self.head:
            self.whole = False
            self.head = info.first - 1

    def replayed_all(self, first: int, turns: set[int]) -> None:
        """The replay is over: these turns' ends were in it."""
        for turn_id in reversed(self._ends):
            if self._ends[turn_id].after < first - 1:
                break  # they are in the order of the log
            if turn_id not in turns:
                self._say("complete_not_replayed", f"the end of turn {turn_id}")

    # --- numbers ------------------------------------------------------------------------------

    def trace(self, turn_id: int | None, trace_id: str | None) -> None:
        """The trace of any frame."""
        if turn_id is None or trace_id is None:
            if turn_id is not trace_id:  # type: ignore[comparison-overlap]  # one of them is None
                self._say("wrong_trace", f"turn {turn_id}, trace {trace_id}")
            return
        known = self._traces.setdefault(turn_id, trace_id)
        other = self._turn_of_trace.setdefault(trace_id, turn_id)
        if known != trace_id or other != turn_id:
            self._say("wrong_trace", f"turn {turn_id} has another one, or {trace_id} another turn")

    def is_new(self, number: int, value: dict[str, Any], *, live: bool) -> bool:
        """Whether an entry was not known before; what is known must be the same as it was."""
        mark = _mark(value)
        if number in self._marks:
            if live:
                self._say("message_sequence_gap", f"entry {number} again, after {self.head}")
            elif self._marks[number] != mark:
                self._say("replay_differs", f"entry {number}")
            return False
        if live and number != self.head + 1:
            self._say("message_sequence_gap", f"entry {number} after {self.head}")
        self._marks[number] = mark
        self.head = max(self.head, number)
        self.entries += 1
        return True

    # --- turns --------------------------------------------------------------------------------

    def turn_started(self, frame: f.TurnStarted) -> None:
        """turn.started, which is never replayed."""
        start = frame.payload
        turn_id = frame.turn_id or start.turn_id
        if start.turn_id != turn_id:
            self._say("turn_started_wrongly", f"turn {start.turn_id} in a frame of turn {turn_id}")
        if start.origin == "resume":
            if turn_id in self._ends or turn_id != (self._open_turn or turn_id):
                self._say("turn_started_wrongly", f"turn {turn_id} cannot go on")
        elif turn_id <= self._last_turn and not self._waited_again(turn_id, start):
            self._say("turn_started_wrongly", f"turn {turn_id} after {self._last_turn}")
        elif self._open_turn is not None:
            self._say("turn_overlaps", f"turn {turn_id} while {self._open_turn} runs")
        self._note_turn(turn_id)
        self._open_turn, self._taken_up = turn_id, start.queue_id

    def _waited_again(self, turn_id: int, start: p.TurnStart) -> bool:
        """Whether it had started, and the server stopped before its agent knew of it."""
        return start.queue_id in self._queue and turn_id not in self._ends

    @property
    def _may_have_started(self) -> bool:
        """Whether what waits may have had its turn.started in a part of the log that is not here."""
        return not self.whole and bool(self._queue)

    def _note_turn(self, turn_id: int) -> None:
        if turn_id > self._last_turn:
            self.turns += 1
            self._last_turn = turn_id

    def about_turn(self, frame: f.Frame, *, live: bool) -> None:
        """Any frame that tells of a turn."""
        turn_id = frame.turn_id
        if turn_id is None:
            return
        if live and turn_id > self._last_turn and not self._may_have_started:
            self._say("turn_not_started", f"turn {turn_id}")
            self._open_turn = turn_id  # said once
        self._note_turn(turn_id)
        if (
            live
            and turn_id in self._ends
            and not isinstance(frame, f.SessionSystemEvent)
            and _parent(frame) is None
        ):
            self._say("after_complete", f"a frame of turn {turn_id}")

    def complete(self, frame: f.AssistantComplete, value: dict[str, Any], *, live: bool) -> None:
        """assistant.complete, live or replayed."""
        turn_id, end = frame.turn_id, frame.payload
        if turn_id is None:
            self._say("wrong_complete", "it names no turn")
            return
        mark = _mark(value)
        if turn_id in self._ends:
            if live:
                self._say("complete_twice", f"turn {turn_id}")
            elif self._ends[turn_id].mark != mark:
                self._say("replay_differs", f"the end of turn {turn_id}")
            return
        if live and turn_id > self._last_turn and not self._may_have_started:
            self._say("turn_not_started", f"turn {turn_id}")
        self._note_turn(turn_id)
        self._ends[turn_id] = _End(mark, end.after_sequence)
        if self._open_turn == turn_id:
            self._open_turn = None
        if live and end.after_sequence != self.head:
            said = f"after_sequence {end.after_sequence}, but the newest entry is {self.head}"
            self._say("wrong_complete", said)
        self._check_end(turn_id, end)
        self.blocks.turn_ended(turn_id)
        for call_id in self._own_calls.pop(turn_id, {}):
            self._say("result_missing", f"{call_id} when turn {turn_id} ended")
        for request_id in self._own_requests.pop(turn_id, {}):
            self._say("request_left_open", f"{request_id} when turn {turn_id} ended")

    def _check_end(self, turn_id: int, end: TurnEnd) -> None:
        if end.interrupted is not (turn_id in self._interrupted) and (
            self.whole or turn_id in self._interrupted
        ):
            said = "was" if turn_id in self._interrupted else "was not"
            self._say("wrong_complete", f"turn {turn_id} {said} interrupted")
        if end.is_error is not (end.error is not None):
            self._say("wrong_complete", f"turn {turn_id}: is_error without error, or error without")

    # --- entries ------------------------------------------------------------------------------

    def entry(self, frame: ServerFrame) -> None:
        """What an entry that is new means, live or replayed."""
        match frame:
            case f.AssistantToolCall():
                self._call(frame, frame.payload.tool_use_id)
                self.blocks.finished(frame)
                if asks_a_person(frame.payload.tool_name):
                    self._say("question_as_tool_call", frame.payload.tool_use_id)
            case f.AssistantChunk() | f.AssistantThinking() | f.AssistantBlock():
                self.blocks.finished(frame)
            case f.AssistantRequestInput():
                asked = frame.payload
                self._call(frame, asked.question_id)
                if asked.block_id != asked.question_id:
                    self._say("wrong_block", f"block_id is {asked.block_id}, not the question's id")
                self.blocks.finish(asked.block_id)
                self._request(frame, asked.question_id, asked.question_id)
            case f.AssistantPermissionRequest():
                self._request(frame, frame.payload.request_id, frame.payload.tool_use_id)
            case f.AssistantRequestResolved():
                self._resolve(frame.payload.request_id)
            case f.AssistantToolResult():
                self._result(frame.payload.tool_use_id)
            case f.ConversationInterrupted(turn_id=int(turn_id)):
                self._interrupted.add(turn_id)
            case _:
                pass

    def _call(self, frame: f.AssistantToolCall | f.AssistantRequestInput, call_id: str) -> None:
        self.tools += 1
        self._calls[call_id] = frame.turn_id
        if frame.payload.parent_tool_use_id is None:
            self._own_calls.setdefault(frame.turn_id, {})[call_id] = None

    def _result(self, call_id: str) -> None:
        if call_id in self._waiting_calls:
            self._say("result_while_waiting", call_id)
        if call_id in self._calls:
            self._own_calls.get(self._calls.pop(call_id), {}).pop(call_id, None)
        elif call_id in self._answered:
            self._say("result_twice", call_id)
        elif self.whole:
            self._say("result_without_call", call_id)
        self._answered.add(call_id)

    def progress(self, call_id: str) -> None:
        """assistant.tool_progress."""
        if call_id not in self._calls and (self.whole or call_id in self._answered):
            self._say("progress_out_of_place", call_id)

    def _request(
        self,
        frame: f.AssistantRequestInput | f.AssistantPermissionRequest,
        request_id: str,
        call_id: str,
    ) -> None:
        if request_id in self._requests or request_id in self._resolved:
            self._say("request_twice", request_id)
        self._requests[request_id] = _Request(frame.turn_id, call_id)
        self._waiting_calls.add(call_id)
        if frame.payload.parent_tool_use_id is None:
            self._own_requests.setdefault(frame.turn_id, {})[request_id] = None

    def _resolve(self, request_id: str) -> None:
        request = self._requests.pop(request_id, None)
        if request is not None:
            self._own_requests.get(request.turn_id, {}).pop(request_id, None)
            self._waiting_calls.discard(request.tool_use_id)
        elif self.whole or request_id in self._resolved:
            self._say("resolved_not_open", request_id)
        self._resolved.add(request_id)

    # --- the state ----------------------------------------------------------------------------

    def state(self, frame: f.SessionState, max_queue: int, *, first: bool) -> None:
        """session.state must agree with all that was said before; `first` is a connection's."""
        status = frame.payload
        before, self._queue = self._queue, {item.queue_id for item in status.queue}
        if status.turn_id is None and status.queue:
            next_one = status.queue[0].queue_id
            if next_one == self._taken_up or (self._taken_up is None and next_one not in before):
                self._open_turn = None  # it waits again
        if fault := _fault(status):
            self._say("wrong_state", fault)
        elif frame.turn_id not in (None, status.turn_id):
            self._say("wrong_state", f"turn {status.turn_id} in a frame of turn {frame.turn_id}")
        elif status.turn_id is not None and status.turn_id in self._ends:
            self._say("wrong_state", f"turn {status.turn_id} has ended")
        elif not first and status.turn_id != self._open_turn:
            self._say("wrong_state", f"turn {status.turn_id}, but turn {self._open_turn} runs")
        if first and status.turn_id is not None:
            self._note_turn(status.turn_id)
            self._open_turn, self._taken_up = status.turn_id, None
        listed = {request.request_id for request in status.requests}
        missing, over = set(self._requests) - listed, listed - set(self._requests)
        if missing or over & self._resolved or (over and self.whole):
            self._say("wrong_requests", ", ".join(sorted(missing | over)))
        most = max_queue + (status.turn_id is None)  # one that had started may wait again
        if len(self._queue) < len(status.queue) or len(status.queue) > most:
            said = f"{len(status.queue)} messages under {len(self._queue)} ids, at most {most}"
            self._say("wrong_queue", said)


def _fault(status: Status) -> str | None:
    if (status.state == "waiting_input") is not bool(status.requests):
        return f"{status.state} with {len(status.requests)} open requests"
    # A request of background work may be open while no turn is. And a turn whose last request has
    # just been answered is active until its agent speaks again.
    runs = f"{status.state} with turn {status.turn_id} and running {str(status.running).lower()}"
    if status.state == "streaming" and (status.turn_id is None or not status.running):
        return runs
    if status.state in ("interrupted", "error") and (status.turn_id is not None or status.running):
        return runs
    if status.running and status.turn_id is None:
        return runs
    if (status.last_turn is None) is not (status.last_turn_id is None):
        return "last_turn and last_turn_id belong together"
    return None


def _parent(frame: f.Frame) -> str | None:
    return getattr(frame.payload, "parent_tool_use_id", None)  # type: ignore[attr-defined]  # every kind of frame has one


def _mark(value: dict[str, Any]) -> int:
    """A hash stands for a whole frame. Its `sequence` belongs to a connection, not to it."""
    return hash(msgspec.json.encode({**value, "sequence": None}, order="sorted"))
