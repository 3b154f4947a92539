"""Pictures and other blobs of a message: validated when it arrives, fetched for the agent."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from msgspec import structs

from turnwire.core.content import Blob, Content, FileContent, ImageContent, OtherContent
from turnwire.core.error_codes import Refused
from turnwire.core.pictures import is_concrete, picture_type
from turnwire.ports import BlobRow

__all__ = ["Fetch", "FindBlob", "completed", "with_pictures"]

# Returns the row of a blob by its id. Returns None if the blob does not exist.
FindBlob: TypeAlias = Callable[[str], Awaitable[BlobRow | None]]
_START = 64  # characters of base64 that are enough to detect the type of a picture

# Returns the bytes and the type of a blob by its id. Returns None if the blob does not exist.
Fetch: TypeAlias = Callable[[str], Awaitable[tuple[bytes, str] | None]]


async def with_pictures(content: Sequence[Content], fetch: Fetch) -> list[Content]:
    """Returns the content with the data of each picture. A deleted picture stays a reference."""
    return [await _with_data(item, fetch) for item in content]


async def _with_data(item: Content, fetch: Fetch) -> Content:
    match item:
        case ImageContent(data=None, blob=Blob(blob_id=blob_id)):
            found = await fetch(blob_id)
            if found is not None:
                data, kind = found
                text = b64encode(data).decode()
                return structs.replace(item, data=text, mime_type=kind)
    return item


# --- content of a client --------------------------------------------------------------------------


async def completed(content: Sequence[Content], find: FindBlob) -> list[Content]:
    """Returns the content with the stored type and size of each blob; ignores the client's values.

    Every protocol uses this. Raises Refused for a blob that does not exist, for a blob that is
    used as a picture but is none, and for an inline picture of unknown type.
    """
    return [await _completed(item, find) for item in content]


async def _completed(item: Content, find: FindBlob) -> Content:
    if isinstance(item, OtherContent):
        return item
    if item.blob is None:
        return _typed(item) if isinstance(item, ImageContent) else item
    row = await find(item.blob.blob_id)
    if row is None:
        said = f"There is no blob {item.blob.blob_id!r}. Upload it first."
        raise Refused("INVALID_PAYLOAD", said)
    blob = Blob(row.blob_id, row.mime_type, row.size)
    match item:
        case ImageContent():
            if not row.mime_type.startswith("image/"):
                said = f"The blob {row.blob_id!r} is not a picture; its type is {row.mime_type}."
                raise Refused("INVALID_PAYLOAD", said)
            return structs.replace(item, blob=blob, mime_type=row.mime_type)
        case FileContent():
            return structs.replace(item, blob=blob, mime_type=row.mime_type, size=row.size)
        case _:
            return structs.replace(item, blob=blob)


def _typed(picture: ImageContent) -> ImageContent:
    """Returns an inline picture with the type of its bytes, or else the type of the client."""
    if picture.data is None:
        return picture  # a URL: its type is unknown here
    try:
        found = picture_type(b64decode(picture.data[:_START]))
    except (binascii.Error, ValueError):
        found = None
    mime_type = found or picture.mime_type
    if mime_type is None or not mime_type.startswith("image/") or not is_concrete(mime_type):
        said = "Set `mime_type` to the type of the picture: image/png, image/jpeg, ..."
        raise Refused("INVALID_PAYLOAD", said)
    return structs.replace(picture, mime_type=mime_type)
