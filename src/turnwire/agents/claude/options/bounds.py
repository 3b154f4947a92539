"""What no conversation may go beyond, whoever asks and whatever its log says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from turnwire.agents.claude.options.types import MODES, ClaudeOptions

__all__ = ["DEFAULT", "FAMILIES", "Bounds", "bounds_of"]

DEFAULT = "default"  # the agent's own model
FAMILIES = ("opus", "sonnet", "haiku")  # each stands for any version
_FREE = "bypassPermissions"  # nobody is asked, and everything runs
_SHUT = "dontAsk"  # nobody is asked, and only what is allowed already runs


class Bounds(Struct, frozen=True, kw_only=True):
    """What the application has said when it made the agent."""

    model: str | None  # the agent's own, which is called `default`; none: Claude Code's
    models: list[str] | None  # that may be asked; none: any
    mode: str | None  # the agent's own; none: as Claude Code's settings say
    modes: list[str]  # that anyone may choose
    owner_modes: list[str]  # that only the owner of the data may, beside those

    def model_for(self, wanted: str | None) -> str | None:
        """The model that is meant: a log may be from elsewhere, and says what a name stood for."""
        if wanted in (None, DEFAULT) or (self.models is not None and not self._has(wanted)):
            return self.model
        return wanted

    def _has(self, model: str | None) -> bool:
        """Whether it is one of the models, or a version of one."""
        name = model or ""
        return any(
            name == each or name.startswith(f"{each}-") or (each in FAMILIES and each in name)
            for each in (*(self.models or ()), self.model)
            if each is not None
        )

    def mode_for(self, wanted: str | None) -> str | None:
        """The mode that a process is started in: a log may be from elsewhere, or from before."""
        return wanted if wanted in (*self.modes, *self.owner_modes) else self.mode

    def problem(self, chosen: ClaudeOptions) -> str | None:
        """What of a conversation's options is beyond them."""
        if self.models is not None and chosen.fallback_model is not None:
            for each in chosen.fallback_model.split(","):
                if not self._has(each.strip()):
                    return f"There is no model {each.strip()!r}; {self._which()}"
        for name, helper in chosen.agents.items():
            wanted = helper.model
            is_bound = self.models is not None and wanted not in (None, "inherit")
            if is_bound and not self._has(wanted):
                return f"The sub-agent {name!r} may not have {wanted!r}; {self._which()}"
            if helper.permission_mode is not None and helper.permission_mode not in self.modes:
                return (
                    f"The sub-agent {name!r} may not have the permission mode "
                    f"{helper.permission_mode!r}; there is: {', '.join(self.modes)}"
                )
        return None

    def _which(self) -> str:
        return f"there is: {', '.join(self.models or [])}"


def bounds_of(
    *,
    model: str | None = None,
    models: Sequence[str] | None = None,
    mode: str | None = None,
    modes: Sequence[str] | None = None,
) -> Bounds:
    """By what an agent is made with. Raises ValueError for what there is not.

    If nobody says which modes there are: to have nothing asked any more is for the owner. So is to
    leave a mode in which people are not asked: whoever is asked can allow.
    """
    usual = None if model in (None, DEFAULT) else model
    listed = None if models is None else [each for each in models if each != DEFAULT]
    if listed and usual is None:
        usual = listed[0]  # or `default` would be one that nobody has listed
    about: dict[str, Any] = {"model": usual, "models": listed, "mode": mode}
    own = mode or "default"
    strange = [each for each in modes or () if each not in MODES]
    if strange:
        raise ValueError(
            f"There is no permission mode {strange[0]!r}; there is: {', '.join(MODES)}."
        )
    if modes is not None:
        return Bounds(**about, modes=list(dict.fromkeys([*modes, own])), owner_modes=[])
    anyone = [each for each in MODES if each == own or (own != _SHUT and each != _FREE)]
    others = [each for each in MODES if each not in anyone]
    return Bounds(**about, modes=anyone, owner_modes=others)
