"""The environments with which Claude Code and Codex use only the scripted model."""

from __future__ import annotations

from pathlib import Path

__all__ = ["claude_environment", "codex_config", "codex_environment"]


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


def codex_config(url: str) -> str:
    """Returns a config.toml with which Codex uses the model at `url` and no other.

    The variable of `codex_environment` is its key. Plans and questions are switched on.
    """
    return f"""\
model = "gpt-5.5"
suppress_unstable_features_warning = true
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_API_KEY"
request_max_retries = 1
stream_max_retries = 1

[tools.update_plan]
enabled = true

[features]
default_mode_request_user_input = true

[analytics]
enabled = false

[otel]
exporter = "none"
"""


def codex_environment(url: str, home: Path | str) -> dict[str, str]:
    """Returns an environment with files below `home`, and writes the config.toml of the model."""
    config = Path(home) / ".codex"
    config.mkdir(parents=True, exist_ok=True)
    (config / "config.toml").write_text(codex_config(url))
    return {"HOME": str(home), "CODEX_HOME": str(config), "SCRIPTED_API_KEY": "sk-scripted"}
