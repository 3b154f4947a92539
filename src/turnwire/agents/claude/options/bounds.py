"""The models and permission modes that conversations are limited to, whatever their log says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from turnwire.agents.claude.options.types import MODES, ClaudeOptions

__all__ = ["DEFAULT", "FAMILIES", "Bounds", "bounds_of"]

DEFAULT = "default"  # the agent's own model
FAMILIES = ("opus", "sonnet", "haiku")  # each name stands for any version of the model
_FREE = "bypassPermissions"  # all tools run without permission
_SHUT = "dontAsk"  # only tools that are already allowed run, without asking a person


class Bounds(Struct, frozen=True, kw_only=True):
    """The limits that the application set when it created the agent."""

    model: str | None  # the agent's own, called `default`; None: Claude Code's own
    models: list[str] | None  # that may be used; None: any
    mode: str | None  # the agent's own; None: from Claude Code's settings
    modes: list[str]  # that any user may choose
    owner_modes: list[str]  # that in addition only the owner of the data may choose

    def model_for(self, wanted: str | None) -> str | None:
        """Returns the wanted model if it is allowed, otherwise the agent's own.

        The wanted model may come from an imported log, so it is not trusted.
        """
        if wanted in (None, DEFAULT) or (self.models is not None and not self._has(wanted)):
            return self.model
        return wanted

    def _has(self, model: str | None) -> bool:
        """Whether a model is one of the allowed models, or a version of one."""
        name = model or ""
        return any(
            name == each or name.startswith(f"{each}-") or (each in FAMILIES and each in name)
            for each in (*(self.models or ()), self.model)
            if each is not None
        )

    def mode_for(self, wanted: str | None) -> str | None:
        """Returns the wanted mode if it is allowed, otherwise the agent's own.

        The wanted mode may come from an imported or an old log, so it is not trusted.
        """
        return wanted if wanted in (*self.modes, *self.owner_modes) else self.mode

    def problem(self, chosen: ClaudeOptions) -> str | None:
        """Returns which option of a conversation is beyond the limits, or None."""
        if self.models is not None and chosen.fallback_model is not None:
            for each in chosen.fallback_model.split(","):
                if not self._has(each.strip()):
                    return f"The model {each.strip()!r} is not allowed; {self._which()}"
        for name, helper in chosen.agents.items():
            wanted = helper.model
            is_bound = self.models is not None and wanted not in (None, "inherit")
            if is_bound and not self._has(wanted):
                return f"The sub-agent {name!r} may not use {wanted!r}; {self._which()}"
            if helper.permission_mode is not None and helper.permission_mode not in self.modes:
                return (
                    f"The sub-agent {name!r} may not use the permission mode "
                    f"{helper.permission_mode!r}; allowed: {', '.join(self.modes)}"
                )
        return None

    def _which(self) -> str:
        return f"allowed: {', '.join(self.models or [])}"


def bounds_of(
    *,
    model: str | None = None,
    models: Sequence[str] | None = None,
    mode: str | None = None,
    modes: Sequence[str] | None = None,
) -> Bounds:
    """Returns the limits for an agent with these parameters. Raises ValueError for an unknown mode.

    If `modes` is None, only the owner may choose the mode that allows everything. If the agent's
    own mode asks no person, only the owner may choose another one: a user who is asked could allow
    tools.
    """
    usual = None if model in (None, DEFAULT) else model
    listed = None if models is None else [each for each in models if each != DEFAULT]
    if listed and usual is None:
        usual = listed[0]  # otherwise `default` would not be in the list
    about: dict[str, Any] = {"model": usual, "models": listed, "mode": mode}
    own = mode or "default"
    strange = [each for each in modes or () if each not in MODES]
    if strange:
        raise ValueError(f"Unknown permission mode {strange[0]!r}; known: {', '.join(MODES)}.")
    if modes is not None:
        return Bounds(**about, modes=list(dict.fromkeys([*modes, own])), owner_modes=[])
    anyone = [each for each in MODES if each == own or (own != _SHUT and each != _FREE)]
    others = [each for each in MODES if each not in anyone]
    return Bounds(**about, modes=anyone, owner_modes=others)
