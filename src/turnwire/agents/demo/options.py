"""How the demo behaves, and how it misbehaves when a test wants it to."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["DemoOptions"]


class DemoOptions(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Given to DemoAgent, or to one conversation in `SessionStart.options`."""

    delay: float = 0.03  # seconds before each piece
    obey_interrupt: bool = True
    never_start: bool = False  # `open` does not return
    silent: bool = False  # a prompt is taken, and nothing follows
    die: bool = False  # it is gone in the middle of a tool
    garbage: bool = False  # as a process of its own: what is no JSON stands between the events
    flood: float = 0  # megabytes of text a second, before anything else
    flood_seconds: float = 1
