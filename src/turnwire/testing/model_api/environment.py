"""What Claude Code has to be told so that it talks to a scripted model and to nobody else."""

from __future__ import annotations

from pathlib import Path

__all__ = ["claude_environment"]


def claude_environment(url: str, home: Path | str) -> dict[str, str]:
    """Its environment: the model at `url`, its files below `home`, no other traffic."""
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
