"""Agent sessions of the real Claude Code: the checks of the port, resuming, and no leftover processes."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from tests.agents.claude.helpers.fake_programs import strange
from tests.agents.claude.helpers.real_claude import RULES, ask, bash, programs, stage, touch
from tests.agents.helpers.processes import wait_until_gone
from tests.agents.helpers.session_driver import talking
from tests.engine.helpers.watcher import Watcher
from turnwire.agents.claude import ClaudeAgent
from turnwire.agents.process import Limits
from turnwire.core import events as ev
from turnwire.core.content import Blob, ImageContent, TextContent
from turnwire.core.conversation.state import Reply
from turnwire.core.error_codes import Refused
from turnwire.core.times import iso
from turnwire.dialects.v2 import frames as f
from turnwire.ports import AgentGone, SessionStart
from turnwire.testing import Prompts, check_agent
from turnwire.testing.model_api import ModelApi, Request, Say, Text, claude_environment

DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def model(request: Request) -> Say | str:
    """A model that does the work of the last prompt, once."""
    last = request.messages[-1]["content"]
    words = last if isinstance(last, str) else str(last[-1])
    if "tool_result" in words:
        return "Done."
    for word, reply in {
        "long": Say([Text("One, two, three.", [10], hold="never")]),
        "tool": Say([bash("echo hi", f"call_{len(request.messages)}")]),
        "question": Say([ask(f"ask_{len(request.messages)}")]),
        "permission": Say([touch("a", f"call_{len(request.messages)}")]),
    }.items():
        if word in words:
            return reply
    return "Hello."


async def test_the_claude_agent_passes_the_checks_of_the_agent_port(tmp_path: Path) -> None:
    async with ModelApi(*[model] * 100) as api:
        env = claude_environment(api.url, tmp_path)

        def make() -> ClaudeAgent:
            options = {"model": "claude-sonnet-4-5", "cwd": tmp_path}
            return ClaudeAgent(options, env=env, hold=180.0, start_seconds=180.0)

        prompts = Prompts("Hello.", "long", "tool", "question", "permission")
        report = await check_agent(make, prompts, seconds=180.0)
    assert report.skipped == ["a question survives its process"], (
        "it does only where it was put aside"
    )
    assert not report.notes


async def test_an_idle_or_closed_session_is_resumed_and_a_missing_one_begins_again(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, "Hello.", "I know.", "Still.", "Yes.", "Who?", idle=0.2) as it:
        await it.says("my name is Ann")
        assert not await asyncio.to_thread(wait_until_gone, list(programs())), "it was idle"
        end = await it.says("who am I?")
        assert not end.is_error
        assert "my name is Ann" in str(it.api.requests[-1].messages)
        await it.stop()
        await it.start_again()
        await it.says("who am I?")
        assert it.text[-1] == "Still."
        assert "my name is Ann" in str(it.api.requests[-1].messages)
        await it.stop()
        for record in it.home.rglob("projects/*/*.jsonl"):
            record.unlink()
        await it.start_again()
        await it.says("who am I?")
        assert "my name is Ann" in str(it.api.requests[-1].messages), "the store has the session"
        await it.stop()
        it.forget_sessions()
        await it.start_again()
        end = await it.says("who am I?")
        assert not end.is_error
        news = [frame.payload.subtype for frame in it.seen.of(f.SessionSystemEvent)]
        assert "session_lost" in news, "it says so"


async def test_fifty_conversations_opened_and_closed_leave_no_process(tmp_path: Path) -> None:
    bare = {"CLAUDE_CODE_SIMPLE": "1"}  # the behaviour of the process does not matter here
    async with stage(tmp_path, *["Hello."] * 50, idle=0.1, env=bare) as it:
        few = asyncio.Semaphore(8)

        async def talk(number: int) -> None:
            async with few:
                talk = await it.engine.create("claude", cwd=str(it.work), rules=RULES)
                async with Watcher(talk) as seen:
                    seen.patience = it.seen.patience
                    await talk.send(f"hi {number}")
                    end = await seen.until(f.AssistantComplete)
                    assert not end.payload.is_error

        await asyncio.gather(*(talk(number) for number in range(50)))
        assert len(it.api.requests) == 50
        assert not await asyncio.to_thread(wait_until_gone, list(programs()))


async def test_a_prompt_that_the_program_knows_already_is_not_worked_on_twice(
    tmp_path: Path,
) -> None:
    async with ModelApi("Hello.", "Hello again.") as api:
        agent = ClaudeAgent(env=claude_environment(api.url, tmp_path), start_seconds=180.0)
        async with talking(agent, cwd=str(tmp_path)) as ear:
            await ear.say("hi")
            await ear.turn_ends()
            name = ear.session.native_session_id
        async with talking(agent, name, cwd=str(tmp_path)) as ear:
            await ear.say("hi")  # the same turn, handed over again after a crash
            end = await ear.turn_ends()
            assert isinstance(end, ev.TurnFailed)
            assert end.code == "already_begun"
        assert len(api.requests) == 1


async def test_a_picture_is_shown_one_that_is_too_large_is_not_and_no_key_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_PASSWORD", "secret")
    options = {"model": "claude-sonnet-4-5", "allowed_tools": ["Bash"]}
    said = ("A dot.", "The same.", Say([bash("env")]), "Done.")
    async with stage(tmp_path, *said, options=options) as it:
        now = iso(it.engine.clock.now())
        await it.store.put_blob("dot", b64decode(DOT), "image/png", at=now)
        await it.store.put_blob("large", bytes(10_000_000), "image/png", at=now)
        for picture, why in [
            (ImageContent("image/png", "A" * 10_000_000), "9.5 MB"),
            (ImageContent(blob=Blob("large")), "12.7 MB"),
        ]:
            end = await it.says([TextContent("look"), picture])
            assert end.error is not None
            assert end.error.code == "image_error"
            assert why in end.error.message
        assert not it.api.requests
        for picture in (ImageContent("image/png", DOT), ImageContent(blob=Blob("dot"))):
            end = await it.says([TextContent("look"), picture])
            assert not end.is_error
            last = it.api.requests[-1].messages[-1]["content"]
            [shown] = [block for block in last if block["type"] == "image"]
            source = {"type": "base64", "media_type": "image/png", "data": DOT}
            assert shown["source"] == source
        assert it.text == ["A dot.", "The same."]

        await it.says("show me the environment")
        assert "HOME=" in it.told["bash_1"]
        assert "DATABASE_PASSWORD" not in it.told["bash_1"]


async def until_the_end(agent: ClaudeAgent, start: SessionStart) -> None:
    session = await agent.open(start)
    try:
        async for _ in session.events():
            pass
    finally:
        await session.close()


async def test_a_session_works_below_its_roots_and_within_its_limits(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "way_out").symlink_to(outside)
    how: dict[str, Any] = {
        "env": claude_environment("http://127.0.0.1:9", tmp_path),
        "cli_path": strange(tmp_path),
    }
    agent = ClaudeAgent(roots=[inside], limits=Limits(memory=1 << 20), **how)
    for place in (outside, inside / "way_out", tmp_path, inside / "nowhere"):
        with pytest.raises(AgentGone, match=r"(may|can)\s?not work in"):
            await agent.open(SessionStart("c", cwd=str(place)))
    with pytest.raises(AgentGone, match="1 MB are allowed"):
        await until_the_end(agent, SessionStart("c", cwd=str(inside)))
    few = ClaudeAgent(max_sessions=1, **how)
    session = await few.open(SessionStart("c", cwd=str(inside)))
    with pytest.raises(AgentGone, match="are in use"):
        await few.open(SessionStart("d", cwd=str(inside)))
    # An answer that a lost session had waited for needs no decision any more.
    await session.deliver([Reply("gone", "permission", decision="allow")], resumed=False)
    await session.close()
    again = await few.open(SessionStart("d", cwd=str(inside)))
    await again.close()


async def test_an_unknown_mode_is_refused(tmp_path: Path) -> None:
    async with stage(tmp_path) as it:
        for ask_for in (
            it.talk.set_permission_mode("bogus"),
            it.engine.create("claude", permission_mode="bogus"),
        ):
            with pytest.raises(Refused, match=r"no permission mode 'bogus'.*acceptEdits"):
                await ask_for
        assert (await it.talk.status()).permission_mode is None
