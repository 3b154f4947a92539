"""A recorded stream as the frames that one client would have got, and any client that comes later."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from turnwire.core import blocks
from turnwire.core import events as ev
from turnwire.core.entries import EntryStream, event_entry
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.message import Message, to_json
from turnwire.core.status import (
    OpenRequest,
    Outcome,
    RunState,
    Status,
    Totals,
    TurnEnd,
    TurnError,
    TurnOrigin,
)
from turnwire.core.usage import Usage
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.partials import Partials
from turnwire.dialects.v2.pending import Call, Pending
from turnwire.dialects.v2.project import frame_of

__all__ = ["Session"]

EPOCH_START = "1970-01-01T00:00:00.000Z"
_UNFINISHED = "The turn ended before this tool gave a result."
_LOST = "the agent's stream ended in the middle of a turn"
_LIMITS = p.Limits(1_048_576, 0, 15)

# Words of the agent in the user's name that are not said again: the log has them already, or an
# event of its own says what they mean.
_NOT_WORDS = ("replay", "interrupt")

_Frames: TypeAlias = list[f.Frame]


class Session:
    """Takes the events of one conversation and gives the frames of one connection to it.

    Frames have no `sequence`: the first of all is 1, and so on. `trace_of` gives a turn's trace id.
    Without `now`, the time is the latest that an event has said, as it is in a recording.
    """

    def __init__(
        self,
        conversation_id: str,
        *,
        trace_of: Callable[[int], str],
        agent: str = "claude",
        epoch: str = "recorded",
        keep: bool = False,
    ) -> None:
        self._conversation_id = conversation_id
        self._trace_of = trace_of
        self._agent = agent
        self._epoch = epoch
        self._kept: list[tuple[int | None, f.Frame]] | None = [] if keep else None
        self._connections = 0
        self._entries = EntryStream()
        self._partials = Partials(conversation_id)
        self._pending = Pending()
        self._head = 0  # the number of the newest entry
        self._now = EPOCH_START
        # The turn. It is over when nothing of this is true; a deferred one waits for an answer.
        self._turn = 0
        self._trace: str | None = None
        self._origin: TurnOrigin = "user"
        self._running = False
        self._deferred = False
        self._ending: ev.TurnCompleted | ev.TurnFailed | None = None
        self._figures: list[ev.ResultSummary] = []
        self._init: ev.SessionInit | None = None
        self._woken = False  # background work has ended, so that the agent may begin by itself
        # The state.
        self._last_turn: TurnEnd | None = None
        self._totals = Totals()
        self._model: str | None = None
        self._permission_mode: str | None = None
        self._status = self._status_now()
        self._changed = False
        self._handlers: dict[type, Callable[[Any, _Frames], None]] = {
            ev.SessionInit: self._on_init,
            ev.TurnStarted: self._on_turn,
            ev.TurnCompleted: self._on_turn_end,
            ev.TurnFailed: self._on_turn_end,
            ev.MessageStarted: self._on_growth,
            ev.ContentStarted: self._on_growth,
            ev.ContentCompleted: self._on_growth,
            ev.AssistantMessage: self._on_assistant,
            ev.MessageCompleted: self._on_message_end,
            ev.MessageDiscarded: self._on_message_end,
            ev.UserMessage: self._on_user,
            ev.QuestionAsked: self._on_question,
            ev.PermissionRequested: self._on_permission,
            ev.RequestWithdrawn: self._on_withdrawn,
            ev.ToolProgress: self._on_news,
            ev.SystemEvent: self._on_news,
            ev.UnknownEvent: self._on_news,
            ev.PlanUpdated: self._on_news,
        }

    # --- connecting ---------------------------------------------------------------------------

    def connect(
        self, last_sequence: int = 0, *, epoch: str | None = None, now: str | None = None
    ) -> _Frames:
        """The first frames of a connection that begins now.

        With anything to replay the session must have been made with `keep`.
        """
        self._now = now or self._now
        self._connections += 1
        reset: p.ResetReason | None = None
        if epoch is not None and epoch != self._epoch:
            reset = "epoch"
        elif last_sequence > self._head:
            reset = "beyond_head"
        start = 0 if reset else last_sequence
        if self._kept is None and self._head > start:
            raise ValueError("nothing can be replayed: make the session with keep=True")
        info = p.SessionInfo(
            f"c-{self._connections}",
            "recording",
            self._epoch,
            start + 1,
            self._head,
            p.Capabilities(self._agent, []),
            _LIMITS,
        )
        hello: type[f.SessionConnected | f.SessionResumed] = f.SessionConnected
        if start:
            hello = f.SessionResumed
        out: _Frames = [hello(*self._outside(), info)]
        if reset:
            out.append(f.SessionReset(*self._outside(), p.Reset(reset, self._epoch, 1)))
        for number, frame in self._kept or ():
            if (number or 0) > start or (
                isinstance(frame, f.AssistantComplete) and frame.payload.after_sequence >= start
            ):
                out.append(
                    f.MessageReplay(
                        self._conversation_id,
                        frame.turn_id,
                        None,
                        self._now,
                        frame.trace_id,
                        f.Replay(number, frame),  # type: ignore[arg-type]  # what is kept is known
                    )
                )
        out.append(f.SessionReplayComplete(*self._outside(), p.ReplayComplete(self._head)))
        out.append(self._state_frame())
        return out + self._partials.snapshots(self._now)

    # --- events -------------------------------------------------------------------------------

    def feed(self, event: NormalizedStreamEvent, *, now: str | None = None) -> _Frames:
        """The frames that one event means, in order; often one, sometimes none."""
        return self.feed_all((event,), now=now)

    def feed_all(
        self, events: Iterable[NormalizedStreamEvent], *, now: str | None = None
    ) -> _Frames:
        """The same for events that are there together: neighbouring pieces of a block are joined."""
        self._now = now or self._now
        out: _Frames = []
        pieces: list[NormalizedStreamEvent] = []
        voice: str | None = None
        handlers = self._handlers
        for event in events:
            if self._ending is not None or self._init is not None:
                self._release(event, out)
            kind = type(event)
            if kind is ev.ContentDelta:
                if event.parent_tool_use_id != voice:
                    if pieces:
                        self._grow(pieces, voice, out)
                        pieces = []
                    voice = event.parent_tool_use_id
                pieces.append(event)
                continue
            if pieces:
                self._grow(pieces, voice, out)
                pieces = []
            handle = handlers.get(kind)
            if handle is not None:
                if now is None and (kind is ev.AssistantMessage or kind is ev.UserMessage):
                    self._now = event.timestamp or self._now  # type: ignore[union-attr]
                handle(event, out)
                if self._changed:
                    self._tell_state(out)
        if pieces:
            self._grow(pieces, voice, out)
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
        if self._changed:
            self._tell_state(out)
        return out

    def _grow(self, pieces: list[NormalizedStreamEvent], voice: str | None, out: _Frames) -> None:
        turn_id, trace_id = self._place(voice)
        out += self._partials.feed_all(pieces, turn_id, trace_id, self._now)

    def _release(self, event: NormalizedStreamEvent | None, out: _Frames) -> None:
        """What had to wait for one more event goes out: an init for its turn, an end for its sum."""
        if self._init is not None and not isinstance(event, ev.TurnStarted):
            init, self._init = self._init, None
            self._write_all(init, out)
        if self._ending is not None:
            if isinstance(event, ev.ResultSummary):
                self._figures.append(event)
            self._end_turn(self._ending, out)
        if self._changed:
            self._tell_state(out)

    # --- turns --------------------------------------------------------------------------------

    def _on_init(self, e: ev.SessionInit, out: _Frames) -> None:
        self._changed |= (e.model, e.permission_mode) != (self._model, self._permission_mode)
        self._model, self._permission_mode = e.model, e.permission_mode
        if self._running:
            self._write_all(e, out)
        else:
            self._init = e  # it belongs to the turn that begins with the next event
            self._changed = False

    def _on_turn(self, e: ev.TurnStarted, out: _Frames) -> None:
        if not self._running:
            self._begin("agent" if self._woken else "user", out)
        if self._init is not None:
            init, self._init = self._init, None
            self._write_all(init, out)

    def _begin(self, origin: TurnOrigin, out: _Frames) -> None:
        if self._deferred:
            origin = "resume"
        else:
            self._turn += 1
            self._trace = self._trace_of(self._turn)
            self._origin = origin
            self._figures = []
        self._running, self._deferred, self._woken = True, False, False
        self._changed = True
        out.append(f.TurnStarted(*self._inside(), p.TurnStart(self._turn, origin)))

    def _on_turn_end(self, e: ev.TurnCompleted | ev.TurnFailed, out: _Frames) -> None:
        if not self._running:
            self._begin("user", out)
        stopped = isinstance(e, ev.TurnCompleted) and e.interrupted
        if not (isinstance(e, ev.TurnCompleted) and e.deferred_tool_use_id is not None):
            self._close(e, "interrupt" if stopped else "agent", out)
        if stopped:
            data = {"reason": "user", "acknowledged": True}
            self._write(self._event_entry("interrupted", "Interrupted", e, data), out)
        self._ending = e

    def _close(self, e: NormalizedStreamEvent, by: str, out: _Frames) -> None:
        """Every request ends, and every call gets a result, however the turn ends."""
        requests, calls = self._pending.of_the_turn()
        for request in requests:
            self._resolve(request, "cancelled", by, e, out)
        for call in calls:
            result = blocks.ToolResultBlock(call.tool_use_id, _UNFINISHED, True, "failed")
            said = ev.UserMessage(
                e.provider, e.session_id, call.parent_tool_use_id, call.agent_id, [result], "tool"
            )
            self._write_all(said, out)

    def _end_turn(self, e: ev.TurnCompleted | ev.TurnFailed, out: _Frames) -> None:
        self._ending = None
        self._running = False
        self._changed = True
        if isinstance(e, ev.TurnCompleted) and e.deferred_tool_use_id is not None:
            self._deferred = True
            return
        usage, cost, duration = _sum(self._figures)
        failed = TurnError(e.code, e.message) if isinstance(e, ev.TurnFailed) else None
        end = TurnEnd(
            failed is not None,
            isinstance(e, ev.TurnCompleted) and e.interrupted,
            e.stop_reason if isinstance(e, ev.TurnCompleted) else None,
            failed,
            "agent" if e.origin is not None and self._origin == "user" else self._origin,
            usage,
            cost,
            duration,
            self._head,
        )
        self._last_turn = end
        self._totals = _added(self._totals, usage, cost)
        frame = f.AssistantComplete(*self._inside(), end)
        if self._kept is not None:
            self._kept.append((None, frame))
        out.append(frame)

    # --- what is said -------------------------------------------------------------------------

    def _on_growth(self, e: Any, out: _Frames) -> None:
        turn_id, trace_id = self._place(e.parent_tool_use_id)
        self._entries.feed(e, run_id=self._run(turn_id), now=self._now)  # gives none yet
        out += self._partials.feed(e, turn_id, trace_id, self._now)

    def _on_assistant(self, e: ev.AssistantMessage, out: _Frames) -> None:
        self._write_all(e, out)

    def _on_message_end(self, e: ev.MessageCompleted | ev.MessageDiscarded, out: _Frames) -> None:
        self._write_all(e, out)
        turn_id, trace_id = self._place(e.parent_tool_use_id)
        out += self._partials.feed(e, turn_id, trace_id, self._now)

    def _on_user(self, e: ev.UserMessage, out: _Frames) -> None:
        if e.origin in _NOT_WORDS:
            return
        if e.origin == "user" and not self._running and e.parent_tool_use_id is None:
            self._begin("user", out)
        self._write_all(e, out)

    # --- what waits for a person --------------------------------------------------------------

    def _on_question(self, e: ev.QuestionAsked, out: _Frames) -> None:
        self._pending.named(e.request_id, e.tool_use_id)

    def _on_permission(self, e: ev.PermissionRequested, out: _Frames) -> None:
        data = {
            "request_id": e.request_id,
            "tool_use_id": e.tool_use_id,
            "tool_name": e.tool_name,
            "input": e.input,
            "suggestions": to_json(e.suggestions),
        }
        for name in ("title", "description", "blocked_path", "reason"):
            if (value := getattr(e, name)) is not None:
                data[name] = value
        self._write(self._event_entry("permission_request", e.title or e.tool_name, e, data), out)

    def _on_withdrawn(self, e: ev.RequestWithdrawn, out: _Frames) -> None:
        request = self._pending.take(e.request_id)
        if request is not None:
            self._resolve(request, "cancelled", "agent", e, out)

    def _resolve(
        self,
        request: OpenRequest,
        outcome: Outcome,
        by: str | None,
        e: NormalizedStreamEvent,
        out: _Frames,
    ) -> None:
        self._pending.take(request.request_id)
        data: dict[str, Any] = {"request_id": request.request_id, "outcome": outcome}
        if by is not None:
            data["by"] = by
        entry = event_entry(
            "request_resolved",
            f"{request.kind.capitalize()} {outcome}",
            run_id=self._run(request.turn_id),
            timestamp=self._now,
            data=data,
            provider=e.provider,
            parent_tool_use_id=request.parent_tool_use_id,
            agent_id=request.agent_id,
        )
        self._write(entry, out)

    # --- around it ----------------------------------------------------------------------------

    def _on_news(self, e: Any, out: _Frames) -> None:
        if type(e) is ev.SystemEvent and e.subtype == "task_notification" and not self._running:
            self._woken = True
        self._write_all(e, out)
        turn_id, trace_id = self._place(e.parent_tool_use_id)
        out += self._partials.feed(e, turn_id, trace_id, self._now)

    def _tell_state(self, out: _Frames) -> None:
        self._changed = False
        status = self._status_now()
        if status != self._status:
            self._status = status
            out.append(self._state_frame())

    def _state_frame(self) -> f.Frame:
        if self._status.turn_id is None:
            return f.SessionState(*self._outside(), self._status)
        return f.SessionState(*self._inside(), self._status)

    def _status_now(self) -> Status:
        requests = self._pending.requests
        state: RunState = "active"
        if requests or self._deferred:
            state = "waiting_input"
        elif self._running:
            state = "streaming"
        elif self._last_turn is not None and self._last_turn.interrupted:
            state = "interrupted"
        elif self._last_turn is not None and self._last_turn.is_error:
            state = "error"
        last = self._last_turn
        return Status(
            state,
            self._running,
            [],
            requests,
            turn_id=self._turn if self._running or self._deferred else None,
            model=self._model,
            permission_mode=self._permission_mode,
            last_turn=last,
            last_turn_id=None if last is None else self._turn - (self._running or self._deferred),
            totals=None if last is None else self._totals,
        )

    # --- entries and envelopes ----------------------------------------------------------------

    def _write_all(self, e: NormalizedStreamEvent, out: _Frames) -> None:
        turn_id, trace_id = self._place(e.parent_tool_use_id)
        for entry in self._entries.feed(e, run_id=self._run(turn_id), now=self._now):
            if entry.role == "tool":
                self._answered(entry, e, out)
            self._write(entry, out, trace_id)

    def _answered(self, entry: Message, e: NormalizedStreamEvent, out: _Frames) -> None:
        """A result ends what the call was waiting for, and comes after that."""
        tool_use_id = entry.parts[0].payload.tool_call_id  # type: ignore[union-attr]
        for request in self._pending.waiting_for(tool_use_id):
            self._resolve(request, "answered", None, e, out)
        self._pending.answered(tool_use_id)

    def _write(self, entry: Message, out: _Frames, trace_id: str | None = None) -> None:
        """Give an entry its number and tell it."""
        self._head += 1
        if trace_id is None:
            turn_id = entry.meta.get("turnId")
            trace_id = None if turn_id is None else self._trace_for(turn_id)
        frame = frame_of(entry, self._head, self._conversation_id, trace_id)
        if self._kept is not None:
            self._kept.append((self._head, frame))
        out.append(frame)
        note = _NOTES.get(type(frame))
        if note is not None:
            note(self, frame)

    def _note_block(self, frame: f.AssistantChunk) -> None:
        self._partials.closed(frame.payload.message_id, frame.payload.index)

    def _note_call(self, frame: f.AssistantToolCall) -> None:
        call = frame.payload
        self._partials.closed(call.message_id, call.index)
        self._pending.called(
            Call(call.tool_use_id, frame.turn_id, call.parent_tool_use_id, call.agent_id)
        )

    def _note_question(self, frame: f.AssistantRequestInput) -> None:
        self._partials.closed(frame.payload.message_id, frame.payload.index)
        self._pending.question(frame.payload, frame.turn_id)
        self._changed = True

    def _note_permission(self, frame: f.AssistantPermissionRequest) -> None:
        self._pending.permission(frame.payload, frame.turn_id)
        self._changed = True

    def _note_resolved(self, frame: f.AssistantRequestResolved) -> None:
        self._changed = True

    def _event_entry(
        self, name: Any, text: str, e: NormalizedStreamEvent, data: dict[str, Any]
    ) -> Message:
        turn_id, _ = self._place(e.parent_tool_use_id)
        return event_entry(
            name,
            text,
            run_id=self._run(turn_id),
            timestamp=self._now,
            data=data,
            provider=e.provider,
            parent_tool_use_id=e.parent_tool_use_id,
            agent_id=e.agent_id,
        )

    def _place(self, parent: str | None) -> tuple[int | None, str | None]:
        """The turn that a voice speaks in: a sub-agent stays in the turn that started it."""
        turn_id = self._turn if self._running or self._deferred else None
        if parent is None:
            return turn_id, None if turn_id is None else self._trace
        turn_id = self._pending.turn_of(parent, turn_id)
        return turn_id, None if turn_id is None else self._trace_for(turn_id)

    def _trace_for(self, turn_id: int) -> str | None:
        return self._trace if turn_id == self._turn else self._trace_of(turn_id)

    def _run(self, turn_id: int | None) -> str:
        return f"{self._conversation_id}:{'' if turn_id is None else turn_id}"

    def _inside(self) -> tuple[str, int, None, str, str | None]:
        return self._conversation_id, self._turn, None, self._now, self._trace

    def _outside(self) -> tuple[str, None, None, str, None]:
        return self._conversation_id, None, None, self._now, None


_NOTES: dict[type, Callable[[Session, Any], None]] = {
    f.AssistantChunk: Session._note_block,
    f.AssistantThinking: Session._note_block,
    f.AssistantBlock: Session._note_block,
    f.AssistantToolCall: Session._note_call,
    f.AssistantRequestInput: Session._note_question,
    f.AssistantPermissionRequest: Session._note_permission,
    f.AssistantRequestResolved: Session._note_resolved,
}


# --- figures ------------------------------------------------------------------------------------

_TOKENS = Usage.__struct_fields__


def _sum(figures: list[ev.ResultSummary]) -> tuple[Usage | None, float | None, int | None]:
    """Tokens, cost and time of a turn, which may have paused in between."""
    if len(figures) == 1:  # almost always
        return figures[0].usage, figures[0].cost_usd, figures[0].duration_ms
    usages = [each.usage for each in figures if each.usage is not None]
    costs = [each.cost_usd for each in figures if each.cost_usd is not None]
    tokens = {
        name: sum(getattr(usage, name) or 0 for usage in usages)
        for name in _TOKENS
        if any(getattr(usage, name) is not None for usage in usages)
    }
    return (
        Usage(**tokens) if usages else None,
        sum(costs) if costs else None,
        sum(each.duration_ms for each in figures) if figures else None,
    )


def _added(totals: Totals, usage: Usage | None, cost: float | None) -> Totals:
    more = usage or Usage()
    return Totals(
        totals.input_tokens + (more.input_tokens or 0),
        totals.output_tokens + (more.output_tokens or 0),
        totals.cache_creation_input_tokens + (more.cache_creation_input_tokens or 0),
        totals.cache_read_input_tokens + (more.cache_read_input_tokens or 0),
        totals.cost_usd + (cost or 0.0),
    )
