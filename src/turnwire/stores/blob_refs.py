"""References from messages to blobs: finds them, and corrects them from the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from msgspec import structs

from turnwire.core.content import Content, OtherContent
from turnwire.core.message import (
    BlobRef,
    FileRefPart,
    ImagePart,
    KeptBlock,
    Message,
    MessagePart,
    TextPart,
    TextPayload,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    known_meta,
    to_json,
)

__all__ = ["FindRef", "blobs_of_content", "refs_of", "with_true_refs"]

LOST = "[The rest of this was lost.]"
LOST_PICTURE = "[A picture was lost.]"

# Returns a store's reference for a blob id, or None if the bytes are missing or damaged.
FindRef: TypeAlias = Callable[[str], BlobRef | None]


def refs_of(entry: Message) -> Iterator[BlobRef]:
    """Yields every blob reference in an entry of the log."""
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
    """Yields the ids of the blobs in the content of a queued message."""
    for item in content:
        if not isinstance(item, OtherContent) and item.blob is not None:
            yield item.blob.blob_id


# --- correction of references ---------------------------------------------------------------------


def with_true_refs(message: Message, find: FindRef) -> Message:
    """Returns the message with each reference replaced by the store's own.

    A part whose blob is lost keeps its inline beginning, and notes that the rest was lost.
    """
    parts = [_true_part(part, find) for part in message.parts]
    meta = message.meta
    kept = known_meta(message).blocks or []
    if any(block.blob is not None for block in kept):
        meta = {**meta, "blocks": to_json([_true_block(block, find) for block in kept])}
    return structs.replace(message, parts=parts, meta=meta)


def _true_block(block: KeptBlock, find: FindRef) -> KeptBlock:
    if block.blob is None:
        return block
    found = find(block.blob.blob_id)
    if found is None:
        return KeptBlock(block.position, {"type": "text", "text": LOST})
    return structs.replace(block, blob=found)


def _true_part(part: MessagePart, find: FindRef) -> MessagePart:
    if isinstance(part, ToolResultPart):
        return _true_result(part, find)
    ref: BlobRef | None = getattr(getattr(part, "payload", None), "blob", None)
    if ref is None:
        return part
    found = find(ref.blob_id)
    # The payload has a blob.
    payload: Any = structs.replace(part.payload, blob=found)  # type: ignore[union-attr]
    match part:
        case ImagePart() if found is None:
            return TextPart(TextPayload(LOST_PICTURE))
        case ImagePart() if found is not None and found.mime_type.startswith("image/"):
            payload = structs.replace(payload, mime_type=found.mime_type)
        case TextPart() | ThinkingPart() if found is None:
            payload = structs.replace(payload, text=_cut(payload.text))
        case ToolCallPart() if found is None:
            text = payload.raw_args_text if payload.raw_args_text is not None else payload.preview
            payload = structs.replace(payload, raw_args_text=_cut(text or ""), preview=None)
        case _:
            pass
    changed: MessagePart = structs.replace(part, payload=payload)
    return changed


def _true_result(part: ToolResultPart, find: FindRef) -> ToolResultPart:
    result = part.payload
    content: Any = result.content
    if isinstance(content, list):
        content = [_true_part(inner, find) for inner in content]
    blob, details = (
        None if ref is None else find(ref.blob_id) for ref in (result.blob, result.details_blob)
    )
    if result.blob is not None and blob is None:
        content = _cut(content if isinstance(content, str) else "")
    result = structs.replace(result, content=content, blob=blob, details_blob=details)
    return structs.replace(part, payload=result)


def _cut(text: str) -> str:
    return f"{text}\n{LOST}" if text else LOST
