"""Types of pictures and of other content."""

from __future__ import annotations

import re

__all__ = ["is_concrete", "picture_type", "true_type"]

_MIME = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,60}/[a-z0-9][a-z0-9!#$&^_.+-]{0,60}")


def is_concrete(mime_type: str) -> bool:
    """Whether this is the name of one type: not `image/*`, and without parameters."""
    return _MIME.fullmatch(mime_type) is not None


def picture_type(data: bytes) -> str | None:
    """Returns the type that the first bytes of a picture show. None: no type that is known here."""
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
    """Returns the type to keep bytes under that are said to be this. None: that is no one type.

    A picture has the type that its bytes show, where they show one.
    """
    name = mime_type.split(";")[0].strip().lower()
    if name.startswith("image/"):
        return picture_type(data) or (name if is_concrete(name) else None)
    return mime_type if is_concrete(name) else None
