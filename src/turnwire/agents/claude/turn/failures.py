"""Error codes and advice for failed turns: a code for programs, a sentence for people."""

from __future__ import annotations

from msgspec import structs

from turnwire.core import events as ev

__all__ = ["explain", "is_hopeless"]

# Advice to a person, by the error code of the API or of the program.
_WAYS_OUT = {
    "account_on_hold": "Look at the state of the account in the console.",
    "authentication_failed": "Give Claude a credential that is valid: ANTHROPIC_API_KEY.",
    "billing_error": "Look at the account's balance in the console.",
    "budget_exhausted": (
        "The budget is spent: have the limit of the user (budget_usd_per_user), or of the agent"
        " (max_budget_usd), raised."
    ),
    "cloud_credential_error": "Renew the credentials of the cloud that Claude is used through.",
    "image_error": "Send a smaller picture, or one of another type.",
    "invalid_request": "Say it differently, or start another conversation.",
    "max_output_tokens": "Ask for a shorter answer, or in several steps.",
    "max_turns": "Say `go on`, or raise max_turns.",
    "model_not_found": "Choose another model.",
    "oauth_org_not_allowed": "Log in with an account of an organization that may use this.",
    "overloaded": "Try again in some minutes.",
    "prompt_too_long": "Start another conversation, or say /compact.",
    "rate_limit": "Try again later.",
    "server_error": "Try again in some minutes.",
    "verification_required": "Verify the account in the console.",
}

# Errors that a retry cannot fix.
_HOPELESS = frozenset(
    [
        "account_on_hold",
        "authentication_failed",
        "billing_error",
        "cloud_credential_error",
        "model_not_found",
        "oauth_org_not_allowed",
        "verification_required",
    ]
)


def is_hopeless(error: str | None) -> bool:
    """Whether a retry cannot fix this error."""
    return error in _HOPELESS


# The code by HTTP status, used if the API gives no error code or a vague one.
_BY_STATUS = {
    400: "invalid_request",
    401: "authentication_failed",
    402: "billing_error",
    403: "authentication_failed",
    404: "model_not_found",
    413: "prompt_too_long",
    429: "rate_limit",
    529: "overloaded",
}
_VAGUE = (None, "unknown", "server_error")


def explain(failed: ev.TurnFailed, cause: str | None, status: int | None = None) -> ev.TurnFailed:
    """Returns the failure with a more exact code, and with advice if there is any for that code.

    `cause` and `status` are the code and the HTTP status of the API's last error in this turn.
    """
    if cause in _VAGUE:
        cause = _BY_STATUS.get(status or 0, cause)
    code = cause if cause and failed.code in ("api_error", "model_error") else failed.code
    way_out = _WAYS_OUT.get(code)
    message = f"{failed.message.rstrip('.')}. {way_out}" if way_out else failed.message
    return structs.replace(failed, code=code, message=message)
