"""What a protocol of a model's API has to say about its requests and its replies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

import msgspec

from turnwire.testing.model_api import script as s

__all__ = ["Beat", "Ids", "Protocol", "sse", "words"]


class Ids(NamedTuple):
    """The names that a reply needs."""

    message: str  # id of the message
    model: str  # name of the model
    call: Callable[[], str]  # returns an id for a tool call that has none


class Beat(NamedTuple):
    """An event and the seconds before it, or a hold if the event is None."""

    event: dict[str, Any] | s.Raw | None
    delay: float = 0.0
    hold: str = ""


class Protocol(ABC):
    """One protocol: its requests are read, its replies are written."""

    path: ClassVar[str]  # requests are POST requests to this path
    call_prefix: ClassVar[str]  # of the ids of tool calls
    errors: ClassVar[dict[int, str]]  # the type of an error, by its HTTP status
    last: ClassVar[bytes] = b""  # the end of a stream, after its last event

    # --- requests -------------------------------------------------------------------------------

    @abstractmethod
    def messages(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """Returns the messages of a request. Raises msgspec.ValidationError if it is invalid."""

    @abstractmethod
    def prompt(self, messages: list[dict[str, Any]]) -> str:
        """Returns the text with which a person has begun the conversation."""

    @abstractmethod
    def tool_results(self, messages: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Returns all results of tools by the id of their call."""

    # --- replies --------------------------------------------------------------------------------

    @abstractmethod
    def events(self, reply: s.Say, ids: Ids) -> Iterator[Beat]:
        """Yields the events of a stream."""

    @abstractmethod
    def whole(self, reply: s.Say, ids: Ids) -> dict[str, Any]:
        """Returns the complete message for a client that requested no stream."""

    @abstractmethod
    def error_body(self, failed: s.Fail) -> dict[str, Any]:
        """Returns the body of an HTTP error."""

    def error_event(self, failed: s.Fail, ids: Ids) -> dict[str, Any]:
        """Returns the event that ends a stream with an error."""
        return self.error_body(failed)

    def error_type(self, failed: s.Fail) -> str:
        """Returns the type of an error: the script's, else that of its status."""
        return failed.error or self.errors.get(failed.status, "api_error")

    def status_of(self, error: str) -> int:
        """Returns the HTTP status of an error type, 500 for an unknown one."""
        return next((status for status, kind in self.errors.items() if kind == error), 500)

    def encode(self, event: dict[str, Any] | s.Raw) -> bytes:
        """Encodes an event of a stream: its name, and its data as JSON."""
        if isinstance(event, s.Raw):
            return sse(event.event, event.data)
        return sse(event["type"], event)


def sse(name: str, said: Any) -> bytes:
    """Encodes a server-sent event. An empty name is left out."""
    data = said.encode() if isinstance(said, str) else msgspec.json.encode(said)
    head = b"event: %s\n" % name.encode() if name else b""
    return b"%sdata: %s\n\n" % (head, data)


def words(content: Any) -> str:
    """Returns the text of a message: a string, or the texts of its blocks."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block.get("text", "")) for block in blocks if isinstance(block, dict))
