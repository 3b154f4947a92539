"""The settings of a thread, some of which people change while it runs."""

from __future__ import annotations

from typing import Any

from turnwire.agents.codex.options import CodexOptions
from turnwire.dialects.codex.modes import MODES

__all__ = ["DEFAULT", "Settings", "split_model"]

DEFAULT = "default"  # the model of config.toml
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")


def split_model(chosen: str | None) -> tuple[str | None, str | None]:
    """Returns model and effort of a choice such as `gpt-5.5/high`. None is that of config.toml.

    The name of a model may have a slash itself: `openai/gpt-5`.
    """
    if chosen is None:
        return None, None
    model, slash, effort = chosen.rpartition("/")
    if not slash or effort not in _EFFORTS:
        model, effort = chosen, ""
    return None if model in ("", DEFAULT) else model, effort or None


class Settings:
    """The model, the permission mode and the options of one thread."""

    def __init__(
        self,
        cwd: str,
        model: str | None,
        permission_mode: str | None,
        options: CodexOptions,
    ) -> None:
        self._cwd = cwd
        self._now = {"model": model, "permission_mode": permission_mode}
        self._options = options

    @property
    def client_tools(self) -> list[str]:
        """Returns the names of the front end's tools."""
        return [tool.name for tool in self._options.client_tools]

    def for_new_thread(self) -> dict[str, Any]:
        """Returns the parameters of thread/start. Codex keeps the tools with the thread."""
        tools = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "inputSchema": tool.input_schema,
            }
            for tool in self._options.client_tools
        ]
        return {**self.for_thread(), "dynamicTools": tools or None}

    def for_thread(self) -> dict[str, Any]:
        """Returns the parameters of thread/resume and thread/fork."""
        model, effort = split_model(self._now["model"])
        config = dict(self._options.config)
        if effort or self._options.effort:
            config["model_reasoning_effort"] = effort or self._options.effort
        given: dict[str, Any] = {"cwd": self._cwd, "model": model}
        given["developerInstructions"] = self._options.instructions
        mode = self._now["permission_mode"]
        if mode is not None:
            given |= {"approvalPolicy": MODES[mode].approval, "sandbox": MODES[mode].sandbox}
        return {**given, "config": config or None}

    def change(self, name: str, wanted: str | None) -> tuple[str | None, dict[str, Any]]:
        """Sets `model` or `permission_mode`. Returns the value before, and Codex's parameters."""
        before, self._now[name] = self._now[name], wanted
        if name == "model":
            model, effort = split_model(wanted)
            return before, {"model": model, "effort": effort}
        mode = MODES[wanted or "default"]
        policy: dict[str, Any] = {"type": mode.policy}
        if mode.policy == "workspaceWrite":
            policy["writableRoots"] = [self._cwd]
        return before, {"approvalPolicy": mode.approval, "sandboxPolicy": policy}
