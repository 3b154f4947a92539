"""Partials: the text of unfinished blocks, saved in case the server process dies."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from turnwire.core.blocks import ContentBlock, TextBlock, ThinkingBlock
from turnwire.core.events import AssistantMessage

__all__ = ["BlockName", "Partial", "PartialKind", "cut_short"]

PartialKind: TypeAlias = Literal["text", "thinking"]
BlockName: TypeAlias = tuple[str, int]  # the id of a message, and the index of the block in it


class Partial(Struct, frozen=True, omit_defaults=True, gc=False):
    """A piece of an unfinished block, or all of the block so far.

    An unfinished tool call has no partial: it is discarded if its message does not continue.
    """

    message_id: str
    index: int
    kind: PartialKind
    text: str
    start: int = 0  # characters of the block before this piece
    place: int = 0  # of the block among the open ones, in the order in which they began
    parent_tool_use_id: str | None = None
    agent_id: str | None = None
    provider: str = ""  # the agent's name
    model: str | None = None

    @property
    def block(self) -> BlockName:
        """Returns the name of the block."""
        return self.message_id, self.index


def cut_short(partial: Partial, session_id: str = "") -> AssistantMessage:
    """Returns the finished block that is kept of a partial whose message does not continue."""
    whole: ContentBlock
    if partial.kind == "text":
        whole = TextBlock(partial.text, "completed")
    else:
        whole = ThinkingBlock(partial.text, "completed")
    who = (partial.provider, session_id, partial.parent_tool_use_id, partial.agent_id)
    place = (partial.message_id, partial.index)
    return AssistantMessage(*who, *place, [whole], partial.model, aborted=True)
