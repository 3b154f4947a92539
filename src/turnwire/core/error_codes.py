"""The error codes of the protocols, with their messages and next steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from turnwire.errors import TurnwireError

__all__ = ["ERRORS", "ErrorCode", "ErrorRule", "Refused"]

ErrorCode: TypeAlias = Literal[
    "AGENT_ERROR",
    "AGENT_UNAVAILABLE",
    "BUDGET_EXCEEDED",
    "CHAT_PROTOCOL_DISABLED",
    "CONVERSATION_CLOSED",
    "CONVERSATION_INTERRUPTED",
    "CONVERSATION_NOT_FOUND",
    "DUPLICATE_INPUT_RESPONSE",
    "FORBIDDEN",
    "HEARTBEAT_TIMEOUT",
    "IDEMPOTENCY_CONFLICT",
    "INPUT_REQUIRED",
    "INPUT_TIMEOUT",
    "INTERNAL_ERROR",
    "INVALID_FORMAT",
    "INVALID_PAYLOAD",
    "INVALID_QUESTION_ID",
    "NOT_A_FORK_POINT",
    "NOT_SUPPORTED",
    "NO_PENDING_INPUT",
    "PAYLOAD_TOO_LARGE",
    "PROTOCOL_VERSION_UNSUPPORTED",
    "QUEUE_ITEM_NOT_FOUND",
    "RATE_LIMITED",
    "STORAGE_UNAVAILABLE",
    "TURN_QUEUE_FULL",
    "UNAUTHORIZED",
    "UNKNOWN_MESSAGE_TYPE",
]


class ErrorRule(Struct, frozen=True, gc=False):
    """The meaning of one code."""

    meaning: str
    retryable: bool  # the same frame may succeed if it is sent again later
    what_to_do: str


ERRORS: Mapping[str, ErrorRule] = {
    # The connection.
    "CHAT_PROTOCOL_DISABLED": ErrorRule(
        "Protocol v2 is switched off on this server.",
        False,
        "Set TURNWIRE_PROTOCOL_V2=true where the server runs, or Settings(protocol_v2=True).",
    ),
    "PROTOCOL_VERSION_UNSUPPORTED": ErrorRule(
        "The address names no protocol, or one this server does not speak.",
        False,
        "Connect with ?protocol=v2.",
    ),
    "UNAUTHORIZED": ErrorRule(
        "The client is not authenticated.",
        False,
        "Get a token with `turnwire token create`, or a ticket, and connect again.",
    ),
    "FORBIDDEN": ErrorRule(
        "This user, or this origin, may not do this.", False, "Ask the conversation's owner."
    ),
    "CONVERSATION_NOT_FOUND": ErrorRule(
        "The conversation does not exist, or this user may not see it.",
        False,
        "Look at the list of conversations, or create one.",
    ),
    "CONVERSATION_CLOSED": ErrorRule(
        "The conversation was archived or deleted.", False, "Open it again, or create another."
    ),
    "HEARTBEAT_TIMEOUT": ErrorRule(
        "The client was silent for too long.",
        True,
        "Connect again with last_sequence and epoch; nothing is lost.",
    ),
    "RATE_LIMITED": ErrorRule(
        "Too many frames or connections in a short time.",
        True,
        "Wait for data.retry_after seconds, then send the same frame again.",
    ),
    # A frame.
    "INVALID_FORMAT": ErrorRule(
        "The frame is not a JSON object with a `type`.", False, "Send one JSON object per frame."
    ),
    "UNKNOWN_MESSAGE_TYPE": ErrorRule(
        "There is no client frame of this type.",
        False,
        "Check the spelling; the types are listed on this page.",
    ),
    "INVALID_PAYLOAD": ErrorRule(
        "A field is missing, unknown in its value, or of the wrong type.",
        False,
        "Correct the field that the message names.",
    ),
    "PAYLOAD_TOO_LARGE": ErrorRule(
        "The frame is larger than limits.max_frame_bytes.",
        False,
        "Upload large content as a blob and refer to it.",
    ),
    "IDEMPOTENCY_CONFLICT": ErrorRule(
        "This client_message_id was used for another frame.",
        False,
        "Use a new client_message_id for new content.",
    ),
    "NOT_SUPPORTED": ErrorRule(
        "This conversation's agent cannot do this.",
        False,
        "Offer only what capabilities.commands lists.",
    ),
    "NOT_A_FORK_POINT": ErrorRule(
        "A turn was still open at this entry, or the log is shorter.",
        False,
        "Fork at one of data.nearest: after a turn, or before a person's message.",
    ),
    # The queue.
    "TURN_QUEUE_FULL": ErrorRule(
        "A turn runs and its queue is full. Nothing was written.",
        True,
        "Send it again when a turn has ended, or remove a queued message.",
    ),
    "QUEUE_ITEM_NOT_FOUND": ErrorRule(
        "The message is not in the queue: it has started, or was removed.",
        False,
        "Take the queue from the latest session.state.",
    ),
    "BUDGET_EXCEEDED": ErrorRule(
        "The budget of the conversation, or of its user, is spent. Nothing was written.",
        False,
        "Wait until data.resets_at, if there is one; or have the limit raised.",
    ),
    # Questions and permissions.
    "INVALID_QUESTION_ID": ErrorRule(
        "This conversation never asked this question.",
        False,
        "Answer one of the requests in the latest session.state.",
    ),
    "NO_PENDING_INPUT": ErrorRule("No request is open.", False, "Send a user.message instead."),
    "INPUT_REQUIRED": ErrorRule(
        "The question requires an answer, and this one is empty.", False, "Send a real answer."
    ),
    "DUPLICATE_INPUT_RESPONSE": ErrorRule(
        "The request has been answered already.",
        False,
        "Show the answer that assistant.request_resolved has.",
    ),
    "INPUT_TIMEOUT": ErrorRule(
        "The deadline has passed.", False, "Send a user.message if it still matters."
    ),
    "CONVERSATION_INTERRUPTED": ErrorRule(
        "The request was cancelled because its turn was stopped.",
        False,
        "Send a user.message to go on.",
    ),
    # The server and the agent.
    "AGENT_UNAVAILABLE": ErrorRule(
        "The agent cannot be started now. Nothing was written.",
        True,
        "Read the message, fix the cause and send it again.",
    ),
    "AGENT_ERROR": ErrorRule(
        "The agent itself has a defect. Nothing was written.",
        True,
        "Read the message, fix the agent and send it again.",
    ),
    "STORAGE_UNAVAILABLE": ErrorRule(
        "The log cannot be written now. Nothing was accepted.",
        True,
        "Send the same frame again under the same client_message_id.",
    ),
    "INTERNAL_ERROR": ErrorRule(
        "A defect in the server.",
        True,
        "Send the same frame again under the same client_message_id; report it if it stays.",
    ),
}


class Refused(TurnwireError):
    """A refused command. No part of the command was written."""

    code: ErrorCode

    def __init__(self, code: ErrorCode, message: str | None = None, **data: Any) -> None:
        rule = ERRORS[code]
        super().__init__(message or rule.meaning, **data)
        self.code = code
        self.retryable = rule.retryable
        self.what_to_do = rule.what_to_do
