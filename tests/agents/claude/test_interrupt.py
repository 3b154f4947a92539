"""Interrupts: during text, a tool, a permission, and of a program that ignores them."""

from __future__ import annotations

from pathlib import Path

from tests.agents.claude.helpers.real_claude import (
    Stage,
    bash,
    programs,
    stage,
    stop,
    touch,
    until_it_runs,
)
from tests.agents.helpers.processes import wait_until_gone
from turnwire.core.conversation.state import Options
from turnwire.dialects.v2 import frames as f
from turnwire.testing.model_api import Say, Text

SLEEP = bash("sh -c 'sleep 600'")  # a plain `sleep` is refused
FREE = {"model": "claude-sonnet-4-5", "allowed_tools": ["Bash"]}


async def test_a_stop_before_the_first_sign_in_a_text_at_a_permission_and_in_a_tool(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as it:
        await before_the_first_sign_it_ends_what_is_being_started(it)
        await in_the_middle_of_a_text_it_keeps_what_was_said(it)
        await at_a_permission_it_takes_it_back(it)
        await in_a_tool_it_ends_what_the_tool_runs(it)


async def before_the_first_sign_it_ends_what_is_being_started(it: Stage) -> None:
    it.api.say_next("Now.")
    await it.talk.send("hi")
    await stop(it)
    assert not wait_until_gone(list(programs()))
    await it.says("go on")
    assert it.text == ["Now."]


async def in_the_middle_of_a_text_it_keeps_what_was_said(it: Stage) -> None:
    it.api.say_next(Say([Text("One, two, three.", [10], hold="")]), "Again.")
    await it.talk.send("count")
    await it.seen.until(f.AssistantChunk, lambda chunk: chunk.payload.text == "One, two, ")
    receipt = await stop(it)
    assert (receipt.acknowledged, receipt.forced) == (True, False)
    chunk = [c.payload for c in it.seen.of(f.AssistantChunk) if not c.payload.partial][-1]
    assert (chunk.text, chunk.aborted) == ("One, two, ", True)
    await it.says("go on")
    assert it.text[-1] == "Again."


async def at_a_permission_it_takes_it_back(it: Stage) -> None:
    it.api.say_next(Say([touch("a", "touch_1")]), it.answer_to("go on", "And again."))
    await it.talk.send("make a")
    asked = await it.wants()
    await stop(it)
    [resolved] = [frame.payload for frame in it.seen.of(f.AssistantRequestResolved)]
    assert (resolved.request_id, resolved.outcome) == (asked.request_id, "cancelled")
    assert not (it.work / "a").exists()
    await it.says("go on")
    assert it.text[-1] == "And again."


async def in_a_tool_it_ends_what_the_tool_runs(it: Stage) -> None:
    it.api.say_next(Say([SLEEP]), "And once more.")
    await it.talk.send("sleep")
    await it.talk.decide((await it.wants()).request_id, "allow")
    pid = await until_it_runs("sleep")
    receipt = await stop(it)
    assert (receipt.acknowledged, receipt.forced) == (True, False)
    assert not wait_until_gone([pid]), "the sleep is really dead"
    died = {process.pid: process.name for process in receipt.processes}
    assert died.get(pid) == "sleep", "and the receipt names it"
    assert "claude" not in died.values()
    assert it.results["bash_1"].is_error
    await it.says("go on")
    assert it.text[-1] == "And once more."


DEAF = """#!/bin/sh
# A program that starts Claude Code and does not pass interrupts on.
exec {python} -c '
import subprocess, sys, threading
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)
for line in sys.stdin.buffer:
    if b"interrupt" not in line:
        child.stdin.write(line)
        child.stdin.flush()
' {cli} "$@"
"""


async def test_a_program_that_does_not_stop_is_ended_and_the_receipt_names_the_ended_processes(
    tmp_path: Path,
) -> None:
    import sys

    from turnwire.agents.claude.process.installation import find_cli

    deaf = tmp_path / "deaf"
    deaf.write_text(DEAF.format(python=sys.executable, cli=find_cli()))
    deaf.chmod(0o755)
    rules = Options(on_disconnect="continue", interrupt_grace=0.5)
    how = {"rules": rules, "options": FREE, "cli_path": str(deaf)}
    # While it ends it may still send the model the missing result of the command.
    said = (Say([SLEEP]), *["Again."] * 2)
    async with stage(tmp_path, *said, **how) as it:  # type: ignore[arg-type]
        it.all_is_heard = False
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
