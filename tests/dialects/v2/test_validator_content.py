"""The validator compares the server's copy of a message with the client's."""

from __future__ import annotations

import pytest

from turnwire.core.content import (
    Blob,
    Content,
    FileContent,
    ImageContent,
    OtherContent,
    TextContent,
)
from turnwire.dialects.v2.validator.content import same_content

WORDS = TextContent("Hello")


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ("Hello", [WORDS]),
        ([WORDS], [WORDS]),
        ([ImageContent(url="https://x")], [ImageContent("image/png", url="https://x")]),
        (
            [ImageContent(blob=Blob("b"))],
            [ImageContent("image/png", blob=Blob("b", "image/png", 9))],
        ),
        (
            [ImageContent("image/*", blob=Blob("b", "image/*", 0))],
            [ImageContent("image/png", blob=Blob("b", "image/png", 9))],
        ),
        ([ImageContent("image/gif", "iVBORw0")], [ImageContent("image/png", "iVBORw0")]),
        ([ImageContent(data="aGk=")], [ImageContent("image/png", blob=Blob("b"))]),
        ([FileContent("a.txt")], [FileContent("a.txt", size=4)]),
        ([OtherContent("audio", {"x": 1})], [OtherContent("audio", {"x": 1})]),
    ],
)
def test_the_server_may_add_known_fields_of_a_blob(
    sent: str | list[Content], told: list[Content]
) -> None:
    assert same_content(sent, told)


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ("Hello", []),
        ("Hello", [TextContent("Goodbye")]),
        ("Hello", [ImageContent()]),
        ([ImageContent(blob=Blob("b"))], [ImageContent(blob=Blob("c"))]),
        ([ImageContent(blob=Blob("b"))], [ImageContent(url="https://x")]),
        ([FileContent("a.txt")], [FileContent("b.txt")]),
        ([FileContent("a.txt", size=3)], [FileContent("a.txt", size=4)]),
        ([OtherContent("audio", {"x": 1})], [OtherContent("audio", {"x": 2})]),
    ],
)
def test_the_server_must_not_change_other_content(
    sent: str | list[Content], told: list[Content]
) -> None:
    assert not same_content(sent, told)
