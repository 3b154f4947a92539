"""The environment variables with which Claude Code uses only the scripted model."""

from __future__ import annotations

from pathlib import Path

__all__ = ["claude_environment"]


def claude_environment(url: str, home: Path | str) -> dict[str, str]:
    """Returns an environment with the model at `url`, files below `home` and no other traffic."""
    quiet = (
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_AUTOUPDATER",
        "DISABLE_ERROR_REPORTING",
        "DISABLE_TELEMETRY",
    )
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "sk-scripted",
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(Path(home) / ".claude"),
        **dict.fromkeys(quiet, "1"),
    }
