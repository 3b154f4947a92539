"""The mirror of a session and its restoring: pieces that come back as files, and nothing else."""

from __future__ import annotations

import asyncio
import os
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw, structs

from turnwire.agents.claude.sessions.mirror import Lines, Mirror, backups_in, is_needed, trimmed
from turnwire.agents.claude.sessions.restore import begin_mirror, restore_session, unpack
from turnwire.dialects.claude.messages import TranscriptMirror
from turnwire.ports import AgentGone, SessionPiece
from turnwire.safe_files import read_below, write_below

SESSION = "a21ec408-75ab-4bfb-81c9-e531543bbe75"
OTHER = "b21ec408-75ab-4bfb-81c9-e531543bbe75"
NAME = f"-srv-work/{SESSION}.jsonl"
HELPER = f"-srv-work/{SESSION}/subagents/agent-1.jsonl"


def line(number: int, **more: Any) -> dict[str, Any]:
    uuid = f"00000000-0000-4000-8000-{number:012}"
    return {"parentUuid": None, "type": "user", "uuid": uuid, "words": f"line {number}", **more}


def heard(config: Path, name: str, *lines: dict[str, Any]) -> TranscriptMirror:
    path = str(config / "projects" / name)
    return TranscriptMirror(file_path=path, entries=Raw(msgspec.json.encode([*lines])))


def file_of(config: Path, name: str = NAME) -> list[object]:
    text = (config / "projects" / name).read_bytes()
    return [msgspec.json.decode(each) for each in text.splitlines()]


async def test_lines_and_copies_of_files_come_back_on_another_machine(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    backup = one / "file-history" / SESSION / "726e@v1"
    backup.parent.mkdir(parents=True)
    backup.write_bytes(b"\x00before")
    mirror = Mirror(one)
    assert not mirror.has_pieces
    mirror.hear(heard(one, NAME, line(1), line(2)))
    pieces = await mirror.take()
    delta = {"type": "file-history-delta", "backup": {"backupFileName": "726e@v1"}}
    mirror.hear(heard(one, NAME, delta))
    mirror.hear(heard(one, HELPER, line(3)))
    mirror.hear(heard(one, NAME, line(4)))
    pieces += await mirror.take()
    assert not mirror.has_pieces
    assert await mirror.take() == []
    await restore_session(two, SESSION, pieces, None)
    assert file_of(two) == [line(1), line(2), delta, line(4)]
    assert file_of(two, HELPER) == [line(3)]
    restored = two / "file-history" / SESSION / "726e@v1"
    assert restored.read_bytes() == b"\x00before"
    assert restored.stat().st_mode & 0o777 == 0o600


async def test_a_copy_of_a_file_is_handed_over_once(tmp_path: Path) -> None:
    backup = tmp_path / "file-history" / SESSION / "726e@v1"
    backup.parent.mkdir(parents=True)
    backup.write_bytes(b"before")
    snapshot = {
        "type": "file-history-snapshot",
        "snapshot": {"trackedFileBackups": {"a": {"backupFileName": "726e@v1"}}},
    }
    mirror = Mirror(tmp_path)
    names = []
    for _ in range(2):
        mirror.hear(heard(tmp_path, NAME, snapshot))
        names += [piece.name for piece in await mirror.take()]
    assert names.count("file-history/726e@v1") == 1
    later = Mirror(tmp_path, known=[f"{SESSION}/726e@v1"])
    later.hear(heard(tmp_path, NAME, snapshot))
    assert [piece.name.partition("/")[0] for piece in await later.take()] == ["lines"]


async def test_a_copy_that_cannot_be_read_is_left_out_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of the server")
    folder = tmp_path / "file-history" / SESSION
    folder.mkdir(parents=True)
    (folder / "726e@v1").symlink_to(secret)
    mirror = Mirror(tmp_path)
    for name in ("726e@v1", "0000@v1", "../../secret"):
        delta = {"type": "file-history-delta", "backup": {"backupFileName": name}}
        mirror.hear(heard(tmp_path, NAME, delta))
    [piece] = await mirror.take()
    assert piece.name.startswith("lines/")
    told = [record.message for record in caplog.records]
    assert [each.split()[2].rpartition("/")[2] for each in told] == ["726e@v1", "0000@v1"]


async def test_lines_of_a_file_that_is_no_transcript_are_not_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mirror = Mirror(tmp_path)
    for name in (f"../{SESSION}.jsonl", f"x/../{SESSION}/a.jsonl", f"x/{SESSION}.txt", "x/y.jsonl"):
        mirror.hear(heard(tmp_path, name, line(1)))
    mirror.hear(TranscriptMirror())
    assert not mirror.has_pieces
    assert len(caplog.records) == 4


async def test_each_session_of_a_process_has_a_stream_of_its_own(tmp_path: Path) -> None:
    """So the pieces of the first one can be forgotten."""
    one, two = tmp_path / "one", tmp_path / "two"
    mirror = Mirror(one)
    other = NAME.replace(SESSION, OTHER)
    mirror.hear(heard(one, NAME, line(1)))
    mirror.hear(heard(one, other, line(2)))
    pieces = await mirror.take()
    assert [piece.session_id for piece in pieces] == [SESSION, OTHER]
    await restore_session(two, OTHER, pieces, None)
    assert file_of(two, other) == [line(2)]
    assert not (two / "projects" / NAME).exists()


async def test_older_files_are_replaced_and_newer_lines_are_handed_over(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path)
    mirror.hear(heard(tmp_path, NAME, line(1), line(2)))
    pieces = await mirror.take()
    path = tmp_path / "projects" / NAME
    path.parent.mkdir(parents=True)
    path.write_bytes(msgspec.json.encode(line(1)) + b"\n")
    stored = await restore_session(tmp_path, SESSION, pieces, None)
    assert file_of(tmp_path) == [line(1), line(2)]
    assert not (await begin_mirror(tmp_path, SESSION, stored)).has_pieces
    with path.open("ab") as file:  # the last words before a crash; the last line is cut
        file.write(msgspec.json.encode(line(3)) + b'\n{"type":"api-request","x":1}\n{"half')
    stored = await restore_session(tmp_path, SESSION, pieces, None)
    later = await begin_mirror(tmp_path, SESSION, stored)
    pieces += await later.take()
    found = unpack(pieces).transcripts[NAME]
    assert [msgspec.json.decode(each) for each in found[:3]] == [line(1), line(2), line(3)]


async def test_damaged_pieces_are_reported_and_change_no_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bad = [
        SessionPiece(SESSION, "lines/1", b"no stream"),
        SessionPiece(SESSION, "file-history/726e@v1", b"no stream"),
        SessionPiece(SESSION, "file-history/../../x", zlib.compress(b"x")),
        SessionPiece(SESSION, "lines/2", zlib.compress(b">../../../x\n{}\n>x\n{}\n")),
        SessionPiece(SESSION, "of another version", b""),
    ]
    await restore_session(tmp_path / "config", SESSION, bad, None)
    assert not any(tmp_path.iterdir())  # noqa: ASYNC240
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]


