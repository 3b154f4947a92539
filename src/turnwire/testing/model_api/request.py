"""A request to the scripted model."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from turnwire.testing.model_api.http import BadRequest
from turnwire.testing.model_api.protocol import Protocol

__all__ = ["Request", "decode"]


class Request(Struct, frozen=True):
    """A request for a message, as received."""

    lane: str  # empty for the main conversation, `aside` for requests without tools
    body: dict[str, Any]
    headers: dict[str, str]
    at: float  # seconds since 1970
    protocol: Protocol

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Returns the messages of the request."""
        return self.protocol.messages(self.body)

    @property
    def prompt(self) -> str:
        """Returns the text with which a person has begun the conversation."""
        return self.protocol.prompt(self.messages)

    @property
    def tool_results(self) -> dict[str, dict[str, Any]]:
        """Returns all results of tools by the id of their call."""
        return self.protocol.tool_results(self.messages)


def decode(data: bytes, protocol: Protocol) -> dict[str, Any]:
    """Decodes the body of a request. Raises BadRequest if it is not a valid request."""
    try:
        body = msgspec.json.decode(data, type=dict[str, Any])
        protocol.messages(body)
    except msgspec.DecodeError as bad:
        raise BadRequest(f"This is not a valid request for a message: {bad}") from None
    return body
