"""What the open session of an agent offers to choose from, as far as the session itself says it.

Some agents know their models, permission modes and further options only once a session is open.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct, structs

from turnwire.core.digest import digest_of

__all__ = ["Offers", "OptionValue", "SessionOption", "Setting", "offers_of", "open_to_all"]

Setting: TypeAlias = str | bool

# Kinds of options that change only how the model answers, so every user may choose them.
_OPEN_KINDS = ("thought_level", "model_config")


class _Part(Struct, frozen=True, omit_defaults=True, gc=False):
    pass


class OptionValue(_Part, frozen=True):
    """One value of an option."""

    value: str
    name: str | None = None  # for people; None: the value is its own name
    description: str | None = None


class SessionOption(_Part, frozen=True):
    """A setting of the agent's session, besides the model and the permission mode."""

    option: str  # for the control `set_session_option`
    name: str | None = None  # for people; None: `option` is its own name
    kind: str | None = None  # `thought_level`: how long it thinks; or the agent's own word
    description: str | None = None
    values: list[OptionValue] = []  # empty: it is switched on (true) or off (false)

    def takes(self, value: Setting) -> bool:
        """Returns whether the option has this value."""
        if not self.values:
            return isinstance(value, bool)
        return any(each.value == value for each in self.values)


class Offers(_Part, frozen=True):
    """Everything that a session offers."""

    id: str = ""  # changes with the rest, so that clients notice a change
    models: list[str] = []
    permission_modes: list[str] = []
    session_options: list[SessionOption] = []
    images: bool | None = None  # whether it takes pictures; None: as the agent says


def offers_of(
    models: Sequence[str] = (),
    permission_modes: Sequence[str] = (),
    session_options: Sequence[SessionOption] = (),
    *,
    images: bool | None = None,
) -> Offers:
    """Returns the offers with their id."""
    found = Offers("", [*models], [*permission_modes], [*session_options], images)
    return structs.replace(found, id=digest_of(found))


def open_to_all(options: Sequence[SessionOption]) -> list[SessionOption]:
    """Returns the options that every user may choose; the others are the owner's."""
    return [each for each in options if each.kind in _OPEN_KINDS]