async def test_a_link_in_the_way_is_an_error_and_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    config = tmp_path / "config"
    (config / "projects").mkdir(parents=True)
    (config / "projects" / "-srv-work").symlink_to(outside)
    mirror = Mirror(config)
    mirror.hear(heard(config, NAME, line(1)))
    with pytest.raises(AgentGone, match="cannot be restored"):
        await restore_session(config, SESSION, await mirror.take(), None)
    assert [*outside.iterdir()] == []


def test_only_plain_files_are_read_and_no_more_than_the_maximum(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    write_below(tmp_path, ["a", "b"], b"12345", None)
    assert read_below(tmp_path, ["a", "b"], 5) == b"12345"
    for path, most in ((["pipe"], 10), (["a", "b"], 4), (["a"], 10), (["a", "c"], 10)):
        with pytest.raises(OSError, match=r"file|bytes|directory"):
            read_below(tmp_path, path, most)


def test_a_prompt_is_trimmed_and_its_line_stays() -> None:
    note = {"type": "prompt_snapshot", "systemPrompt": ["long"], "tools": [{}], "cliPrefix": "x"}
    record = line(1, type="attachment", attachment=note)
    kept = msgspec.json.decode(trimmed(msgspec.json.encode(record)))
    assert kept == {**record, "attachment": {"type": "prompt_snapshot", "cliPrefix": "x"}}
    for other in (
        msgspec.json.encode(line(2, words='he said "prompt_snapshot"')),
        b'{"attachment": "prompt_snapshot"}',
        b'{"prompt_snapshot": "half',
        b'["prompt_snapshot"]',
    ):
        assert trimmed(other) == other


def test_lines_that_the_program_does_not_repeat_are_not_needed() -> None:
    assert is_needed(b'{"type":"user"}')
    assert not is_needed(b'{"type":"api-request-blob","x":1}')
    assert not is_needed(b"")
    assert backups_in(b'{"type":"file-history-delta","backup":5}') == []
    assert backups_in(b'{"type":"file-history-delta","backup":{"backupFileName":null}}') == []


async def test_a_cancelled_call_loses_nothing(tmp_path: Path) -> None:
    backup = tmp_path / "file-history" / SESSION / "726e@v1"
    backup.parent.mkdir(parents=True)
    backup.write_bytes(b"before")
    delta = {"type": "file-history-delta", "backup": {"backupFileName": "726e@v1"}}
    mirror = Mirror(tmp_path, [Lines(NAME, [msgspec.json.encode(line(1))])])
    mirror.hear(heard(tmp_path, NAME, delta))
    taking = asyncio.create_task(mirror.take())
    await asyncio.sleep(0)
    taking.cancel()
    await asyncio.wait([taking])
    pieces = await mirror.take()
    assert [piece.name.partition("/")[0] for piece in pieces] == ["file-history", "lines"]
    assert len(unpack(pieces).transcripts[NAME]) == 2
    assert structs.asdict(pieces[0])["session_id"] == SESSION
