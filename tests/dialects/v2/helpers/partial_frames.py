"""Partials as the live path makes them: `Growing`, then frames."""

from __future__ import annotations

from collections.abc import Iterable

from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.growing import Growing
from turnwire.core.joining import joined
from turnwire.dialects.v2.frames import Frame
from turnwire.dialects.v2.partials import growth_frame


class Partials:
    """The partials of one conversation."""

    def __init__(self, conversation_id: str) -> None:
        self._name = conversation_id
        self.growing = Growing()

    def feed(
        self, event: NormalizedStreamEvent, turn_id: int | None, trace_id: str | None, now: str
    ) -> list[Frame]:
        """The frames of one event."""
        return self.feed_all([event], turn_id, trace_id, now)

    def feed_all(
        self,
        events: Iterable[NormalizedStreamEvent],
        turn_id: int | None,
        trace_id: str | None,
        now: str,
    ) -> list[Frame]:
        """Returns the frames of events that arrive together."""
        grown = self.growing.feed_all(joined(events), turn_id, trace_id)
        return [growth_frame(each, self._name, turn_id, trace_id, now) for each in grown]

    def snapshots(self, now: str) -> list[Frame]:
        """Returns the snapshots of all growing blocks."""
        return [
            growth_frame(each, self._name, None, None, now) for each in self.growing.snapshots()
        ]
