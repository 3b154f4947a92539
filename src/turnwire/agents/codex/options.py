"""The options of Codex, for the agent and for one conversation."""

from __future__ import annotations

import difflib
from typing import Any

import msgspec
from msgspec import Struct

from turnwire.agents.client_tools import ClientTool, check_client_tools
from turnwire.core.error_codes import Refused

__all__ = ["CodexOptions", "read_options"]


class CodexOptions(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Options of a session of Codex. What is not given is as config.toml says."""

    effort: str | None = None  # how long the model thinks: minimal, low, medium, high, ...
    instructions: str | None = None  # added to Codex's own
    config: dict[str, Any] = {}  # values of config.toml, by their dotted names
    client_tools: list[ClientTool] = []  # tools of the front end, for a new thread


def read_options(given: Any) -> CodexOptions:
    """Reads options by their names. Raises Refused with the option that is invalid."""
    names = CodexOptions.__struct_fields__
    for name in given if isinstance(given, dict) else ():
        if name not in names:
            near = difflib.get_close_matches(str(name), names, 1)
            hint = f"Did you mean {near[0]}?" if near else f"There is: {', '.join(names)}."
            raise Refused("INVALID_PAYLOAD", f"Codex has no option {name!r}. {hint}")
    try:
        found = msgspec.convert(given, CodexOptions)
    except msgspec.ValidationError as error:
        raise Refused("INVALID_PAYLOAD", f"Codex cannot use these options: {error}") from None
    check_client_tools(found.client_tools)
    return found
