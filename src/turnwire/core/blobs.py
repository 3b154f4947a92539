"""Large content by reference: what is too long for a log entry goes to a blob, a preview stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, ValidationError, structs

from turnwire.core.message import (
    BlobRef,
    ImagePart,
    ImagePayload,
    KeptBlock,
    Message,
    MessagePart,
    TextPart,
    TextPayload,
    ThinkingPart,
    ThinkingPayload,
    ToolCallPart,
    ToolCallPayload,
    ToolResultPart,
    ToolResultPayload,
    known_meta,
    to_json,
)

__all__ = ["INLINE_LIMIT", "PREVIEW_LENGTH", "Blob", "inline", "take_out"]

INLINE_LIMIT = 64 * 1024  # bytes of one part that stay in the message
PREVIEW_LENGTH = 1000  # characters that stand in place of what was taken out


class Blob(Struct, frozen=True, gc=False):
    """Content taken out of a message, to be stored beside it."""

    blob_id: str
    mime_type: str
    data: bytes


Name: TypeAlias = Callable[[bytes], str]

_TEXT = "text/plain; charset=utf-8"
_JSON = "application/json"
_BASE64 = "application/base64"  # a picture's data that does not decode and encode to itself


def take_out(
    message: Message,
    *,
    name: Name,
    limit: int = INLINE_LIMIT,
    preview: int = PREVIEW_LENGTH,
) -> tuple[Message, list[Blob]]:
    """Leave only previews of what is larger than `limit` bytes; `name` gives each blob its id."""
    taker = _Taker(name, limit, preview)
    parts = [taker.part(part) for part in message.parts]
    meta = message.meta
    if rest := known_meta(message).blocks:
        meta = {**meta, "blocks": to_json([taker.block(block) for block in rest])}
    if not taker.blobs:
        return message, []
    return structs.replace(message, parts=parts, meta=meta), taker.blobs


def inline(message: Message, read: Callable[[str], bytes]) -> Message:
    """Put back what `take_out` took; `read` gives a blob's bytes by its id."""
    parts = [_inlined(part, read) for part in message.parts]
    meta = message.meta
    if rest := known_meta(message).blocks:
        blocks_again = [
            KeptBlock(block.position, msgspec.json.decode(read(block.blob.blob_id)))
            if block.blob
            else block
            for block in rest
        ]
        meta = {**meta, "blocks": to_json(blocks_again)}
    return structs.replace(message, parts=parts, meta=meta)


class _Taker:
    def __init__(self, name: Name, limit: int, preview: int) -> None:
        self._name = name
        self._limit = limit
        self._preview = preview
        self.blobs: list[Blob] = []

    def part(self, part: MessagePart) -> MessagePart:
        match part:
            case TextPart(payload):
                ref = self._take(payload.text.encode(), _TEXT, payload.blob)
                return TextPart(self._shortened(payload, ref)) if ref else part
            case ThinkingPart(payload):
                ref = self._take(payload.text.encode(), _TEXT, payload.blob)
                return ThinkingPart(self._shortened(payload, ref)) if ref else part
            case ToolCallPart(payload):
                return ToolCallPart(self._tool_call(payload))
            case ToolResultPart(payload):
                return ToolResultPart(self._tool_result(payload))
            case ImagePart(payload) if payload.data is not None:
                picture, mime = _picture(payload)
                # What counts is what the message would carry: the base64 text.
                ref = self._take(picture, mime, payload.blob, size=len(payload.data))
                return ImagePart(structs.replace(payload, data=None, blob=ref)) if ref else part
            case _:
                return part

    def block(self, block: KeptBlock) -> KeptBlock:
        ref = self._take(msgspec.json.encode(block.block), _JSON, block.blob)
        return KeptBlock(block.position, None, ref) if ref else block

    def _take(
        self, data: bytes, mime: str, taken: BlobRef | None, size: int | None = None
    ) -> BlobRef | None:
        if taken is not None or (len(data) if size is None else size) <= self._limit:
            return None
        blob = Blob(self._name(data), mime, data)
        self.blobs.append(blob)
        return BlobRef(blob.blob_id, mime, len(data))

    def _shortened(self, payload: _Said, ref: BlobRef) -> _Said:
        return structs.replace(payload, text=payload.text[: self._preview], blob=ref)

    def _tool_call(self, payload: ToolCallPayload) -> ToolCallPayload:
        text = payload.raw_args_text
        if text is not None:
            ref = self._take(text.encode(), _TEXT, payload.blob)
            short = text[: self._preview]
            return structs.replace(payload, raw_args_text=short, blob=ref) if ref else payload
        data = msgspec.json.encode(payload.arguments)
        ref = self._take(data, _JSON, payload.blob)
        if ref is None:
            return payload
        return structs.replace(payload, arguments={}, preview=self._beginning(data), blob=ref)

    def _tool_result(self, payload: ToolResultPayload) -> ToolResultPayload:
        content = payload.content
        if isinstance(content, list):  # pictures go out one by one, so that words stay
            content = [self.part(part) for part in content]
            payload = structs.replace(payload, content=content)
        is_text = isinstance(content, str)
        data = content.encode() if isinstance(content, str) else msgspec.json.encode(content)
        if ref := self._take(data, _TEXT if is_text else _JSON, payload.blob):
            payload = structs.replace(payload, content=self._beginning(data), blob=ref)
        if payload.details is not UNSET:
            details = bytes(payload.details)
            if ref := self._take(details, _JSON, payload.details_blob):
                payload = structs.replace(payload, details=UNSET, details_blob=ref)
        return payload

    def _beginning(self, data: bytes) -> str:
        # Four bytes are the most that a character takes.
        return data[: 4 * self._preview].decode(errors="ignore")[: self._preview]


