"""Follows the messages of an agent as they grow.

The protocol has no end of a message. A block ends when a chunk of another kind comes. A message ends
when a chunk has another message id, when text follows a tool call, or when the turn ends.
"""

from __future__ import annotations

from turnwire.core import blocks as unified
from turnwire.core import events as ev
from turnwire.core.blocks import ContentBlock
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.recent import Recent
from turnwire.dialects.acp import content as acp
from turnwire.dialects.acp.calls import Call, plain

__all__ = ["Events", "Growing", "Whose"]

Events = list[NormalizedStreamEvent]
Whose = tuple[str, str, None, None]  # the first four fields of every event
_REMEMBERED = 1024  # ids of earlier messages


class Growing:
    """The message that grows, with the block that grows and the tool calls that wait."""

    def __init__(self, provider: str, key: str) -> None:
        self.whose: Whose = (provider, "", None, None)
        self._key = key
        self._count = 0
        self._used = Recent(_REMEMBERED)
        self._id = ""  # of the open message; empty: none is open
        self._named: str | None = None  # the agent's id of it
        self._index = 0  # of the next block
        self._kind: ev.DeltaKind | None = None  # of the open block of text or thinking
        self._pieces: list[str] = []
        self._waiting: dict[str, Call] = {}  # calls whose block is open
        self._has_calls = False

    def chunk(self, kind: ev.DeltaKind, content: acp.AcpContent, named: str | None) -> Events:
        """Takes a chunk of text or thinking, or another content block."""
        if type(content) is not acp.TextContent:
            return self._other(content, named)
        text = content.text
        if kind == self._kind and named == self._named:
            if not text:
                return []
            self._pieces.append(text)
            who = self.whose  # not unpacked: this is called for each piece of text
            return [ev.ContentDelta(who[0], who[1], None, None, self._id, self._index, kind, text)]
        if not text:
            return []
        out = self._message(named)
        self._kind, self._pieces = kind, [text]
        out.append(ev.ContentStarted(*self.whose, self._id, self._index, _empty(kind)))
        out.append(ev.ContentDelta(*self.whose, self._id, self._index, kind, text))
        return out

    def begin(self, call: Call) -> Events:
        """Begins the block of a tool call."""
        out = self._end_block()
        if not self._id:
            out += self._begin_message(None)
        call.place = (self._id, self._index)
        self._waiting[call.id] = call
        self._has_calls = True
        out.append(ev.ContentStarted(*self.whose, self._id, self._index, call.begun()))
        self._index += 1
        return out

    def announce(self, call: Call) -> Events:
        """Ends the block of a tool call: from now on the log has the call."""
        if call.is_announced:
            return []
        out = [] if call.place is not None else self.begin(call)
        assert call.place is not None
        message_id, index = call.place
        call.is_announced = True
        del self._waiting[call.id]
        return [*out, *self._finished(message_id, index, call.block())]

    def end(self) -> Events:
        """Ends the open message."""
        if not self._id:
            return []
        out = self._end_block()
        for call in list(self._waiting.values()):
            out += self.announce(call)
        out.append(ev.MessageCompleted(*self.whose, self._id))
        self._id, self._named, self._has_calls, self._index = "", None, False, 0
        return out

    def new_id(self) -> str:
        """Returns an id that is unique in the conversation."""
        self._count += 1
        return f"{self._key}-{self._count}"

    # --- messages and blocks ------------------------------------------------------------------

    def _message(self, named: str | None) -> Events:
        """Ends the open block, and makes sure that the right message is open."""
        if self._id and (self._has_calls or named != self._named):
            return [*self.end(), *self._begin_message(named)]
        out = self._end_block()
        return out if self._id else [*out, *self._begin_message(named)]

    def _begin_message(self, named: str | None) -> Events:
        # An agent may continue a message after a tool call. In the log that is a further message.
        is_new = named is not None and self._used.is_new(named)
        self._id = named if is_new and named is not None else self.new_id()
        self._named = named
        return [ev.MessageStarted(*self.whose, self._id)]

    def _other(self, content: acp.AcpContent, named: str | None) -> Events:
        out = self._message(named)
        block = _unified(content)
        out.append(ev.ContentStarted(*self.whose, self._id, self._index, block))
        out += self._finished(self._id, self._index, block)
        self._index += 1
        return out

    def _end_block(self) -> Events:
        if self._kind is None:
            return []
        text = "".join(self._pieces)
        block: ContentBlock = (
            unified.TextBlock(text, "completed")
            if self._kind == "text"
            else unified.ThinkingBlock(text, "completed")
        )
        out = self._finished(self._id, self._index, block)
        self._kind, self._pieces = None, []
        self._index += 1
        return out

    def _finished(self, message_id: str, index: int, block: ContentBlock) -> Events:
        return [
            ev.AssistantMessage(*self.whose, message_id, index, [block]),
            ev.ContentCompleted(*self.whose, message_id, index, block),
        ]


def _empty(kind: ev.DeltaKind) -> ContentBlock:
    if kind == "text":
        return unified.TextBlock("", "in_progress")
    return unified.ThinkingBlock("", "in_progress")


def _unified(content: acp.AcpContent) -> ContentBlock:
    match content:
        case acp.ImageContent(data=data, mime_type=mime_type):
            return unified.ImageBlock("completed", mime_type, data)
        case acp.ResourceLink():
            return unified.FileRefBlock(content.uri, "completed", content.mime_type, content.size)
        case acp.UnknownContent(original_type=kind, data=data):
            return unified.UnknownBlock(kind, data)
        case _:
            return unified.UnknownBlock(str(content.__struct_config__.tag), plain(content))
