"""An accepted answer reaches Claude, even if the process that should take it dies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.agents.claude.helpers.killed_server import Server, killed_server, start_again
from tests.agents.claude.helpers.program_traffic import ASKS, HAS_RESULT, IS_ASIDE, PUTS_ASIDE
from tests.agents.claude.helpers.real_claude import (
    RULES,
    TALK,
    Stage,
    ask,
    deliveries,
    kill_claude,
    stage,
    touch,
    until_it_runs,
)
from tests.agents.claude.helpers.subagent_calls import send
from tests.engine.helpers.watcher import Watcher
from turnwire.dialects.v2 import frames as f
from turnwire.testing.model_api import Hold, Reply, Request, Say, Text, ToolUse
from turnwire.testing.model_api.server import Answer

MOMENTS = [ASKS, PUTS_ASIDE, IS_ASIDE]  # Claude asks, is told to defer, and has deferred


class Painter:
    """A model that asks when it is told to, and goes on with the answer.

    One conversation has many questions: `ask me 3` is asked as `ask_3` and answered with `teal_3`.
    """

    def __init__(self, *, holds: bool = False) -> None:
        self._holds = holds  # until the hold of that number is released

    def __call__(self, request: Request) -> Reply:
        told, last = str(request.messages), str(request.messages[-1]["content"])
        number = next(reversed(re.findall(r"ask me (\d+)", told)), "")
        if "go on" in last:
            return f"Second {number}."
        if not number or f"teal_{number}" in told:
            hold = f"hold_{number}" if self._holds else None
            return Say([Text("Teal it is.", [4], hold=hold)])
        also = [touch(f"made_{number}", f"bash_{number}")] if "with leave" in last else []
        return Say([*also, ask(f"ask_{number}")])


async def asks(it: Stage, number: int) -> int:
    """Waits until a question is deferred. Returns the turn that asked it."""
    turn_id = (await it.talk.send(f"ask me {number}")).ack.turn_id
    assert turn_id is not None
    await it.sleeps()
    return turn_id


async def answered(it: Stage, number: int) -> None:
    answer = await it.talk.answer(f"ask_{number}", f"teal_{number}")
    assert answer.ack.delivered_as == "tool_result"


async def until_it_failed(it: Stage) -> str:
    """Waits until no process could take the answer. Returns the reason."""
    news = await it.seen.until(
        f.SessionSystemEvent, lambda frame: frame.payload.subtype == "agent_unavailable"
    )
    return str(news.payload.data["message"])


async def goes_on(it: Stage, number: int, turn_id: int) -> None:
    """The message after that turn gives it the answer first, as that tool's result."""
    await it.talk.send("go on")
    await it.seen.until(f.AssistantComplete, lambda frame: frame.turn_id == turn_id + 1)
    results = [request.tool_results.get(f"ask_{number}") for request in it.api.requests]
    told = [str(result) for result in results if result is not None]
    assert told, "the model was told"
    assert all(f"teal_{number}" in each for each in told), "and nothing else than what was answered"
    assert it.text[-2:] == ["Teal it is.", f"Second {number}."]
    assert deliveries(it, number) == [], "as it was said when it was accepted"


async def test_the_process_that_is_to_have_it_is_killed(tmp_path: Path) -> None:
    model = Painter(holds=True)
    async with stage(tmp_path, *[model] * 50) as it:
        it.all_is_heard = False  # it is killed with the model's reply
        moments = ["it starts", "it asks again", "it has told", "the model has it"]
        for number, moment in enumerate(moments, 1):
            await killed_when(it, moment, number)


async def killed_when(it: Stage, moment: str, number: int) -> None:
    last_turn = await asks(it, number)
    it.wire.forget()
    await answered(it, number)
    await until_it_is_at(it, moment, number)
    kill_claude()
    it.api.release(f"hold_{number}")
    if moment in ("it starts", "it asks again"):  # it has shown nothing, and may never start
        await until_it_failed(it)
        await it.talk.send("go on")
        last_turn += 1
    await it.seen.until(f.AssistantComplete, lambda frame: frame.turn_id == last_turn)
    last = it.api.requests[-1]
    told = str(last.tool_results[f"ask_{number}"])
    assert f"teal_{number}" in told, "as that call's result, and that is what it remembers"
    results = [frame.payload.tool_use_id for frame in it.seen.of(f.AssistantToolResult)]
    assert results.count(f"ask_{number}") == 1, "the log has it once"
    in_words = f"My answer: teal_{number}" in str(last.messages)
    assert in_words is bool(deliveries(it, number)), "what is told again is said to be told"


async def until_it_is_at(it: Stage, moment: str, number: int) -> None:
    match moment:
        case "it starts":
            await until_it_runs("claude")
        case "it asks again":
            await it.wire.until(ASKS)
        case "it has told":  # which it writes down only later
            await it.wire.until(HAS_RESULT)
        case _:
            await it.api.until(lambda api: f"hold_{number}" in api.holding, 180)


async def test_an_answer_that_no_process_can_take_reaches_a_later_process(tmp_path: Path) -> None:
    lanes = {"do the other thing": [Say([Text("Other.", [2], hold="o")])]}
    async with stage(tmp_path, *[Painter()] * 50, lanes=lanes, max_sessions=1) as it:
        await its_directory_is_gone(it, 1)
        await the_server_restarts_after_it_could_not_be_given(it, 2)
        await too_many_are_at_work(it, 3)
        await the_turn_is_stopped_before_it_has_it_and_the_next_prompt_says_it(it, 4)
        await claude_has_forgotten_that_it_asked(it, 5)


