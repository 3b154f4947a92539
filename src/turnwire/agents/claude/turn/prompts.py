"""Encodes a person's message as an input line of the program."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import msgspec

from turnwire.core.content import Content, FileContent, ImageContent, LoadedFile, TextContent

__all__ = ["NotShown", "prompt_line", "prompt_uuid"]

_LARGEST_PICTURE = 5 << 20  # bytes of base64, the limit of the API
_OURS = uuid.UUID("6f9b8a52-6d0e-4bb1-9a3c-3d2f1f0c7a55")


class NotShown(Exception):
    """A picture that is missing, or too large for the API."""


def prompt_uuid(turn_uuid: str) -> str:
    """Returns the program's id of a prompt: stable for a turn, so that repeats are known."""
    return str(uuid.uuid5(_OURS, turn_uuid))


def prompt_line(content: Sequence[Content], name: str) -> bytes:
    """Returns a line for the program's standard input. Raises NotShown."""
    message = {"role": "user", "content": _content(content)}
    frame = {"type": "user", "message": message, "parent_tool_use_id": None, "uuid": name}
    return msgspec.json.encode({**frame, "session_id": "default"}) + b"\n"


def _content(content: Sequence[Content]) -> str | list[dict[str, Any]]:
    match content:
        case [TextContent(text=text)]:
            return text
        case _:
            return [_block(item) for item in content]


def _block(item: Content) -> dict[str, Any]:
    match item:
        case TextContent(text=text):
            return {"type": "text", "text": text}
        case ImageContent(data=str(data), mime_type=mime):
            if len(data) > _LARGEST_PICTURE:
                size, most = len(data) / (1 << 20), _LARGEST_PICTURE >> 20
                raise NotShown(
                    f"The picture has {size:.1f} MB in base64; Claude takes at most {most} MB."
                )
            source = {"type": "base64", "media_type": mime or "image/png", "data": data}
            return {"type": "image", "source": source}
        case ImageContent(url=str(url)):
            return {"type": "image", "source": {"type": "url", "url": url}}
        case ImageContent():
            raise NotShown("The picture is not stored any more. Send it again.")
        case LoadedFile(data=str(data), path=path, mime_type=kind):
            source = {"type": "base64", "media_type": kind or "application/pdf", "data": data}
            return {"type": "document", "source": source, "title": path}
        case FileContent(path=path):
            return {"type": "text", "text": f"The file {path}"}
        case _:  # an unknown kind of content
            named = msgspec.json.encode(item).decode()
            return {"type": "text", "text": f"(content that cannot be shown: {named})"}
