"""The journal: a process that is killed while writing a line damages no other line."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.prove.helpers import journal as j


def test_half_a_line_counts_as_not_written_and_the_next_one_is_read(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    first, second = j.Ended(pid=1), j.Ended(pid=2)
    killed = j.Journal(path)
    killed.write(first)
    killed.close()
    with path.open("ab") as half:
        half.write(b'\n{"type":"told","about":{"words":"wei\xc3')
    after = j.Journal(path)
    after.write(second)
    after.close()
    assert j.read(path) == [first, second]


def test_a_line_that_is_whole_and_wrong_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b'{"type":"ended","pid":1,}\n')
    with pytest.raises(msgspec.DecodeError):
        j.read(path)
