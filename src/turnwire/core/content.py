"""What a person sends, and what a tool gives back: plain content, in every direction the same."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct

from turnwire.core.lenient import Unknown

__all__ = ["Blob", "Content", "FileContent", "ImageContent", "OtherContent", "TextContent"]


class Blob(Struct, frozen=True, omit_defaults=True, gc=False):
    """Content that is kept beside the conversation, by reference."""

    blob_id: str
    mime_type: str | None = None  # the server always says; a client need not
    size: int | None = None  # bytes; the server always says, a client need not


class _Content(Struct, frozen=True, omit_defaults=True, tag_field="type", gc=False):
    pass


class TextContent(_Content, frozen=True, tag="text"):
    """Words."""

    text: str
    citations: list[Any] | None = None  # the sources the words rest on, as the agent gave them
    blob: Blob | None = None  # the whole text, where `text` is only its beginning


class ImageContent(_Content, frozen=True, tag="image"):
    """A picture: in a blob, inline, or by address."""

    mime_type: str | None = None
    data: str | None = None  # base64
    url: str | None = None
    blob: Blob | None = None


class FileContent(_Content, frozen=True, tag="file_ref"):
    """A file, named but not included."""

    path: str
    mime_type: str | None = None
    size: int | None = None  # bytes
    blob: Blob | None = None  # its content, where that was given along


class OtherContent(Unknown, tag_field="type", tag="unknown", frozen=True, gc=False):
    """Content of a kind that has no name here, kept as it came."""

    keeps_whole = True


Content: TypeAlias = TextContent | ImageContent | FileContent | OtherContent
