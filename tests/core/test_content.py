"""Content of clients and tools, translated to the log and back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.helpers.sample_events import wire
from turnwire.core import message as m
from turnwire.core.content import (
    Blob,
    Content,
    FileContent,
    ImageContent,
    OtherContent,
    TextContent,
    blob_of,
    content_of,
    parts_of,
)
from turnwire.core.grouping import contents
from turnwire.core.message import BlobRef, KeptBlock, Message
from turnwire.core.message_codec import decode_message, encode

REF = BlobRef("b-1", "image/png", 70_000)

PARTS: list[tuple[m.MessagePart | KeptBlock, dict[str, Any]]] = [
    (m.TextPart(m.TextPayload("hi")), {"type": "text", "text": "hi"}),
    (
        m.TextPart(m.TextPayload("hi", [{"url": "x"}], REF)),
        {
            "type": "text",
            "text": "hi",
            "citations": [{"url": "x"}],
            "blob": {"blob_id": "b-1", "mime_type": "image/png", "size": 70000},
        },
    ),
    (
        m.ImagePart(m.ImagePayload("image/png", "aGk=")),
        {"type": "image", "mime_type": "image/png", "data": "aGk="},
    ),
    (
        m.ImagePart(m.ImagePayload("image/png", None, "https://x/y.png")),
        {"type": "image", "mime_type": "image/png", "url": "https://x/y.png"},
    ),
    (
        m.FileRefPart(m.FileRefPayload("a.txt", "text/plain", 3)),
        {"type": "file_ref", "path": "a.txt", "mime_type": "text/plain", "size": 3},
    ),
    (
        m.UnknownPart("hologram", {"kind": "hologram", "beams": 3}),
        {"type": "unknown", "originalType": "hologram", "data": {"kind": "hologram", "beams": 3}},
    ),
    (
        KeptBlock(0, {"type": "unknown", "originalType": "document", "data": {"title": "Plan"}}),
        {"type": "unknown", "originalType": "document", "data": {"title": "Plan"}},
    ),
    (
        KeptBlock(0, {"type": "error", "message": "no"}),
        {"type": "unknown", "originalType": "error", "data": {"type": "error", "message": "no"}},
    ),
    (KeptBlock(0, "odd"), {"type": "unknown", "originalType": "", "data": "odd"}),
    (
        KeptBlock(0, None, REF),
        {
            "type": "unknown",
            "originalType": "blob",
            "data": {"blob": {"blob_id": "b-1", "mime_type": "image/png", "size": 70000}},
        },
    ),
    (
        m.ThinkingPart(m.ThinkingPayload("hm")),
        {
            "type": "unknown",
            "originalType": "thinking",
            "data": {"kind": "thinking", "payload": {"text": "hm"}},
        },
    ),
]


@pytest.mark.parametrize(("part", "content"), PARTS, ids=[str(each) for _, each in PARTS])
def test_a_part_becomes_content(part: m.MessagePart | KeptBlock, content: dict[str, Any]) -> None:
    assert wire(content_of(part)) == content


def test_an_entry_says_its_parts_and_kept_blocks_in_their_order() -> None:
    entry = Message(
        "conv-1:3",
        "user",
        [m.TextPart(m.TextPayload("one")), m.TextPart(m.TextPayload("three"))],
        "2026-01-01T12:00:00.000Z",
        {"blocks": [{"position": 1, "block": {"type": "error", "message": "two"}}]},
    )
    assert [type(each) for each in map(content_of, contents(entry))] == [
        TextContent,
        OtherContent,
        TextContent,
    ]


def test_no_blob_is_no_blob() -> None:
    assert blob_of(None) is None


# --- into the log -------------------------------------------------------------------------------


def test_a_plain_string_is_one_text() -> None:
    assert parts_of("Hello") == ([m.TextPart(m.TextPayload("Hello"))], [])


def test_content_of_a_client_comes_back_unchanged() -> None:
    sent: list[Content] = [
        TextContent("See"),
        ImageContent("image/png", "aGk="),
        OtherContent("document", {"type": "document", "title": "Plan"}),
        ImageContent("image/png", blob=Blob("b-1", "image/png", 7)),
        FileContent("a.txt", "text/plain", 3, Blob("b-2", "text/plain", 3)),
        OtherContent("odd", 1),
    ]
    parts, rest = parts_of(sent)
    assert [block.position for block in rest] == [2, 5]
    meta = {"schemaVersion": 1, "blocks": msgspec.to_builtins(rest)}
    entry = Message("conv-1:3", "user", parts, "2026-01-01T12:00:00.000Z", meta)
    assert [*map(content_of, contents(decode_message(encode(entry))))] == sent


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (ImageContent(), m.ImagePart(m.ImagePayload("image/*"))),
        (
            ImageContent(blob=Blob("b-1", "image/gif", 7)),
            m.ImagePart(m.ImagePayload("image/gif", blob=BlobRef("b-1", "image/gif", 7))),
        ),
        (
            ImageContent(blob=Blob("b-1")),
            m.ImagePart(m.ImagePayload("image/*", blob=BlobRef("b-1", "image/*", 0))),
        ),
        (
            TextContent("Once", blob=Blob("b-1")),
            m.TextPart(m.TextPayload("Once", blob=BlobRef("b-1", "text/plain; charset=utf-8", 0))),
        ),
        (
            FileContent("a.bin", blob=Blob("b-1")),
            m.FileRefPart(
                m.FileRefPayload("a.bin", blob=BlobRef("b-1", "application/octet-stream", 0))
            ),
        ),
    ],
)
def test_optional_fields_of_a_client_get_defaults(content: Content, part: m.MessagePart) -> None:
    assert parts_of([content]) == ([part], [])
