"""Why a connection was closed, and whether to come back."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["CLOSE_CODES", "may_reconnect"]

CLOSE_CODES: Mapping[int, str] = {
    # Reconnecting can help.
    4000: "The server stops or restarts. Connect again with last_sequence and epoch.",
    4001: "This client read too slowly. Connect again: it gets what it missed.",
    4002: "Nothing was heard from this client for too long.",
    4003: "Too many frames or connections. Wait a little first.",
    4004: "The server had a defect or lost its storage. Wait a little first.",
    # It cannot.
    4500: "The protocol asked for is not spoken here (PROTOCOL_VERSION_UNSUPPORTED).",
    4501: "Protocol v2 is switched off (CHAT_PROTOCOL_DISABLED).",
    4502: "The server does not know who is there, or no longer (UNAUTHORIZED).",
    4503: "This user or origin may not do this (FORBIDDEN).",
    4504: "No such conversation, or no longer (CONVERSATION_NOT_FOUND, CONVERSATION_CLOSED).",
    4505: "The client sent what no client should, again and again.",
}


def may_reconnect(code: int) -> bool:
    """Whether trying again can help. Any code that is not ours may be a broken line: try again."""
    return not 4500 <= code <= 4999
