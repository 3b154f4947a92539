"""An answer that was accepted reaches Claude, whatever becomes of the process that is to have it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.agents.claude.stage import RULES, Stage, ask, kill_claude, programs, stage
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.testing.model_api import Say, Text

QUESTION = Say([ask()])


async def until_it_starts() -> None:
    async with asyncio.timeout(60):
        while "claude" not in programs().values():  # noqa: ASYNC110  # processes tell nobody
            await asyncio.sleep(0.01)


async def until_it_failed(it: Stage) -> str:
    """Until no process could be given the answer. Returns why."""
    news = await it.seen.until(
        f.SessionSystemEvent, lambda frame: frame.payload.subtype == "agent_unavailable"
    )
    return str(news.payload.data["message"])


async def goes_on(it: Stage) -> None:
    """The next message gives it the answer first, as that tool's result."""
    await it.talk.send("go on")
    await it.seen.until(f.AssistantComplete, lambda frame: frame.turn_id == 2)
    results = [request.tool_results.get("ask_1") for request in it.api.requests]
    told = [str(result) for result in results if result is not None]
    assert told, "the model was told"
    assert all("teal" in each for each in told), "and nothing else than what was answered"
    assert it.text == ["Teal it is.", "Second."]
    assert deliveries(it) == [], "as it was said when it was accepted"


def deliveries(it: Stage) -> list[dict[str, str]]:
    news: list[p.SystemNews] = [frame.payload for frame in it.seen.of(f.SessionSystemEvent)]
    return [each.data for each in news if each.subtype == "answer_delivered"]


@pytest.mark.parametrize("seconds", [0.0, 0.3, 0.6, 1.0])
async def test_the_process_that_is_to_have_it_is_killed(tmp_path: Path, seconds: float) -> None:
    async with stage(tmp_path, QUESTION, "Teal it is.", "Second.", "Second.") as it:
        it.all_is_heard = False  # it may have been killed with the model's reply
        await it.talk.send("ask me")
        await it.sleeps()
        answer = await it.talk.answer("ask_1", "teal")
        assert answer.ack.delivered_as == "tool_result"
        await until_it_starts()
        await asyncio.sleep(seconds)  # the moments of a start, none of which tells of itself
        if "claude" in programs().values():
            kill_claude()
        await it.seen.until(f.SessionState, lambda frame: not frame.payload.running)
        await it.talk.send("go on")
        await it.seen.until(f.AssistantComplete, lambda frame: frame.turn_id == 2)
        told = [request.tool_results.get("ask_1") for request in it.api.requests]
        assert any("teal" in str(each) for each in told)
        assert not any("doesn't want" in str(each) for each in told)


async def test_its_directory_is_gone_when_it_is_answered(tmp_path: Path) -> None:
    async with stage(tmp_path, QUESTION, "Teal it is.", "Second.") as it:
        await it.talk.send("ask me")
        await it.sleeps()
        it.work.rename(tmp_path / "moved")
        answer = await it.talk.answer("ask_1", "teal")
        assert answer.ack.delivered_as == "tool_result"
        assert str(it.work) in await until_it_failed(it)
        status = await it.talk.status()
        assert (status.state, status.running, status.requests) == ("active", False, [])
        (tmp_path / "moved").rename(it.work)
        await goes_on(it)


async def test_too_many_are_at_work_when_it_is_answered(tmp_path: Path) -> None:
    lanes = {"do the other thing": [Say([Text("Other.", [2], hold="o")])]}
    replies = ("Teal it is.", "Second.")
    async with stage(tmp_path, QUESTION, *replies, lanes=lanes, max_sessions=1) as it:
        await it.talk.send("ask me")
        await it.sleeps()
        other = await it.engine.create("claude", cwd=str(it.work), rules=RULES)
        await other.send("do the other thing")
        await it.api.until(lambda api: bool(api.holding), 60)
        await it.talk.answer("ask_1", "teal")
        assert "no more may be" in await until_it_failed(it)
        turn_id = (await other.status()).turn_id
        assert turn_id is not None
        await other.interrupt(turn_id)
        it.api.release("o")
        it.all_is_heard = False
        async with asyncio.timeout(60):
            while (await other.status()).turn_id is not None:  # noqa: ASYNC110  # nobody looks
                await asyncio.sleep(0.02)
        await it.engine.end(other.id)
        await goes_on(it)


async def test_the_server_restarts_after_it_could_not_be_given(tmp_path: Path) -> None:
    async with stage(tmp_path, QUESTION, "Teal it is.", "Second.") as it:
        await it.talk.send("ask me")
        await it.sleeps()
        it.work.rename(tmp_path / "moved")
        await it.talk.answer("ask_1", "teal")
        await until_it_failed(it)
        (tmp_path / "moved").rename(it.work)
        await it.stop()
        await it.start_again()
        await goes_on(it)


async def test_the_turn_is_stopped_before_it_has_it_and_the_next_prompt_says_it(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, QUESTION, "Teal, then.") as it:
        await it.talk.send("ask me")
        await it.sleeps()
        await it.talk.answer("ask_1", "teal")
        await until_it_starts()
        await it.talk.interrupt(1)
        assert (await it.ends()).interrupted
        end = await it.says("go on")
        assert not end.is_error
        said = str(it.api.requests[-1].messages)
        assert "My answer: teal" in said
        assert "go on" in said
        assert deliveries(it) == [{"request_id": "ask_1", "delivered_as": "prompt"}]
