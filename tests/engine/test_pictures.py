"""Pictures in blobs reach an agent that can see."""

from __future__ import annotations

from base64 import b64encode

from turnwire.core.content import Blob, Content, ImageContent, TextContent
from turnwire.engine.actor.pictures import with_pictures


async def fetch(blob_id: str) -> tuple[bytes, str] | None:
    return {"dot": (b"dot", "image/png")}.get(blob_id)


async def test_a_stored_picture_replaces_its_reference_and_other_content_stays() -> None:
    rest: list[Content] = [
        TextContent("look", blob=Blob("dot")),
        ImageContent("image/png", "AAAA"),
        ImageContent(url="https://example.org/a.png"),
        ImageContent(blob=Blob("gone")),
    ]
    assert await with_pictures(rest, fetch) == rest
    [shown] = await with_pictures([ImageContent(blob=Blob("dot"))], fetch)
    data = b64encode(b"dot").decode()
    assert shown == ImageContent("image/png", data, None, Blob("dot"))
