"""Sessions that the real Claude Code has stored are imported and continued."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.agents.claude.helpers.log_checks import check_log, check_said, later_view
from tests.agents.claude.helpers.real_claude import Stage, ask, bash, stage, stop
from tests.agents.claude.helpers.subagent_calls import Lanes, send
from tests.cli.conftest import TURNWIRE
from tests.engine.helpers.watcher import Watcher
from turnwire.agents.claude.sessions.history import find_sessions
from turnwire.agents.imports import Brought
from turnwire.cli.commands.import_claude import _import
from turnwire.cli.ctrl_c import Stop
from turnwire.cli.home import Home
from turnwire.core.view import MessageView, ToolView, View
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.model_api import Hold, Say, Text, Thinking

OPTIONS = {"model": "claude-sonnet-4-5", "allowed_tools": ["Bash"]}


async def bring(it: Stage, place: Path, *more: str) -> Any:
    """Imports the sessions of the program. Returns the output; checks the log."""
    command = [*TURNWIRE, "import", "--from", "claude", "--data-dir", str(place), "--json", *more]
    env = {"CLAUDE_CONFIG_DIR": str(it.home / ".claude"), "PATH": "/usr/bin:/bin"}
    ran = await asyncio.to_thread(
        subprocess.run, command, env=env, capture_output=True, timeout=180, check=False
    )
    assert ran.returncode == 0, ran.stderr
    check_log(place / "turnwire.db")
    return json.loads(ran.stdout)


async def bring_one(it: Stage, place: Path, *more: str) -> Any:
    [one] = (await bring(it, place, *more))["conversations"]
    return one


async def bring_more(it: Stage, place: Path) -> Brought:
    """Imports again, within this process."""
    files = find_sessions(it.home / ".claude")
    [one], bad = await _import(Home(place), files, None, Stop())
    assert not bad
    check_log(place / "turnwire.db")
    return one


async def view_of(place: Path, conversation_id: str) -> View:
    store = await SqliteStore.open(place / "turnwire.db")
    try:
        return await later_view(store, conversation_id)
    finally:
        await store.close()


async def go_on(it: Stage, place: Path, conversation_id: str, words: str) -> None:
    """A turn of the imported conversation, by an engine of its own."""
    store = await SqliteStore.open(place / "turnwire.db")
    try:
        async with Engine(store, {"claude": it.make_agent()}) as engine:
            talk = await engine.open(conversation_id)
            async with Watcher(talk) as seen:
                seen.patience = 180.0
                turn_id = (await talk.send(words)).ack.turn_id
                end = await seen.until(f.AssistantComplete, lambda frame: frame.turn_id == turn_id)
                assert not end.payload.is_error
    finally:
        await store.close()


def tools(messages: list[MessageView]) -> Iterator[ToolView]:
    for message in messages:
        for block in message.blocks:
            if isinstance(block, ToolView):
                yield block
                yield from tools(block.messages)


def shown(view: View) -> list[tuple[Any, ...]]:
    """Returns what a person sees of a conversation, without its ids."""
    return [
        (message.role, getattr(block, "text", None) or getattr(block, "id", None))
        for message in view.messages
        if message.role in ("user", "assistant") and message.origin in (None, "user")
        for block in message.blocks
    ]


async def test_a_session_is_imported_continued_and_imported_again(tmp_path: Path) -> None:
    lanes: Lanes = {
        "look left": [Say([bash("echo left", "call_left")]), "Left is done."],
        "look right": [Say([bash("echo right", "call_right")]), "Right is done."],
    }
    calls = Say([Thinking("Hm."), Text("Two."), bash("echo 1", "c1"), bash("exit 3", "c2")])
    both = Say([send("look left", "agent_l"), send("look right", "agent_r")])
    place = tmp_path / "imported"
    async with stage(
        tmp_path,
        *("Hello.", calls, "Ran.", both, "Both are back.", Say([ask()]), "Blue then."),
        *("Said elsewhere.", "Said here again."),
        lanes=lanes,
        options=OPTIONS,
    ) as it:
        await it.says("hi")
        await it.says("run two")
        await it.says("send two")
        await it.talk.send("ask me")
        await it.asked()
        await it.talk.answer("ask_1", "Blue")
        await it.ends()
        row = await it.store.conversation("talk")
        assert row is not None
        live = shown(it.seen.view())
        await it.stop()
        it.all_is_heard = False  # some of it will be said in the other conversation

        one = await bring_one(it, place)
        assert (one["new"], one["session_id"]) == (True, row.native_session_id)
        assert one["title"] == "hi"
        name = one["conversation_id"]
        view = await view_of(place, name)
        check_said(it.api, [view], all_of_it=True)
        assert shown(view) == live
        found = {tool.id: tool for tool in tools(view.messages)}
        assert set(found) == {
            *("c1", "c2", "agent_l", "agent_r", "call_left", "call_right", "ask_1")
        }
        nested = {tool.id for tool in tools([*found["agent_l"].messages])}
        assert nested == {"call_left"}, "a sub-agent is nested under its call"
        assert [turn.end.stop_reason for turn in view.turns] == ["end_turn"] * 4
        assert not any(turn.end.is_error or turn.end.interrupted for turn in view.turns)
        assert view.turns[0].end.usage is not None
        assert view.turns[0].end.usage.input_tokens == 100

        assert (await bring_more(it, place)).entries == 0

        await go_on(it, place, name, "go on elsewhere")
        heard = str(it.api.requests[-1].messages)
        assert "go on elsewhere" in heard
        assert "send two" in heard, "Claude knows what was said before"
        assert (await bring_more(it, place)).entries == 0, "the log has what was said live"

        own = await bring_more(it, tmp_path)
        assert (own.conversation_id, own.is_new) == ("talk", False)
        assert own.entries == 2, "its own conversation went on elsewhere"
        await it.start_again()
        end = await it.says("and here")
        assert not end.is_error
        await it.stop()
        assert (await bring_more(it, tmp_path)).entries == 0
        more = await bring_more(it, place)
        assert (more.conversation_id, more.is_new, more.entries) == (name, False, 2)
        view = await view_of(place, name)
        assert shown(view)[-4:] == [
            *(("user", "go on elsewhere"), ("assistant", "Said elsewhere.")),
            *(("user", "and here"), ("assistant", "Said here again.")),
        ]
        await it.start_again()


async def test_a_stopped_turn_work_in_the_background_and_a_summary(tmp_path: Path) -> None:
    lanes: Lanes = {"look around": [Say([Hold("around"), "I have looked."])]}
    away = Say([send("look around", "agent_1", background=True)])
    place = tmp_path / "imported"
    async with stage(
        tmp_path,
        *("Hello.", away, "It is on its way.", "It is back.", Say(["Long", Hold("never")])),
        *("<summary>They said hello.</summary>", "After."),
        lanes=lanes,
        options=OPTIONS,
    ) as it:
        await it.says("hi")
        await it.says("send one away")
        it.api.release("around")
        await it.ends()
        await it.talk.send("a long story")
        await it.seen.until(f.AssistantChunk, lambda frame: frame.payload.text == "Long")
        await stop(it)
        await it.says("/compact")
        await it.says("after")
        await it.stop()

        one = await bring_one(it, place)
        view = await view_of(place, one["conversation_id"])
        ends = [(turn.end.origin, turn.end.interrupted, turn.end.is_error) for turn in view.turns]
        assert ends == [
            *(("user", False, False), ("user", False, False), ("agent", False, False)),
            *(("user", True, False), ("user", False, False), ("user", False, False)),
        ]
        said = [words for role, words in shown(view) if role == "assistant"]
        assert [*said[:5], said[-1]] == [
            *("Hello.", "agent_1", "It is on its way.", "It is back.", "Long", "After.")
        ]
        [tool] = [tool for tool in tools(view.messages) if tool.id == "agent_1"]
        assert "I have looked." in str(tool.messages)
        assert "compact_boundary" in str(view)
        assert (await bring_more(it, place)).entries == 0
        assert (await bring_more(it, tmp_path)).entries == 0, "it is Turnwire's own already"
        await it.start_again()
