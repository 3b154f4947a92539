"""Turns a recorded stream into the frames that a client of the live conversation would get."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from turnwire.core import events as ev
from turnwire.core import happenings as h
from turnwire.core.blocks import ToolResultBlock, ToolUseBlock
from turnwire.core.conversation.state import Conversation
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.opening import Opening, start_of
from turnwire.core.status import Capabilities, Limits
from turnwire.core.times import iso, ms_of
from turnwire.dialects.v2.frames import Frame
from turnwire.dialects.v2.projector import V2Projector
from turnwire.engine.actor.agent_events import AgentEvents
from turnwire.engine.fanout.channel import Channel

__all__ = ["Recording"]

_NO_TIME = "1970-01-01T00:00:00.000Z"
_LOST = "the agent's stream ended in the middle of a turn"
_LIMITS = Limits(1_048_576, 0, 15)


class Recording:
    """Takes the events of one conversation, and returns the frames of one connection to it.

    The rules and the frames are those of a live conversation, but the frames have no `sequence`:
    the caller numbers them from 1. `trace_of` returns the trace id of a turn. Without `now`, the
    time is that of the newest event with a timestamp, or `began` before the first such event. With
    `keep`, durable items are kept, so that clients may connect later.
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
        self._agent = agent
        self._epoch = epoch
        self._kept: list[h.Kept] | None = [] if keep else None
        self._connections = 0
        self._state = Conversation(conversation_id)
        self._channel = Channel(self._state)
        self._projector = V2Projector(conversation_id)
        self._hearing = AgentEvents(
            self._channel,
            lambda: trace_of(self._state.turns + 1),
            is_owners=True,
            modes=(),
            is_recording=True,
        )
        self._at = _time_of(began) or 0
        # Calls of this turn without a result: the turn may pause at one of them.
        self._calls: dict[str, ToolUseBlock] = {}
        # Events that wait for the next one: an init for its turn, an end for its figures.
        self._waiting: list[NormalizedStreamEvent] = []

    def connect(
        self, last_sequence: int = 0, *, epoch: str | None = None, now: str | None = None
    ) -> list[Frame]:
        """Returns the first frames of a new connection. A replay needs `keep`: else ValueError."""
        self._at = _time_of(now) or self._at
        self._connections += 1
        head, at = self._state.head, iso(self._at)
        start = start_of(last_sequence, epoch, head=head, epoch_now=self._epoch)
        if self._kept is None and head > start.after:
            raise ValueError("entries have to be replayed: make the recording with keep=True")
        name = f"c-{self._connections}"
        offered = Capabilities(self._agent, [])
        opening = Opening(at, name, "recording", self._epoch, start, head, offered, _LIMITS)
        first = self._projector.greet(opening)
        for kept in self._kept or ():
            if _is_missed(kept, start.after):
                first += self._projector.replay(kept, at)
        first += self._projector.present(self._channel.now(at))
        return [sent.frame for sent in first]

    def feed(self, event: NormalizedStreamEvent, *, now: str | None = None) -> list[Frame]:
        """Returns the frames of one event, in order; often one, sometimes none."""
        return self.feed_all((event,), now=now)

    def feed_all(
        self, events: Iterable[NormalizedStreamEvent], *, now: str | None = None
    ) -> list[Frame]:
        """Returns the frames of several events. Adjacent partials of a block are joined."""
        out: list[Frame] = []
        self._at = _time_of(now) or self._at
        batch: list[NormalizedStreamEvent] = self._waiting
        for event in events:
            said_at = None if now is not None else _time_of(getattr(event, "timestamp", None))
            if said_at is not None and said_at != self._at:
                out += self._take(batch)
                batch, self._at = [], said_at
            if isinstance(event, _SIGNS):  # a turn with its own trace id may begin
                init = [batch.pop()] if _belongs(batch, event) else []
                out += self._take(batch)
                batch = [event, *init]
            else:
                batch.append(event)
        last = [batch.pop()] if batch and isinstance(batch[-1], _WAITS) else []
        out += self._take(batch)
        if last and type(last[0]) is ev.SessionInit and self._state.turn is not None:
            out += self._take(last)  # it belongs to the turn that runs
            last = []
        self._waiting = last
        return out

    def finish(self, *, now: str | None = None) -> list[Frame]:
        """Returns the frames for the end of the stream. A turn that still runs fails as lost."""
        self._at = _time_of(now) or self._at
        batch, self._waiting = self._waiting, []
        out = self._take(batch)
        turn = self._state.turn
        if turn is not None and turn.phase != "suspended":
            lost = ev.TurnFailed(self._agent, "", None, None, "agent_lost", _LOST)
            out += self._take([lost])
        return out

    def _take(self, events: list[NormalizedStreamEvent]) -> list[Frame]:
        if not events:
            return []
        events = [each for event in events for each in self._with_request(event)]
        heard = self._hearing.take(self._state, events, self._at)
        self._state = heard.state
        self._channel.state = heard.state
        if self._kept is not None:
            kept = (h.EntryAdded, h.TurnEnded)
            self._kept += [each for each in heard.happened if isinstance(each, kept)]
        return self._projector.frames(heard.happened)

    def _with_request(self, event: NormalizedStreamEvent) -> list[NormalizedStreamEvent]:
        """Returns the event, after the request of a paused call if the stream lacks it."""
        match event:
            case ev.TurnStarted():
                self._calls.clear()
            case ev.AssistantMessage(content=content):
                self._calls |= {each.id: each for each in content if isinstance(each, ToolUseBlock)}
            case ev.PermissionRequested():
                self._calls.pop(event.tool_use_id, None)
            case ev.UserMessage(content=content):
                for each in content:
                    if isinstance(each, ToolResultBlock):
                        self._calls.pop(each.tool_use_id, None)
            case ev.TurnCompleted(deferred_tool_use_id=str(paused_at)):
                call = self._calls.pop(paused_at, None)
                if call is not None and not call.is_question:
                    who = (event.provider, event.session_id, None, None)
                    ids = (call.id, call.id, call.tool_name)
                    return [ev.PermissionRequested(*who, *ids, call.input), event]
            case _:
                pass
        return [event]


_SIGNS = (ev.TurnStarted, ev.UserMessage, ev.TurnCompleted, ev.TurnFailed)
_WAITS = (ev.SessionInit, ev.TurnCompleted, ev.TurnFailed)


def _belongs(batch: list[NormalizedStreamEvent], event: NormalizedStreamEvent) -> bool:
    """Returns whether the batch ends with the init of the turn that this event begins."""
    return isinstance(event, ev.TurnStarted) and bool(batch) and type(batch[-1]) is ev.SessionInit


def _time_of(text: str | None) -> int | None:
    """Returns a time in milliseconds. Returns None if it is missing or malformed."""
    try:
        return ms_of(text) if text else None
    except ValueError:
        return None


def _is_missed(kept: h.Kept, after: int) -> bool:
    """Returns whether a client whose cursor is `after` still needs this item."""
    if isinstance(kept, h.TurnEnded):  # has no sequence of its own
        return kept.end.after_sequence >= after
    return kept.sequence > after
