"""A recorded session of protocol v2, read line by line."""

from __future__ import annotations

import pytest

from turnwire.dialects.v2.recording import (
    ClientLine,
    ClosedLine,
    ConnectLine,
    ServerLine,
    read_line,
)
from turnwire.errors import BadLine


def test_a_line_is_a_connect_a_frame_or_a_close() -> None:
    assert read_line(b'{"connect":"/ws"}') == ConnectLine("/ws")
    assert read_line(b'{"client":{"type":"a"}}') == ClientLine(b'{"type":"a"}')
    assert read_line(b'{"server":{"type":"a"}}') == ServerLine(b'{"type":"a"}', {"type": "a"})
    assert read_line(b'{"close":1006}') == ClosedLine(1006)


def test_a_line_may_have_a_comment() -> None:
    assert read_line(b'{"comment":"bye","close":1006}') == ClosedLine(1006)


def test_a_bare_frame_with_a_sequence_is_the_servers() -> None:
    raw = b'{"type":"a","sequence":null}'
    assert read_line(raw) == ServerLine(raw, {"type": "a", "sequence": None}, bare=True)
    assert read_line(b'{"type":"a"}') == ClientLine(b'{"type":"a"}', bare=True)


DEEP = b'{"server":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"{", "invalid_json"),
        (b'{"close":"\\ud800"}', "invalid_json"),
        (b"\xff", "invalid_json"),
        (b"[]", "not_an_object"),
        (b"{}", "no_frame"),
        (b'{"close":"now"}', "no_frame"),
        (b'{"connect":"/ws","close":1000}', "no_frame"),
        (b'{"client":{},"close":1000}', "no_frame"),
        (b'{"server":{},"close":1000}', "no_frame"),
        (b'{"server":{},"client":{}}', "no_frame"),
        (DEEP, "too_deep"),
    ],
    ids=lambda value: repr(value[:40]),
)
def test_any_other_line_is_bad_and_says_why(raw: bytes, reason: str) -> None:
    with pytest.raises(BadLine) as caught:
        read_line(raw, 7)
    assert (caught.value.reason, caught.value.line) == (reason, 7)
