"""Explains validation errors to the sender of invalid data."""

from __future__ import annotations

import re

__all__ = ["fault_in_words"]

_FIELD = re.compile(r"Object (contains unknown|missing required) field `(.*)`", re.DOTALL)


def fault_in_words(error: str) -> str:
    """Returns msgspec's message with the field's name first and with the next step."""
    fault, at, place = error.rpartition(" - at `$")
    if not at:
        fault, place = error, ""
    place = place.strip(".`")
    found = _FIELD.fullmatch(fault)
    if found is None:
        return f"`{place}`: {fault}" if place else fault
    name = f"{place}.{found[2]}" if place else found[2]
    if found[1] == "missing required":
        return f"`{name}` is missing: add it"
    return f"`{name}` is not known: correct its name, or leave it out"
