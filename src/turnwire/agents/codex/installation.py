"""Finds the Codex program and a credential on this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from turnwire import extras
from turnwire.agents.program_version import program_version

__all__ = ["codex_home", "codex_version", "environment", "find_codex", "missing"]

_ALLOWED = (
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR"),
)
_ALLOWED_BEGINNINGS = ("CODEX_", "OPENAI_")
_KEYS = ("OPENAI_API_KEY", "CODEX_API_KEY")


def environment(plain: Mapping[str, str], extra: Mapping[str, str]) -> dict[str, str]:
    """Returns Codex's environment: `plain`, the allowed variables of this process, and `extra`."""
    allowed = {
        name: value
        for name, value in os.environ.items()
        if name in _ALLOWED or name.startswith(_ALLOWED_BEGINNINGS)
    }
    return {**plain, **allowed, **extra}


def codex_home(env: Mapping[str, str]) -> Path:
    """Returns the directory in which Codex keeps its configuration and its sessions."""
    return Path(env.get("CODEX_HOME") or Path(env.get("HOME") or Path.home()) / ".codex")


def find_codex(given: str | None = None) -> str | None:
    """Returns the given program, that of the wheel, or the one in PATH. Returns None if none is.

    The npm package's `codex` in PATH is a script that starts the program. The guard ends both.
    """
    if given is not None:
        return shutil.which(given)
    wheel = _wheel()
    bundled = wheel and wheel / "bin" / "codex"
    return str(bundled) if bundled and bundled.is_file() else shutil.which("codex")


@cache
def _wheel() -> Path | None:
    spec = find_spec("codex_cli_bin")
    return Path(spec.origin).parent if spec and spec.origin else None


async def codex_version(given: str | None, env: Mapping[str, str]) -> str | None:
    """Returns the version of the program that `find_codex` returns. Returns None if none is."""
    codex, wheel = find_codex(given), _wheel()
    if codex is None:
        return None
    if wheel is not None and Path(codex).is_relative_to(wheel):
        return metadata.version("openai-codex-cli-bin")  # starting the program takes longer
    return await program_version(codex, env)


def missing(env: Mapping[str, str], codex_path: str | None) -> str | None:
    """Returns why Codex cannot be used here and what to do about it. Returns None if it can."""
    codex = find_codex(codex_path)
    if codex is None:
        if codex_path is not None:
            return f"{codex_path} is not a program. Give the path of Codex as codex_path."
        return f"Codex is not installed. Install it: {extras.how_to_install('codex')}"
    home = codex_home(env)
    if any(env.get(name) for name in _KEYS) or (home / "auth.json").is_file():
        return None
    if _names_a_provider(home / "config.toml"):
        return None  # a provider of its own, which may need no key
    return f"There is no credential for Codex. Set OPENAI_API_KEY, or run `{codex} login`."


def _names_a_provider(config: Path) -> bool:
    try:
        return b"model_providers" in config.read_bytes()
    except OSError:
        return False
