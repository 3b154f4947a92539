"""The first start of Codex in a new CODEX_HOME, and why a start fails."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.agents.codex.helpers.real_codex import IS_INSTALLED
from turnwire.agents.codex import CodexAgent
from turnwire.engine import Engine
from turnwire.ports import AgentGone, SessionStart
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.model_api import ModelApi, codex_environment

PROGRAM = Path(__file__).parent / "helpers" / "fake_codex.py"


def fake(tmp_path: Path, *, fails: int = 0) -> CodexAgent:
    """An agent with a program that is not Codex, in a home of its own."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "fails").write_text(str(fails))
    program = tmp_path / "codex"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I "{PROGRAM}"\n')
    program.chmod(0o755)
    env = {"CODEX_HOME": str(home), "OPENAI_API_KEY": "sk"}
    return CodexAgent(env=env, codex_path=str(program), roots=[tmp_path])


def lines(file: Path) -> int:
    return len(file.read_text().splitlines()) if file.exists() else 0


async def test_codex_starts_alone_until_it_has_started_once(tmp_path: Path) -> None:
    agent = fake(tmp_path)
    opened = [agent.open(SessionStart(f"talk-{number}")) for number in range(4)]
    sessions = await asyncio.gather(*opened)
    try:
        assert len({session.native_session_id for session in sessions}) == 4
    finally:
        for session in sessions:
            await session.close()
    assert lines(tmp_path / "home" / "overlaps") == 0
    assert lines(tmp_path / "home" / "started") == 4


async def test_codex_that_ends_at_its_start_is_started_again(tmp_path: Path) -> None:
    session = await fake(tmp_path, fails=1).open(SessionStart("talk"))
    try:
        assert session.native_session_id
    finally:
        await session.close()
    assert lines(tmp_path / "home" / "started") == 2


async def test_codex_that_never_starts_is_said_with_its_exit_code_and_its_last_words(
    tmp_path: Path,
) -> None:
    with pytest.raises(AgentGone) as gone:
        await fake(tmp_path, fails=99).open(SessionStart("talk"))
    said = gone.value.message
    assert said.startswith("Codex could not be started: The agent's process has ended")
    assert "with exit code 3. It said last: no database\n" in said
    assert said.endswith("\\x1b[31mkey [redacted]")
    assert lines(tmp_path / "home" / "started") == 4


@pytest.mark.skipif(not IS_INSTALLED, reason="the extra codex is not installed")
async def test_first_conversations_begin_at_once_with_a_new_home(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    async with ModelApi(*["Hi."] * 3, aside=None) as api:
        agent = CodexAgent(env=codex_environment(api.url, tmp_path / "home"), start_seconds=180.0)
        async with (
            SqliteStore.open(tmp_path / "turnwire.db") as store,
            Engine(store, {"codex": agent}) as engine,
        ):
            work = str(tmp_path / "work")
            talks = [await engine.create("codex", cwd=work) for _ in range(3)]
            replies = await asyncio.gather(*(talk.ask("hello") for talk in talks))
            assert [(each.text, each.end and each.end.error) for each in replies] == [
                ("Hi.", None)
            ] * 3
