"""Describes system events of an agent in one line: retries, model changes, lost sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnwire.cli.terminal.words import duration

__all__ = ["in_words"]

# News that says in its own text what has happened.
_IN_ITS_WORDS = frozenset(
    [
        "account_gateway_oauth_changed",
        "account_login_completed",
        "config_warning",
        "context_compaction",
        "deprecation_notice",
        "entered_review_mode",
        "error_retry",
        "exited_review_mode",
        "guardian_warning",
        "item_auto_approval_review_completed",
        "mcp_server_oauth_login_completed",
        "model_changed",
        "model_provider_auth_recovery_started",
        "model_rerouted",
        "model_verification",
        "permission_mode_changed",
        "question_refused",
        "thread_goal_updated",
        "warning",
    ]
)
_REFUSED = (401, 403)  # not retried; the end of the turn reports them


def in_words(
    subtype: str, data: Mapping[str, Any], text: str | None = None
) -> tuple[str, Any] | None:
    """Returns a headline and its details. Returns None if the event is not shown to people."""
    match subtype:
        case _ if text and subtype in _IN_ITS_WORDS:
            return text, None
        case "api_retry" if data.get("error_status") not in _REFUSED:
            return _retry(data)
        case "model_fallback" | "model_refusal_fallback":
            return "Another model continues", data.get("content") or data.get("fallback_model")
        case "model_refusal_no_fallback":
            return "The model refused", data.get("api_refusal_explanation") or data.get("content")
        case "informational" | "notification":
            said = data.get("content") or data.get("message")
            return (str(said), None) if said else None
        case "session_lost":
            return "The agent starts a new session", data.get("message")
        case "agent":
            return f"{data.get('agent')} speaks from here on", None
        case "agent_refused":
            return f"{data.get('agent')} could not take over", data.get("message")
        case "choice_refused":
            return "The agent keeps its setting", data.get("message")
        case _:
            return None


def _retry(data: Mapping[str, Any]) -> tuple[str, str]:
    status, error, delay = (data.get(n) for n in ("error_status", "error", "retry_delay_ms"))
    causes = [f"HTTP {status}" if status else "no answer", error if error != "unknown" else None]
    cause = ", ".join(str(each) for each in causes if each)
    again = f"retry {data.get('attempt')} of {data.get('max_retries')}"
    when = f", in {duration(delay / 1000)}" if isinstance(delay, int | float) else ""
    return f"The model's API failed ({cause})", f"{again}{when}"
