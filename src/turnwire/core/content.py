"""Content that a person sends or a tool returns, in one form for both directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from turnwire.core import message as m
from turnwire.core.lenient import Unknown
from turnwire.core.message import BlobRef, KeptBlock, MessagePart, to_json

__all__ = [
    "Blob",
    "Content",
    "FileContent",
    "ImageContent",
    "LoadedFile",
    "OtherContent",
    "TextContent",
    "blob_of",
    "content_of",
    "parts_of",
]


class Blob(Struct, frozen=True, omit_defaults=True, gc=False):
    """A reference to content that is stored separately from the conversation."""

    blob_id: str
    mime_type: str | None = None  # the server always sets it; optional for a client
    size: int | None = None  # bytes; the server always sets it, optional for a client


class _Content(Struct, frozen=True, omit_defaults=True, tag_field="type", gc=False):
    pass


class TextContent(_Content, frozen=True, tag="text"):
    """Text."""

    text: str
    citations: list[Any] | None = None  # the sources of the text, as the agent gave them
    blob: Blob | None = None  # the whole text, if `text` is only its beginning


class ImageContent(_Content, frozen=True, tag="image"):
    """An image: in a blob, inline, or by URL."""

    mime_type: str | None = None
    data: str | None = None  # base64
    url: str | None = None
    blob: Blob | None = None


class FileContent(_Content, frozen=True, tag="file_ref"):
    """A file, by name, without its content."""

    path: str
    mime_type: str | None = None
    size: int | None = None  # bytes
    blob: Blob | None = None  # its content, if it was sent


class LoadedFile(FileContent, frozen=True, tag="file_ref"):
    """A file with its bytes, as an agent receives it. No log and no client frame contains one."""

    data: str | None = None  # base64; None if the agent reads the file at `path`, or it is deleted


class OtherContent(Unknown, tag_field="type", tag="unknown", frozen=True, gc=False):
    """Content of an unknown kind, kept unchanged."""

    keeps_whole = True


Content: TypeAlias = TextContent | ImageContent | FileContent | OtherContent


# --- from the log -------------------------------------------------------------------------------


def content_of(item: MessagePart | KeptBlock) -> Content:
    """Returns a part, or a kept block, as content. An unknown kind is kept unchanged."""
    match item:
        case m.TextPart(payload):
            return TextContent(payload.text, payload.citations, blob_of(payload.blob))
        case m.ImagePart(payload):
            return ImageContent(payload.mime_type, payload.data, payload.url, blob_of(payload.blob))
        case m.FileRefPart(payload):
            return FileContent(payload.path, payload.mime_type, payload.size, blob_of(payload.blob))
        case m.UnknownPart():
            return OtherContent(item.original_type, item.data)
        case KeptBlock(block=block, blob=blob):
            if blob is not None:
                return OtherContent("blob", {"blob": to_json(blob_of(blob))})
            match block:
                case {"type": "unknown", "originalType": str(kind), "data": data}:
                    return OtherContent(kind, data)
                case {"type": str(kind)}:
                    return OtherContent(kind, block)
                case _:
                    return OtherContent("", block)
        case _:
            return OtherContent(str(item.__struct_config__.tag), to_json(item))


def blob_of(ref: BlobRef | None) -> Blob | None:
    """Returns the blob reference of a log entry in the form of the protocols."""
    return None if ref is None else Blob(ref.blob_id, ref.mime_type, ref.size)


# --- into the log -------------------------------------------------------------------------------


def parts_of(content: str | Sequence[Content]) -> tuple[list[MessagePart], list[KeptBlock]]:
    """Returns a client's content as parts for a user entry, and the rest as kept blocks.

    The caller has to complete the blobs first: a client may leave out their type and size.
    """
    if isinstance(content, str):
        return [m.TextPart(m.TextPayload(content))], []
    parts: list[MessagePart] = []
    rest: list[KeptBlock] = []
    for position, item in enumerate(content):
        match item:
            case TextContent(text, citations, blob):
                ref = _ref(blob, "text/plain; charset=utf-8")
                parts.append(m.TextPart(m.TextPayload(text, citations, ref)))
            case ImageContent(mime_type, data, url, blob):
                mime = mime_type or (blob and blob.mime_type) or "image/*"
                parts.append(m.ImagePart(m.ImagePayload(mime, data, url, _ref(blob, mime))))
            case FileContent(path, mime_type, size, blob):
                ref = _ref(blob, mime_type or "application/octet-stream")
                parts.append(m.FileRefPart(m.FileRefPayload(path, mime_type, size, ref)))
            case _:
                other = {"type": "unknown", "originalType": item.original_type, "data": item.data}
                rest.append(KeptBlock(position, other))
    return parts, rest


def _ref(blob: Blob | None, mime_type: str) -> BlobRef | None:
    return (
        None if blob is None else BlobRef(blob.blob_id, blob.mime_type or mime_type, blob.size or 0)
    )
