"""What a scripted model says, and how. All of it can be written in JSON as well."""

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

# How a text is cut into deltas: into so many pieces, or at these places. None: it comes whole.
Cuts: TypeAlias = int | list[int] | None


class _Block(Struct, frozen=True, omit_defaults=True, tag_field="type", forbid_unknown_fields=True):
    pass


class Text(_Block, frozen=True, tag="text"):
    """Words."""

    text: str
    cuts: Cuts = None
    delay: float = 0.0  # seconds before each piece
    hold: str | None = None  # stand still before the last piece, as `Hold` does between blocks


class Thinking(_Block, frozen=True, tag="thinking"):
    """Reasoning, with its signature."""

    thinking: str
    signature: str = "signed"
    cuts: Cuts = None
    delay: float = 0.0


class RedactedThinking(_Block, frozen=True, tag="redacted_thinking"):
    """Reasoning that nobody may read."""

    data: str = "hidden"


class ToolUse(_Block, frozen=True, tag="tool_use"):
    """A call of a tool. `cuts` are places in its input's JSON, so a cut may be anywhere in it."""

    name: str
    input: dict[str, Any] = {}
    json: str | None = None  # what a stream says instead of `input`; it need not be JSON
    id: str | None = None  # none: a new one
    cuts: Cuts = 3
    delay: float = 0.0


class Hold(_Block, frozen=True, tag="hold"):
    """No content: the stream stands still until `ModelApi.release`, or until the client leaves."""

    name: str = ""


class Raw(_Block, frozen=True, tag="raw"):
    """An event of the stream as it is given, known or not, right or wrong. A string is sent as it is."""

    event: str
    data: Any


Block: TypeAlias = Text | Thinking | RedactedThinking | ToolUse | Hold | Raw


class _Reply(Struct, frozen=True, omit_defaults=True, tag_field="type", forbid_unknown_fields=True):
    pass


class Say(_Reply, frozen=True, tag="say"):
    """A message. A string is a text block."""

    blocks: list[Block | str]
    stop_reason: str | None = None  # none: tool_use where a tool is called, else end_turn
    usage: dict[str, Any] = {}  # beside what is always there
    model: str | None = None  # none: the one that was asked for
    delay: float = 0.0  # seconds before the first word
    ping: bool = False
    headers: dict[str, str] = {}
    # Break the connection off after so many events, or end with an `error` event. Holds do not count.
    cut_after: int | None = None
    error_after: int | None = None
    error: str = "overloaded_error"  # that event's type
    error_message: str = "scripted"


class Fail(_Reply, frozen=True, tag="fail"):
    """No message: an HTTP error."""

    status: int
    message: str = "scripted"
    error: str | None = None  # its type; none: the one that goes with the status
    headers: dict[str, str] = {}
    delay: float = 0.0


Reply: TypeAlias = Say | Fail | str


class Script(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """All that a model will say.

    A request belongs to the first lane whose name occurs in its first user message; sub-agents are
    told apart by that. The others, and so the main conversation, get `replies`, one after the other.
    """

    replies: list[Reply] = []
    lanes: dict[str, list[Reply]] = {}
    # What agents ask beside the conversation, as for a title: such requests offer no tools. Null:
    # they are requests like any other.
    aside: Reply | None = "aside"


def pieces(text: str, cuts: Cuts) -> list[str]:
    """A text, cut; joined again it is the same. There is always one piece."""
    if cuts is None:
        return [text]
    if isinstance(cuts, int):
        number = max(1, min(cuts, len(text)))
        places = [len(text) * each // number for each in range(1, number)]
    else:
        places = sorted(place for place in set(cuts) if 0 < place < len(text))
    edges = [0, *places, len(text)]
    return [text[start:end] for start, end in pairwise(edges)]
