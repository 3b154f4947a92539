"""The close codes of protocol v2: why a connection was closed, and whether to reconnect."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["CLOSES_WITH", "CLOSE_CODES", "may_reconnect"]

CLOSE_CODES: Mapping[int, str] = {
    # Reconnecting can help.
    4000: "The server stops or restarts. Reconnect with last_sequence and epoch.",
    4001: "The client read too slowly. Reconnect: the server replays the missed entries.",
    4002: "The client sent nothing for too long (HEARTBEAT_TIMEOUT).",
    4003: "Too many frames or connections. Wait, then reconnect (RATE_LIMITED).",
    4004: "The server failed. Wait, then reconnect (STORAGE_UNAVAILABLE, INTERNAL_ERROR).",
    # Reconnecting cannot help.
    4500: "The server does not support the requested protocol (PROTOCOL_VERSION_UNSUPPORTED).",
    4501: "Protocol v2 is disabled on this server (CHAT_PROTOCOL_DISABLED).",
    4502: "The client is not authenticated, or its credential has expired (UNAUTHORIZED).",
    4503: "This user or origin is not allowed to do this (FORBIDDEN).",
    4504: "The conversation is missing or closed (CONVERSATION_NOT_FOUND, CONVERSATION_CLOSED).",
    4505: "The client's address is malformed, or too many of its frames are (INVALID_PAYLOAD).",
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
"""The close code of each error that ends a connection."""


def may_reconnect(code: int) -> bool:
    """Returns whether reconnecting can help. An unknown code may be a network fault: retry."""
    return not 4500 <= code <= 4999
