"""The settings of a server, and the source of each value."""

from __future__ import annotations

import difflib
import math
import os
import sys
import tomllib
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct, structs

from turnwire.bus.address import BusAddress
from turnwire.errors import TurnwireError
from turnwire.ports import Agent
from turnwire.stores.address import Address, is_database, shown

__all__ = [
    "Authenticate",
    "BadSetting",
    "Settings",
    "Sourced",
    "check_flag",
    "check_number",
    "default_data_dir",
    "flag_of_v2",
    "read_settings",
    "shown_value",
]

# Gets an ASGI scope (of a request or a WebSocket); returns the user's name, or None.
Authenticate: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[str | None]]

_PREFIX = "TURNWIRE_"
_V2 = "TURNWIRE_PROTOCOL_V2"
_OLD_V2 = "CHAT_PROTOCOL_V2_ENABLED"  # the older name of the same variable
_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off", "")
_YES_OR_NO: tuple[Any, ...] = (bool, bool | None)  # types of boolean settings
_FILE = "turnwire.toml"


class BadSetting(TurnwireError):
    """An invalid setting. The message says where it is and what to do."""

    code = "INVALID_SETTING"


class Settings(Struct, frozen=True, kw_only=True):
    """The settings of `create_app` and `turnwire serve`."""

    # Address and data.
    data_dir: str = ""  # directory of the conversations; empty: this user's data directory
    store: str = ""  # `postgresql://user@host/database`; empty: a file in the data directory
    synchronous_replication: bool = False  # a standby of the store lacks nothing acknowledged
    # Other nodes: processes that share the store.
    bus: str = ""  # how they are reached, as a URL; empty: by the store's own host; `off`: not
    node: str = ""  # the name of this node; empty: the name of the machine
    # The files of agents. `shared`: all nodes have them at the same paths. `pinned`: only the node
    # that a conversation was created on.
    placement: Literal["shared", "pinned"] = "shared"
    # The listening address.
    host: str = "127.0.0.1"  # the address to listen on
    port: int = 7410  # 0: any free port
    public_url: str = (
        ""  # the URL that people open, if there is a proxy: see `server.access.public`
    )
    # Where an application that embeds the page signs its users in: a URL, or a path of its own.
    login_url: str = ""
    logout_url: str = ""  # where it signs them out; empty: the page does not offer to sign out
    # Access.
    hosts: list[str] = []  # host names of this server, in addition to those of its address
    origins: list[str] = []  # origins of other sites that may use it: `https://app.example`
    sharing: bool = False  # users may make links that show one conversation, read-only, to anyone
    # Behaviour.
    protocol_v2: bool | None = None  # none: TURNWIRE_PROTOCOL_V2 decides; otherwise off
    agent: str = "demo"  # default agent of a conversation, by name or as module:attribute
    agents: list[str] = []  # allowed agents, by name or as module:attribute; empty: all
    agent_options: dict[str, dict[str, Any]] = {}  # by agent: the arguments that it is created with
    roots: list[str] = []  # directories below which agents may work
    # Isolation of agents from the data directory: see `agents.isolation`.
    agent_isolation: Literal["auto", "require", "namespaces", "landlock", "off"] = "auto"
    agent_user: str = ""  # a user of this machine that agents run as; the server must run as root
    on_disconnect: Literal["converge", "continue"] = "converge"  # when the last client has left
    disconnect_grace: float = 30.0  # grace period in seconds
    max_queue: int = 16  # maximum number of queued messages in a conversation
    question_seconds: float | None = None  # until a question's deadline; none: no deadline
    permission_seconds: float | None = None  # until a permission is denied; none: no deadline
    agent_idle: float = 120.0  # seconds without a turn until an agent's process is closed
    drain_grace: float = 5.0  # seconds that running turns have to end after SIGTERM
    # Budgets, in dollars.
    budget_usd_per_conversation: float | None = None  # none: no limit
    budget_usd_per_user: float | None = None  # for all conversations of a user; none: no limit
    budget_period: Literal["day", "month", "ever"] = "month"  # period of the user budget, in UTC
    # Limits.
    max_frame_bytes: int = 1 << 20  # of a client's frame
    max_depth: int = 64  # maximum JSON depth of a frame
    max_items: int = 20_000  # maximum JSON values in a frame or an HTTP request
    max_body_bytes: int = 1 << 20  # of an HTTP request; a blob may be larger
    max_chat_body_bytes: int = 8 << 20  # of POST /agui and /api/chat, which may have the history
    max_blob_bytes: int = 10_000_000
    max_message_blob_bytes: int = 30_000_000  # all pictures and files of one message
    # Stored data of one user: blobs, and conversations with their logs.
    max_user_blob_bytes: int = 1_000_000_000  # the owner of the data has no limit
    buffer_bytes: int = 1 << 20  # buffer for a slow client
    max_buffered_bytes: int = 64 << 20  # buffers of all clients together
    frames_per_second: float = 50.0  # rate limit per user; for the owner per client
    frames_at_once: int = 200  # burst of that limit
    requests_per_second: float = 50.0  # rate limit of HTTP requests per user
    requests_at_once: int = 200  # burst of that limit
    max_connections: int = 10_000
    max_connections_per_user: int = 2_000
    connects_per_second: float = 20.0  # rate limit of WebSocket connections per user
    connects_at_once: int = 2_000  # burst of that limit
    # Unauthenticated connections. A connection waits while it has no request in progress: see
    # `tcp_connections`.
    max_waiting_connections: int = 4_000
    max_waiting_connections_per_address: int = 2_000
    header_seconds: float = 15.0  # timeout for the headers of a request
    body_seconds: float = 30.0  # timeout for its body, plus one second for each 16 KiB of it
    # Limits per user, over all connections. The owner of the data has no such limit.
    bytes_per_second: float = 2_000_000.0  # rate limit of frames and bodies
    bytes_at_once: int = 64_000_000  # burst of that limit
    work_per_second: float = 0.25  # rate limit of the event loop's time, in seconds
    work_at_once: float = 5.0  # burst of that limit
    costly_at_once: int = 2  # concurrent searches, exports and forks
    max_streams_per_user: int = 32  # of changes (server-sent events)
    max_agents_per_user: int = 16  # maximum number of running agents
    max_conversations_per_user: int = 10_000
    # Heartbeats.
    heartbeat_seconds: int = 15  # silence until the server sends a heartbeat
    ping_seconds: float = 10.0  # between pings on a WebSocket
    pong_seconds: float = 10.0  # timeout of a ping, which closes the WebSocket
    # Monitoring.
    slow_loop_seconds: float = 0.05  # a longer pause of the event loop is logged; 0: off
    # For programs only.
    authenticate: Authenticate | None = None  # authentication of an embedding application
    made_agents: Mapping[str, Agent] | None = None  # agent objects of an embedding application

    @property
    def data_path(self) -> Path:
        """Returns the directory of the conversations."""
        return Path(self.data_dir).expanduser() if self.data_dir else default_data_dir()

    @property
    def kept_in(self) -> str:
        """Returns where the conversations are stored, as it may be shown."""
        return shown(self.store) if self.store else str(self.data_path)

    def __repr__(self) -> str:
        """Returns the settings that are not the default, without the password of the store."""
        said = []
        for field in structs.fields(self):
            value = getattr(self, field.name)
            if value != _usual(field):
                said.append(f"{field.name}={shown_value(field.name, value)!r}")
        return f"Settings({', '.join(said)})"


