"""The settings of a thread, some of which people change while it runs."""

from __future__ import annotations

from typing import Any, NamedTuple

from turnwire.agents.codex.app_server import AppServer, RequestFailed
from turnwire.agents.codex.options import CodexOptions
from turnwire.dialects.codex.modes import MODES

__all__ = ["DEFAULT", "Defaults", "Settings", "read_defaults", "split_model"]

DEFAULT = "default"  # the model of config.toml
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra")


class Defaults(NamedTuple):
    """What config.toml and the options say, where a person has chosen nothing."""

    model: str | None = None  # None: Codex does not say it
    effort: str | None = None  # None: the model's own
    workspace: dict[str, Any] | None = (
        None  # what may be written, and whether the network may be used
    )


async def read_defaults(server: AppServer, cwd: str, options: CodexOptions) -> Defaults:
    """Asks Codex for its configuration in a directory. Raises RequestFailed or AgentGone."""
    found = await server.request("config/read", cwd=cwd)
    config = {**(found.get("config") or {})}
    for name, value in options.config.items():  # by dotted names
        table, dot, rest = name.partition(".")
        config[table] = {**(config.get(table) or {}), rest: value} if dot else value
    model = config.get("model")
    if model is None:
        listed = (await server.request("model/list")).get("data") or []
        model = next((each.get("model") for each in listed if each.get("isDefault")), None)
    writes = config.get("sandbox_workspace_write") or {}
    workspace = {
        "writableRoots": writes.get("writable_roots") or [],
        "networkAccess": writes.get("network_access") is True,
        "excludeTmpdirEnvVar": writes.get("exclude_tmpdir_env_var") is True,
        "excludeSlashTmp": writes.get("exclude_slash_tmp") is True,
    }
    return Defaults(model, options.effort or config.get("model_reasoning_effort"), workspace)


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
        self._defaults = Defaults()

    async def read(self, server: AppServer) -> None:
        """Reads what Codex's configuration says now. Raises RequestFailed or AgentGone."""
        self._defaults = await read_defaults(server, self._cwd, self._options)

    @property
    def default_model(self) -> str | None:
        """Returns the model of the configuration, if Codex says it."""
        return self._defaults.model

    @property
    def permission_mode(self) -> str | None:
        """Returns the name of the permission mode."""
        return self._now["permission_mode"]

    @property
    def client_tools(self) -> list[str]:
        """Returns the names of the front end's tools."""
        return [tool.name for tool in self._options.client_tools]

    @property
    def is_model_chosen(self) -> bool:
        """Returns whether a model was chosen, the default included. If not, the thread keeps its own."""
        return self._now["model"] is not None

    @property
    def model(self) -> tuple[str | None, str | None]:
        """Returns the model and the effort that the thread is to have."""
        model, effort = split_model(self._now["model"])
        return model or self._defaults.model, effort or self._defaults.effort

    def name_of(self, model: str | None, effort: str | None) -> str | None:
        """Returns the choice that means a model with an effort: `gpt-5.5`, or `gpt-5.5/high`."""
        if model is None or effort == self._defaults.effort or effort not in _EFFORTS:
            return model
        return f"{model}/{effort}"

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
        model, effort = self.model if self.is_model_chosen else (None, self._options.effort)
        config = dict(self._options.config)
        if effort is not None:
            config["model_reasoning_effort"] = effort
        given: dict[str, Any] = {"cwd": self._cwd, "model": model}
        given["developerInstructions"] = self._options.instructions
        mode = self._now["permission_mode"]
        if mode is not None:
            given |= {"approvalPolicy": MODES[mode].approval, "sandbox": MODES[mode].sandbox}
        return {**given, "config": config or None}

    def chosen(self, name: str) -> str | None:
        """Returns the present choice of `model` or `permission_mode`."""
        return self._now[name]

    def choose(self, name: str, wanted: str | None) -> None:
        """Sets `model` or `permission_mode`."""
        self._now[name] = wanted

    def changed(self, name: str) -> dict[str, Any]:
        """Returns the present choice as parameters of thread/settings/update.

        For Codex, null changes nothing, so each value is named. Raises RequestFailed if it is unknown.
        """
        if name == "model":
            return self._changed_model()
        mode = MODES[self._now[name] or "default"]
        policy: dict[str, Any] = {"type": mode.policy}
        if mode.policy == "workspaceWrite":  # as at the start of a thread
            policy |= self._defaults.workspace or {}
        return {"approvalPolicy": mode.approval, "sandboxPolicy": policy}

    def _changed_model(self) -> dict[str, Any]:
        model, effort = self.model
        if model is None:
            raise RequestFailed("it does not say which model is its default. Name a model.")
        if effort is not None:
            return {"model": model, "effort": effort}
        # Only here null means the model's own effort, and the built-in instructions of the mode.
        own = {"model": model, "reasoning_effort": None, "developer_instructions": None}
        return {"collaborationMode": {"mode": "default", "settings": own}}
