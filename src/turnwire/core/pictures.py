"""Detects and checks MIME types of images and other content."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["is_among", "is_concrete", "picture_type", "true_type"]

_MIME = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,60}/[a-z0-9][a-z0-9!#$&^_.+-]{0,60}")


def is_concrete(mime_type: str) -> bool:
    """Returns whether this names one type: not `image/*`, and without parameters."""
    return _MIME.fullmatch(mime_type) is not None


def is_among(mime_type: str, patterns: Sequence[str]) -> bool:
    """Returns whether a pattern allows the type: the type itself, `text/*`, or `*/*` for all."""
    kind = mime_type.split(";")[0].strip().lower()
    return any(each in (kind, "*/*", f"{kind.split('/')[0]}/*") for each in patterns)


def picture_type(data: bytes) -> str | None:
    """Returns the type that the first bytes of an image show. Returns None if it is unknown."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def true_type(mime_type: str, data: bytes) -> str | None:
    """Returns the type to store bytes under. Returns None if the declared type is not a single one.

    The type that an image's bytes show takes precedence.
    """
    name = mime_type.split(";")[0].strip().lower()
    if name.startswith("image/"):
        return picture_type(data) or (name if is_concrete(name) else None)
    return mime_type if is_concrete(name) else None
