"""Text with lone surrogates is mended."""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from turnwire.core.text import clean, encode_clean, json_text, writable


class _Thing(Struct):
    text: str
    many: list[str]
    raw: Raw


def test_half_a_character_becomes_the_replacement_character() -> None:
    assert clean("a\ud83db") == "a\ufffdb"
    assert clean("\ude00\ud83d") == "\ufffd\ufffd"
    assert clean("\ud83d\ude00") == "\U0001f600"  # two halves that belong together


def test_valid_text_is_unchanged() -> None:
    for text in ("", "plain", "你好", "\0", "\U0001f600", None):
        assert clean(text) == text


def test_encodable_text_is_returned_as_the_same_object() -> None:
    thing = _Thing("你好", [], Raw(b"[1]"))
    assert writable(thing) is thing
    half = _Thing("a\ud83d", ["b"], Raw(b"[1]"))
    assert writable(half) == _Thing("a\ufffd", ["b"], Raw(b"[1]"))
    assert writable([half, ("\ud83d",)]) == [writable(half), ("\ufffd",)]


def test_written_text_is_always_encodable() -> None:
    half = _Thing("a\ud83d", [], Raw(b"[1]"))
    assert encode_clean(msgspec.json.encode, half) == msgspec.json.encode(writable(half))


def test_json_is_mended_at_any_depth() -> None:
    thing = _Thing("a\ud83d", ["b", "\ud83d"], Raw(b"[1]"))
    assert msgspec.json.decode(json_text({"k\ud83d": thing, "n": (1, None)})) == {
        "k\ufffd": {"text": "a\ufffd", "many": ["b", "\ufffd"], "raw": [1]},
        "n": [1, None],
    }
