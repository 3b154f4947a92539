"""Reading a recording: any cut of the bytes gives the same lines."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.recorded_streams import recorded
from turnwire.cli.recordings import recording as module
from turnwire.cli.recordings.recording import Entry, Recording
from turnwire.errors import BadLine, UnreadableInput


def read(chunks: list[bytes], max_line: int = 1000) -> tuple[list[Entry], Recording]:
    """The entries of a source that hands over these chunks."""
    source: Iterator[bytes] = iter([*(chunk for chunk in chunks if chunk), b""])
    recording = Recording(lambda size: next(source), "test", max_line=max_line)
    return [entry for batch in recording.batches() for entry in batch], recording


def told(entries: list[Entry]) -> list[tuple[object, ...]]:
    """Entries as something that can be compared."""
    return [
        (e.line.line, e.line.reason, e.line.raw[:10])
        if isinstance(e.line, BadLine)
        else (e.line.number, e.line.raw, e.line.unknown, e.direction, e.time)
        for e in entries
    ]


CONTENT = b"\n".join(
    [
        b'{"type":"keep_alive"}',
        b"",
        b'  {"type":"novel","text":"\xe4\xbd\xa0\xe5\xa5\xbd"} \r',
        b"{bad",
        b'{"t":1.5,"dir":"in","msg":{"type":"keep_alive"}}',
        b'{"t":2,"dir":"note","msg":{"hello":"world"}}',
        b"x" * 90,
        b'{"dir":"out","msg":{"type":"user","message":{"content":"\\ud83d"}}}',
        b'{"type":"keep_al',
    ]
)


BOM = b"\xef\xbb\xbf"


@given(st.lists(st.integers(0, len(CONTENT)), max_size=30).map(sorted))
def test_the_lines_are_the_same_for_any_cuts_of_the_bytes(cuts: list[int]) -> None:
    pieces = [CONTENT[a:b] for a, b in zip([0, *cuts], [*cuts, len(CONTENT)], strict=True)]
    entries, recording = read(pieces, max_line=80)
    whole, _ = read([CONTENT], max_line=80)
    # The head kept of a line that is too long depends on the cut; all else does not.
    assert [t[:2] for t in told(entries)] == [t[:2] for t in told(whole)]
    assert recording.notes == 1
    assert recording.position == len(CONTENT)


def test_lines_keep_their_order_and_their_direction() -> None:
    entries, _ = read([CONTENT], max_line=80)
    assert [t[0] for t in told(entries)] == [1, 3, 4, 5, 7, 8, 9]
    assert [e.direction for e in entries] == ["out", "out", "out", "in", "out", "out", "out"]
    assert [e.time for e in entries if e.direction == "in"] == [1.5]
    reasons = [e.line.reason for e in entries if isinstance(e.line, BadLine)]
    assert reasons == ["invalid_json", "too_long", "truncated"]


@pytest.mark.parametrize("cut", range(6))
def test_a_byte_order_mark_before_the_first_line_is_ignored(cut: int) -> None:
    content = BOM + CONTENT
    entries, recording = read([content[:cut], content[cut:]], max_line=80)
    plain, _ = read([CONTENT], max_line=80)
    assert told(entries) == told(plain)
    assert recording.position == len(content)
    assert read([BOM])[0] == []


def test_a_byte_order_mark_anywhere_else_is_no_json() -> None:
    line = b'{"type":"keep_alive"}'
    entries, _ = read([b"\n".join([line, BOM + line, BOM + BOM + line])])
    assert [isinstance(e.line, BadLine) for e in entries] == [False, True, True]
    (twice,), _ = read([BOM + BOM + line])
    assert isinstance(twice.line, BadLine)


def test_repairs_of_an_envelope_are_reported() -> None:
    entries, _ = read([CONTENT], max_line=80)
    (repaired,) = [
        e.line for e in entries if not isinstance(e.line, BadLine) and e.line.number == 8
    ]
    assert repaired.unknown == ("lone surrogate",)


def test_an_envelope_gives_the_message_as_it_came() -> None:
    original = recorded("01_text")
    wrapped = [b'{"t":1,"dir":"out","msg":' + line + b"}" for line in original]
    plain, _ = read([b"\n".join(original)], max_line=10**6)
    unwrapped, _ = read([b"\n".join(wrapped)], max_line=10**6)
    assert [t[:3] for t in told(unwrapped)] == [t[:3] for t in told(plain)]


def test_a_line_that_only_looks_like_an_envelope_is_unchanged() -> None:
    odd = [{"dir": "up", "msg": {}}, {"msg": {}}, {"t": "late", "dir": "out", "msg": {}}, {}]
    entries, _ = read([b"\n".join(json.dumps(each).encode() for each in odd)])
    assert [e.line.unknown for e in entries if not isinstance(e.line, BadLine)] == [
        ("(no type)",)
    ] * 4


def test_a_line_that_is_too_long_is_not_held_in_memory() -> None:
    unended = module._UnendedLine(1000)
    for _ in range(500):
        unended.add(b"x" * 900)
    assert sum(map(len, unended._pieces)) <= 80
    head, size = unended.take()
    assert (head, size) == (b"x" * 80, 450_000)
    assert unended.take() == (b"", 0)


def test_a_source_that_breaks_while_it_is_read() -> None:
    def broken(size: int) -> bytes:
        raise OSError(5, "Input/output error")

    recording = Recording(broken, "disk.jsonl", max_line=10)
    with pytest.raises(UnreadableInput, match=r"cannot read disk\.jsonl: Input/output error\. "):
        list(recording.batches())
