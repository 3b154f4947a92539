"""Finds the SDK, the Claude Code program and a credential on this machine."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from turnwire import extras
from turnwire.agents.program_version import program_version

__all__ = [
    "CLOUDS",
    "CREDENTIALS",
    "cli_version",
    "environment",
    "find_cli",
    "has_credential",
    "how_to_install",
    "is_on",
    "missing",
]

# Each of these variables is a credential. A variable that switches a cloud on counts as one, too.
CREDENTIALS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")

# The server's environment variables that Claude gets in addition to those of every program. The
# keys of a cloud are added only if Claude uses that cloud.
_ALLOWED = (
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    *("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "IS_SANDBOX"),
    *("DISABLE_AUTOUPDATER", "DISABLE_ERROR_REPORTING", "DISABLE_TELEMETRY"),
    *("CLAUDE_CONFIG_DIR", "MCP_TIMEOUT", "DISABLE_PROMPT_CACHING"),
    *("API_TIMEOUT_MS", "MAX_THINKING_TOKENS", "BASH_DEFAULT_TIMEOUT_MS"),
)
_ALLOWED_BEGINNINGS = ("ANTHROPIC_", "CLAUDE_CODE_")
CLOUDS = {
    "CLAUDE_CODE_USE_BEDROCK": ("AWS_",),
    "CLAUDE_CODE_USE_VERTEX": ("GOOGLE_", "CLOUD_ML_", "VERTEX_", "GCLOUD_"),
    "CLAUDE_CODE_USE_FOUNDRY": ("AZURE_",),
}


def environment(plain: Mapping[str, str], extra: Mapping[str, str]) -> dict[str, str]:
    """Returns Claude's environment: `plain`, the allowed variables of this process, and `extra`."""
    beginnings: tuple[str, ...] = _ALLOWED_BEGINNINGS
    for switch, names in CLOUDS.items():
        if is_on({**os.environ, **extra}, switch):
            beginnings += names
    allowed = {
        name: value
        for name, value in os.environ.items()
        if name in _ALLOWED or name.startswith(beginnings)
    }
    # With these, Claude Code would believe that it runs inside another Claude Code.
    for name in ("CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID"):
        allowed.pop(name, None)
    return {**plain, **allowed, **extra}


def is_on(env: Mapping[str, str], switch: str) -> bool:
    """Whether a switch is on, by the rules of Claude Code: `0` is off."""
    return env.get(switch, "").strip().lower() in ("1", "true", "yes", "on")


def missing(env: Mapping[str, str], cli_path: str | None) -> str | None:
    """Returns why Claude cannot be used here and what to do about it, or None if it can."""
    if _sdk() is None:
        return f"The Claude Agent SDK is not installed. Install it: {how_to_install()}"
    cli = find_cli(cli_path)
    if cli is None:
        return f"{_why_not(cli_path)} Install it with the SDK: {how_to_install()}"
    if not has_credential(env):
        return (
            "There is no credential for Claude. Set ANTHROPIC_API_KEY, or CLAUDE_CODE_OAUTH_TOKEN "
            f"to what `{cli} setup-token` prints."
        )
    return None


def how_to_install() -> str:
    """Returns the install command; in a clone it is `make`, because its environment has no pip."""
    clone = Path(__file__).resolve().parents[5]
    if Path(sys.prefix).resolve() != clone / ".venv" or not (clone / "Makefile").is_file():
        return extras.how_to_install("claude")
    return "make claude" if Path.cwd() == clone else f"make -C {shlex.quote(str(clone))} claude"


def _why_not(cli_path: str | None) -> str:
    if cli_path is None:
        return "Claude Code was not found."
    if not Path(cli_path).exists():
        return f"{cli_path} does not exist."
    what = "a directory" if Path(cli_path).is_dir() else "not an executable file"
    return f"{cli_path} is {what}: cli_path has to be Claude Code itself."


@cache
def _sdk() -> Path | None:
    """Returns the SDK's folder, or None. Does not import the SDK, which is slow."""
    spec = find_spec("claude_agent_sdk")
    return Path(spec.origin).parent if spec and spec.origin else None


def find_cli(given: str | None = None) -> str | None:
    """Returns the path of the given program, the SDK's bundled one, or the one in PATH, or None."""
    if given is not None:
        return shutil.which(given)
    sdk = _sdk()
    bundled = sdk and sdk / "_bundled" / "claude"
    if bundled and bundled.is_file():
        return str(bundled)
    return shutil.which("claude")


async def cli_version(given: str | None, env: Mapping[str, str]) -> str | None:
    """Returns the version of the program that `find_cli` returns. Returns None if none is."""
    cli, sdk = find_cli(given), _sdk()
    if cli is None:
        return None
    if sdk is not None and Path(cli).is_relative_to(sdk):
        found = _mentioned_version(sdk / "_cli_version.py")
        if found is not None:
            return found  # starting the program takes longer
    return await program_version(cli, env)


def has_credential(env: Mapping[str, str]) -> bool:
    """Whether a credential is configured. Only the API can tell whether it is valid."""
    if any(env.get(name) for name in CREDENTIALS) or any(is_on(env, each) for each in CLOUDS):
        return True
    home = Path(env.get("HOME") or Path.home())
    folder = Path(env.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    if (folder / ".credentials.json").is_file():
        return True
    # The key itself may be in the keychain; these files show that a person has logged in.
    return any(
        _mentions(path, word)
        for path, word in (
            (home / ".claude.json", b'"oauthAccount"'),
            (folder / ".claude.json", b'"oauthAccount"'),
            (folder / "settings.json", b'"apiKeyHelper"'),
        )
    )


def _mentioned_version(path: Path) -> str | None:
    """Returns the version that a file of the SDK names, without importing the SDK."""
    try:
        found = re.search(r"__cli_version__ = \"([^\"]+)\"", path.read_text())
    except OSError:
        return None
    return found and found.group(1)


def _mentions(path: Path, word: bytes) -> bool:
    try:
        return word in path.read_bytes()
    except OSError:
        return False