class Sourced(Struct, frozen=True):
    """A setting and its source."""

    name: str
    value: Any
    source: str  # `--port`, `TURNWIRE_PORT`, `turnwire.toml`, `default`, `the last start`


_OURS = [f for f in structs.fields(Settings) if f.name not in ("authenticate", "made_agents")]
_NAMES = {field.name: field for field in _OURS}

# Valid ranges; the default is 0 and more.
_RANGES: dict[str, tuple[float, float]] = {
    "port": (0, 65535),
    "budget_usd_per_conversation": (0.000001, math.inf),
    "max_frame_bytes": (1024, math.inf),  # a smaller frame could hardly contain a message
    "max_depth": (8, math.inf),  # the depth of the server's own frames
    "max_items": (256, math.inf),
    "max_body_bytes": (1024, math.inf),
    "max_chat_body_bytes": (1024, math.inf),
    "buffer_bytes": (1024, math.inf),
    "max_buffered_bytes": (1024, math.inf),
    "frames_at_once": (1, math.inf),
    "requests_at_once": (1, math.inf),
    "max_connections": (1, math.inf),
    "max_connections_per_user": (1, math.inf),
    "connects_at_once": (1, math.inf),
    "max_waiting_connections": (1, math.inf),
    "max_waiting_connections_per_address": (1, math.inf),
    "header_seconds": (0.1, math.inf),
    "body_seconds": (0.1, math.inf),
    "bytes_at_once": (1024, math.inf),
    "work_at_once": (0.001, math.inf),
    "costly_at_once": (1, math.inf),
    "max_streams_per_user": (1, math.inf),
    "max_agents_per_user": (1, math.inf),
    "max_conversations_per_user": (1, math.inf),
    "heartbeat_seconds": (1, math.inf),
    "ping_seconds": (0.1, math.inf),
    "pong_seconds": (0.1, math.inf),
}


