"""Steps of a conversation that are made, and neither committed nor published yet."""

from __future__ import annotations

from msgspec import Struct

from turnwire.core.conversation import effects as e
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation import step
from turnwire.core.conversation.state import Conversation
from turnwire.core.happenings import Happening
from turnwire.core.times import iso
from turnwire.engine.fanout.channel import Channel

__all__ = ["Steps"]


class Steps(Struct):
    """The state after the steps, their writes, and what is published after the commit."""

    state: Conversation
    writes: list[e.Moment] = []
    happened: list[Happening] = []
    effects: list[e.Effects] = []

    def add(self, came: i.Input, channel: Channel) -> e.Effects:
        """Makes a step. Raises Refused if a person asks for something impossible."""
        before = self.state
        self.state, effects = step(before, came)
        self.writes += effects.writes
        self.effects.append(effects)
        self.happened += channel.step(before, self.state, effects.writes, iso(came.at))
        return effects

    @property
    def is_news(self) -> bool:
        """Whether a step moves the conversation to the top of lists."""
        return any(effects.is_news for effects in self.effects)
