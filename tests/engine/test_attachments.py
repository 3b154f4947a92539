"""Pictures and files in a Markdown export: readable, with their type and size."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from tests.engine.helpers.watcher import Watcher, engine_on
from turnwire.core.blocks import FileRefBlock, ImageBlock
from turnwire.core.content import Blob, FileContent, ImageContent, TextContent
from turnwire.dialects.v2 import frames as f
from turnwire.engine.export.attachments import attached, in_words
from turnwire.engine.export.markdown import markdown_of

DATA = b64encode(b"x" * 1234).decode()
SOURCE = {"type": "base64", "media_type": "image/png", "data": DATA}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (ImageContent("image/png", DATA), "*picture: image/png, 1,234 bytes*"),
        (ImageBlock("completed", "image/png", DATA), "*picture: image/png, 1,234 bytes*"),
        ({"type": "image", "source": SOURCE}, "*picture: image/png, 1,234 bytes*"),
        ({"type": "image", "mime_type": "image/gif"}, "*picture: image/gif*"),
        (
            ImageContent(blob=Blob("b-1", "image/png", 99)),
            "![picture: image/png, 99 bytes](</api/blobs/b-1>)",
        ),
        (ImageContent(url="https://a.example/b.png"), "![picture](<https://a.example/b.png>)"),
        (
            {"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}},
            "![picture](<https://a.example/b.png>)",
        ),
        (ImageContent(url="javascript:alert(1)"), "*picture*"),
        (ImageContent("[x](y)\n#"), "*picture: (x)(y) #*"),
        (FileContent("a/b.txt", "text/plain", 12), "*file a/b.txt: text/plain, 12 bytes*"),
        (FileRefBlock("a.txt", "completed"), "*file a.txt*"),
        ({"type": "file_ref", "path": "a.txt"}, "*file a.txt*"),
    ],
)
def test_an_attachment_is_shown_with_its_type_and_size(content: Any, text: str) -> None:
    assert attached(content) == text


@pytest.mark.parametrize(
    "content", [{"type": "hologram"}, {"type": "image", "data": 7}, TextContent("hi"), None, 7]
)
def test_anything_else_is_neither(content: Any) -> None:
    assert attached(content) is None
    assert in_words(content) is None


def test_a_document_has_no_bytes_of_a_picture(tmp_path: Path) -> None:
    async def scene() -> None:
        async with engine_on(tmp_path / "turnwire.db") as engine:
            talk = await engine.create("demo", options={"delay": 0})
            async with Watcher(talk) as seen:
                await talk.send([TextContent("Look:"), ImageContent("image/png", DATA)])
                await seen.until(f.AssistantComplete)
            row = (await engine.open(talk.id)).row
            document = "".join([text async for text in markdown_of(engine.store, row)])
            assert "picture: image/png, 1,234 bytes" in document
            assert DATA[:40] not in document
            assert "```json" not in document

    asyncio.run(scene())
