"""What the news of Codex says to people, in words."""

from __future__ import annotations

from typing import Any

from turnwire.core.times import iso
from turnwire.dialects.codex import items as i
from turnwire.dialects.codex import notices as n
from turnwire.dialects.codex.failures import snake

__all__ = ["in_words"]

_LONG = 48 * 60  # minutes from which a period is said in days
_LAST = 253_402_300_800  # the end of the year 9999, in seconds since 1970


def in_words(told: Any) -> str | None:
    """Returns what a notice or an item says. Returns None if its name says all."""
    match told:
        case n.Warned(message=said) | n.GuardianWarning(message=said):
            return f"Warning: {said}"
        case n.DeprecationNotice(summary=summary, details=details):
            return _joined("Deprecated", summary, details)
        case n.ConfigWarning(summary=summary, details=details, path=path):
            said = _joined("Configuration", summary, details)
            return f"{said} ({path})" if path else said
        case n.ModelRerouted(from_model=before, to_model=after, reason=reason):
            return f"{after} answers instead of {before} ({_plain(reason)})"
        case n.ModelVerification(verifications=wanted):
            names = ", ".join(map(_plain, wanted))
            return f"The model's provider wants the account verified: {names}"
        case n.SafetyBuffering(model=model, reasons=reasons):
            why = f" ({', '.join(map(_plain, reasons))})" if reasons else ""
            return f"The output of {model} is checked before it is shown{why}"
        case n.AuthRecovery(provider=provider, message=said):
            return f"{provider}: {said}"
        case n.GoalUpdated(goal=goal):
            return f"Goal: {goal.objective} ({_plain(goal.status)})"
        case n.HookTold(run=run):
            said = " ".join([run.status_message or "", *(each.text for each in run.entries)])
            return f"Hook {run.event_name}: {_joined(run.status, said.strip(), None)}"
        case n.ApprovalReviewStarted(review=review):  # or completed
            return _joined("Automatic review", _plain(review.status), review.rationale)
        case n.McpLoginCompleted(name=name, success=success, error=error):
            return f"MCP server {name}: " + ("logged in" if success else f"no login: {error}")
        case n.McpStatusUpdated(name=name, status=status, error=error):
            return f"MCP server {name}: {_joined(status, error or '', None)}"
        case n.LoginCompleted(success=success, error=error):
            return "Logged in" if success else f"No login: {error}"
        case n.GatewayOAuthChanged(provider_id=name, status=status, error=error):
            return f"Login to {name}: {_joined(_plain(status), error or '', None)}"
        case n.RateLimitsUpdated(rate_limits=limits):
            return _limits(limits)
        case _:
            return _item(told)


def _item(item: Any) -> str | None:
    match item:
        case i.EnteredReviewMode(review=about):
            return f"Review: {about}" if about else None
        case i.ExitedReviewMode(review=said):
            return said or None
        case i.ContextCompaction():
            return "Codex summarized the conversation so far, to save context"
        case i.HookPrompt(fragments=fragments):
            texts = [each.get("text") for each in fragments if isinstance(each, dict)]
            said = " ".join(text for text in texts if isinstance(text, str))
            return f"A hook told the model: {said}" if said else None
        case i.Sleep(duration_ms=ms):
            return f"The model pauses for {ms / 1000:g} seconds"
        case i.SubAgentActivity(kind=str() as kind, agent_path=str() as path):
            return f"Sub-agent {path}: {_plain(kind)}"
        case _:
            return None


def _limits(limits: n.RateLimits) -> str | None:
    windows = [each for each in (limits.primary, limits.secondary) if each is not None]
    parts = [_window(each) for each in windows]
    if limits.credits is not None and limits.credits.balance is not None:
        parts.append(f"credits {limits.credits.balance}")
    if limits.rate_limit_reached_type is not None:
        parts.insert(0, _plain(limits.rate_limit_reached_type))
    name = f" of {limits.limit_name}" if limits.limit_name else ""
    return f"Usage limits{name}: {', '.join(parts)}" if parts else None


def _window(window: n.RateWindow) -> str:
    minutes = window.window_duration_mins
    period = ""
    if minutes:
        period = (
            f" of {minutes / 60:g} hours" if minutes < _LONG else f" of {minutes / 1440:g} days"
        )
    at = window.resets_at
    resets = f", until {iso(at * 1000)}" if at is not None and 0 < at < _LAST else ""
    return f"{window.used_percent} %{period} used{resets}"


def _plain(name: str) -> str:
    return snake(name).replace("_", " ")


def _joined(head: str, said: str, more: str | None) -> str:
    return ": ".join([each for each in (head, said, more) if each])