def read_settings(
    flags: Mapping[str, Any] | None = None,
    *,
    defaults: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> tuple[Settings, list[Sourced]]:
    """Reads the settings. Precedence: flags, environment, turnwire.toml, defaults.

    `defaults` replace the library's own defaults.
    """
    environ = os.environ if environ is None else environ
    path = file or Path(environ.get(f"{_PREFIX}CONFIG", _FILE))
    written = _read_file(path, must_exist=file is not None or f"{_PREFIX}CONFIG" in environ)
    chosen: dict[str, Any] = {}
    told: list[Sourced] = []
    for name, field in _NAMES.items():
        variable = _v2_variable(environ) if name == "protocol_v2" else _PREFIX + name.upper()
        source, value = "default", (defaults or {}).get(name, _usual(field))
        if flags is not None and flags.get(name) is not None:
            source, value = f"--{name.replace('_', '-')}", flags[name]
        elif variable in environ:
            source, value = variable, _from_text(environ[variable], field)
        elif name in written:
            source, value = str(path), written[name]
        chosen[name] = _checked(value, field, source)
        told.append(Sourced(name, shown_value(name, chosen[name]), source))
    if flags is not None and flags.get("store"):
        check_flag(flags["store"])
    if flags is not None and flags.get("bus"):
        _check_bus_flag(flags["bus"])
    return Settings(**chosen), told


def shown_value(name: str, value: Any) -> Any:
    """Returns the value of a setting as it may be shown: without the password of the store."""
    return shown(value) if name in ("store", "bus") and isinstance(value, str) else value


def check_flag(store: str) -> None:
    """Raises BadSetting if the value of --store has a password: other users could see it."""
    if is_database(store) and Address(store).has_password:
        raise BadSetting(
            "a password in --store is visible to every user of this machine, in the process list."
            " Leave it out, and give it in PGPASSWORD, in ~/.pgpass, or with the whole address in"
            " TURNWIRE_STORE or turnwire.toml."
        )


def _check_bus_flag(bus: str) -> None:
    """Raises BadSetting if the value of --bus has a password or a token."""
    scheme, is_address, _ = bus.partition("://")
    if is_address and BusAddress(bus, (scheme,)).has_secret:
        raise BadSetting(
            "a password in --bus is visible to every user of this machine, in the process list."
            " Give the whole address in TURNWIRE_BUS or turnwire.toml."
        )


def flag_of_v2() -> bool:
    """Returns whether the environment enables protocol v2, for use if no setting does.

    Raises BadSetting if the two variables contradict each other.
    """
    return os.environ.get(_v2_variable(os.environ), "").lower() in _TRUE


def _v2_variable(environ: Mapping[str, str]) -> str:
    """Returns the variable that enables protocol v2. Raises BadSetting if both names contradict."""
    if _OLD_V2 not in environ:
        return _V2
    if _V2 not in environ:
        return _OLD_V2
    new, old = environ[_V2], environ[_OLD_V2]
    if (new.lower() in _TRUE) is not (old.lower() in _TRUE):
        said = f"{_V2} is {new!r} and {_OLD_V2}, its older name, is {old!r}."
        raise BadSetting(f"{said} Remove {_OLD_V2}.")
    return _V2


def _usual(field: structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


def _read_file(path: Path, *, must_exist: bool) -> dict[str, Any]:
    try:
        written = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if must_exist:
            raise BadSetting(f"there is no file {path}. Create it, or name another.") from None
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadSetting(f"{path} cannot be read: {error}") from None
    for name in written:
        if name not in _NAMES:
            near = difflib.get_close_matches(name, _NAMES, 1)
            hint = (
                f"Did you mean {near[0]}?"
                if near
                else "See docs/reference/settings.md for the list."
            )
            raise BadSetting(f"{path}: there is no setting {name!r}. {hint}")
    return _without_table(written, path)


def _without_table(written: dict[str, Any], path: Path) -> dict[str, Any]:
    """Returns the settings of a file with `[agents.NAME]` as a list and the options of each agent.

    Raises BadSetting if an agent has options in both places.
    """
    given = written.get("agents")
    if not isinstance(given, dict):
        return written
    for name, options in given.items():
        if not isinstance(options, dict):
            raise BadSetting(
                f"{path}: agents.{name} is {options!r}. Give the options of the agent as a table, "
                f"[agents.{name}], or the names of all agents as a list: agents = [{name!r}]."
            )
    more = written.get("agent_options", {})
    twice = sorted(given.keys() & more.keys()) if isinstance(more, dict) else []
    if twice:
        raise BadSetting(
            f"{path}: {twice[0]} has options in [agents.{twice[0]}] and in "
            f"[agent_options.{twice[0]}]. Keep one of them."
        )
    options = {name: each for name, each in given.items() if each}
    both = {**more, **options} if isinstance(more, dict) else more
    return {**written, "agents": list(given), "agent_options": both}


def _from_text(text: str, field: structs.FieldInfo) -> Any:
    if field.type == list[str]:
        return [each.strip() for each in text.split(",") if each.strip()]
    if field.type in _YES_OR_NO:
        word = text.strip().lower()
        return True if word in _TRUE else False if word in _FALSE else text
    if field.name == "agent_options":
        try:
            return msgspec.json.decode(text or "{}")
        except msgspec.DecodeError:
            return text  # rejected later, with its name
    return text


def _checked(value: Any, field: structs.FieldInfo, source: str) -> Any:
    try:
        checked = msgspec.convert(value, field.type, strict=not isinstance(value, str))
    except msgspec.ValidationError as error:
        why = "it has to be true or false" if field.type in _YES_OR_NO else error
        said = f"{field.name} is {shown_value(field.name, value)!r} ({source}): {why}."
        raise BadSetting(f"{said} Correct it there.") from None
    check_number(field.name, checked, source)
    return checked


def check_number(name: str, value: Any, source: str) -> None:
    """Raises BadSetting for a number that is too small, too large or not finite."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return
    least, most = _RANGES.get(name, (0, math.inf))
    said = f"{name} is {value} ({source}): it"
    if not math.isfinite(value):
        raise BadSetting(f"{said} has to be a finite number.")
    if value < least:
        raise BadSetting(f"{said} cannot be less than {least}.")
    if value > most:
        raise BadSetting(f"{said} cannot be more than {most}.")


def default_data_dir() -> Path:
    """Returns the directory for the data of this user's programs on this machine."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "turnwire"
    base = os.environ.get("XDG_DATA_HOME", "")
    # The XDG specification requires relative paths to be ignored.
    return (Path(base) if base.startswith("/") else Path.home() / ".local" / "share") / "turnwire"
