"""The examples, run as anybody would: with and without a key, and where nothing comes of it."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from turnwire.testing.model_api import Fail, ModelApi, Say, Text, claude_environment

EXAMPLES = Path(__file__).parents[3] / "examples"


async def run(
    *arguments: str, example: str = "claude_live", **env: str
) -> tuple[int | None, str, str]:
    """Its exit code, and what it said."""
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


async def test_it_kills_everything_and_the_answer_is_that_tools_result() -> None:
    code, said, complained = await run("--offline")
    assert code == 0, said + complained
    assert "kill -9 of everything: the server" in said  # Claude Code may just have ended by itself
    assert '"tool_use_id": "ask_1"' in said


@pytest.mark.parametrize(
    ("reply", "patience", "line"),
    [
        (Fail(401, "invalid x-api-key"), "120", "The turn failed: "),
        ("I do not ask.", "120", "Claude ended its turn, and did not do what it was asked for."),
        (Say([Text("Hm, let me", 2, hold="")]), "8", "Nothing came of it in 8 seconds."),
    ],
    ids=["wrong key", "does not ask", "says nothing"],
)
async def test_where_nothing_comes_of_it_it_ends_and_says_why(
    tmp_path: Path, reply: Any, patience: str, line: str
) -> None:
    async with ModelApi(*[reply] * 9) as api:
        env = claude_environment(api.url, tmp_path)
        code, _, complained = await run("--patience", patience, **env)
    assert code == 1
    assert line in complained
    assert "Traceback" not in complained


async def test_a_file_comes_back_and_two_conversations_go_on() -> None:
    code, said, complained = await run("--offline", example="fork_and_rewind")
    assert code == 0, said + complained
    assert "poem.txt was 'It is autumn.', and is 'It is spring.' again." in said
    assert "Of spring and winter." in said
    assert "Of spring and autumn." in said


async def test_hooks_decide_and_a_tool_tells_how_far_it_is(tmp_path: Path) -> None:
    code, said, complained = await run("--offline", example="hooks_and_tools")
    assert code == 0, said + complained
    assert said.count("Seen: ") == 14
    assert "Traceback" not in complained
    async with ModelApi("I would rather not.") as api:
        env = claude_environment(api.url, tmp_path)
        code, _, complained = await run(example="hooks_and_tools", **env)
    assert code == 1
    assert "Not seen: progress of the tool, live." in complained
