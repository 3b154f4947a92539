"""Missing programs, unknown messages and oversized input: each gives a clear error, and nothing is lost."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.agents.claude.helpers.fake_programs import program, strange
from tests.agents.claude.helpers.real_claude import bash, programs, stage, until
from turnwire.agents.claude import ClaudeAgent
from turnwire.agents.claude.process import installation
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine
from turnwire.ports import SessionStart
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.model_api import ModelApi, Say, ToolUse, claude_environment


@contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    """A real disk of its own that is soon full. Only root may have one."""
    made = ["mount", "-t", "tmpfs", "-o", "size=64k", "small", str(place)]
    if subprocess.run(made, capture_output=True, check=False).returncode:
        pytest.skip("mounting a disk is not permitted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


async def test_unknown_messages_of_another_version_pass_through(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, cli_path=strange(tmp_path)) as it:
        end = await it.says("hi")
        assert not end.is_error
        assert it.text == ["Hello from the future."]
        events = [frame.payload for frame in it.seen.of(f.SessionSystemEvent)]
        kept = {event.subtype: str(event.data) for event in events if event.message_sequence}
        assert "hologram" in kept["unknown"] or "no JSON" in kept["unknown"]
        assert "'mood': 'good'" in kept["mood_changed"]
        assert {"hologram", "unreadable"} <= {
            event.data["originalType"]
            for event in events
            if isinstance(event.data, dict) and "originalType" in event.data
        }


async def test_a_dialog_that_cannot_be_shown_is_dismissed_and_reported(tmp_path: Path) -> None:
    async with stage(tmp_path, cli_path=strange(tmp_path)) as it:
        assert not (await it.says("show me a dialog")).is_error
        [said] = it.text
        assert json.loads(said)["response"] == {"behavior": "cancelled"}
        events = {frame.payload.subtype for frame in it.seen.of(f.SessionSystemEvent)}
        assert "request_user_dialog" in events


async def test_a_very_long_line_is_read(tmp_path: Path) -> None:
    async with stage(tmp_path, cli_path=strange(tmp_path)) as it:
        end = await it.says("long")
        assert not end.is_error
        assert len(it.text[0]) > 1000


async def test_without_a_credential_nothing_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (*installation.CREDENTIALS, *installation.CLOUDS):
        monkeypatch.delenv(name, raising=False)
    async with ModelApi() as api:
        env = {**claude_environment(api.url, tmp_path), "ANTHROPIC_API_KEY": ""}
        store = await SqliteStore.open(tmp_path / "turnwire.db")
        async with Engine(store, {"claude": ClaudeAgent(env=env)}) as engine:
            with pytest.raises(Refused, match="no credential") as refused:
                await engine.create("claude")
        assert refused.value.code == "AGENT_UNAVAILABLE"
        assert await store.conversations(limit=10) == []
        await store.close()
        assert api.requests == []
    assert programs() == {}


async def test_a_program_that_cannot_start_says_why(tmp_path: Path) -> None:
    broken = program(tmp_path, "-c 'import sys; sys.exit(\"it is broken\")'")
    async with stage(tmp_path, cli_path=broken) as it:
        end = await it.says("hi")
        assert end.error is not None
        assert end.error.code == "AGENT_UNAVAILABLE"
        assert "it is broken" in end.error.message


async def test_unknown_options_are_named(tmp_path: Path) -> None:
    async with stage(tmp_path) as it:
        with pytest.raises(Refused, match=r"no option 'env' .*; it has: add_dirs") as refused:
            await it.engine.create("claude", options={"env": {"PATH": "/evil"}})
        assert refused.value.code == "INVALID_PAYLOAD"
        assert len(await it.store.conversations(limit=10)) == 1, "nothing was begun"


async def test_a_full_disk_in_the_working_directory_is_the_tools_failure(tmp_path: Path) -> None:
    options = {"allowed_tools": ["Bash", "Write"]}
    (tmp_path / "work").mkdir()
    with small_disk(tmp_path / "work") as work:
        fill = bash("dd if=/dev/zero of=rest bs=4k")
        note = {"file_path": str(work / "note.txt"), "content": "x" * 30_000}
        write = ToolUse("Write", note, id="write_1")
        said = (Say([fill]), Say([write]), "The disk is full.")
        async with stage(tmp_path, *said, options=options) as it:
            end = await it.says("write")
            assert not end.is_error
            for call, words in (("bash_1", "No space left"), ("write_1", "ENOSPC")):
                assert it.results[call].is_error
                assert words in it.told[call]
            assert it.text == ["The disk is full."]


async def test_a_line_that_cannot_be_taken_ends_the_agent_and_not_the_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwire.agents.claude.process.transport._LONGEST", 1_000_000)
    async with stage(tmp_path, cli_path=strange(tmp_path)) as it:
        end = await it.says("long")
        assert end.error is not None
        assert "a line of more than" in end.error.message
        await it.says("hi")
        assert it.text == ["Hello from the future."]


async def test_options_that_the_sdk_does_not_know_are_named(tmp_path: Path) -> None:
    async with stage(tmp_path, options={"colour": "blue"}) as it:
        end = await it.says("hi")
        assert end.error is not None
        assert "colour" in end.error.message


async def test_a_program_that_has_not_started_is_killed_at_once(tmp_path: Path) -> None:
    """The program may ignore signals for seconds while it starts, before its first event."""
    deaf, is_deaf = tmp_path / "deaf.py", tmp_path / "is deaf"
    deaf.write_text(
        "import pathlib, signal\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"pathlib.Path({str(is_deaf)!r}).touch()\n"
        "while True: signal.pause()\n"
    )
    agent = ClaudeAgent(
        env={"ANTHROPIC_API_KEY": "sk-test"}, cli_path=program(tmp_path, str(deaf)), grace=3600.0
    )
    opening = asyncio.create_task(agent.open(SessionStart("talk", cwd=str(tmp_path))))
    await until(is_deaf.exists)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(20):  # else it would have more time than that
            await opening
    assert not programs()
