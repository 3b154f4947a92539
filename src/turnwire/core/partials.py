"""Text that a block has grown to, as it is saved in case that its server dies."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from turnwire.core.blocks import ContentBlock, TextBlock, ThinkingBlock
from turnwire.core.events import AssistantMessage

__all__ = ["BlockName", "Partial", "PartialKind", "cut_short"]

PartialKind: TypeAlias = Literal["text", "thinking"]
BlockName: TypeAlias = tuple[str, int]  # the id of a message, and the index of the block in it


class Partial(Struct, frozen=True, omit_defaults=True, gc=False):
    """A piece of a block that is not finished, or all that there is of the block.

    Half a tool call has none: it is discarded when nothing more comes of it.
    """

    message_id: str
    index: int
    kind: PartialKind
    text: str
    start: int = 0  # characters of the block before this piece
    place: int = 0  # of the block among those that grow: the order in which they began
    parent_tool_use_id: str | None = None
    agent_id: str | None = None
    provider: str = ""  # the agent that speaks
    model: str | None = None

    @property
    def block(self) -> BlockName:
        """The name of the block."""
        return self.message_id, self.index


def cut_short(partial: Partial, session_id: str = "") -> AssistantMessage:
    """Returns the finished block that is kept of a partial when nothing more comes."""
    whole: ContentBlock
    if partial.kind == "text":
        whole = TextBlock(partial.text, "completed")
    else:
        whole = ThinkingBlock(partial.text, "completed")
    who = (partial.provider, session_id, partial.parent_tool_use_id, partial.agent_id)
    place = (partial.message_id, partial.index)
    return AssistantMessage(*who, *place, [whole], partial.model, aborted=True)
