"""A recorded stream as the frames that one client would have got, and any client that comes later."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from msgspec import Struct

from turnwire.core import blocks
from turnwire.core import events as ev
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.finished import Finished, FinishedStream
from turnwire.core.opening import start_of
from turnwire.core.recent import Recent
from turnwire.core.status import (
    BackgroundTask,
    OpenRequest,
    Outcome,
    RunState,
    Status,
    Totals,
    TurnEnd,
    TurnOrigin,
    with_turn,
)
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.figures import turn_end
from turnwire.dialects.v2.opening import opening, state_frame
from turnwire.dialects.v2.partials import Partials
from turnwire.dialects.v2.pending import Call, Pending
from turnwire.dialects.v2.project import tell
from turnwire.dialects.v2.tasks import background_tasks

__all__ = ["Session"]

_NO_TIME = "1970-01-01T00:00:00.000Z"
_UNFINISHED = "The turn ended before this tool gave a result."
_LOST = "the agent's stream ended in the middle of a turn"
_MAX_ASKED = 4096
_LIMITS = p.Limits(1_048_576, 0, 15)

_Frames: TypeAlias = list[f.Frame]
_Place: TypeAlias = tuple[int | None, str | None]  # the turn, and its trace


class Session:
    """Takes the events of one conversation and gives the frames of one connection to it.

    Frames have no `sequence`: the first of all is 1, and so on. `trace_of` gives a turn's trace id.
    Without `now`, the time is the latest that an event has said, as it is in a recording, and
    before the first of them `began`. With `keep`, clients may come later: everything durable is
    kept for them.
    """

    def __init__(
        self,
        conversation_id: str,
        *,
        trace_of: Callable[[int], str],
        agent: str = "claude",
        epoch: str = "recorded",
        keep: bool = False,
        began: str = _NO_TIME,
    ) -> None:
        self._conversation_id = conversation_id
        self._trace_of = trace_of
        self._agent = agent
        self._epoch = epoch
        self._kept: _Frames | None = [] if keep else None
        self._connections = 0
        self._finished = FinishedStream()
        self._partials = Partials(conversation_id)
        self._pending = Pending()
        self._asked = Recent(_MAX_ASKED)  # permissions, so that each is asked for once
        self._head = 0  # the number of the newest entry
        self._now = began
        self._has_clock = False
        # The turn: it runs, it is deferred (it waits for an answer), or it is over.
        self._turn = 0
        self._running = False
        self._deferred = False
        self._origin: TurnOrigin = "user"
        self._outside: _Place = (None, None)
        self._inside: _Place = self._outside  # of the latest turn
        self._here: _Place = self._outside  # where the agent itself speaks now
        # Each waits for one more event: an init for its turn, an end for its figures.
        self._waits = False
        self._init: ev.SessionInit | None = None
        self._ending: ev.TurnCompleted | ev.TurnFailed | None = None
        self._figures: list[ev.ResultSummary] = []
        # The state.
        self._tasks: list[BackgroundTask] = []
        self._last_turn: TurnEnd | None = None
        self._last_turn_id: int | None = None
        self._totals: Totals | None = None
        self._model: str | None = None
        self._permission_mode: str | None = None
        self._status = self._status_now()
        self._changed = False
        self._handlers: dict[type, Callable[[Any, _Frames], None]] = {
            ev.SessionInit: self._on_init,
            ev.TurnStarted: self._on_turn,
            ev.TurnCompleted: self._on_turn_end,
            ev.TurnFailed: self._on_turn_end,
            ev.MessageStarted: self._on_unfinished,
            ev.ContentStarted: self._on_live,
            ev.ContentCompleted: self._on_unfinished,
            ev.AssistantMessage: self._on_assistant,
            ev.MessageCompleted: self._on_message_end,
            ev.MessageDiscarded: self._on_message_end,
            ev.UserMessage: self._on_user,
            ev.QuestionAsked: self._on_question,
            ev.PermissionRequested: self._on_permission,
            ev.RequestWithdrawn: self._on_withdrawn,
            ev.ToolProgress: self._on_live,
            **dict.fromkeys(ev.SYSTEM_EVENTS, self._on_system),
            ev.UnknownEvent: self._write_all,
            ev.PlanUpdated: self._write_all,
        }
        self._notes: dict[type, Callable[[Any], None]] = {
            f.AssistantChunk: self._note_block,
            f.AssistantThinking: self._note_block,
            f.AssistantBlock: self._note_block,
            f.AssistantToolCall: self._note_call,
            f.AssistantRequestInput: self._note_question,
        }

    # --- connecting ---------------------------------------------------------------------------

    def connect(
        self, last_sequence: int = 0, *, epoch: str | None = None, now: str | None = None
    ) -> _Frames:
        """The first frames of a connection that begins now. What it missed must have been kept."""
        self._now = now or self._now
        self._connections += 1
        start = start_of(last_sequence, epoch, head=self._head, epoch_now=self._epoch)
        if self._kept is None and self._head > start.after:
            raise ValueError("there is something to replay: make the session with keep=True")
        info = p.SessionInfo(
            f"c-{self._connections}",
            "recording",
            self._epoch,
            start.after + 1,
            self._head,
            p.Capabilities(self._agent, []),
            _LIMITS,
        )
        missed = [frame for frame in self._kept or () if _is_missed(frame, start.after)]
        trace_id = self._inside[1]
        first = opening(
            self._conversation_id, start, info, missed, self._status, trace_id, self._now
        )
        return first + self._partials.snapshots(self._now)

    # --- events -------------------------------------------------------------------------------

    def feed(self, event: NormalizedStreamEvent, *, now: str | None = None) -> _Frames:
        """The frames that one event means, in order; often one, sometimes none."""
        return self.feed_all((event,), now=now)

    def feed_all(
        self, events: Iterable[NormalizedStreamEvent], *, now: str | None = None
    ) -> _Frames:
        """The same for events that are there together: neighbouring pieces of a block are joined."""
        self._now = now or self._now
        self._has_clock = now is not None
        out: _Frames = []
        pieces: list[ev.ContentDelta] = []
        handlers = self._handlers
        for event in events:
            if self._waits:
                self._release(event, out)
            if type(event) is ev.ContentDelta:
                if pieces and pieces[0].parent_tool_use_id != event.parent_tool_use_id:
                    self._grow(pieces, out)
                    pieces = []
                pieces.append(event)
                continue
            if pieces:
                self._grow(pieces, out)
                pieces = []
            handle = handlers.get(type(event))
            if handle is not None:
                handle(event, out)
                if self._changed:
                    self._tell_state(out)
        if pieces:
            self._grow(pieces, out)
        return out

    def finish(self, *, now: str | None = None) -> _Frames:
        """The events are over. A turn that still runs was lost with the agent."""
        self._now = now or self._now
        out: _Frames = []
        self._release(None, out)
        if self._running:
            lost = ev.TurnFailed(self._agent, "", None, None, "agent_lost", _LOST)
            self._on_turn_end(lost, out)
            self._release(None, out)
        return out

    def _grow(self, pieces: list[ev.ContentDelta], out: _Frames) -> None:
        turn_id, trace_id = self._place(pieces[0].parent_tool_use_id)
        out += self._partials.feed_all(pieces, turn_id, trace_id, self._now)

    def _release(self, event: NormalizedStreamEvent | None, out: _Frames) -> None:
        """What had to wait for one more event goes out."""
        if self._init is not None and type(event) is not ev.TurnStarted:
            self._tell_init(out)
        if self._ending is not None:
            if type(event) is ev.ResultSummary:
                self._figures.append(event)
            self._end_turn(self._ending, out)
        self._waits = self._init is not None
        if self._changed and not self._waits:
            self._tell_state(out)

    # --- turns --------------------------------------------------------------------------------

    def _on_init(self, e: ev.SessionInit, out: _Frames) -> None:
        self._init = e
        if self._running:
            self._tell_init(out)
        else:
            self._waits = True  # it belongs to the turn that begins with the next event

    def _tell_init(self, out: _Frames) -> None:
        init, self._init = self._init, None
        if init is not None:
            self._model, self._permission_mode = init.model, init.permission_mode
            self._changed = True
            self._write_all(init, out)

    def _on_turn(self, e: ev.TurnStarted, out: _Frames) -> None:
        if not self._running:
            self._begin("agent" if e.by_itself else "user", out)
        self._waits = False
        self._tell_init(out)

    def _begin(self, origin: TurnOrigin, out: _Frames) -> None:
        if self._deferred:
            origin = "resume"
        else:
            self._turn += 1
            turn = self._turn
            self._inside = (turn, self._trace_of(turn))
            self._origin = origin
            self._figures = []
        self._here = self._inside
        self._running, self._deferred, self._changed = True, False, True
        turn_id, trace_id = self._inside
        start = p.TurnStart(self._turn, origin)
        out.append(f.TurnStarted(self._conversation_id, turn_id, None, self._now, trace_id, start))

    def _on_turn_end(self, e: ev.TurnCompleted | ev.TurnFailed, out: _Frames) -> None:
        if not self._running:
            self._begin("user", out)
        stopped = isinstance(e, ev.TurnCompleted) and e.interrupted
        if isinstance(e, ev.TurnFailed) or e.deferred_tool_use_id is None:
            self._close(e, "interrupt" if stopped else "agent", out)
        elif call := self._pending.unasked(e.deferred_tool_use_id):
            # The turn waits at this call, so somebody has to be asked.
            self._head += 1
            asked = p.PermissionAsked(
                call.tool_use_id,
                call.tool_use_id,
                call.tool_name,
                call.input,
                self._head,
                parent_tool_use_id=call.parent_tool_use_id,
                agent_id=call.agent_id,
            )
            self._ask(asked, self._inside, out)
        if stopped:
            self._head += 1
            receipt = p.Interrupted("user", self._head, acknowledged=True)
            self._send(f.ConversationInterrupted, receipt, self._inside, out)
        self._ending = e
        self._waits = True

    def _close(self, e: NormalizedStreamEvent, by: str, out: _Frames) -> None:
        """Every request ends, and every call gets a result, however the turn ends."""
        requests, calls = self._pending.of_the_turn()
        for request in requests:
            self._resolve(request, "cancelled", by, out)
        for call in calls:
            result = blocks.ToolResultBlock(call.tool_use_id, _UNFINISHED, True, "failed")
            said = ev.UserMessage(
                e.provider, e.session_id, call.parent_tool_use_id, call.agent_id, [result], "tool"
            )
            self._write_all(said, out)
            self._pending.answered(call.tool_use_id)  # also where its result was told before

    def _end_turn(self, e: ev.TurnCompleted | ev.TurnFailed, out: _Frames) -> None:
        self._ending = None
        self._running = False
        self._changed = True
        if isinstance(e, ev.TurnCompleted) and e.deferred_tool_use_id is not None:
            self._deferred = True
            return
        end = turn_end(e, self._figures, self._origin, self._head)
        self._last_turn, self._last_turn_id = end, self._turn
        self._totals = with_turn(self._totals or Totals(), end)
        self._here = self._outside
        self._send(f.AssistantComplete, end, self._inside, out)

    # --- what is said -------------------------------------------------------------------------

    def _on_unfinished(self, e: Any, out: _Frames) -> None:
        self._finished.feed(e)  # it only takes note

    def _on_live(self, e: Any, out: _Frames) -> None:
        parent = e.parent_tool_use_id
        turn_id, trace_id = self._here if parent is None else self._place(parent)
        out += self._partials.feed_all((e,), turn_id, trace_id, self._now)

    def _on_message_end(self, e: ev.MessageCompleted | ev.MessageDiscarded, out: _Frames) -> None:
        self._write_all(e, out)
        self._on_live(e, out)  # blocks that are not finished now will never be

    def _on_assistant(self, e: ev.AssistantMessage, out: _Frames) -> None:
        if not self._has_clock:
            self._now = e.timestamp or self._now
        self._write_all(e, out)

    def _on_user(self, e: ev.UserMessage, out: _Frames) -> None:
        if not self._has_clock:
            self._now = e.timestamp or self._now
        if e.origin == "user" and not self._running and e.parent_tool_use_id is None:
            self._begin("user", out)
        self._write_all(e, out)

    def _on_system(self, e: ev.SystemEvent, out: _Frames) -> None:
        if e.ephemeral:
            parent = e.parent_tool_use_id
            turn_id, trace_id = self._here if parent is None else self._place(parent)
            out += self._partials.feed_all((e,), turn_id, trace_id, self._now)
            if isinstance(e, ev.TasksListed):
                self._tasks = background_tasks(e.tasks, self._tasks, self._here[0])
                self._changed = True
        else:
            self._write_all(e, out)

    # --- what waits for a person --------------------------------------------------------------

    def _on_question(self, e: ev.QuestionAsked, out: _Frames) -> None:
        self._pending.named(e.request_id, e.tool_use_id)

    def _on_permission(self, e: ev.PermissionRequested, out: _Frames) -> None:
        if not self._asked.is_new(e.request_id):
            return
        self._head += 1
        asked = p.PermissionAsked(
            e.request_id,
            e.tool_use_id,
            e.tool_name,
            e.input,
            self._head,
            None,
            None,
            e.title,
            e.description,
            e.suggestions,
            e.blocked_path,
            e.reason,
            e.parent_tool_use_id,
            e.agent_id,
        )
        self._ask(asked, self._place(e.parent_tool_use_id), out)

    def _ask(self, asked: p.PermissionAsked, place: _Place, out: _Frames) -> None:
        self._pending.permission(asked, place[0])
        self._changed = True
        self._send(f.AssistantPermissionRequest, asked, place, out)

    def _on_withdrawn(self, e: ev.RequestWithdrawn, out: _Frames) -> None:
        request = self._pending.find(e.request_id)
        if request is not None:
            self._resolve(request, "cancelled", "agent", out)

    def _resolve(
        self, request: OpenRequest, outcome: Outcome, by: str | None, out: _Frames
    ) -> None:
        self._pending.resolved(request)
        self._changed = True
        self._head += 1
        end = p.RequestResolved(
            request.request_id,
            outcome,
            self._head,
            by,
            parent_tool_use_id=request.parent_tool_use_id,
            agent_id=request.agent_id,
        )
        place = self._outside if request.turn_id is None else self._turn_place(request.turn_id)
        self._send(f.AssistantRequestResolved, end, place, out)

    # --- the state ----------------------------------------------------------------------------

    def _tell_state(self, out: _Frames) -> None:
        self._changed = False
        status = self._status_now()
        if status != self._status:
            self._status = status
            trace_id = self._inside[1]
            out.append(state_frame(self._conversation_id, status, trace_id, self._now))

    def _status_now(self) -> Status:
        requests, last = self._pending.requests, self._last_turn
        state: RunState = "active"
        if requests:
            state = "waiting_input"
        elif self._running:
            state = "streaming"
        elif last is not None:
            state = "interrupted" if last.interrupted else "error" if last.is_error else "active"
        return Status(
            state,
            self._running,
            [],
            requests,
            None,
            self._turn if self._running or self._deferred else None,
            False,
            self._tasks,
            self._model,
            self._permission_mode,
            last,
            self._last_turn_id,
            None,
            self._totals,
        )

    # --- entries ------------------------------------------------------------------------------

    def _write_all(self, e: NormalizedStreamEvent, out: _Frames) -> None:
        """Tell what an event finishes."""
        parent = e.parent_tool_use_id
        place = self._here if parent is None else self._place(parent)
        for finished in self._finished.feed(e):
            if finished.role == "tool":
                self._answer(finished, out)
            self._write(finished, place, out)

    def _answer(self, finished: Finished, out: _Frames) -> None:
        """A result ends what its call was waiting for, and comes after that."""
        tool_use_id = finished.parts[0].payload.tool_call_id  # type: ignore[union-attr]
        for request in self._pending.answered(tool_use_id):
            self._resolve(request, "answered", None, out)

    def _write(self, finished: Finished, place: _Place, out: _Frames) -> None:
        """Give a finished thing its number and tell it."""
        self._head += 1
        turn_id, trace_id = place
        frame = tell(finished, self._head, self._conversation_id, turn_id, self._now, trace_id)
        if self._kept is not None:
            self._kept.append(frame)
        out.append(frame)
        note = self._notes.get(type(frame))
        if note is not None:
            note(frame)

    def _send(
        self, kind: Callable[..., f.Frame], payload: Struct, place: _Place, out: _Frames
    ) -> None:
        """Tell what this session has to say itself, and keep it for those who come later."""
        turn_id, trace_id = place
        frame = kind(self._conversation_id, turn_id, None, self._now, trace_id, payload)
        if self._kept is not None:
            self._kept.append(frame)
        out.append(frame)

    def _note_block(self, frame: f.AssistantChunk) -> None:
        self._partials.closed(frame.payload.message_id, frame.payload.index)

    def _note_call(self, frame: f.AssistantToolCall) -> None:
        call = frame.payload
        self._partials.closed(call.message_id, call.index)
        self._pending.called(
            Call(
                call.tool_use_id,
                frame.turn_id,
                call.parent_tool_use_id,
                call.agent_id,
                call.tool_name,
                call.input,
            )
        )

    def _note_question(self, frame: f.AssistantRequestInput) -> None:
        self._partials.closed(frame.payload.message_id, frame.payload.index)
        self._pending.question(frame.payload, frame.turn_id)
        self._changed = True

    def _place(self, parent: str | None) -> _Place:
        """The turn that a voice speaks in: a sub-agent stays in the turn that started it."""
        turn_id = None if parent is None else self._pending.turn_of(parent)
        return self._here if turn_id is None else self._turn_place(turn_id)

    def _turn_place(self, turn_id: int) -> _Place:
        if turn_id == self._turn:
            return self._inside
        return turn_id, self._trace_of(turn_id)


def _is_missed(frame: f.Frame, after: int) -> bool:
    """Whether a client that has everything up to this number has to get it."""
    if isinstance(frame, f.AssistantComplete):  # has no number, only a place
        return frame.payload.after_sequence >= after
    number: int = frame.payload.message_sequence  # type: ignore[attr-defined]
    return number > after
