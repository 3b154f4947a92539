"""Threads that people began with Codex itself, imported and continued."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents.claude.helpers.log_checks import check_log, later_view
from tests.agents.codex.helpers.real_codex import IS_INSTALLED, run, stage
from turnwire.core.view import TextView, ToolView
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.model_api import Say

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
