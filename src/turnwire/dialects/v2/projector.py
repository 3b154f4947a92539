"""Projects a conversation into the frames of protocol v2, shared by all its followers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from turnwire.core import happenings as h
from turnwire.core.opening import Opening
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.entry_frames import frame_of
from turnwire.dialects.v2.opening import hello, replay_complete, replayed
from turnwire.dialects.v2.partials import growth_frame
from turnwire.dialects.v2.sent import Sent

__all__ = ["V2Projector"]

_Handler: TypeAlias = Callable[[Any, list[f.Frame]], None]


class V2Projector:
    """Stateless. Its frames have `sequence` null: each connection counts its own."""

    def __init__(self, conversation_id: str) -> None:
        self._name = conversation_id
        self._handlers: dict[type, _Handler] = {
            h.AgentSpoke: self._spoke,
            h.EntryAdded: self._entry,
            h.StateChanged: self._state,
            h.Changed: self._changed,
            h.TurnBegan: self._began,
            h.TurnEnded: self._ended,
        }

    def project(self, happened: Sequence[h.Happening]) -> list[Sent]:
        """Returns the frames of what happened, in order."""
        return [Sent(frame) for frame in self.frames(happened)]

    def frames(self, happened: Sequence[h.Happening]) -> list[f.Frame]:
        """Returns the same frames, not encoded."""
        out: list[f.Frame] = []
        for each in happened:
            self._handlers[type(each)](each, out)
        return out

    def greet(self, opening: Opening) -> list[Sent]:
        """Returns the first frames of a connection, with a reset if the client's copy is void."""
        start = opening.start
        info = p.SessionInfo(
            opening.connection_id,
            opening.client_id,
            opening.epoch,
            start.after + 1,
            opening.head,
            opening.capabilities,
            opening.limits,
        )
        return [Sent(frame) for frame in hello(self._name, start, info, opening.at)]

    def replay(self, kept: h.Kept, now: str) -> list[Sent]:
        """Returns the replay of entries that a client has missed."""
        return [Sent(replayed(frame, now)) for frame in self.frames((kept,))]

    def present(self, now: h.Now) -> list[Sent]:
        """Returns the end of the replay, the state, and a snapshot of each growing block."""
        first = [replay_complete(self._name, now.head, now.at)]
        first += self.frames((h.StateChanged(now.at, now.status),))
        for piece in now.growing.snapshots():
            first.append(growth_frame(piece, self._name, None, None, now.at))
        return [Sent(frame) for frame in first]

    # --- one kind of event each -----------------------------------------------------------------

    def _spoke(self, spoke: h.AgentSpoke, out: list[f.Frame]) -> None:
        for growth in spoke.growth:
            out.append(  # noqa: PERF401 (mostly one)
                growth_frame(growth, self._name, spoke.turn_id, spoke.trace_id, spoke.at)
            )

    def _entry(self, added: h.EntryAdded, out: list[f.Frame]) -> None:
        out.append(frame_of(added.entry, added.sequence, self._name, added.trace_id))

    def _state(self, changed: h.StateChanged, out: list[f.Frame]) -> None:
        out.append(f.SessionState(self._name, None, None, changed.at, None, changed.status))

    def _changed(self, changed: h.Changed, out: list[f.Frame]) -> None:
        news = p.ConversationNews(changed.title, changed.totals)
        out.append(f.ConversationUpdated(self._name, None, None, changed.at, None, news))

    def _began(self, began: h.TurnBegan, out: list[f.Frame]) -> None:
        start = p.TurnStart(began.turn_id, began.origin, began.queue_id, began.client_message_id)
        ids = (self._name, began.turn_id, None, began.at, began.trace_id)
        out.append(f.TurnStarted(*ids, start))

    def _ended(self, ended: h.TurnEnded, out: list[f.Frame]) -> None:
        ids = (self._name, ended.turn_id, None, ended.at, ended.trace_id)
        out.append(f.AssistantComplete(*ids, ended.end))
