"""Runs conversations: one at a time does one thing, all of them at once, nothing lost in between."""

from turnwire.engine.asks import Answer
from turnwire.engine.channel import FollowAgain, SlowReader
from turnwire.engine.engine import Engine
from turnwire.engine.settings import EngineSettings
from turnwire.engine.talk import Talk

__all__ = ["Answer", "Engine", "EngineSettings", "FollowAgain", "SlowReader", "Talk"]
