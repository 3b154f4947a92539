"""A request to the Messages API."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from turnwire.testing.model_api.http import BadRequest

__all__ = ["Request", "decode"]


class Request(Struct, frozen=True):
    """A request for a message, as received."""

    lane: str  # empty for the main conversation, `aside` for requests without tools
    body: dict[str, Any]
    headers: dict[str, str]
    at: float  # seconds since 1970

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Returns the messages of the request."""
        messages: list[dict[str, Any]] = self.body.get("messages") or []
        return messages

    @property
    def prompt(self) -> str:
        """Returns the text of the first user message."""
        first = (message for message in self.messages if message.get("role") == "user")
        return _words(next(first, {}).get("content"))

    @property
    def tool_results(self) -> dict[str, dict[str, Any]]:
        """Returns all tool_result blocks by the id of their call."""
        blocks = (
            block
            for message in self.messages
            if isinstance(message.get("content"), list)
            for block in message["content"]
        )
        results = (b for b in blocks if isinstance(b, dict) and b.get("type") == "tool_result")
        return {str(block.get("tool_use_id")): block for block in results}


def decode(data: bytes) -> dict[str, Any]:
    """Decodes the body of a request. Raises BadRequest if it is not a valid request."""
    try:
        body = msgspec.json.decode(data, type=dict[str, Any])
        msgspec.convert(body.get("messages") or [], list[dict[str, Any]])
    except msgspec.DecodeError as bad:
        raise BadRequest(f"This is not a valid request for a message: {bad}") from None
    return body


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block.get("text", "")) for block in blocks if isinstance(block, dict))
