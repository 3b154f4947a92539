"""A conversation with one client in memory, for benchmarks of the pure chain."""

from __future__ import annotations

import itertools

from turnwire.core.conversation.state import Conversation
from turnwire.core.events import NormalizedStreamEvent
from turnwire.dialects.v2.projector import V2Projector
from turnwire.dialects.v2.sent import Sent
from turnwire.engine.actor.agent_events import AgentEvents
from turnwire.engine.fanout.channel import Channel

__all__ = ["Live"]


class Live:
    """A conversation with one client, without a store and a socket."""

    def __init__(self) -> None:
        self._state = Conversation("conversation")
        ids = map("{:032x}".format, itertools.count())
        self._hearing = AgentEvents(Channel(self._state), ids.__next__, is_owners=True, modes=())
        self._projector = V2Projector("conversation")
        self._number = 0
        self.size = 0  # bytes that were sent to the client

    def take(self, events: list[NormalizedStreamEvent]) -> list[Sent]:
        """Takes events of the agent. Each frame is encoded once, and numbered for the client."""
        heard = self._hearing.take(self._state, events, 1_700_000_000_000)
        self._state = heard.state
        told = self._projector.project(heard.happened)
        for sent in told:
            self._number += 1
            self.size += len(sent.at(self._number))
        return told
