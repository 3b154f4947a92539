"""How a server behaves where there is a choice, and where each choice came from."""

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

from turnwire.errors import TurnwireError
from turnwire.ports import Agent

__all__ = [
    "Authenticate",
    "BadSetting",
    "Settings",
    "Sourced",
    "check_number",
    "default_data_dir",
    "flag_of_v2",
    "read_settings",
]

# Given an ASGI scope (of a request or a WebSocket): the name of the user, or none.
Authenticate: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[str | None]]

_PREFIX = "TURNWIRE_"
_V2 = "TURNWIRE_PROTOCOL_V2"
_OLD_V2 = "CHAT_PROTOCOL_V2_ENABLED"  # the older name of the same
_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off", "")
_YES_OR_NO: tuple[Any, ...] = (bool, bool | None)  # types of settings
_FILE = "turnwire.toml"


class BadSetting(TurnwireError):
    """A setting that makes no sense. The message says where it is and what to do."""

    code = "INVALID_SETTING"


class Settings(Struct, frozen=True, kw_only=True):
    """What `create_app` and `turnwire serve` can be told."""

    # Where it is.
    data_dir: str = ""  # where conversations are kept; empty: with this user's data
    host: str = "127.0.0.1"  # the address to listen on
    port: int = 7410  # 0: any that is free
    public_url: str = ""  # where people open it, if something stands before it: see `server.public`
    # Who may come in.
    hosts: list[str] = []  # names under which this server is known, besides those of its address
    origins: list[str] = []  # pages from elsewhere that may use it: `https://app.example`
    # What it does.
    protocol_v2: bool | None = None  # none: what TURNWIRE_PROTOCOL_V2 says; otherwise off
    agent: str = "demo"  # of conversations that name none, by name or as module:attribute
    agents: list[str] = []  # those that may be used, by name or as module:attribute; none: all
    agent_options: dict[str, dict[str, Any]] = {}  # by agent: what it is made with
    roots: list[str] = []  # agents may be told to work below these directories
    # How agents are kept away from the data directory: see `agents.isolation`.
    agent_isolation: Literal["auto", "require", "namespaces", "landlock", "off"] = "auto"
    agent_user: str = ""  # a user of this machine, as whom agents run; needs a server of root's
    on_disconnect: Literal["converge", "continue"] = "converge"  # when the last client leaves
    disconnect_grace: float = 30.0  # seconds until then
    max_queue: int = 16  # messages that may wait in a conversation
    question_seconds: float | None = None  # until a question's deadline; none: it waits for ever
    permission_seconds: float | None = None  # until a permission is denied; none: it waits
    agent_idle: float = 120.0  # seconds without a turn, until an agent's process is closed
    # What it may cost, in dollars.
    budget_usd_per_conversation: float | None = None  # none: whatever it takes
    budget_usd_per_user: float | None = None  # of all conversations of a user; none: the same
    budget_period: Literal["day", "month", "ever"] = "month"  # in which they may spend it, in UTC
    # How much is too much.
    max_frame_bytes: int = 1 << 20  # of a client's frame
    max_depth: int = 64  # of the objects and lists in one another in it
    max_items: int = 20_000  # objects, lists, and what is in them, of a frame or an HTTP request
    max_body_bytes: int = 1 << 20  # of an HTTP request; a blob may be larger
    max_blob_bytes: int = 10_000_000
    # Of all that one user has stored: blobs, and conversations with all that was said in them.
    max_user_blob_bytes: int = 1_000_000_000  # the owner of the data has no limit
    buffer_bytes: int = 1 << 20  # that may wait for a slow client
    max_buffered_bytes: int = 64 << 20  # that may wait for all clients together
    frames_per_second: float = 50.0  # of one user, in the long run; of the owner: of one client
    frames_at_once: int = 200  # and in a burst
    requests_per_second: float = 50.0  # over HTTP, of one user, in the long run
    requests_at_once: int = 200  # and in a burst
    max_connections: int = 10_000
    max_connections_per_user: int = 2_000
    connects_per_second: float = 20.0  # WebSockets that one user opens, in the long run
    connects_at_once: int = 2_000  # and in a burst
    # Of strangers. A connection waits while no request is carried out on it: see `tcp_connections`.
    max_waiting_connections: int = 4_000
    max_waiting_connections_per_address: int = 2_000
    header_seconds: float = 15.0  # until the headers of a request are there
    body_seconds: float = 30.0  # until its body is there, and one more for each 16 KiB of it
    # What one user may take, over all connections. The owner of the data has no such limit.
    bytes_per_second: float = 2_000_000.0  # of frames and bodies, in the long run
    bytes_at_once: int = 64_000_000  # and in a burst
    work_per_second: float = 0.25  # seconds of the event loop's time, in the long run
    work_at_once: float = 5.0  # and in a burst
    costly_at_once: int = 2  # searches, exports and forks that are under way
    max_streams_per_user: int = 32  # of changes (server-sent events)
    max_agents_per_user: int = 16  # that run at once
    max_conversations_per_user: int = 10_000
    # Signs of life.
    heartbeat_seconds: int = 15  # of silence until the server says something
    ping_seconds: float = 10.0  # between pings on a WebSocket
    pong_seconds: float = 10.0  # until an unanswered ping ends it
    # What is watched.
    slow_loop_seconds: float = 0.05  # a longer pause of the event loop is logged; 0: none is
    # For programs only.
    authenticate: Authenticate | None = None  # an embedding application's own users
    made_agents: Mapping[str, Agent] | None = None  # agents that are made already

    @property
    def data_path(self) -> Path:
        """Where conversations are kept."""
        return Path(self.data_dir).expanduser() if self.data_dir else default_data_dir()


