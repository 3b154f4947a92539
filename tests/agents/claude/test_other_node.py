"""Claude's sessions on another node: only the store carries them there."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.agents.claude.helpers.killed_server import Server, killed_server, start_again
from tests.agents.claude.helpers.real_claude import RULES, TALK, Stage, ask, programs, stage
from tests.engine.helpers.watcher import Watcher
from tests.stores.helpers.sql import rows_of
from turnwire.agents.claude import ClaudeAgent
from turnwire.agents.claude.process.installation import find_cli
from turnwire.agents.claude.process.sdk_compat import MIRROR
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, EngineSettings
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.model_api import ModelApi, Say, ToolUse, claude_environment


def move(it: Stage, name: str = "home_of_b") -> None:
    """Gives the next engine a home of its own, as on another machine."""
    it.home = it.place / name
    it.home.mkdir(exist_ok=True)


async def dies(node: Server, it: Stage) -> None:
    """kill -9 of a node and all that it has started; the next one finds nothing of its files."""
    await node.kill()
    shutil.rmtree(it.home)
    move(it)


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest) -> str | None:
    """The address of the store that the nodes share; None: a file."""
    if request.param == "sqlite":
        return None
    found: str = request.getfixturevalue("postgres")
    return found


async def test_a_question_of_a_killed_node_is_answered_on_another_one(
    tmp_path: Path, address: str | None
) -> None:
    script = [Say([ask()]), "Blue it is.", "Gladly."]
    async with killed_server(tmp_path, *script, address=address) as (node_a, node_b):
        node_a.tell("send", TALK, "ask me")
        await node_a.until("assistant.request_input")
        await node_a.until("session.state", state="waiting_input", running=False)
        await dies(node_a, node_b)

        await start_again(node_b)
        answer = await node_b.talk.answer("ask_1", "Blue")
        assert answer.ack.delivered_as == "tool_result"
        assert not (await node_b.ends()).is_error
        assert "Blue" in node_b.told["ask_1"]
        assert node_b.text == ["Blue it is."]
        assert not (await node_b.says("thanks")).is_error
        assert "ask me" in str(node_b.api.requests[-1].messages)
        assert not node_b.news("session_lost")


async def test_files_that_a_killed_node_has_changed_are_rewound_on_another_one(
    tmp_path: Path, address: str | None
) -> None:
    file = tmp_path / "work" / "notes.txt"
    make = ToolUse("Write", {"file_path": str(file), "content": "first"}, id="write_1")
    change: dict[str, Any] = {"file_path": str(file), "old_string": "first", "new_string": "second"}
    change |= {"replace_all": False}  # as Claude Code completes it
    edit = ToolUse("Edit", change, id="edit_1")
    script = [Say([make]), "Made.", Say([edit]), "Changed."]
    async with killed_server(tmp_path, *script, address=address) as (node_a, node_b):
        for text in ("make it", "change it"):
            node_a.tell("send", TALK, text)
            asked = await node_a.until("assistant.permission_request")
            node_a.tell("allow", TALK, asked["request_id"])
            await node_a.until("assistant.complete")
        assert file.read_text() == "second"
        await dies(node_a, node_b)

        await start_again(node_b)
        entries = await node_b.store.entries(TALK)
        said = [each.sequence for each in entries if each.entry.role == "user"]
        done = await node_b.talk.rewind_files(said[-1])
        assert done.ack.files == [str(file)]
        assert file.read_text() == "first"


async def test_a_node_that_had_the_session_before_continues_what_another_one_added(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, "One.", "Two.", "Three.") as it:
        home = it.home
        await it.says("said on a")
        await it.stop()
        move(it)
        await it.start_again()
        await it.says("said on b")
        await it.stop()
        it.home = home  # its files are older than the session
        await it.start_again()
        await it.says("again on a")
        heard = str(it.api.requests[-1].messages)
        assert all(words in heard for words in ("said on a", "One.", "said on b", "Two."))
        assert not it.news("session_lost")


async def test_a_session_from_before_there_were_pieces_is_stored_when_it_is_continued(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, "One.", "Two.", "Three.") as it:
        await it.says("said before")
        await it.stop()
        rows_of(tmp_path / "turnwire.db", "DELETE FROM session_pieces")
        await it.start_again()
        await it.says("said after")
        await it.stop()
        move(it)
        await it.start_again()
        await it.says("elsewhere")
        heard = str(it.api.requests[-1].messages)
        assert all(words in heard for words in ("said before", "One.", "said after", "Two."))


async def test_a_fork_begins_on_another_node_and_its_parent_may_be_gone(tmp_path: Path) -> None:
    async with stage(tmp_path, "One.", "Two.") as it:
        await it.says("said in the parent")
        fork = await it.engine.fork(TALK)
        await it.stop()
        move(it)
        await it.start_again()
        talk = await it.engine.open(fork.id)
        async with Watcher(talk) as seen:
            seen.patience = it.seen.patience
            await talk.send("said in the fork")
            end = await seen.until(f.AssistantComplete)
            assert not end.payload.is_error
        assert "said in the parent" in str(it.api.requests[-1].messages)
        kept = rows_of(
            tmp_path / "turnwire.db",
            "SELECT DISTINCT session_id FROM session_pieces WHERE conversation_id = $1",
            fork.id,
        )
        row = (await it.engine.open(fork.id)).row
        assert kept == [(row.native_session_id,)], "only its own session is kept"


def without_mirror(place: Path) -> str:
    """Makes a Claude Code that does not know the flag. Returns its path."""
    real = find_cli(None)
    assert real is not None
    path = place / "claude"
    path.write_text(
        f"""#!/bin/sh
for each in "$@"; do
    if [ "$each" = {MIRROR} ]; then
        echo "error: unknown option '{MIRROR}'" >&2
        exit 1
    fi
done
exec {real} "$@"
"""
    )
    path.chmod(0o755)
    return str(path)


async def test_without_the_mirror_a_conversation_stays_on_its_node(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with ModelApi("Hello.", "Again.") as api:
        agent = ClaudeAgent(
            {"model": "claude-sonnet-4-5"},
            titles=False,
            env=claude_environment(api.url, tmp_path),
            cli_path=without_mirror(tmp_path),
            start_seconds=180.0,
        )
        store = await SqliteStore.open(tmp_path / "turnwire.db")
        for node, is_home in (("east", True), ("west", False), ("east", True)):
            settings = EngineSettings(node=node, has_several_machines=True)
            async with Engine(store, {"claude": agent}, settings=settings) as engine:
                if await store.conversation(TALK) is None:
                    new = {"conversation_id": TALK, "cwd": str(tmp_path), "rules": RULES}
                    talk = await engine.create("claude", **new)  # type: ignore[arg-type]
                else:
                    talk = await engine.open(TALK)
                if is_home:
                    async with Watcher(talk) as seen:
                        seen.patience = 180.0
                        await talk.send("hello")
                        assert not (await seen.until(f.AssistantComplete)).payload.is_error
                else:
                    with pytest.raises(Refused, match="the node east") as refused:
                        await talk.send("hello")
                    assert refused.value.code == "AGENT_UNAVAILABLE"
                    assert refused.value.data["node"] == "east"
        await store.close()
    assert not rows_of(tmp_path / "turnwire.db", "SELECT 1 FROM session_pieces")
    told = [r.message for r in caplog.records if r.name == "turnwire.claude"]
    assert [each for each in told if "the machine that they were begun on" in each] == told
    assert len(told) == 1
    assert caplog.records[0].levelno == logging.WARNING
    assert not programs()
