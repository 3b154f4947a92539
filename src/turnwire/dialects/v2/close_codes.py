"""Why a connection was closed, and whether to come back."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["CLOSES_WITH", "CLOSE_CODES", "may_reconnect"]

CLOSE_CODES: Mapping[int, str] = {
    # Reconnecting can help.
    4000: "The server stops or restarts. Connect again with last_sequence and epoch.",
    4001: "This client read too slowly. Connect again: it gets what it missed.",
    4002: "Nothing was heard from this client for too long (HEARTBEAT_TIMEOUT).",
    4003: "Too many frames or connections. Wait a little first (RATE_LIMITED).",
    4004: "A defect, or storage was lost. Wait first (STORAGE_UNAVAILABLE, INTERNAL_ERROR).",
    # It cannot.
    4500: "The protocol asked for is not spoken here (PROTOCOL_VERSION_UNSUPPORTED).",
    4501: "Protocol v2 is switched off (CHAT_PROTOCOL_DISABLED).",
    4502: "The server does not know who is there, or no longer (UNAUTHORIZED).",
    4503: "This user or origin may not do this (FORBIDDEN).",
    4504: "No such conversation, or no longer (CONVERSATION_NOT_FOUND, CONVERSATION_CLOSED).",
    4505: "The client's address is malformed (INVALID_PAYLOAD), or its frames are, again and again.",
}

CLOSES_WITH: Mapping[str, int] = {
    "HEARTBEAT_TIMEOUT": 4002,
    "RATE_LIMITED": 4003,
    "STORAGE_UNAVAILABLE": 4004,
    "INTERNAL_ERROR": 4004,
    "PROTOCOL_VERSION_UNSUPPORTED": 4500,
    "CHAT_PROTOCOL_DISABLED": 4501,
    "UNAUTHORIZED": 4502,
    "FORBIDDEN": 4503,
    "CONVERSATION_NOT_FOUND": 4504,
    "CONVERSATION_CLOSED": 4504,
    "INVALID_PAYLOAD": 4505,
}
"""The code that closes a connection after an error that ends it."""


def may_reconnect(code: int) -> bool:
    """Whether trying again can help. Any code that is not ours may be a broken line: try again."""
    return not 4500 <= code <= 4999
