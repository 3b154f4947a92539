"""The examples as a user runs them: with a key, without a key, and with failures."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from pathlib import Path

import pytest

from examples import claude_live, hooks_and_tools
from turnwire.agents.claude.process import installation
from turnwire.agents.codex.installation import find_codex
from turnwire.testing.model_api import ModelApi, claude_environment

EXAMPLES = Path(__file__).parents[3] / "examples"


async def run(
    *arguments: str, example: str = "claude_live", **env: str
) -> tuple[int | None, str, str]:
    """Runs an example. Returns its exit code and its output."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(EXAMPLES / f"{example}.py"), *arguments),
        env={**os.environ, **env},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(300):
            said, complained = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    return process.returncode, said.decode(), complained.decode()


async def test_the_example_kills_everything_and_the_answer_becomes_the_tools_result() -> None:
    code, said, complained = await run("--offline")
    assert code == 0, said + complained
    assert "kill -9 of every process: the server" in said  # Claude Code may have ended itself
    assert '"tool_use_id": "ask_1"' in said


async def test_without_a_key_an_example_ends_at_once_with_advice(tmp_path: Path) -> None:
    nowhere = dict.fromkeys((*installation.CREDENTIALS, *installation.CLOUDS), "")
    nowhere |= {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path)}
    for example in ("claude_live", "hooks_and_tools"):
        code, _, complained = await run(example=example, **nowhere)
        assert code == 1
        assert "There is no credential for Claude." in complained
        assert "--offline" in complained
        assert "Traceback" not in complained


@pytest.mark.parametrize(
    ("said", "patience", "line"),
    [
        (
            b'["assistant.complete", {"is_error": true, "error": {"message": "a wrong key"}}]',
            120.0,
            "The turn failed: a wrong key",
        ),
        (
            b'["assistant.complete", {"is_error": false}]',
            120.0,
            r"Claude ended its turn without doing what it was asked to do.",
        ),
        (
            b'["assistant.chunk", {"partial": true, "text": "Hm, let me"}]',
            0.5,
            r"No answer in 0\.5 seconds\.",
        ),
    ],
    ids=["wrong key", "does not ask", "says nothing"],
)
async def test_an_example_that_fails_says_why(said: bytes, patience: float, line: str) -> None:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec("cat", stdin=pipe, stdout=pipe)
    assert process.stdin is not None
    process.stdin.write(said + b"\n")  # `cat` prints the output of a server
    with pytest.raises(SystemExit, match=line):
        await claude_live.Server(process, patience).until("assistant.request_input")
    process.stdin.close()
    await process.wait()


async def test_a_file_comes_back_and_two_conversations_go_on() -> None:
    code, said, complained = await run("--offline", example="fork_and_rewind")
    assert code == 0, said + complained
    assert "poem.txt was 'It is autumn.', and is 'It is spring.' again." in said
    assert "Of spring and winter." in said
    assert "Of spring and autumn." in said


async def test_hooks_decide_and_a_tool_reports_its_progress() -> None:
    code, said, complained = await run("--offline", example="hooks_and_tools")
    assert code == 0, said + complained
    assert said.count("Seen: ") == 14
    assert "Traceback" not in complained


async def test_missing_hooks_and_tools_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "turnwire.claude")  # which it changes, for itself
    async with ModelApi("I would rather not.") as api:
        for name, value in claude_environment(api.url, tmp_path).items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit, match=r"Not seen: progress of the tool, live\."):
            await hooks_and_tools.main(offline=False, patience=180.0)


@pytest.mark.skipif(find_codex() is None, reason="the extra codex is not installed")
async def test_the_example_of_three_agents_ends_well_only_if_each_knows_what_was_said() -> None:
    pytest.importorskip("pydantic_ai")
    code, said, complained = await run("--offline", example="three_agents")
    assert code == 0, said + complained
    assert "  claude: The words so far: kestrel, lantern, velvet, orchard." in said
    assert "The log says who spoke: claude, codex, helper, claude." in said
