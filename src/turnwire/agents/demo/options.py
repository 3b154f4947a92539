"""The options of the demo, including faults that a test can ask for."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["DemoOptions"]


class DemoOptions(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Options for DemoAgent, or for one conversation in `SessionStart.options`."""

    delay: float = 0.03  # seconds before each piece
    obey_interrupt: bool = True
    never_start: bool = False  # `open` does not return
    silent: bool = False  # a prompt is accepted, but starts no turn
    die: bool = False  # the agent dies during a tool call
    garbage: bool = False  # as a child process: writes lines that are not JSON between the events
    flood: float = 0  # megabytes of text per second at the start of each turn
    flood_seconds: float = 1
