"""A stop that stops: in text, in a tool, at a permission, at a question, and against a deaf program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.claude.stage import Stage, ask, bash, programs, stage, touch, until_it_runs
from tests.agents.processes import wait_until_gone
from turnwire.core.conversation.state import Options
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.payloads import Interrupted
from turnwire.testing.model_api import Say, Text


async def stop(it: Stage) -> Interrupted:
    """Stop the turn that runs, and wait for its end."""
    status = await it.talk.status()
    assert status.turn_id is not None
    await it.talk.interrupt(status.turn_id, user="ann")
    receipt = (await it.seen.until(f.ConversationInterrupted)).payload
    end = await it.ends()
    assert end.interrupted
    return receipt


async def test_a_stop_in_the_middle_of_a_text_keeps_what_was_said(tmp_path: Path) -> None:
    async with stage(tmp_path, Say([Text("One, two, three.", [10], hold="")]), "Again.") as it:
        await it.talk.send("count")
        await it.seen.until(f.AssistantChunk, lambda chunk: chunk.payload.text != "")
        receipt = await stop(it)
        assert (receipt.acknowledged, receipt.forced) == (True, False)
        [chunk] = [c.payload for c in it.seen.of(f.AssistantChunk) if not c.payload.partial]
        assert (chunk.text, chunk.aborted) == ("One, two, ", True)
        await it.says("go on")
        assert it.text[-1] == "Again."


SLEEP = bash("sh -c 'sleep 600'")  # a plain `sleep` is refused
FREE = {"model": "claude-sonnet-4-5", "allowed_tools": ["Bash"]}


async def test_a_stop_in_a_tool_ends_what_the_tool_runs(tmp_path: Path) -> None:
    async with stage(tmp_path, Say([SLEEP]), "Again.", options=FREE) as it:
        await it.talk.send("sleep")
        pid = await until_it_runs("sleep")
        receipt = await stop(it)
        assert (receipt.acknowledged, receipt.forced) == (True, False)
        assert not wait_until_gone([pid]), "the sleep is really dead"
        died = {process.pid: process.name for process in receipt.processes}
        assert died.get(pid) == "sleep", "and the receipt names it"
        assert "claude" not in died.values()
        assert it.results["bash_1"].is_error
        await it.says("go on")
        assert it.text == ["Again."]


async def test_a_stop_at_a_permission_takes_it_back(tmp_path: Path) -> None:
    async with stage(tmp_path, Say([touch("a")]), "Again.") as it:
        await it.talk.send("make a")
        asked = await it.wants()
        await stop(it)
        [resolved] = [frame.payload for frame in it.seen.of(f.AssistantRequestResolved)]
        assert (resolved.request_id, resolved.outcome) == (asked.request_id, "cancelled")
        assert not (it.work / "a").exists()
        await it.says("go on")
        assert it.text == ["Again."]


@pytest.mark.parametrize("hold", [0.0, 60.0], ids=["put_aside", "held"])
async def test_a_stop_at_a_question_takes_it_back(tmp_path: Path, hold: float) -> None:
    async with stage(tmp_path, Say([ask()]), "Again.", hold=hold) as it:
        await it.talk.send("ask me")
        await it.asked()
        if hold == 0.0:
            await it.sleeps()
        await stop(it)
        [resolved] = [frame.payload for frame in it.seen.of(f.AssistantRequestResolved)]
        assert resolved.outcome == "cancelled"
        end = await it.says("go on")
        assert not end.is_error
        assert it.text == ["Again."]


async def test_a_stop_before_the_first_sign_ends_what_is_being_started(tmp_path: Path) -> None:
    async with stage(tmp_path, "Again.") as it:
        await it.talk.send("hi")
        await stop(it)
        assert not wait_until_gone(list(programs()))
        await it.says("go on")
        assert it.text == ["Again."]


DEAF = """#!/bin/sh
# Claude Code behind a program that keeps interrupts to itself.
exec {python} -c '
import subprocess, sys, threading
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)
for line in sys.stdin.buffer:
    if b"interrupt" not in line:
        child.stdin.write(line)
        child.stdin.flush()
' {cli} "$@"
"""


async def test_a_program_that_does_not_stop_is_ended_and_the_receipt_names_what_died(
    tmp_path: Path,
) -> None:
    import sys

    from turnwire.agents.claude.install import find_cli

    deaf = tmp_path / "deaf"
    deaf.write_text(DEAF.format(python=sys.executable, cli=find_cli()))
    deaf.chmod(0o755)
    rules = Options(on_disconnect="continue", interrupt_grace=0.5)
    how = {"rules": rules, "options": FREE, "cli_path": str(deaf)}
    async with stage(tmp_path, Say([SLEEP]), "Again.", **how) as it:  # type: ignore[arg-type]
        await it.talk.send("sleep")
        pid = await until_it_runs("sleep")
        before = programs()
        receipt = await stop(it)
        assert (receipt.acknowledged, receipt.forced) == (False, True)
        assert not wait_until_gone(list(before))
        died = {process.pid: process.name for process in receipt.processes}
        assert died.get(pid) == "sleep", "the receipt names it"
        assert "claude" in died.values()
        await it.says("go on")
        assert it.text == ["Again."]
