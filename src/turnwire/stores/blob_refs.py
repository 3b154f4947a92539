"""Which blobs a message needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from turnwire.core.content import Content, OtherContent
from turnwire.core.message import (
    BlobRef,
    FileRefPart,
    ImagePart,
    Message,
    MessagePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    known_meta,
)

__all__ = ["blobs_of_content", "refs_of"]


def refs_of(entry: Message) -> Iterator[BlobRef]:
    """Every reference in an entry of the log."""
    yield from _in_parts(entry.parts)
    for block in known_meta(entry).blocks or ():
        if block.blob is not None:
            yield block.blob


def _in_parts(parts: Iterable[MessagePart]) -> Iterator[BlobRef]:
    for part in parts:
        match part:
            case ToolResultPart(payload=result):
                if result.blob is not None:
                    yield result.blob
                if result.details_blob is not None:
                    yield result.details_blob
                if isinstance(result.content, list):
                    yield from _in_parts(result.content)
            case (
                TextPart(payload=said)
                | ThinkingPart(payload=said)
                | ToolCallPart(payload=said)
                | ImagePart(payload=said)
                | FileRefPart(payload=said)
            ):
                if said.blob is not None:
                    yield said.blob
            case _:
                pass


def blobs_of_content(content: Iterable[Content]) -> Iterator[str]:
    """The blobs of a message that waits."""
    for item in content:
        if not isinstance(item, OtherContent) and item.blob is not None:
            yield item.blob.blob_id
