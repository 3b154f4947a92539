"""An answer that was accepted reaches Claude, whatever becomes of the process that is to have it."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from tests.agents.claude.stage import RULES, Stage, ask, kill_claude, programs, stage, touch
from tests.agents.claude.test_killed import killed_server, start_again
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
    told = [each.data for each in news if each.subtype == "answer_delivered"]
    return [{name: data[name] for name in ("request_id", "delivered_as")} for data in told]


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
        with suppress(ValueError):  # it may have gone by itself
            kill_claude()
        await it.seen.until(f.SessionState, lambda frame: not frame.payload.running)
        await it.talk.send("go on")
        await it.seen.until(f.AssistantComplete, lambda frame: frame.turn_id == 2)
        # As that call's result, or in words where the program had died with it in its hands.
        assert any("teal" in str(request.messages) for request in it.api.requests)
        told = [request.tool_results.get("ask_1") for request in it.api.requests]
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


async def check_delivery(it: Stage) -> None:
    """Answer the question: what is said of the way to Claude is the way that the model saw."""
    answer = await it.talk.answer("ask_1", "teal")
    end = await it.ends()
    assert not end.is_error
    said = [answer.ack.delivered_as, *(each["delivered_as"] for each in deliveries(it))]
    last = it.api.requests[-1]
    as_result = "teal" in str(last.tool_results.get("ask_1"))
    in_words = "My answer: teal" in str(last.messages)
    assert as_result is not in_words, "it came, and once"
    assert said[-1] == ("tool_result" if as_result else "prompt")
    assert "teal" in str(it.results["ask_1"].content)


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.15])
async def test_the_way_is_true_if_the_server_was_killed_as_it_asked(
    tmp_path: Path, seconds: float
) -> None:
    async with killed_server(tmp_path, QUESTION, *["Teal."] * 3) as (server, it):
        it.all_is_heard = False  # the program may still have made a request on its way out
        server.tell("send", "ask me")
        await server.until("assistant.request_input")
        await asyncio.sleep(seconds)  # the moments in which it is put aside
        await server.kill()
        await start_again(it)
        await check_delivery(it)


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.15])
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "with_a_permission"])
async def test_the_way_is_true_if_claude_was_killed_as_it_asked(
    tmp_path: Path, seconds: float, beside: bool
) -> None:
    asks = Say([touch("a"), ask()] if beside else [ask()])
    async with stage(tmp_path, "Hello.", asks, *["Teal."] * 3) as it:
        it.all_is_heard = False
        await it.says("hi")
        await it.talk.send("ask me")
        await it.asked()
        if beside:
            async with asyncio.timeout(60):
                while len((await it.talk.status()).requests) < 2:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
        await asyncio.sleep(seconds)  # the moments in which it is put aside
        with suppress(ValueError):  # it may have gone by itself
            kill_claude()
        async with asyncio.timeout(60):
            while (await it.talk.status()).running:  # noqa: ASYNC110  # it may have been before
                await asyncio.sleep(0.02)
        await check_delivery(it)


async def test_the_way_is_true_if_claude_has_forgotten_that_it_asked(tmp_path: Path) -> None:
    async with stage(tmp_path, QUESTION, "Teal.") as it:
        await it.talk.send("ask me")
        await it.sleeps()
        shutil.rmtree(it.home)
        it.home.mkdir()
        await check_delivery(it)
        assert deliveries(it) == [{"request_id": "ask_1", "delivered_as": "prompt"}]