async def its_directory_is_gone(it: Stage, number: int) -> None:
    turn_id = await asks(it, number)
    moved = it.work.rename(it.place / "moved")
    await answered(it, number)
    assert str(it.work) in await until_it_failed(it)
    status = await it.talk.status()
    assert (status.state, status.running, status.requests) == ("active", False, [])
    moved.rename(it.work)
    await goes_on(it, number, turn_id)


async def the_server_restarts_after_it_could_not_be_given(it: Stage, number: int) -> None:
    turn_id = await asks(it, number)
    moved = it.work.rename(it.place / "moved")
    await answered(it, number)
    await until_it_failed(it)
    moved.rename(it.work)
    await it.stop()
    await it.start_again()
    await goes_on(it, number, turn_id)


async def too_many_are_at_work(it: Stage, number: int) -> None:
    turn_id = await asks(it, number)
    other = await it.engine.create("claude", cwd=str(it.work), rules=RULES)
    async with Watcher(other) as seen:
        await other.send("do the other thing")
        await it.api.until(lambda api: bool(api.holding), 180)
        await answered(it, number)
        assert "are in use" in await until_it_failed(it)
        await other.interrupt(1)
        it.api.release("o")
        it.all_is_heard = False
        await seen.until(f.AssistantComplete)
    await it.engine.end(other.id)
    await goes_on(it, number, turn_id)


async def the_turn_is_stopped_before_it_has_it_and_the_next_prompt_says_it(
    it: Stage, number: int
) -> None:
    turn_id = await asks(it, number)
    await answered(it, number)
    await until_it_runs("claude")
    await it.talk.interrupt(turn_id)
    assert (await it.ends()).interrupted
    end = await it.says("go on")
    assert not end.is_error
    said = str(it.api.requests[-1].messages)
    assert f"My answer: teal_{number}" in said
    assert "go on" in said
    assert deliveries(it, number) == ["prompt"]


async def claude_has_forgotten_that_it_asked(it: Stage, number: int) -> None:
    await asks(it, number)
    it.forget_sessions()
    await check_delivery(it, number)
    assert deliveries(it, number) == ["prompt"]


# --- the way that it is said to go is the way it goes -------------------------------------------


def check_way(it: Stage, number: int, said: Sequence[str | None], result: object) -> None:
    """Checks that the reported delivery of an answer is the one that the model saw."""
    last = it.api.requests[-1]
    as_result = f"teal_{number}" in str(last.tool_results.get(f"ask_{number}"))
    in_words = f"My answer: teal_{number}" in str(last.messages)
    assert as_result is not in_words, "it came, and once"
    assert said[-1] == ("tool_result" if as_result else "prompt")
    assert f"teal_{number}" in str(result)


async def check_delivery(it: Stage, number: int) -> None:
    """Answer the question."""
    answer = await it.talk.answer(f"ask_{number}", f"teal_{number}")
    end = await it.ends()
    assert not end.is_error
    said = [answer.ack.delivered_as, *deliveries(it, number)]
    check_way(it, number, said, it.results[f"ask_{number}"].content)


async def check_delivery_by(server: Server, it: Stage, number: int) -> None:
    """Checks the same with a server in its own process."""
    call = f"ask_{number}"
    server.tell("answer", TALK, call, f"teal_{number}")
    said = [(await server.until("answered"))["delivered_as"]]
    assert not (await server.until("assistant.complete"))["is_error"]
    news = [each["payload"] for each in server.said if each["frame"] == "session.system_event"]
    told = [each["data"] for each in news if each["subtype"] == "answer_delivered"]
    said += [each["delivered_as"] for each in told if each["request_id"] == call]
    result = await server.until("assistant.tool_result", tool_use_id=call)
    check_way(it, number, said, result["content"])


async def test_the_reported_delivery_is_true_if_the_server_was_killed_during_the_question(
    tmp_path: Path,
) -> None:
    async with killed_server(tmp_path, *[Painter()] * 50) as (server, it):
        it.all_is_heard = False  # the program may still have made a request on its way out
        for number, moment in enumerate(MOMENTS, 1):
            if number > 1:
                await server.begin()
                await check_delivery_by(server, it, number - 1)
            server.tell("send", TALK, f"ask me {number}")
            await server.asks(moment)
            await server.kill()
        await start_again(it)
        await check_delivery(it, len(MOMENTS))


async def test_the_reported_delivery_is_true_if_claude_was_killed_during_the_question(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, "Hello.", *[Painter()] * 50) as it:
        it.all_is_heard = False
        await it.says("hi")
        for number, moment in enumerate(MOMENTS, 1):
            it.wire.forget()
            await it.talk.send(f"ask me {number}")
            await it.asked()
            await it.wire.until(moment)
            await killed(it)
            await check_delivery(it, number)
        for number, decided in ((4, False), (5, True)):
            it.wire.forget()
            await it.talk.send(f"ask me {number} with leave")
            leave = await it.wants()
            if decided:
                await it.talk.decide(leave.request_id, "allow")
                await it.wire.until(IS_ASIDE)
            else:
                await it.seen.until(f.SessionState, lambda s: len(s.payload.requests) == 2)
            await killed(it)
            await check_delivery(it, number)


async def killed(it: Stage) -> None:
    with suppress(ValueError):  # it may have gone by itself
        kill_claude()
    await it.rests()


async def test_two_concurrent_answers_are_delivered_one_of_them_to_a_sub_agent(
    tmp_path: Path,
) -> None:
    """Claude resumes its own question only: the answer to the sub-agent is sent as text."""
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
