"""What is missing, strange or too much: a clear error each, and nothing is lost."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.agents.claude.stage import bash, stage
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.testing.model_api import Say


def program(place: Path, code: str) -> str:
    """A program that can be started as Claude Code is."""
    path = place / "claude"
    path.write_text(f"#!/bin/sh\nexec {sys.executable} {code}\n")
    path.chmod(0o755)
    return str(path)


def strange(place: Path) -> str:
    return program(place, f"{Path(__file__).with_name('strange.py')}")


async def test_another_version_says_what_this_one_does_not_know_and_it_passes_through(
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


async def test_a_very_long_line_is_read(tmp_path: Path) -> None:
    async with stage(tmp_path, cli_path=strange(tmp_path)) as it:
        end = await it.says("long")
        assert not end.is_error
        assert len(it.text[0]) > 1000


async def test_without_a_credential_nothing_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage(tmp_path, "Hello.") as it:
        await it.says("hi")
        agent = it.engine.agents["claude"]
        monkeypatch.setattr(agent, "unavailable", lambda: "There is no credential for Claude.")
        with pytest.raises(Refused, match="no credential") as refused:
            await it.engine.create("claude")
        assert refused.value.code == "AGENT_UNAVAILABLE"


async def test_a_program_that_cannot_start_says_why(tmp_path: Path) -> None:
    broken = program(tmp_path, "-c 'import sys; sys.exit(\"it is broken\")'")
    async with stage(tmp_path, cli_path=broken) as it:
        end = await it.says("hi")
        assert end.error is not None
        assert end.error.code == "AGENT_UNAVAILABLE"
        assert "it is broken" in end.error.message


async def test_options_that_there_are_not_are_named(tmp_path: Path) -> None:
    async with stage(tmp_path, conversation={"options": {"env": {"PATH": "/evil"}}}) as it:
        end = await it.says("hi")
        assert end.error is not None
        assert "no option 'env'" in end.error.message


async def test_a_full_disk_in_the_working_directory_is_the_tools_failure(tmp_path: Path) -> None:
    options = {"allowed_tools": ["Bash"]}
    write = Say([bash("dd if=/dev/zero of=/dev/full count=1")])  # what a full disk says
    async with stage(tmp_path, write, "The disk is full.", options=options) as it:
        end = await it.says("write")
        assert not end.is_error
        assert it.results["bash_1"].is_error
        assert "No space left" in it.told["bash_1"]
        assert it.text == ["The disk is full."]


async def test_a_line_that_cannot_be_taken_ends_the_agent_and_not_the_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwire.agents.claude.transport._LONGEST", 1_000_000)
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
