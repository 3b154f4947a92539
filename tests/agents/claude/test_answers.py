"""An answer that was accepted reaches Claude, whatever becomes of the process that is to have it."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from tests.agents.claude.stage import (
    RULES,
    Stage,
    ask,
    kill_claude,
    stage,
    touch,
    until_it_runs,
)
from tests.agents.claude.test_helpers import send
from tests.agents.claude.test_killed import killed_server, start_again
from tests.agents.claude.wire import ASKS, HAS_RESULT, IS_ASIDE, PUTS_ASIDE, Moment
from tests.engine.watching import Watcher
from turnwire.dialects.v2 import frames as f
from turnwire.testing.model_api import Hold, Say, Text, ToolUse
from turnwire.testing.model_api.server import Answer

QUESTION = Say([ask()])
MOMENTS = [ASKS, PUTS_ASIDE, IS_ASIDE]
NAMES = ["it_asks", "it_is_told_to_put_it_aside", "it_has"]


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
    told = it.news("answer_delivered")
    return [{name: data[name] for name in ("request_id", "delivered_as")} for data in told]


@pytest.mark.parametrize(
    "moment", ["it starts", "it asks again", "it has told", "the model has it"]
)
async def test_the_process_that_is_to_have_it_is_killed(tmp_path: Path, moment: str) -> None:
    held = Say([Text("Teal it is.", [4], hold="")])
    async with stage(tmp_path, QUESTION, held, *["Second."] * 2, held) as it:
        it.all_is_heard = False  # it is killed with the model's reply
        await it.talk.send("ask me")
        await it.sleeps()
        it.wire.forget()
        answer = await it.talk.answer("ask_1", "teal")
        assert answer.ack.delivered_as == "tool_result"
        match moment:
            case "it starts":
                await until_it_runs("claude")
            case "it asks again":
                await it.wire.until(ASKS)
            case "it has told":  # which it writes down only later
                await it.wire.until(HAS_RESULT)
            case _:
                await it.api.until(lambda api: bool(api.holding), 60)
        kill_claude()
        it.api.release()
        if moment in ("it starts", "it asks again"):  # it has shown nothing, and may never start
            await until_it_failed(it)
            await it.talk.send("go on")
        await it.seen.until(f.AssistantComplete, lambda frame: frame.turn_id == 1)
        last = it.api.requests[-1].tool_results["ask_1"]
        assert "teal" in str(last), "as that call's result, and that is what it remembers"
        assert len(it.results) == 1, "the log has it once"
        in_words = "My answer: teal" in str(it.api.requests[-1].messages)
        assert in_words is bool(deliveries(it)), "what is told again is said to be told"


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
        async with Watcher(other) as seen:
            await other.send("do the other thing")
            await it.api.until(lambda api: bool(api.holding), 60)
            await it.talk.answer("ask_1", "teal")
            assert "no more may be" in await until_it_failed(it)
            await other.interrupt(1)
            it.api.release("o")
            it.all_is_heard = False
            await seen.until(f.AssistantComplete)
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
        await until_it_runs("claude")
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


@pytest.mark.parametrize("moment", MOMENTS, ids=NAMES)
async def test_the_way_is_true_if_the_server_was_killed_as_it_asked(
    tmp_path: Path, moment: Moment
) -> None:
    async with killed_server(tmp_path, QUESTION, *["Teal."] * 3) as (server, it):
        it.all_is_heard = False  # the program may still have made a request on its way out
        server.tell("send", "ask me")
        await server.asks(moment)
        await server.kill()
        await start_again(it)
        await check_delivery(it)


@pytest.mark.parametrize("moment", MOMENTS, ids=NAMES)
async def test_the_way_is_true_if_claude_was_killed_as_it_asked(
    tmp_path: Path, moment: Moment
) -> None:
    async with stage(tmp_path, "Hello.", QUESTION, *["Teal."] * 3) as it:
        it.all_is_heard = False
        await it.says("hi")
        await it.talk.send("ask me")
        await it.asked()
        await it.wire.until(moment)
        await killed(it)
        await check_delivery(it)


@pytest.mark.parametrize("decided", [False, True], ids=["open", "allowed"])
async def test_the_way_is_true_if_it_wanted_leave_for_something_else_besides(
    tmp_path: Path, decided: bool
) -> None:
    async with stage(tmp_path, "Hello.", Say([touch("a"), ask()]), *["Teal."] * 3) as it:
        it.all_is_heard = False
        await it.says("hi")
        await it.talk.send("ask me")
        leave = await it.wants()
        if decided:
            await it.talk.decide(leave.request_id, "allow")
            await it.wire.until(IS_ASIDE)
        else:
            await it.seen.until(f.SessionState, lambda s: len(s.payload.requests) == 2)
        await killed(it)
        await check_delivery(it)


async def killed(it: Stage) -> None:
    with suppress(ValueError):  # it may have gone by itself
        kill_claude()
    await it.rests()


async def test_two_answers_at_once_one_of_them_to_a_helper(tmp_path: Path) -> None:
    """Claude comes back to its own question, and to no helper: that answer is told beside it."""
    question = ToolUse("mcp__turnwire__request_input", {"question": "Which way?"}, id="ask_h")
    lanes: dict[str, list[Answer]] = {"look around": [Say([question])]}
    away = Say([send("look around", "agent_1", background=True)])
    own = Say([Hold("own"), ask()])
    async with stage(tmp_path, away, own, "Teal and left.", lanes=lanes) as it:
        await it.talk.send("send one away, then ask me")
        assert (await it.asked()).question_id == "ask_h"
        it.api.release("own")
        assert (await it.asked()).question_id == "ask_1"
        await it.held("ask_1")
        await it.stop()
        await it.start_again()
        ways = [
            (await it.talk.answer(call, answer)).ack.delivered_as
            for call, answer in [("ask_h", "left"), ("ask_1", "teal")]
        ]
        assert ways == ["prompt", "tool_result"]
        assert not (await it.ends()).is_error
        last = it.api.requests[-1]
        assert "teal" in str(last.tool_results["ask_1"])
        assert "My answer: left" in str(last.messages)
        assert it.text == ["Teal and left."]


async def test_the_way_is_true_if_claude_has_forgotten_that_it_asked(tmp_path: Path) -> None:
    async with stage(tmp_path, QUESTION, "Teal.") as it:
        await it.talk.send("ask me")
        await it.sleeps()
        shutil.rmtree(it.home)
        it.home.mkdir()
        await check_delivery(it)
        assert deliveries(it) == [{"request_id": "ask_1", "delivered_as": "prompt"}]
