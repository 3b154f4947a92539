"""What no conversation may go beyond, whoever asks and whatever its log says."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from turnwire.agents.claude.option_types import MODES, ClaudeOptions

__all__ = ["Bounds", "bounds_of"]

_FREE = "bypassPermissions"  # nobody is asked, and everything runs
_SHUT = "dontAsk"  # nobody is asked, and only what is allowed already runs


class Bounds(Struct, frozen=True, kw_only=True):
    """What the application has said when it made the agent."""

    mode: str | None  # the agent's own; none: as Claude Code's settings say
    modes: list[str]  # that anyone may choose
    owner_modes: list[str]  # that only the owner of the data may, beside those

    def mode_for(self, wanted: str | None) -> str | None:
        """The mode that a process is started in: a log may be from elsewhere, or from before."""
        return wanted if wanted in (*self.modes, *self.owner_modes) else self.mode

    def problem(self, chosen: ClaudeOptions) -> str | None:
        """What of a conversation's options is beyond them."""
        for name, helper in chosen.agents.items():
            if helper.permission_mode is not None and helper.permission_mode not in self.modes:
                return (
                    f"The sub-agent {name!r} may not have the permission mode "
                    f"{helper.permission_mode!r}; there is: {', '.join(self.modes)}"
                )
        return None


def bounds_of(*, mode: str | None = None, modes: Sequence[str] | None = None) -> Bounds:
    """By what an agent is made with. Raises ValueError for what there is not.

    If nobody says which modes there are: to have nothing asked any more is for the owner. So is to
    leave a mode in which people are not asked: whoever is asked can allow.
    """
    own = mode or "default"
    strange = [each for each in modes or () if each not in MODES]
    if strange:
        raise ValueError(
            f"There is no permission mode {strange[0]!r}; there is: {', '.join(MODES)}."
        )
    if modes is not None:
        return Bounds(mode=mode, modes=list(dict.fromkeys([*modes, own])), owner_modes=[])
    anyone = [each for each in MODES if each == own or (own != _SHUT and each != _FREE)]
    return Bounds(
        mode=mode, modes=anyone, owner_modes=[each for each in MODES if each not in anyone]
    )
