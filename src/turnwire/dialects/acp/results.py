"""The results of the host's requests that the host reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from msgspec import Raw, Struct, UnsetType, field

from turnwire.core.lenient import read_json, salvage

__all__ = [
    "AgentCapabilities",
    "AgentInfo",
    "AuthMethod",
    "AuthVariable",
    "ConfigOption",
    "ConfigValue",
    "InitializeResult",
    "ModeInfo",
    "ModelInfo",
    "Models",
    "Modes",
    "PromptCapabilities",
    "PromptResult",
    "SessionResult",
    "TokenCounts",
    "read_result",
]

_T = TypeVar("_T", bound=Struct)


class _Part(Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    pass


# --- initialize -----------------------------------------------------------------------------------


class PromptCapabilities(_Part, frozen=True):
    """The content that a prompt may have, besides text and links."""

    image: bool = False
    audio: bool = False
    embedded_context: bool = False


class AgentCapabilities(_Part, frozen=True):
    """The abilities of an agent."""

    load_session: bool = False
    prompt_capabilities: PromptCapabilities = PromptCapabilities()
    session_capabilities: dict[str, Any] = {}  # `resume`, `fork`, ...: the keys are the abilities
    mcp_capabilities: dict[str, Any] = {}


class AuthVariable(_Part, frozen=True):
    """An environment variable that an agent reads a key from."""

    name: str
    label: str | None = None


class AuthMethod(_Part, frozen=True):
    """A way to log in: by `authenticate`, with a key in the environment, or in a terminal."""

    id: str
    name: str = ""
    description: str | None = None
    type: str = "agent"  # agent, env_var, terminal
    vars: list[AuthVariable] = []  # env_var
    var_name: str | None = None  # env_var, as some agents write it
    link: str | None = None  # env_var: where to get a key
    args: list[str] = []  # terminal: the arguments of the agent's program
    env: dict[str, str] = {}  # terminal: variables for it


class AgentInfo(_Part, frozen=True):
    """The name and the version of the program."""

    name: str = ""
    title: str | None = None
    version: str | None = None


class InitializeResult(_Part, frozen=True):
    """The result of `initialize`."""

    protocol_version: int = 0
    agent_capabilities: AgentCapabilities = AgentCapabilities()
    auth_methods: list[AuthMethod] = []
    agent_info: AgentInfo | None = None


# --- sessions -------------------------------------------------------------------------------------


class ModeInfo(_Part, frozen=True):
    """A mode that may be chosen."""

    id: str
    name: str = ""
    description: str | None = None


class Modes(_Part, frozen=True):
    """The modes of a session."""

    current_mode_id: str | None = None
    available_modes: list[ModeInfo] = []


class ModelInfo(_Part, frozen=True):
    """A model that may be chosen."""

    model_id: str
    name: str = ""
    description: str | None = None


class Models(_Part, frozen=True):
    """The models of a session."""

    current_model_id: str | None = None
    available_models: list[ModelInfo] = []


class ConfigValue(_Part, frozen=True):
    """A value of an option, or a group of values."""

    name: str = ""
    value: str | None = None
    description: str | None = None
    options: list[ConfigValue] = []  # of a group


class ConfigOption(_Part, frozen=True):
    """An option of a session that may be changed."""

    id: str
    name: str = ""
    category: str | None = None  # model, mode, thought_level, ...
    type: str = "select"
    current_value: Any = None
    options: list[ConfigValue] = []
    description: str | None = None

    def values(self) -> Iterator[ConfigValue]:
        """Yields the values that may be chosen, also those in groups."""
        for option in self.options:
            if option.options:
                yield from option.options
            else:
                yield option


class SessionResult(_Part, frozen=True):
    """The result of `session/new`, `session/load` and `session/resume`."""

    session_id: str | None = None
    modes: Modes | None = None
    models: Models | None = None
    config_options: list[ConfigOption] | None = None

    def option(self, category: str) -> ConfigOption | None:
        """Returns the option of a category, or of this id if it has no category, or None."""
        options = self.config_options or ()
        found = (each for each in options if category == (each.category or each.id))
        return next(found, None)

    @property
    def model(self) -> str | None:
        """Returns the current model, if the agent says it."""
        chosen = _current(self.option("model"))
        return self.models.current_model_id if chosen is None and self.models else chosen

    @property
    def mode(self) -> str | None:
        """Returns the current mode, if the agent says it."""
        chosen = _current(self.option("mode"))
        return self.modes.current_mode_id if chosen is None and self.modes else chosen


def _current(option: ConfigOption | None) -> str | None:
    value = None if option is None else option.current_value
    return value if isinstance(value, str) else None


# --- a turn ---------------------------------------------------------------------------------------


class TokenCounts(_Part, frozen=True):
    """The tokens of a turn."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int | None = None
    thought_tokens: int | None = None
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None


class PromptResult(_Part, frozen=True):
    """The result of `session/prompt`."""

    stop_reason: str | None = None  # end_turn, max_tokens, max_turn_requests, refusal, cancelled
    usage: TokenCounts | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


def read_result(kind: type[_T], result: Raw | UnsetType) -> _T:
    """Reads a result. A part that does not fit gets its default; null is an empty result."""
    if isinstance(result, UnsetType):
        return kind()
    value = read_json(result)
    if not isinstance(value, dict):
        return kind()
    read: _T = salvage(kind, value, [])
    return read
