"""Threads that people began with Codex itself, imported and continued."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.agents.claude.helpers.log_checks import check_log, later_view
from tests.agents.claude.helpers.real_claude import until
from tests.agents.codex.helpers.real_codex import IS_INSTALLED, run, stage
from turnwire.agents.codex import CodexAgent
from turnwire.agents.codex.installation import environment, find_codex
from turnwire.agents.process import plain_environment
from turnwire.core.view import TextView, ToolView
from turnwire.engine import Engine
from turnwire.ports import ConversationRow
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.model_api import ModelApi, Say, codex_environment
from turnwire.testing.model_api.server import Answer

pytestmark = pytest.mark.skipif(not IS_INSTALLED, reason="the extra codex is not installed")


def turnwire(place: Path, home: Path, *arguments: str) -> str:
    env = {**os.environ, "CODEX_HOME": str(home / ".codex"), "HOME": str(home)}
    program = "from turnwire.cli.entry import main; main()"
    command = [sys.executable, "-c", program, *arguments, "--data-dir", str(place)]
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


async def test_threads_are_imported_once_and_again_only_with_new_turns(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    target = tmp_path / "here"
    async with stage(there, Say(["Running.", run("echo one")]), "Done.", "Second.") as it:
        await it.says("first")
        await it.stop()
        assert "1 conversation imported" in turnwire(target, it.home, "import", "--from", "codex")
        assert "Nothing new" in turnwire(target, it.home, "import", "--from", "codex")
        await it.start_again()
        await it.says("second")
        await it.stop()
        assert "1 conversation updated" in turnwire(target, it.home, "import", "--from", "codex")
        await it.start_again()
    store = await SqliteStore.open(target / "turnwire.db")
    [row] = await store.conversations()
    assert (row.agent, row.native_session_id is not None) == ("codex", True)
    view = await later_view(store, row.conversation_id)
    blocks = [block for message in view.messages for block in message.blocks]
    texts = [block.text for block in blocks if isinstance(block, TextView)]
    assert texts == ["first", "Running.", "Done.", "second", "Second."]
    [tool] = [block for block in blocks if isinstance(block, ToolView)]
    assert tool.result is not None
    assert tool.result.content == "one\n"
    await store.close()
    check_log(target / "turnwire.db")


class Native:
    """Codex as people use it without Turnwire, with the threads that it stores."""

    def __init__(self, place: Path, api: ModelApi) -> None:
        self.place, self.home, self.target = place, place / "home", place / "here"
        self.env = codex_environment(api.url, self.home)

    def begin(self, *arguments: str, folder: str = "work") -> subprocess.Popen[bytes]:
        """Starts `codex exec`."""
        work = self.place / folder
        work.mkdir(exist_ok=True)
        command = [str(find_codex()), "exec", "--skip-git-repo-check", *arguments]
        return subprocess.Popen(
            command,
            cwd=work,
            env=environment(plain_environment(), self.env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    async def says(self, *arguments: str, folder: str = "work") -> None:
        """Runs a turn of `codex exec`."""
        running = self.begin(*arguments, folder=folder)
        assert await asyncio.to_thread(running.wait, 180) == 0

    async def imported(self, *arguments: str) -> str:
        """Runs `turnwire import --from codex`."""
        given = ("import", "--from", "codex", *arguments)
        return await asyncio.to_thread(turnwire, self.target, self.home, *given)

    def configure(self, change: Callable[[str], str]) -> None:
        """Changes config.toml."""
        file = self.home / ".codex" / "config.toml"
        file.write_text(change(file.read_text()))

    async def texts(self) -> list[list[str]]:
        """Returns the texts of each conversation in the log."""
        store = await SqliteStore.open(self.target / "turnwire.db")
        try:
            rows = await store.conversations()
            return sorted([await texts_of(store, row) for row in rows])
        finally:
            await store.close()
            check_log(self.target / "turnwire.db")


async def texts_of(store: SqliteStore, row: ConversationRow) -> list[str]:
    view = await later_view(store, row.conversation_id)
    blocks = [block for message in view.messages for block in message.blocks]
    texts: list[str] = []
    for block in blocks:
        if isinstance(block, TextView):
            texts.append(block.text)
        elif isinstance(block, ToolView) and block.result is not None:
            texts.append(str(block.result.content))
    return texts


@asynccontextmanager
async def native(place: Path, *replies: Answer) -> AsyncIterator[Native]:
    async with ModelApi(*replies, aside=None) as api:
        yield Native(place, api)


async def test_threads_of_every_client_and_provider_are_imported_also_archived_ones(
    tmp_path: Path,
) -> None:
    async with native(tmp_path, "One.", "Two.", "Three.") as codex:
        await codex.says("first")
        await codex.says("second")
        threads = sorted((codex.home / ".codex" / "sessions").rglob("*.jsonl"))
        named = threads[0].stem[-36:]
        archive = [str(find_codex()), "archive", named]
        env = environment(plain_environment(), codex.env)
        done = await asyncio.to_thread(
            subprocess.run, archive, env=env, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
        codex.configure(lambda toml: toml.replace("scripted", "another"))
        await codex.says("third")
        assert "3 conversations imported" in await codex.imported()
        assert await codex.texts() == [["first", "One."], ["second", "Two."], ["third", "Three."]]


async def test_only_threads_of_a_directory_are_imported_if_one_is_named(tmp_path: Path) -> None:
    async with native(tmp_path, "One.", "Two.") as codex:
        await codex.says("first", folder="a")
        await codex.says("second", folder="b")
        (tmp_path / "link").symlink_to(tmp_path / "b")
        said = await codex.imported("--project", str(tmp_path / "link"))
        assert "1 conversation imported" in said
        assert await codex.texts() == [["second", "Two."]]


async def test_the_rest_of_a_turn_that_was_running_comes_with_the_next_import(
    tmp_path: Path,
) -> None:
    replies = (Say(["Waiting.", run("cat wait")]), "Done.")
    async with native(tmp_path, *replies) as codex:
        (tmp_path / "work").mkdir()
        os.mkfifo(tmp_path / "work" / "wait")
        running = codex.begin("go", "--dangerously-bypass-approvals-and-sandbox")
        record = codex.home / ".codex" / "sessions"
        await until(
            lambda: any(b"Waiting." in each.read_bytes() for each in record.rglob("*.jsonl"))
        )
        assert "1 conversation imported" in await codex.imported()
        assert await codex.texts() == [["go", "Waiting."]]
        (tmp_path / "work" / "wait").write_text("come\n")
        assert await asyncio.to_thread(running.wait, 180) == 0
        assert "1 conversation updated" in await codex.imported()
        assert await codex.texts() == [["go", "Waiting.", "come\n", "Done."]]
        assert "Nothing new" in await codex.imported()


async def test_an_imported_thread_is_continued_with_all_that_was_said(tmp_path: Path) -> None:
    async with native(tmp_path, "One.", "Two.") as codex:
        await codex.says("first")
        await codex.imported()
        agent = CodexAgent(env=codex.env, start_seconds=180.0)
        async with (
            SqliteStore.open(codex.target / "turnwire.db") as store,
            Engine(store, {"codex": agent}) as engine,
        ):
            [row] = await store.conversations()
            talk = await engine.open(row.conversation_id)
            reply = await talk.ask("second")
            assert reply.text == "Two."
        assert await codex.texts() == [["first", "One.", "second", "Two."]]
        assert "Nothing new" in await codex.imported()
