"""The types of a script: replies of a model and their blocks. A script can also be a JSON file."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, TypeAlias

from msgspec import Struct

__all__ = [
    "Block",
    "Cuts",
    "Fail",
    "Hold",
    "Raw",
    "RedactedThinking",
    "Reply",
    "Say",
    "Script",
    "Text",
    "Thinking",
    "ToolUse",
    "pieces",
]

# How a text is split into deltas: a number of pieces, or positions. None sends it as one piece.
Cuts: TypeAlias = int | list[int] | None


class _Block(Struct, frozen=True, omit_defaults=True, tag_field="type", forbid_unknown_fields=True):
    pass


class Text(_Block, frozen=True, tag="text"):
    """A text block."""

    text: str
    cuts: Cuts = None
    delay: float = 0.0  # seconds before each piece
    hold: str | None = None  # pauses before the last piece, as `Hold` does between blocks


class Thinking(_Block, frozen=True, tag="thinking"):
    """A thinking block with its signature."""

    thinking: str
    signature: str = "signed"
    cuts: Cuts = None
    delay: float = 0.0
    raw: bool = False  # Responses only: the reasoning itself instead of a summary


class RedactedThinking(_Block, frozen=True, tag="redacted_thinking"):
    """A thinking block whose content is encrypted."""

    data: str = "hidden"


class ToolUse(_Block, frozen=True, tag="tool_use"):
    """A tool call. `cuts` are positions in the JSON of its input, also inside of a token."""

    name: str
    input: dict[str, Any] = {}
    json: str | None = None  # sent in a stream instead of `input`; may be invalid JSON
    id: str | None = None  # None makes a new id
    cuts: Cuts = 3
    delay: float = 0.0
    text: str | None = None  # Responses only: the input of a tool that takes text instead of JSON
    namespace: str | None = (
        None  # Responses only: the group of tools, such as those of an MCP server
    )


class Hold(_Block, frozen=True, tag="hold"):
    """No content: pauses the stream until `ModelApi.release`, or until the client disconnects."""

    name: str = ""


class Raw(_Block, frozen=True, tag="raw"):
    """Any event of the stream, also an unknown or invalid one. A string is sent unchanged."""

    event: str
    data: Any


Block: TypeAlias = Text | Thinking | RedactedThinking | ToolUse | Hold | Raw


class _Reply(Struct, frozen=True, omit_defaults=True, tag_field="type", forbid_unknown_fields=True):
    pass


class Say(_Reply, frozen=True, tag="say"):
    """A message. A string is a text block."""

    blocks: list[Block | str]
    stop_reason: str | None = None  # None: tool_use if a tool is called, else end_turn
    usage: dict[str, Any] = {}  # added to the default usage
    model: str | None = None  # None: the model of the request
    delay: float = 0.0  # seconds before the first event
    ping: bool = False
    headers: dict[str, str] = {}
    # Number of events after which the connection is aborted, or an `error` event ends the message.
    # Holds do not count.
    cut_after: int | None = None
    error_after: int | None = None
    error: str = "overloaded_error"  # that event's type
    error_message: str = "scripted"


class Fail(_Reply, frozen=True, tag="fail"):
    """An HTTP error instead of a message."""

    status: int
    message: str = "scripted"
    error: str | None = None  # its type; None: the type that belongs to the status
    headers: dict[str, str] = {}
    delay: float = 0.0


Reply: TypeAlias = Say | Fail | str


class Script(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """All replies of a model.

    A request belongs to the first lane whose name occurs in its first user message. That separates
    the sub-agents. All other requests, such as the main conversation's, get `replies` in order.
    """

    replies: list[Reply] = []
    lanes: dict[str, list[Reply]] = {}
    # The reply to requests without tools, such as one for a title. If null, such requests are
    # handled like all others.
    aside: Reply | None = "aside"


def pieces(text: str, cuts: Cuts) -> list[str]:
    """Splits a text into one or more pieces. The joined pieces equal the text."""
    if cuts is None:
        return [text]
    if isinstance(cuts, int):
        number = max(1, min(cuts, len(text)))
        places = [len(text) * each // number for each in range(1, number)]
    else:
        places = sorted(place for place in set(cuts) if 0 < place < len(text))
    edges = [0, *places, len(text)]
    return [text[start:end] for start, end in pairwise(edges)]
