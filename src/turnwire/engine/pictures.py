"""Pictures that are kept beside a conversation, for an agent that is to see them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from msgspec import structs

from turnwire.core.content import Blob, Content, ImageContent

__all__ = ["Fetch", "with_pictures"]

# A blob by its id: its bytes and its type; none: there is no such blob.
Fetch: TypeAlias = Callable[[str], Awaitable[tuple[bytes, str] | None]]


async def with_pictures(content: Sequence[Content], fetch: Fetch) -> list[Content]:
    """The same, with every picture in it. One that is gone stays a reference."""
    return [await _with_data(item, fetch) for item in content]


async def _with_data(item: Content, fetch: Fetch) -> Content:
    match item:
        case ImageContent(data=None, blob=Blob(blob_id=blob_id)):
            found = await fetch(blob_id)
            if found is not None:
                data, kind = found
                text = b64encode(data).decode()
                return structs.replace(item, data=text, mime_type=item.mime_type or kind)
    return item