_Said = TypeVar("_Said", TextPayload, ThinkingPayload)


def _picture(payload: ImagePayload) -> tuple[bytes, str]:
    """A picture's bytes; its text instead, where the bytes would not give the same text again."""
    text = payload.data or ""
    try:
        data = msgspec.convert(text, bytes)
    except ValidationError:
        return text.encode(), _BASE64
    if msgspec.to_builtins(data) != text:
        return text.encode(), _BASE64
    return data, payload.mime_type


def _inlined(part: MessagePart, read: Callable[[str], bytes]) -> MessagePart:
    match part:
        case TextPart(payload) if payload.blob:
            text = read(payload.blob.blob_id).decode()
            return TextPart(structs.replace(payload, text=text, blob=None))
        case ThinkingPart(payload) if payload.blob:
            text = read(payload.blob.blob_id).decode()
            return ThinkingPart(structs.replace(payload, text=text, blob=None))
        case ToolCallPart(payload) if payload.blob:
            data = read(payload.blob.blob_id)
            if payload.blob.mime_type == _TEXT:
                return ToolCallPart(
                    structs.replace(payload, raw_args_text=data.decode(), blob=None)
                )
            arguments = msgspec.json.decode(data)
            return ToolCallPart(
                structs.replace(payload, arguments=arguments, preview=None, blob=None)
            )
        case ToolResultPart(payload):
            return ToolResultPart(_inlined_result(payload, read))
        case ImagePart(payload) if payload.blob:
            data = read(payload.blob.blob_id)
            is_text = payload.blob.mime_type == _BASE64
            text = data.decode() if is_text else msgspec.to_builtins(data)
            return ImagePart(structs.replace(payload, data=text, blob=None))
        case _:
            return part


def _inlined_result(payload: ToolResultPayload, read: Callable[[str], bytes]) -> ToolResultPayload:
    if payload.blob:
        data = read(payload.blob.blob_id)
        content = data.decode() if payload.blob.mime_type == _TEXT else _CONTENT.decode(data)
        payload = structs.replace(payload, content=content, blob=None)
    if isinstance(payload.content, list):
        parts = [_inlined(part, read) for part in payload.content]
        payload = structs.replace(payload, content=parts)
    if payload.details_blob:
        details = Raw(read(payload.details_blob.blob_id))
        payload = structs.replace(payload, details=details, details_blob=None)
    return payload


_CONTENT: msgspec.json.Decoder[Any] = msgspec.json.Decoder(list[MessagePart] | dict[str, Any])
