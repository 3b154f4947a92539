"""The types of pictures, recognized by their bytes."""

from __future__ import annotations

import pytest

from turnwire.core.pictures import is_among, is_concrete, picture_type, true_type


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"\x89PNG\r\n\x1a\n...", "image/png"),
        (b"\xff\xd8\xff\xe0...", "image/jpeg"),
        (b"GIF87a...", "image/gif"),
        (b"GIF89a...", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\0\0\0\0WAVEfmt ", None),
        (b"<svg>", None),
        (b"", None),
    ],
)
def test_a_picture_shows_its_type(data: bytes, found: str | None) -> None:
    assert picture_type(data) == found


@pytest.mark.parametrize("mime_type", ["image/png", "text/plain", "application/vnd.x+json"])
def test_a_single_mime_type_is_concrete(mime_type: str) -> None:
    assert is_concrete(mime_type)


@pytest.mark.parametrize(
    "mime_type", ["image/*", "*/*", "image", "", "image/png; a=b", "IMAGE/PNG"]
)
def test_a_wildcard_or_an_invalid_mime_type_is_not_concrete(mime_type: str) -> None:
    assert not is_concrete(mime_type)


PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(
    ("told", "data", "kept"),
    [
        ("image/gif", PNG, "image/png"),
        ("image/*", PNG, "image/png"),
        ("IMAGE/x-own; a=b", b"own", "image/x-own"),
        ("image/*", b"own", None),
        ("text/plain; charset=utf-8", PNG, "text/plain; charset=utf-8"),
        ("*/*", PNG, None),
    ],
)
def test_bytes_are_kept_under_the_type_that_they_have(
    told: str, data: bytes, kept: str | None
) -> None:
    assert true_type(told, data) == kept


@pytest.mark.parametrize(
    ("kind", "patterns", "is_in"),
    [
        ("application/pdf", ["text/*", "application/pdf"], True),
        ("text/csv; charset=utf-8", ["text/*"], True),
        ("Text/CSV", ["text/csv"], True),
        ("application/zip", ["*/*"], True),
        ("application/zip", ["text/*", "application/pdf"], False),
        ("application/zip", [], False),
    ],
)
def test_a_type_is_among_patterns_of_types(kind: str, patterns: list[str], is_in: bool) -> None:
    assert is_among(kind, patterns) == is_in
