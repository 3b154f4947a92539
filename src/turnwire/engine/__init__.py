"""Runs conversations: one at a time does one thing, all of them at once, nothing lost in between."""

from turnwire.engine.engine import Engine, Talk

__all__ = ["Engine", "Talk"]
