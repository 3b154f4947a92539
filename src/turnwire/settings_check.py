"""Rejects invalid or contradictory settings at startup."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec import structs

from turnwire.bus.open_bus import open_bus
from turnwire.errors import TurnwireError
from turnwire.settings import BadSetting, Settings, Sourced, check_number, shown_value
from turnwire.stores.address import Address, BadAddress, is_database

__all__ = ["check_settings", "is_number"]

# The first path segments of the server's own URLs. A prefix with such a name would be ambiguous.
_OURS = (
    "agui",
    "api",
    "assets",
    "c",
    "enter",
    "healthz",
    "icon-192.png",
    "icon-512.png",
    "icon-maskable.png",
    "icon.svg",
    "inbox",
    "manifest.webmanifest",
    "new",
    "offline",
    "readyz",
    "search",
    "settings",
    "shared",
    "worker.js",
    "ws",
)
_PREFIX = re.compile(r"(/[A-Za-z0-9._~-]+)*")
_NAME = re.compile(r"[^\s:/?#@*\[\]]+")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*", re.IGNORECASE)
_NOT_VALUES = ("authenticate", "made_agents")


def check_settings(settings: Settings, told: Iterable[Sourced] = ()) -> None:
    """Raises BadSetting for the first invalid setting, with its source and a valid value."""
    sources = {each.name: each.source for each in told}
    for field in structs.fields(settings):
        if field.name in _NOT_VALUES:
            continue
        value = getattr(settings, field.name)
        source = sources.get(field.name, "Settings")
        _check_type(field, value, source)
        check_number(field.name, value, source)
        wrong = _RULES[field.name](value) if field.name in _RULES else None
        if wrong is not None:
            said = shown_value(field.name, value)
            raise BadSetting(f"{field.name} is {said!r} ({source}): {wrong}")


def _check_type(field: structs.FieldInfo, value: Any, source: str) -> None:
    """Raises BadSetting for a value of the wrong type, which a program may pass. Accepts paths."""
    plain = [str(each) for each in value] if _are_paths(value) else value
    plain = str(plain) if isinstance(plain, Path) else plain
    if isinstance(plain, Mapping):
        return  # options of agents, which each agent validates itself
    try:
        msgspec.convert(plain, field.type)
    except msgspec.ValidationError as error:
        said = shown_value(field.name, value)
        raise BadSetting(f"{field.name} is {said!r} ({source}): {error}.") from None


def _are_paths(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, str | Path) for each in value)


def _store(address: str) -> str | None:
    if not address:
        return None
    try:
        if not is_database(address):
            return "Name a database: postgresql://user@host:5432/database. For a file use data_dir."
        Address(address)
    except BadAddress as wrong:
        return wrong.message
    return None


def _bus(address: str) -> str | None:
    if address in ("", "off"):
        return None
    try:
        open_bus(address)
    except TurnwireError as wrong:
        return wrong.message
    return None


def _host(host: str) -> str | None:
    right = "Name an address of this machine: 127.0.0.1 for this machine alone, 0.0.0.0 for all."
    if not host.strip("[]") or re.search(r"[\s/*]", host):
        return f"it is not an address to listen on. {right}"
    if host.count(":") == 1:
        return f"the port is a setting of its own. {right}"
    return None


def _hosts(names: list[str]) -> str | None:
    for name in names:
        if not _NAME.fullmatch(name) and not is_number(name.strip("[]")):
            right = "Write it bare, without a port: chat.example."
            return f"{name!r} is not the name of a server. {right}"
    return None


def is_number(name: str) -> bool:
    """Returns whether this is a numeric address, not a name."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _origins(origins: list[str]) -> str | None:
    for origin in origins:
        if origin == "*":
            return "a wildcard is not allowed. Name each origin: https://app.example."
        scheme, mark, rest = origin.rstrip("/").partition("://")
        parts = _split(f"//{rest}")
        if not (mark and _SCHEME.fullmatch(scheme) and parts and parts.hostname):
            return _not_an_origin(origin)
        if parts.netloc != rest or parts.username is not None or "*" in rest:
            return _not_an_origin(origin)
    return None


def _not_an_origin(origin: str) -> str:
    return (
        f"{origin!r} is not the origin of a page. "
        "Write it as a browser does, with its scheme and without a path: https://app.example."
    )


def _public_url(url: str) -> str | None:
    if not url:
        return None
    right = "Write it as people open it: https://chat.example, or https://chat.example/turnwire."
    parts = _split(url)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        return f"it is not a valid URL. {right}"
    if parts.username is not None or parts.query or parts.fragment or "*" in parts.netloc:
        return f"it may have a name, a port and a path, and nothing else. {right}"
    prefix = parts.path.rstrip("/")
    if not _PREFIX.fullmatch(prefix) or {".", ".."} & set(prefix.split("/")):
        return f"its path may have letters, digits and . _ ~ - in it. {right}"
    if prefix.split("/")[1:2] and prefix.split("/")[1] in _OURS:
        return f"the server has addresses of its own below /{prefix.split('/')[1]}. Choose another."
    return None


def _page_address(url: str) -> str | None:
    if not url or re.fullmatch(r"/(?![/\\])\S*", url):
        return None
    parts = _split(url)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        return "it is neither a URL nor a path. Write https://app.example/login, or /login."
    return None


def _roots(roots: list[str]) -> str | None:
    for root in roots:
        try:
            if not Path(root).expanduser().is_dir():
                return f"there is no directory {str(root)!r}. Make it, or name one that is there."
        except (OSError, RuntimeError) as error:  # no permission, or an unknown user in `~`
            return f"{str(root)!r} cannot be read: {error}. Name another directory."
    return None


def _slow_loop_seconds(seconds: float) -> str | None:
    if 0 < seconds < 0.005:
        return (
            "such a short interval would keep the server busy. Choose 0.005 or more, or 0 for none."
        )
    return None


def _split(address: str) -> SplitResult | None:
    try:
        parts = urlsplit(address)
        _ = parts.port  # raises if the port is invalid
    except ValueError:
        return None
    return None if re.search(r"\s", address) else parts


_RULES: Mapping[str, Callable[[Any], str | None]] = {
    "host": _host,
    "hosts": _hosts,
    "origins": _origins,
    "login_url": _page_address,
    "logout_url": _page_address,
    "public_url": _public_url,
    "roots": _roots,
    "slow_loop_seconds": _slow_loop_seconds,
    "store": _store,
    "bus": _bus,
}
