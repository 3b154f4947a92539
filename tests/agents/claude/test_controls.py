"""Controls of the real Claude Code: models, modes, MCP servers, files, tasks."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agents.claude.helpers.real_claude import (
    Stage,
    bash,
    programs,
    stage,
    until,
    until_it_runs,
)
from tests.agents.helpers.processes import wait_until_gone
from turnwire.agents.claude import StdioServer, ToolServer
from turnwire.agents.claude.extensions.hooks import hook
from turnwire.agents.claude.extensions.tools import tool
from turnwire.core import controls as c
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Talk
from turnwire.testing.model_api import Reply, Say, ToolUse


def write(name: str, content: str) -> Say:
    return Say([ToolUse("Write", {"file_path": name, "content": content}, cuts=None)])


def edit(name: str, old: str, new: str) -> Say:
    changed = {"replace_all": False, "file_path": name, "old_string": old, "new_string": new}
    return Say([ToolUse("Edit", changed, cuts=None)])


def files(place: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in place.iterdir()}


def rewinds(frames: list[Any]) -> list[Any]:
    return [frame.payload for frame in frames if frame.payload.subtype == "rewind"]


def command_lines() -> dict[int, str]:
    """Returns the command line of every process that the agent has started."""
    return {
        pid: Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        for pid in programs()
    }


def servers_of(path: str) -> list[int]:
    """The processes of an MCP server."""
    return [
        pid for pid, line in command_lines().items() if line.startswith(f"{sys.executable} {path}")
    ]


async def ask(it: Stage, control: c.AgentControl) -> Any:
    return (await it.talk.control(control, user="ann")).ack.result


def tools(it: Stage) -> set[str]:
    """Returns the tools that the model was offered last."""
    return {tool["name"] for tool in it.api.requests[-1].body["tools"]}


async def test_mcp_servers_are_seen_switched_and_may_ask_a_person(tmp_path: Path) -> None:
    server = str(Path(__file__).with_name("helpers") / "mcp_stdio_server.py")
    options = {
        "model": "claude-sonnet-4-5",
        "mcp_servers": {
            "colours": {
                "type": "stdio",
                "command": sys.executable,
                "args": [server],
                "env": {"DATABASE": "a-secret"},
            }
        },
        "allowed_tools": ["mcp__colours__pick"],
        "env": {"ENABLE_TOOL_SEARCH": "0"},
    }
    pick = [Say([ToolUse("mcp__colours__pick", {}, id=name, cuts=None)]) for name in ("p1", "p2")]
    told: list[str] = []
    notes = hook("Notification", name="notes")(
        lambda call: told.append(call.data["notification_type"])
    )
    replies: list[Reply] = ["Hello.", "Hello.", pick[0], "Blue.", pick[1], "Then not."]
    async with stage(tmp_path, *replies, options=options, hooks=[notes]) as it:
        # Nothing was said yet: the process is started for it.
        servers = {each.name: each for each in (await ask(it, c.McpStatus())).servers}
        assert "colours" in servers
        await it.says("hi")
        servers = {each.name: each for each in (await ask(it, c.McpStatus())).servers}
        assert servers["colours"] == c.McpServer(
            "colours", "connected", transport="stdio", tools=["pick"]
        )
        assert servers["turnwire"].fixed, "it is how Claude asks people"
        assert "mcp__colours__pick" in tools(it)
        lines = command_lines()
        assert len(lines) >= 3, "a guard, Claude Code, and the server"
        assert not [line for line in lines.values() if "a-secret" in line], (
            "a secret is in the process list"
        )
        assert await ask(it, c.McpToggle("colours", False)) == c.Done()
        servers = {each.name: each for each in (await ask(it, c.McpStatus())).servers}
        assert servers["colours"].status == "disabled"
        await it.says("hi again")
        assert "mcp__colours__pick" not in tools(it)
        assert await ask(it, c.McpToggle("colours", True)) == c.Done()
        await until(lambda: servers_of(server))
        [lost] = servers_of(server)
        os.kill(lost, signal.SIGKILL)
        assert not await asyncio.to_thread(wait_until_gone, [lost])
        assert await ask(it, c.McpReconnect("colours")) == c.Done()
        await until(lambda: servers_of(server))
        [found] = [e for e in (await ask(it, c.McpStatus())).servers if e.name == "colours"]
        assert (found.status, found.tools) == ("connected", ["pick"])
        assert servers_of(server) != [lost]
        with pytest.raises(Refused, match="Server not found: missing"):
            await ask(it, c.McpReconnect("missing"))
        with pytest.raises(Refused, match="cannot be switched off"):
            await ask(it, c.McpToggle("turnwire", False))

        await it.talk.send("pick a colour")
        asked = await it.asked()
        colour, count = [question.id for question in asked.questions]
        assert [o.label for o in asked.questions[0].options] == ["red", "blue"]
        await it.talk.answer(asked.question_id, {colour: "blue", count: "3"})
        await it.ends()
        said = it.told["p1"].partition("\n<system-reminder>")[0]
        assert said == '{"action": "accept", "content": {"colour": "blue", "count": 3}}'
        assert not it.results[asked.question_id].is_error
        await until(lambda: it.news("hook_run"))
        assert told == ["elicitation_response"], "Claude Code notifies people of it"
        assert [run["event"] for run in it.news("hook_run")] == ["Notification"]

        await it.talk.send("and another")
        await it.talk.answer((await it.asked()).question_id, "")
        await it.ends()
        assert it.told["p2"].startswith('{"action": "decline"}')
        audit = await it.store.audit(conversation_id="talk")
        actions = {row.action for row in audit if row.by == "ann"}
        assert actions == {"mcp_status", "mcp_toggle", "mcp_reconnect", "control_failed"}


async def test_a_switch_is_the_conversations_own_and_outlives_its_process(tmp_path: Path) -> None:
    bought: list[str] = []

    @tool(needs_permission=False)
    def buy() -> str:
        bought.append("it")
        return "bought"

    server = str(Path(__file__).with_name("helpers") / "mcp_stdio_server.py")
    colours = StdioServer(command=sys.executable, args=[server])
    servers = {"colours": colours, "shop": ToolServer(tools=[buy])}
    buys = [Say([ToolUse("mcp__shop__buy", {}, id=name, cuts=None)]) for name in ("b1", "b2", "b3")]
    said: list[Reply] = [buys[0], "Bought.", buys[1], "Not bought.", buys[2], "Bought again."]

    async def are_on(talk: Talk) -> set[str]:
        told = (await talk.control(c.McpStatus())).ack.result.servers  # type: ignore[union-attr]
        return {each.name for each in told if each.status != "disabled"} - {"turnwire"}

    async with stage(tmp_path, *said, mcp_servers=servers) as it:
        assert await are_on(it.talk) == {"colours", "shop"}, "also one that was not heard from yet"
        await it.says("buy it")
        await ask(it, c.McpToggle("colours", False))
        await ask(it, c.McpToggle("shop", False))
        assert await are_on(it.talk) == set()
        # Claude Code itself remembers switches by the directory.
        other = await it.engine.create("claude", cwd=str(it.work))
        assert await are_on(other) == {"colours", "shop"}
        assert await are_on(await it.talk.fork()) == set()
        await it.stop()

        await it.start_again()
        assert await are_on(it.talk) == set()
        await it.says("buy it again")
        assert it.results["b2"].is_error
        assert bought == ["it"]
        await ask(it, c.McpToggle("shop", True))
        assert await are_on(it.talk) == {"shop"}
        await it.says("and now?")
        assert bought == ["it", "it"], it.results["b3"]
        assert await are_on(await it.engine.open(other.id)) == {"colours", "shop"}


async def test_files_context_models_commands_thinking_and_work_in_the_background(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage(
        tmp_path,
        options={"model": "claude-sonnet-4-5", "allowed_tools": ["Bash"]},
        conversation={"permission_mode": "acceptEdits"},
    ) as it:
        first = await files_are_put_back_as_they_were_before_a_message(it)
        await context_models_and_commands_are_told(it)
        session: Any = it.engine.alive["talk"]._runner._current.session  # type: ignore[union-attr]
        assert session._process._client._query._initialize_timeout == 180.0, (
            "a start may take as long as was said; the SDK would give up after a minute"
        )
        with monkeypatch.context() as less:
            less.setattr("turnwire.agents.claude.process.claude_process._PATIENCE", 0.2)
            await who_says_nothing_has_refused_nothing(it)
        before = await thinking_is_chosen(it)
        await it.stop()
        assert not programs()

        await it.start_again()
        await files_are_put_back_by_another_process(it, first)
        await thinking_is_as_chosen_after_a_restart_and_as_before_again(it, before)
        await work_in_the_background_is_stopped(it)


async def files_are_put_back_as_they_were_before_a_message(it: Stage) -> int:
    """The first message of all."""
    it.api.say_next(
        *(write("a.txt", "one"), "Done."),
        *(edit("a.txt", "one", "two"), write("b.txt", "new"), "Done."),
    )
    await it.says("write a")
    await it.says("change it, and write b")
    first, second = [frame.payload.message_sequence for frame in it.seen.of(f.UserMessage)]
    a, b = str(it.work / "a.txt"), str(it.work / "b.txt")

    would = await it.talk.rewind_files(second, dry_run=True)
    assert would.ack.files == [a, b]
    assert files(it.work) == {"a.txt": "two", "b.txt": "new"}, "it was only asked"
    assert not rewinds(it.seen.of(f.SessionSystemEvent))

    done = await it.talk.rewind_files(second, user="ann", client_message_id="r-1")
    assert done.ack.files == [a, b]
    assert files(it.work) == {"a.txt": "one"}
    again = await it.talk.rewind_files(second, user="ann", client_message_id="r-1")
    assert (again.ack, again.duplicate) == (done.ack, True)
    [told] = rewinds(it.seen.of(f.SessionSystemEvent))
    assert told.data == {"message_sequence": second, "files": [a, b], "by": "ann"}
    assert told.message_sequence == (await it.talk.status()).last_turn.after_sequence + 1  # type: ignore[union-attr]

    it.api.say_next(edit("a.txt", "one", "three"), write("b.txt", "newer"), "Done.")
    await it.says("change it again, and b")
    third = it.seen.of(f.UserMessage)[-1].payload.message_sequence
    (it.work / "a.txt").unlink()
    (it.work / "a.txt").mkdir()
    assert (await it.talk.rewind_files(third)).ack.files == [b], "only what is as it was"
    news = await it.seen.until(
        f.SessionSystemEvent,
        lambda frame: frame.payload.subtype == "rewind" and "failed" in frame.payload.data,
    )
    told = news.payload
    assert (told.data["files"], told.data["failed"]) == ([b], [a])
    assert told.text == f"Put back: {b}. Could not be put back: {a}"
    (it.work / "a.txt").rmdir()
    assert (await it.talk.rewind_files(third)).ack.files == [a]

    with pytest.raises(Refused, match="no message of a person's"):
        await it.talk.rewind_files(first + 1)
    it.api.say_next("Still here.")
    await it.says("go on")
    return first


async def files_are_put_back_by_another_process(it: Stage, first: int) -> None:
    assert (await it.talk.rewind_files(first)).ack.files == [str(it.work / "a.txt")]
    assert files(it.work) == {}, "the file was not there before the first message"
    audit = await it.store.audit(conversation_id="talk")
    by = [(row.action, row.by) for row in audit if row.action == "rewind"]
    assert by == [("rewind", None), ("rewind", "ann"), *[("rewind", None)] * 3]


async def context_models_and_commands_are_told(it: Stage) -> None:
    used = await ask(it, c.ContextUsage())
    assert 0 < used.total_tokens < used.max_tokens
    assert "System prompt" in {part.name for part in used.parts}
    models = (await ask(it, c.ListModels())).models
    assert [each.model for each in models] == it.make_agent().capabilities.models
    assert all(each.resolved for each in models), "Claude Code has told more of them"
    assert "compact" in {each.name for each in (await ask(it, c.ListCommands())).commands}


async def who_says_nothing_has_refused_nothing(it: Stage) -> None:
    [pid] = [pid for pid, name in programs().items() if name == "claude"]
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(Refused, match=r"gave no answer within 0.2 seconds") as silence:
            await ask(it, c.McpStatus())
    finally:
        os.kill(pid, signal.SIGCONT)
    assert silence.value.code == "AGENT_UNAVAILABLE"


async def thinking_is_chosen(it: Stage) -> Any:
    """Returns the effort before the change."""
    it.api.say_next("Hello.")
    before = it.api.requests[-1].body.get("thinking")
    await it.talk.set_max_thinking_tokens(2000, user="ann")
    await it.says("think a little")
    assert it.api.requests[-1].body["thinking"]["budget_tokens"] == 2000
    return before


async def thinking_is_as_chosen_after_a_restart_and_as_before_again(it: Stage, before: Any) -> None:
    it.api.say_next("Hello.", "Hello.")
    await it.says("and now?")
    assert it.api.requests[-1].body["thinking"]["budget_tokens"] == 2000, "a restart keeps it"
    await it.talk.set_max_thinking_tokens(None)
    await it.says("as before")
    assert it.api.requests[-1].body.get("thinking") == before


async def work_in_the_background_is_stopped(it: Stage) -> None:
    sleeps = Say([bash("sleep 1000", "b1", run_in_background=True)])
    it.api.say_next(sleeps, "It runs.", "It was stopped.")
    await it.says("sleep in the background")
    with pytest.raises(Refused, match="There is no background task 'missing'"):
        await ask(it, c.StopTask("missing"))
    [task] = (await it.talk.status()).background_tasks
    sleep = await until_it_runs("sleep")
    assert await ask(it, c.StopTask(task.task_id)) == c.Done()
    await it.seen.until(f.SessionState, lambda frame: not frame.payload.background_tasks)
    assert not await asyncio.to_thread(wait_until_gone, [sleep])
