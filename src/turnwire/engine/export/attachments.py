"""Markdown for pictures and files: their type, size and link, without their bytes."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from turnwire.core.blocks import FileRefBlock, ImageBlock
from turnwire.core.content import Blob, FileContent, ImageContent

__all__ = ["attached", "in_words"]

_ADDRESS = re.compile(r"https?://[^\s<>]+", re.IGNORECASE)


def attached(content: Any) -> str | None:
    """Returns a paragraph for a picture or a file, with a link if it has one. Else returns None."""
    said = in_words(content)
    if said is None:
        return None
    typed = _typed(content)
    text = said.replace("[", "(").replace("]", ")")
    link = None if isinstance(typed, FileContent | None) else _link(typed)
    return f"*{text}*" if link is None else f"![{text}](<{link}>)"


def in_words(content: Any) -> str | None:
    """Returns the type and size of a picture or a file as text. Returns None for other content."""
    match _typed(content):
        case ImageContent(mime_type=kind, data=data, blob=blob):
            size = blob.size if blob is not None else None if data is None else _bytes_in(data)
            kind = kind or (blob.mime_type if blob is not None else None)
            return _described("picture", kind, size)
        case FileContent(path=path, mime_type=kind, size=size):
            return _described(f"file {' '.join(path.split())}", kind, size)
        case _:
            return None


def _typed(content: Any) -> ImageContent | FileContent | None:
    """Returns typed content, also of plain JSON, of this protocol or of the Messages API."""
    match content:
        case ImageContent() | FileContent():
            return content
        case ImageBlock(mime_type=kind, data=data, url=url):
            return ImageContent(kind, data, url)
        case FileRefBlock(path=path, mime_type=kind, size=size):
            return FileContent(path, kind, size)
        case {"type": "image", "source": {"type": "base64" | "url"} as source}:
            given = {"mime_type": source.get("media_type")} | source
        case {"type": "image" | "file_ref"}:
            given = content
        case _:
            return None
    try:
        return msgspec.convert({**given, "type": content["type"]}, type=ImageContent | FileContent)
    except msgspec.ValidationError:
        return None


def _described(name: str, kind: str | None, size: int | None) -> str:
    parts = [kind, None if size is None else f"{size:,} bytes"]
    known = ", ".join(" ".join(part.split()) for part in parts if part)
    return f"{name}: {known}" if known else name


def _bytes_in(data: str) -> int:
    """Returns the number of bytes in a base64 text."""
    return len(data) * 3 // 4 - data[-2:].count("=")


def _link(picture: ImageContent) -> str | None:
    blob: Blob | None = picture.blob
    if blob is not None:
        return f"/api/blobs/{blob.blob_id}"
    url = picture.url or ""
    return url if _ADDRESS.fullmatch(url) else None
