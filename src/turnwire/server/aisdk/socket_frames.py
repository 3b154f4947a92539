"""The frames of `WebSocketChatTransport` (npm `ai` 7): what a client sends, and what it is sent."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

from turnwire.core.error_codes import Refused
from turnwire.core.pieces import LARGE, in_pieces
from turnwire.turn_streams.aisdk.requests import ChatRequest, SentMessage

__all__ = ["AbortFrame", "ChatFrame", "ResumeFrame", "SendFrame", "chunk", "note", "read_frame"]

_MOST_REQUEST_ID = 128
_encode = msgspec.json.Encoder().encode


class SendFrame(Struct, frozen=True, rename="camel", tag_field="type", tag="send"):
    """A message, or answers to requests. Headers and metadata of the frame are ignored."""

    request_id: str
    id: str
    messages: list[SentMessage]
    trigger: Literal["submit-message", "regenerate-message"] = "submit-message"
    message_id: str | None = None
    body: dict[str, Any] = {}

    def request(self) -> ChatRequest:
        """Returns the same as the body of `POST /api/chat`. Raises Refused."""
        agent, options = self.body.get("agent"), self.body.get("options", {})
        if not isinstance(agent, str | None) or not isinstance(options, dict):
            said = "In `body`, `agent` is the name of an agent and `options` an object."
            raise Refused("INVALID_PAYLOAD", said)
        return ChatRequest(self.id, self.messages, self.trigger, self.message_id, agent, options)


class ResumeFrame(Struct, frozen=True, rename="camel", tag_field="type", tag="resume"):
    """Asks for the turn that runs, from its beginning."""

    request_id: str
    id: str
    last_sequence: int | None = None


class AbortFrame(Struct, frozen=True, rename="camel", tag_field="type", tag="abort"):
    """Ends the stream of a request."""

    request_id: str


_Frame = SendFrame | ResumeFrame | AbortFrame


def read_frame(value: Any) -> _Frame:
    """Returns a frame of the client. Raises Refused if it is malformed."""
    given = value.get("requestId") if isinstance(value, dict) else None
    name = given if isinstance(given, str) else None
    if name is None or len(name) > _MOST_REQUEST_ID:
        said = f"A frame has a `requestId` of at most {_MOST_REQUEST_ID} characters."
        raise Refused("INVALID_PAYLOAD", said, requestId=None)
    try:
        frame: _Frame = msgspec.convert(value, _Frame)
    except msgspec.ValidationError as error:
        raise Refused("INVALID_PAYLOAD", f"{error}.", requestId=name) from None
    return frame


class ChatFrame:
    """An encoded frame for the client."""

    __slots__ = ("_raw", "holders", "number")

    def __init__(self, raw: bytes, number: int | None = None) -> None:
        """`number`: of the entry of the log that the frame is about."""
        self.holders = 0
        self.number = number
        self._raw = raw

    @property
    def size(self) -> int:
        """Returns its size in bytes."""
        return len(self._raw)

    @property
    def is_large(self) -> bool:
        """Returns whether the frame is too large to be written to a socket at once."""
        return len(self._raw) > LARGE

    @property
    def shared(self) -> ChatFrame:
        """Returns itself: the id of the request is in it, so that no other client waits for it."""
        return self

    def at(self, sequence: int) -> bytes:
        """Returns its bytes. Each request has sequence numbers of its own."""
        return self._raw

    def pieces(self, sequence: int) -> list[bytes | memoryview]:
        """Returns its bytes in pieces."""
        return list(in_pieces(self._raw))


def chunk(request_id: bytes, sequence: int, raw: bytes, number: int | None) -> ChatFrame:
    """Returns the frame of a chunk; `request_id` and `raw` are JSON."""
    start = b'{"type":"chunk","requestId":%b,"sequence":%d,"chunk":' % (request_id, sequence)
    return ChatFrame(start + raw + b"}", number)


def note(
    kind: Literal["start", "end", "error", "no-active"], request_id: str, error: str | None = None
) -> ChatFrame:
    """Returns a frame without a chunk."""
    told = {"type": kind, "requestId": request_id}
    return ChatFrame(_encode(told if error is None else {**told, "errorText": error}))
