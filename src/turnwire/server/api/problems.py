"""Turns errors into refusals, error frames and bodies of HTTP responses."""

from __future__ import annotations

from typing import Any

import msgspec

from turnwire.core.error_codes import ERRORS, Refused
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.errors import TurnwireError
from turnwire.ports import Owned, StorageUnavailable
from turnwire.server.access.limits import MOST_ID

__all__ = ["STATUS", "error_body", "error_frame", "refusal_of"]

# The HTTP status of each code.
STATUS: dict[str, int] = {
    "CHAT_PROTOCOL_DISABLED": 404,
    "PROTOCOL_VERSION_UNSUPPORTED": 400,
    "UNAUTHORIZED": 401,
    "FORBIDDEN": 403,
    "CONVERSATION_NOT_FOUND": 404,
    "NOT_A_FORK_POINT": 409,
    "CONVERSATION_CLOSED": 410,
    "HEARTBEAT_TIMEOUT": 408,
    "RATE_LIMITED": 429,
    "INVALID_FORMAT": 400,
    "UNKNOWN_MESSAGE_TYPE": 400,
    "INVALID_PAYLOAD": 400,
    "PAYLOAD_TOO_LARGE": 413,
    "IDEMPOTENCY_CONFLICT": 409,
    "NOT_SUPPORTED": 409,
    "TURN_QUEUE_FULL": 409,
    "BUDGET_EXCEEDED": 402,
    "QUEUE_ITEM_NOT_FOUND": 404,
    "INVALID_QUESTION_ID": 404,
    "NO_PENDING_INPUT": 409,
    "INPUT_REQUIRED": 400,
    "DUPLICATE_INPUT_RESPONSE": 409,
    "INPUT_TIMEOUT": 410,
    "CONVERSATION_INTERRUPTED": 410,
    "AGENT_UNAVAILABLE": 503,
    "AGENT_ERROR": 502,
    "STORAGE_UNAVAILABLE": 503,
    "INTERNAL_ERROR": 500,
}


# What to do after an error, for HTTP: the usual texts are about frames and connections.
_OVER_HTTP: dict[str, str] = {
    "UNAUTHORIZED": "Send a token of `turnwire token create` as Authorization: Bearer, or sign in with a link.",
    "FORBIDDEN": "Do what the message says, or ask the operator of this server.",
    "RATE_LIMITED": "Wait for data.retry_after seconds, then send the same request again.",
    "INVALID_FORMAT": "Correct the request as the message says.",
    "PAYLOAD_TOO_LARGE": "Send less; the message says the limit.",
    "NOT_SUPPORTED": "Look at what the agent can do: GET /api/agents lists it.",
    "QUEUE_ITEM_NOT_FOUND": "Look at the queue: the conversation's status has it.",
    "INVALID_QUESTION_ID": "Look at the inbox: GET /api/inbox lists the open requests.",
    "NO_PENDING_INPUT": "Look at the inbox: GET /api/inbox lists the open requests.",
    "DUPLICATE_INPUT_RESPONSE": "Do nothing: the first answer counts, and the messages show it.",
    "INPUT_TIMEOUT": "Send it as a message to the conversation, if it still matters.",
    "CONVERSATION_INTERRUPTED": "Send a message to the conversation to go on.",
    "HEARTBEAT_TIMEOUT": "Send the same request again.",
    "PROTOCOL_VERSION_UNSUPPORTED": "Use an address of docs/reference/http.md.",
    "STORAGE_UNAVAILABLE": "Send the same request again.",
    "INTERNAL_ERROR": "Send the same request again; report the error if it occurs again.",
}


def refusal_of(error: TurnwireError) -> Refused:
    """Returns the refusal for an error, with a code of the protocol."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, Owned):
        said = "Another server runs this conversation, and cannot be reached from here. Try again."
        return Refused("STORAGE_UNAVAILABLE", said)  # who that is concerns operators alone
    if isinstance(error, StorageUnavailable) and error.is_for_operators:
        return Refused("STORAGE_UNAVAILABLE")  # the log of the server has the details
    code = error.code if error.code in ERRORS else "INTERNAL_ERROR"
    return Refused(code, error.message)  # type: ignore[arg-type]  # it is in ERRORS


def error_frame(
    refused: Refused, conversation_id: str, now: str, client_message_id: str | None = None
) -> f.SessionError:
    """Returns the error frame for a refusal."""
    data = {key: value for key, value in refused.data.items() if key != "client_message_id"}
    own_id = client_message_id or refused.data.get("client_message_id")
    if own_id is not None and len(own_id) > MOST_ID:
        own_id = None  # refused because of its length, so it is not sent back
    payload = p.ErrorPayload(
        refused.code,
        refused.message,
        refused.retryable,
        refused.what_to_do,
        own_id,
        data,
    )
    return f.SessionError(conversation_id, None, None, now, None, payload)


def error_body(refused: Refused) -> bytes:
    """Returns the body of the HTTP response for a refusal."""
    body: dict[str, Any] = {
        "code": refused.code,
        "message": refused.message,
        "retryable": refused.retryable,
        "what_to_do": _OVER_HTTP.get(str(refused.code), refused.what_to_do),
    }
    if refused.data:
        body["data"] = refused.data
    return msgspec.json.encode({"error": body})
