"""Runs conversations concurrently; each handles its inputs in order, and commits each step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnwire.lazy import fetcher

# Imported on first use: a command that only reads the store (`turnwire list`) needs no engine.
if TYPE_CHECKING:
    from turnwire.core.conversation.state import Options
    from turnwire.engine.actor.commands import Answer
    from turnwire.engine.engine import Engine
    from turnwire.engine.fanout.channel import FollowAgain, SlowReader
    from turnwire.engine.settings import EngineSettings
    from turnwire.engine.talk import Talk

__all__ = ["Answer", "Engine", "EngineSettings", "FollowAgain", "Options", "SlowReader", "Talk"]

_HOME = {
    "Answer": "turnwire.engine.actor.commands",
    "Engine": "turnwire.engine.engine",
    "EngineSettings": "turnwire.engine.settings",
    "FollowAgain": "turnwire.engine.fanout.channel",
    "Options": "turnwire.core.conversation.state",
    "SlowReader": "turnwire.engine.fanout.channel",
    "Talk": "turnwire.engine.talk",
}

if not TYPE_CHECKING:  # or type checkers would accept every misspelt name
    __getattr__ = fetcher(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
