"""The options of the demo, including faults that a test can ask for."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from turnwire.agents.client_tools import ClientTool

__all__ = ["DemoOptions", "demo_options"]


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
    client_tools: list[ClientTool] = []  # tools of the front end, which the demo calls


def demo_options(given: Mapping[str, Any]) -> DemoOptions:
    """Reads options by their names. Raises TypeError if an option is unknown or its value invalid."""
    names = DemoOptions.__struct_fields__
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            hint = f"Did you mean {near[0]}?" if near else f"There is: {', '.join(names)}."
            raise TypeError(f"The demo has no option {name!r}. {hint}")
    try:
        return msgspec.convert(given, DemoOptions)
    except msgspec.ValidationError as error:
        raise TypeError(f"The demo cannot use its options: {error}") from None