class Sourced(Struct, frozen=True):
    """A setting, and who chose it."""

    name: str
    value: Any
    source: str  # `--port`, `TURNWIRE_PORT`, `turnwire.toml`, `default`, `the last start`


_OURS = [f for f in structs.fields(Settings) if f.name not in ("authenticate", "made_agents")]
_NAMES = {field.name: field for field in _OURS}

# Where it is not anything from 0 on.
_RANGES: dict[str, tuple[float, float]] = {
    "port": (0, 65535),
    "budget_usd_per_conversation": (0.000001, math.inf),
    "max_frame_bytes": (1024, math.inf),  # less, and hardly a word could be said
    "max_depth": (8, math.inf),  # as deep as our own frames are
    "max_items": (256, math.inf),
    "max_body_bytes": (1024, math.inf),
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
    """A flag goes before the environment, that before turnwire.toml, that before what is usual.

    `defaults` are what is usual here, where that is not what the library does.
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
        told.append(Sourced(name, chosen[name], source))
    return Settings(**chosen), told


def flag_of_v2() -> bool:
    """Whether the environment says that protocol v2 is spoken, where no setting does.

    Raises BadSetting if it says both.
    """
    return os.environ.get(_v2_variable(os.environ), "").lower() in _TRUE


def _v2_variable(environ: Mapping[str, str]) -> str:
    """The variable that switches protocol v2. Raises BadSetting if the two names contradict."""
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
            raise BadSetting(f"there is no file {path}. Make it, or name another.") from None
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadSetting(f"{path} cannot be read: {error}") from None
    for name in written:
        if name not in _NAMES:
            near = difflib.get_close_matches(name, _NAMES, 1)
            hint = f"Did you mean {near[0]}?" if near else "See docs/server.md for those there are."
            raise BadSetting(f"{path}: there is no setting {name!r}. {hint}")
    return written


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
            return text  # which is then refused, with its name
    return text


def _checked(value: Any, field: structs.FieldInfo, source: str) -> Any:
    try:
        checked = msgspec.convert(value, field.type, strict=not isinstance(value, str))
    except msgspec.ValidationError as error:
        why = "it has to be true or false" if field.type in _YES_OR_NO else error
        said = f"{field.name} is {value!r} ({source}): {why}."
        raise BadSetting(f"{said} Mend it there.") from None
    check_number(field.name, checked, source)
    return checked


def check_number(name: str, value: Any, source: str) -> None:
    """Raises BadSetting for a number that is too small, too large or none to count with."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return
    least, most = _RANGES.get(name, (0, math.inf))
    said = f"{name} is {value} ({source}): it"
    if not math.isfinite(value):
        raise BadSetting(f"{said} has to be a number that one can wait for.")
    if value < least:
        raise BadSetting(f"{said} cannot be less than {least}.")
    if value > most:
        raise BadSetting(f"{said} cannot be more than {most}.")


def default_data_dir() -> Path:
    """Where programs of this user keep their data on this machine."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "turnwire"
    base = os.environ.get("XDG_DATA_HOME", "")
    # A relative path is to be ignored, says the specification of these directories.
    return (Path(base) if base.startswith("/") else Path.home() / ".local" / "share") / "turnwire"
