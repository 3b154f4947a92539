"""Deleting a conversation removes the files that the real Claude Code has stored about it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest

from tests.agents.claude.helpers.real_claude import RULES, Stage, bash, programs
from tests.engine.helpers.watcher import Watcher
from turnwire.agents.claude import ClaudeAgent
from turnwire.agents.claude.sessions.forking import copied_session
from turnwire.agents.claude.sessions.removal import forget_session
from turnwire.dialects.v2 import frames as f
from turnwire.testing.model_api import ModelApi, Say, ToolUse

WORDS = ("plantedprompt", "plantedfile", "plantedbig", "plantedanswer")
OPTIONS = {"model": "claude-sonnet-4-5", "allowed_tools": ["Bash", "Write", "Edit"]}


def _found(home: Path) -> set[str]:
    """The words that are in any of Claude Code's own files."""
    files = [path for path in home.rglob("*") if path.is_file()]
    return {word for word in WORDS for path in files if word.encode() in path.read_bytes()}


async def _session_of(it: Stage) -> str:
    row = (await it.engine.open(it.talk.id)).row
    assert row.native_session_id is not None
    return row.native_session_id


def test_a_deleted_conversation_is_removed_from_claudes_own_files(tmp_path: Path) -> None:
    async def scene() -> None:
        file = tmp_path / "work" / "notes.txt"
        make = ToolUse("Write", {"file_path": str(file), "content": "plantedfile"}, id="w_1")
        change = {"file_path": str(file), "old_string": "plantedfile", "new_string": "other"}
        edit = ToolUse("Edit", change, id="e_1")
        long = bash("for i in $(seq 1 9000); do echo plantedbig$i; done", "b_1")
        async with ModelApi(Say([make]), Say([edit]), Say([long]), "plantedanswer", "other") as api:
            it = Stage(tmp_path, api, RULES, options=OPTIONS)
            await it.begin()
            assert not (await it.says("plantedprompt")).is_error
            session = await _session_of(it)
            beside = await it.engine.create("claude", cwd=str(it.work))
            async with Watcher(beside) as seen:
                seen.patience = 180.0
                await beside.send("stays")
                await seen.until(f.AssistantComplete)
            assert _found(it.home) == set(WORDS)
            assert await it.engine.remove(it.talk.id) is None
            assert not _found(it.home)
            assert not [*it.home.rglob(f"*{session}*")]
            assert len([*it.home.glob(".claude/projects/*/*.jsonl")]) == 1, "another one's stays"
            await it.seen.ends()
            await it.engine.stop()
            await it.store.close()
            assert not programs(), "no process is left"

    asyncio.run(scene())


def _write(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_only_the_files_of_one_session_are_removed(tmp_path: Path) -> None:
    config, name, other = tmp_path / ".claude", str(uuid4()), str(uuid4())
    mine = [
        _write(config / "projects/-a" / f"{name}.jsonl"),
        _write(config / "projects/-a" / name / "subagents/agent-1.jsonl"),
        _write(config / "projects/-a" / name / "tool-results/1.txt"),
        _write(config / "projects/-a/agent-9.jsonl", f'{{"sessionId":"{name}"}}\n'),
        _write(config / "projects/-a/agent-9.meta.json"),
        _write(config / "file-history" / name / "abc@v1"),
        _write(config / "todos" / f"{name}-agent-{name}.json"),
        _write(config / "session-env" / name / "env"),
        _write(config / "debug" / f"{name}.txt"),
        _write(tmp_path / "tmp" / f"claude-{_uid()}" / "-a" / name / "tasks/1.output"),
    ]
    theirs = [
        _write(config / "projects/-a" / f"{other}.jsonl"),
        _write(config / "projects/-a/agent-8.jsonl", f'{{"sessionId":"{other}"}}\n'),
        _write(config / "projects/-a/memory/notes.md"),
        _write(config / "file-history" / other / "abc@v1"),
        _write(config / "todos" / f"{other}-agent-{name}.json"),
        _write(config / "settings.json"),
    ]
    env = {"HOME": str(tmp_path), "CLAUDE_CODE_TMPDIR": str(tmp_path / "tmp")}
    for strange in ("*", "", "..", "projects", f"{name}/../{other}", name[:-1]):
        forget_session(strange, env)
    assert all(path.exists() for path in mine + theirs)
    forget_session(name, env)
    assert not [path for path in mine if path.exists()]
    assert not [path for path in theirs if not path.exists()]
    forget_session(name, env)  # it is forgotten already


def test_the_copy_of_a_session_for_a_fork_is_deleted_with_the_fork(tmp_path: Path) -> None:
    copy = _write(tmp_path / ".claude/projects/-a" / f"{copied_session('fork')}.jsonl")
    parents = _write(tmp_path / ".claude/projects/-a" / f"{uuid4()}.jsonl")
    agent = ClaudeAgent(env={"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": ""})
    asyncio.run(agent.forget("fork", None))
    assert not copy.exists()
    assert parents.exists()


def test_a_file_that_cannot_be_removed_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = str(uuid4())
    path = _write(tmp_path / ".claude/projects/-a" / f"{name}.jsonl")

    def refuse(self: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "unlink", refuse)
    agent = ClaudeAgent(env={"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": ""})
    with pytest.raises(PermissionError):
        asyncio.run(agent.forget("c", name))
    assert path.exists()


def _uid() -> int:
    import os

    return os.getuid()
