"""An agent that is one async function."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from turnwire import (
    AgentTurn,
    Ask,
    Denied,
    Engine,
    FunctionAgent,
    NormalizedStreamEvent,
    Plan,
    SqliteStore,
    Talk,
    Think,
    UseClientTool,
    UseTool,
    events,
    frames,
)
from turnwire import Reply as TurnReply
from turnwire import agent as function_agent
from turnwire.agents.yielded import Yielded
from turnwire.core.content import TextContent
from turnwire.core.conversation.state import Reply
from turnwire.core.usage import Usage
from turnwire.ports import AgentGone, SessionStart
from turnwire.testing import ManualClock, Prompts, check_agent


async def waiter(turn: AgentTurn) -> None:
    if turn.text == "nothing":
        return
    if turn.text == "burn":
        raise ValueError("the soup is burnt")
    if turn.text == "wait":
        await turn.say("One ")
        await asyncio.Event().wait()
    if turn.answer is None and turn.text != "soup":
        await turn.say("Good ")
        await turn.say("evening!")
        return
    size = turn.answer or await turn.ask("Which size?", ["small", "large"])
    await turn.say(f"One {size} soup.")


def agent() -> FunctionAgent:
    return FunctionAgent("waiter", waiter)


@asynccontextmanager
async def talking(
    path: Path, who: FunctionAgent | None = None, clock: ManualClock | None = None
) -> AsyncIterator[Talk]:
    agents = {"waiter": who or agent()}
    async with SqliteStore.open(path) as store, Engine(store, agents, clock=clock) as engine:
        is_known = await store.conversation("table-1") is not None
        if is_known:
            yield await engine.open("table-1")
        else:
            yield await engine.create("waiter", conversation_id="table-1")


def test_a_function_agent_keeps_the_promises_of_the_port() -> None:
    report = asyncio.run(check_agent(agent, Prompts(question="soup", long="wait")))
    assert "a question survives its process" in report.kept
    assert "an interrupt ends the turn" in report.kept
    assert report.notes == []


def test_the_pieces_of_an_answer_are_one_text(tmp_path: Path) -> None:
    async def run() -> None:
        async with talking(tmp_path / "talk.db") as talk:
            reply = await talk.ask("hello")
            assert reply.text == "Good evening!"
            assert (await talk.ask("nothing")).text == ""

    asyncio.run(run())


@pytest.mark.parametrize("answer", ["large", {"answer": "large"}])
def test_the_answer_of_a_person_is_what_ask_returns(tmp_path: Path, answer: object) -> None:
    async def run() -> None:
        async with talking(tmp_path / "talk.db") as talk:
            reply = await talk.ask("soup")
            [request] = reply.requests
            assert [each.label for each in request.questions[0].options] == ["small", "large"]
            await talk.answer(request.request_id, answer)
            assert (await talk.wait(reply)).text == "One large soup."

    asyncio.run(run())


def test_an_answer_reaches_the_function_of_a_later_process(tmp_path: Path) -> None:
    async def ask() -> None:
        async with talking(tmp_path / "talk.db") as talk:
            assert (await talk.ask("soup", client_message_id="m-1")).end is None

    async def answer() -> None:
        async with talking(tmp_path / "talk.db") as talk:
            reply = await talk.ask("soup", client_message_id="m-1")
            await talk.answer(reply.requests[0].request_id, "small")
            reply = await talk.wait(reply)
            assert reply.text == "One small soup."
            results = [f for f in reply.frames if isinstance(f, frames.AssistantToolResult)]
            assert len(results) == 1

    asyncio.run(ask())
    asyncio.run(answer())


def test_a_function_that_raises_fails_its_turn_and_not_the_next(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        async with talking(tmp_path / "talk.db") as talk:
            reply = await talk.ask("burn")
            assert reply.is_error
            assert reply.end is not None
            assert "the soup is burnt" in str(reply.end.error)
            assert (await talk.ask("hello")).text == "Good evening!"

    with caplog.at_level(logging.ERROR, "turnwire"):
        asyncio.run(run())
    assert "A turn of the agent 'waiter' failed." in caplog.text


def test_a_text_that_a_function_returns_is_said(tmp_path: Path) -> None:
    async def answer(turn: AgentTurn) -> str:
        await turn.say("Good ")
        return "evening!"

    async def run() -> None:
        async with talking(tmp_path / "talk.db", FunctionAgent("waiter", answer)) as talk:
            assert (await talk.ask("hello")).text == "Good evening!"

    asyncio.run(run())


def test_an_exit_fails_the_turn_and_does_not_end_the_server(tmp_path: Path) -> None:
    async def leave(turn: AgentTurn) -> None:
        sys.exit(3)

    async def run() -> None:
        async with talking(tmp_path / "talk.db", FunctionAgent("waiter", leave)) as talk:
            end = (await talk.ask("hello")).end
            assert end is not None
            assert end.error is not None
            assert end.error.code == "function_failed"
            assert "sys.exit(3)" in end.error.message

    asyncio.run(run())


def test_a_function_that_ignores_its_cancellation_is_left_and_its_turn_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("turnwire.agents.local._PATIENCE", 0.05)
    cancelled = 0

    async def run() -> None:
        released = asyncio.Event()

        async def stubborn(turn: AgentTurn) -> None:
            nonlocal cancelled
            while not released.is_set():
                try:
                    await released.wait()
                except asyncio.CancelledError:
                    cancelled += 1
            await turn.say("Too late.")

        clock, slow = ManualClock(), FunctionAgent("waiter", stubborn)
        async with asyncio.timeout(60), talking(tmp_path / "talk.db", slow, clock) as talk:
            sent = await talk.send("hello")
            assert sent.ack.turn_id is not None
            await talk.interrupt(sent.ack.turn_id)
            while (end := (await talk.status()).last_turn) is None:
                clock.forward(1)
                await asyncio.sleep(0.01)
            assert end.interrupted
            released.set()

    with caplog.at_level(logging.ERROR, "turnwire"):
        asyncio.run(run())
    assert cancelled > 0
    assert "must not suppress CancelledError" in caplog.text


def test_an_agent_that_cannot_be_called_says_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r'@agent\("name"\)'):
        function_agent(waiter)  # type: ignore[arg-type]

    def plain(turn: AgentTurn) -> str:
        return "text"

    async def run() -> None:
        wrong = FunctionAgent("waiter", plain)  # type: ignore[arg-type]
        async with talking(tmp_path / "talk.db", wrong) as talk:
            assert "write `async def`" in str((await talk.ask("hello")).end)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        (UseTool("add", {"a": 1}, lambda: 3), "is a text, not int: use str()"),  # type: ignore[arg-type,return-value]
        (UseTool("add", {"a": object()}, "3"), "The input of the tool 'add' cannot be JSON"),
        (Plan([("Cook", "done")]), "with pending, in_progress or completed; this one is"),
        (Plan(["Cook"]), "An item of a plan is a text with pending"),  # type: ignore[list-item]
        (Ask("Which size?", "small"), "are a list: write ['small']"),
        (Ask(" "), "A question has a text"),
        (Think(3), "An agent says text, not int"),  # type: ignore[arg-type]
    ],
)
def test_a_mistake_in_what_is_yielded_fails_the_turn_and_says_what_to_write(
    tmp_path: Path, value: Yielded, advice: str
) -> None:
    @function_agent("waiter")
    async def mistaken(turn: AgentTurn) -> AsyncGenerator[Yielded, Any]:
        if turn.text == "again":
            yield "Good evening!"
        else:
            yield value

    async def run() -> None:
        async with talking(tmp_path / "talk.db", mistaken) as talk:
            end = (await talk.ask("hello")).end
            assert end is not None
            assert end.error is not None
            assert advice in end.error.message
            assert (await talk.ask("again")).text == "Good evening!"

    asyncio.run(run())


def test_a_coroutine_that_is_yielded_needs_an_await(tmp_path: Path) -> None:
    @function_agent("waiter")
    async def mistaken(turn: AgentTurn) -> AsyncGenerator[Any, Any]:
        yield turn.say("Good evening!")

    async def run() -> None:
        async with talking(tmp_path / "talk.db", mistaken) as talk:
            end = (await talk.ask("hello")).end
            assert end is not None
            assert end.error is not None
            assert "a coroutine, which needs `await`" in end.error.message

    asyncio.run(run())


def test_a_question_may_be_followed_by_a_permission_in_every_check() -> None:
    @function_agent("waiter")
    async def thorough(turn: AgentTurn) -> AsyncGenerator[Yielded, Any]:
        if turn.text == "soup":
            yield Ask("Which size?", ["small", "large"])
            yield UseTool("cook", {}, "It cooks.", needs_permission=True)
            yield Ask("With bread?")
        yield "Good evening!"

    report = asyncio.run(check_agent(lambda: thorough, Prompts(question="soup"), seconds=30))
    assert "a question is answered" in report.kept
    assert "a question reaches a person" in report.kept
    with pytest.raises(AssertionError, match=r"Set `Prompts\.plain` to a prompt after which"):
        asyncio.run(check_agent(lambda: thorough, Prompts(plain="soup"), seconds=1))


def test_an_interrupt_keeps_what_was_said_and_takes_a_question_back(tmp_path: Path) -> None:
    async def run() -> None:
        async with talking(tmp_path / "talk.db") as talk:
            waiting = asyncio.create_task(talk.ask("wait"))
            async for frame in talk.follow():
                if isinstance(frame, frames.AssistantChunk):
                    break
            await talk.interrupt(1)
            reply = await waiting
            assert (reply.text, reply.was_interrupted) == ("One ", True)

            reply = await talk.ask("soup")
            await talk.interrupt(reply.turn_id)
            reply = await talk.wait(reply)
            assert (reply.text, reply.was_interrupted) == ("", True)
            assert (await talk.status()).requests == []

    asyncio.run(run())


def test_a_cancelled_question_ends_the_turn_without_an_answer() -> None:
    async def run() -> None:
        session = await agent().open(SessionStart("table-1"))
        heard: list[NormalizedStreamEvent] = []

        async def listen() -> None:
            async for batch in session.events():
                heard.extend(batch)
                for event in batch:
                    if isinstance(event, events.QuestionAsked):
                        denied = Reply(event.tool_use_id, "question", decision="deny")
                        await session.deliver([denied], resumed=False)
                    if isinstance(event, events.TurnCompleted):
                        return

        await session.prompt([TextContent("soup")], turn_uuid="1")
        async with asyncio.timeout(30):
            await listen()
        await session.close()
        assert not [each for each in heard if isinstance(each, events.ContentDelta)]
        assert [each.interrupted for each in heard if isinstance(each, events.TurnCompleted)] == [
            True
        ]

    asyncio.run(run())


@function_agent("cook")
async def cook(turn: AgentTurn) -> AsyncGenerator[str, None]:
    await turn.plan([("boil", "in_progress"), ("serve", "pending")])
    await turn.think("Soup ")
    await turn.think("it is.")
    yield "Coming. "
    async with turn.tool("boil", {"minutes": 3}) as call:
        await call.output("bubble ")
        if turn.text == "burn":
            raise ValueError("burnt")
        if turn.text == "wait":
            await asyncio.Event().wait()
        call.result = "hot"
    turn.usage, turn.cost_usd = Usage(input_tokens=7, output_tokens=5), 0.25
    yield "Here "
    yield "it is."


@asynccontextmanager
async def kitchen(path: Path) -> AsyncIterator[Talk]:
    async with SqliteStore.open(path) as store, Engine(store, {"cook": cook}) as engine:
        yield await engine.create("cook")


def test_a_generator_yields_text_and_calls_tools_between_it(tmp_path: Path) -> None:
    async def run() -> None:
        async with kitchen(tmp_path / "talk.db") as talk:
            asking: asyncio.Task[TurnReply] | None = None
            shown = []
            async for frame in talk.follow():
                if asking is None and isinstance(frame, frames.SessionState):
                    asking = asyncio.create_task(talk.ask("soup"))
                if isinstance(frame, frames.AssistantToolProgress):
                    shown.append(frame.payload.output)
                if isinstance(frame, frames.AssistantComplete):
                    break
            assert asking is not None
            reply = await asking
            assert shown == ["bubble "]
            assert reply.text == "Coming. \n\nHere it is."
            [tool] = reply.tools
            assert (tool.tool_name, tool.input, tool.is_error) == ("boil", {"minutes": 3}, False)
            assert tool.result == "hot"
            thought = [f for f in reply.frames if isinstance(f, frames.AssistantThinking)]
            assert [frame.payload.text for frame in thought] == ["Soup it is."]
            assert reply.end is not None
            assert reply.end.usage == Usage(input_tokens=7, output_tokens=5)
            assert reply.end.cost_usd == 0.25

    asyncio.run(run())


def test_a_tool_that_raises_has_an_error_as_its_result(tmp_path: Path) -> None:
    async def run() -> None:
        async with kitchen(tmp_path / "talk.db") as talk:
            reply = await talk.ask("burn")
            assert reply.is_error
            [tool] = reply.tools
            assert (tool.is_error, tool.result) == (True, "ValueError: burnt")

    asyncio.run(run())


def test_a_stop_ends_the_tool_that_runs(tmp_path: Path) -> None:
    async def run() -> None:
        async with kitchen(tmp_path / "talk.db") as talk:
            asking = asyncio.create_task(talk.ask("wait"))
            async for frame in talk.follow():
                if isinstance(frame, frames.AssistantToolCall):
                    break
            await talk.interrupt(1)
            reply = await asking
            [tool] = reply.tools
            assert reply.was_interrupted
            assert (tool.is_error, tool.result) == (True, "The turn was stopped.")

    asyncio.run(run())


def test_an_agent_that_is_a_generator_keeps_the_promises_of_the_port() -> None:
    report = asyncio.run(check_agent(lambda: cook, Prompts(tool="soup", long="wait")))
    assert "an interrupt ends the turn" in report.kept


@function_agent("bar")
async def bar(turn: AgentTurn) -> AsyncGenerator[Any, Any]:
    """Mixes drinks."""
    if turn.text == "nonsense":
        yield 42
    yield Plan([("ask", "in_progress")])
    yield Think("Tea, perhaps.")
    yield "One moment. "
    size = turn.answer or (yield Ask("Which size?", ["small", "large"]))
    try:
        found = yield UseTool("look", {"for": size}, look(turn.text))
    except LookupError as missing:
        yield f"Sorry: {missing.args[0]}."
        return
    counted = yield UseTool("count", result="3")
    yield f"A {size} {found}, {counted} left."


async def look(wanted: str) -> str:
    if wanted == "champagne":
        raise LookupError("no champagne")
    return "tea"


@asynccontextmanager
async def at_the_bar(path: Path) -> AsyncIterator[Talk]:
    async with SqliteStore.open(path) as store, Engine(store, {"bar": bar}) as engine:
        if await store.conversation("bar-1") is None:
            yield await engine.create("bar", conversation_id="bar-1")
        else:
            yield await engine.open("bar-1")


def test_questions_and_tool_calls_are_values_that_a_generator_yields(tmp_path: Path) -> None:
    async def run() -> None:
        async with at_the_bar(tmp_path / "talk.db") as talk:
            reply = await talk.ask("tea")
            [request] = reply.requests
            assert [option.label for option in request.questions[0].options] == ["small", "large"]
            await talk.answer(request.request_id, "large")
            reply = await talk.wait(reply)
            assert reply.text.endswith("A large tea, 3 left.")
            tools = [(tool.tool_name, tool.input, tool.result) for tool in reply.tools]
            assert tools[-2:] == [("look", {"for": "large"}, "tea"), ("count", {}, "3")]
            thought = [f for f in reply.frames if isinstance(f, frames.AssistantThinking)]
            assert [frame.payload.text for frame in thought] == ["Tea, perhaps."]

    asyncio.run(run())


def test_an_error_of_a_tool_is_raised_where_the_generator_has_yielded_it(tmp_path: Path) -> None:
    async def run() -> None:
        async with at_the_bar(tmp_path / "talk.db") as talk:
            reply = await talk.ask("champagne")
            await talk.answer(reply.requests[0].request_id, "large")
            reply = await talk.wait(reply)
            assert reply.text.endswith("Sorry: no champagne.")
            assert reply.tools[-1].is_error
            assert not reply.is_error

    asyncio.run(run())


def test_a_value_that_is_no_action_fails_the_turn_and_says_what_may_be_yielded(
    tmp_path: Path,
) -> None:
    async def run() -> None:
        async with at_the_bar(tmp_path / "talk.db") as talk:
            reply = await talk.ask("nonsense")
            assert reply.end is not None
            assert reply.end.error is not None
            assert (
                "yields text, Ask, a list of Ask, UseTool, UseClientTool, Think or Plan"
                in reply.end.error.message
            )

    asyncio.run(run())


def test_an_answer_after_a_restart_calls_the_generator_again(tmp_path: Path) -> None:
    async def run() -> None:
        async with at_the_bar(tmp_path / "talk.db") as talk:
            await talk.ask("tea", client_message_id="1")
        async with at_the_bar(tmp_path / "talk.db") as talk:
            reply = await talk.ask("tea", client_message_id="1")
            await talk.answer(reply.requests[0].request_id, "small")
            reply = await talk.wait(reply)
            assert reply.text.endswith("A small tea, 3 left.")

    asyncio.run(run())


TOOLS = {"client_tools": [{"name": "pick", "parameters": {"type": "object"}}]}


@function_agent("painter", client_tools=True)
async def painter(turn: AgentTurn) -> AsyncGenerator[Any, Any]:
    if turn.text == "other":
        yield UseClientTool("frame")
    colour = turn.answer or (yield UseClientTool("pick", {"of": ["red", "blue"]}))
    yield f"{turn.client_tools[0].name}: {colour}"


def test_a_function_calls_tools_of_the_front_end(tmp_path: Path) -> None:
    async def run(name: str) -> None:
        path = tmp_path / "talk.db"
        async with (
            SqliteStore.open(path) as store,
            Engine(store, {"painter": painter}) as engine,
        ):
            talk = await engine.create("painter", conversation_id=name, options=TOOLS)
            reply = await talk.ask("paint", client_message_id="1")
            [request] = reply.requests
            assert (request.tool_name, request.metadata) == ("pick", {"client_tool": True})
            if name == "live":
                await talk.answer(request.request_id, "blue")
                reply = await talk.wait(reply)
                assert reply.text == "pick: blue"
                [tool] = reply.tools
                assert (tool.tool_name, tool.result) == ("pick", "blue")
                failed = await talk.ask("other")
                assert failed.end is not None
                assert failed.end.error is not None
                assert "it has: pick" in failed.end.error.message
        if name == "live":
            return
        async with (
            SqliteStore.open(path) as store,
            Engine(store, {"painter": painter}) as engine,
        ):
            talk = await engine.open(name)
            reply = await talk.ask("paint", client_message_id="1")
            await talk.answer(reply.requests[0].request_id, "red")
            reply = await talk.wait(reply)
            assert reply.text == "pick: red"
            assert [tool.result for tool in reply.tools] == ["red"]

    asyncio.run(run("live"))
    asyncio.run(run("restarted"))


@pytest.mark.parametrize(
    "tools", [[{"name": 4}], "pick", [{"name": ""}], [{"name": "a"}, {"name": "a"}]]
)
def test_invalid_tools_of_the_front_end_are_refused(tools: Any) -> None:
    async def run() -> None:
        with pytest.raises(AgentGone, match="client_tools"):
            await painter.open(SessionStart("talk", options={"client_tools": tools}))

    asyncio.run(run())


def test_a_function_is_described_by_its_docstring() -> None:
    assert bar.description == "Mixes drinks."
    assert cook.description == "A Python function."


@function_agent("cleaner")
async def cleaner(turn: AgentTurn) -> AsyncGenerator[str | UseTool, str]:
    if turn.text == "hello":
        yield "I clean."
        return
    words = f"removed {turn.text}"
    try:
        said = yield UseTool("remove", {"what": turn.text}, echo(words), needs_permission=True)
    except Denied:
        if turn.text == "proudly":
            raise
        said = "nothing"
    yield f"Now: {said}."


async def echo(words: str) -> str:
    return words


def test_a_tool_call_waits_until_a_person_allows_it(tmp_path: Path) -> None:
    async def run() -> None:
        async with (
            SqliteStore.open(tmp_path / "talk.db") as store,
            Engine(store, {"cleaner": cleaner}) as engine,
        ):
            talk = await engine.create("cleaner")
            asked = await talk.ask("dust")
            [request] = asked.requests
            assert (request.kind, request.tool_name) == ("permission", "remove")
            assert (request.input, request.decision_only) == ({"what": "dust"}, True)
            await talk.decide(request.request_id, "allow")
            reply = await talk.wait(asked)
            assert reply.text == "Now: removed dust."
            assert [tool.result for tool in reply.tools] == ["removed dust"]
            for words, said in (("soap", "Now: nothing."), ("proudly", "")):
                asked = await talk.ask(words)
                reason = "It is needed." if words == "soap" else None
                await talk.decide(asked.requests[0].request_id, "deny", reason=reason)
                reply = await talk.wait(asked)
                assert (reply.text, reply.is_error) == (said, False)
                [tool] = reply.tools
                why = f"The call was denied: {reason}" if reason else "The call was not allowed."
                assert (tool.is_error, tool.result) == (True, why)
            asked = await talk.ask("more")
            await talk.interrupt(asked.turn_id)
            reply = await talk.wait(asked)
            assert reply.was_interrupted
            assert [tool.result for tool in reply.tools] == ["The turn was stopped."]

    asyncio.run(run())


def test_an_agent_that_asks_for_permissions_keeps_the_promises_of_the_port() -> None:
    report = asyncio.run(check_agent(lambda: cleaner, Prompts(plain="hello", permission="dust")))
    assert "a permission is allowed or denied" in report.kept


def test_a_plain_function_runs_only_after_its_permission(tmp_path: Path) -> None:
    ran: list[str] = []

    def wipe() -> str:
        ran.append("wipe")
        return "wiped"

    async def wiper(turn: AgentTurn) -> AsyncGenerator[str | UseTool, str]:
        try:
            yield (yield UseTool("wipe", {}, wipe, needs_permission=True))
        except Denied as denied:
            yield f"Not done: {denied.reason}"

    async def run() -> None:
        async with talking(tmp_path / "talk.db", FunctionAgent("waiter", wiper)) as talk:
            for decision, said in (("deny", "Not done: not today"), ("allow", "wiped")):
                asked = await talk.ask("go")
                assert ran == []
                reason = "not today" if decision == "deny" else None
                await talk.decide(asked.requests[0].request_id, decision, reason=reason)  # type: ignore[arg-type]
                reply = await talk.wait(asked)
                assert reply.text == said
                assert reply.end is not None
                assert reply.end.duration_ms is not None

    asyncio.run(run())
    assert ran == ["wipe"]


async def order(turn: AgentTurn) -> AsyncGenerator[str | Ask | list[Ask], Any]:
    if turn.answer is not None:
        yield f"Later: {turn.answers['Which size?']}, {turn.answers['Which extras?']}."
        return
    form = [
        Ask("Which size?", ["small", ("large", "enough for two")], free_text=False, header="Size"),
        Ask("Which extras?", ["milk", "ice", "sugar"], multi=True),
    ]
    answers = yield form
    yield f"{answers['Which size?']}, {answers['Which extras?']}. "
    spoons = yield Ask("Which spoons?", ["tea", "soup"], multi=True)
    yield str(spoons)


def test_a_form_has_several_questions_with_descriptions_and_several_answers(tmp_path: Path) -> None:
    async def run() -> None:
        async with talking(tmp_path / "talk.db", FunctionAgent("waiter", order)) as talk:
            reply = await talk.ask("hello")
            [request] = reply.requests
            size, extras = request.questions
            assert [(each.label, each.description) for each in size.options] == [
                ("small", None),
                ("large", "enough for two"),
            ]
            assert (size.header, size.free_text, size.multi) == ("Size", False, False)
            assert (extras.free_text, extras.multi) == (True, True)
            given = {size.id: "large", extras.id: ["ice", "no hurry"]}
            await talk.answer(request.request_id, given)
            reply = await talk.wait(reply)
            assert reply.text == "large, ['ice', 'no hurry']. "
            [request] = reply.requests
            await talk.answer(request.request_id, {request.questions[0].id: ["tea", "soup"]})
            reply = await talk.wait(reply)
            assert reply.text.endswith("['tea', 'soup']")

    asyncio.run(run())


def test_the_answers_of_a_form_reach_the_function_of_a_later_process(tmp_path: Path) -> None:
    async def ask() -> None:
        async with talking(tmp_path / "talk.db", FunctionAgent("waiter", order)) as talk:
            assert (await talk.ask("hello", client_message_id="m-1")).end is None

    async def answer() -> None:
        async with talking(tmp_path / "talk.db", FunctionAgent("waiter", order)) as talk:
            reply = await talk.ask("hello", client_message_id="m-1")
            size, extras = reply.requests[0].questions
            given = {size.id: "small", extras.id: ["milk"]}
            await talk.answer(reply.requests[0].request_id, given)
            assert (await talk.wait(reply)).text == "Later: small, ['milk']."

    asyncio.run(ask())
    asyncio.run(answer())


@pytest.mark.parametrize("form", [[], [Ask("Why?"), Ask("Why?")]])
def test_a_form_that_could_not_be_answered_fails_the_turn(tmp_path: Path, form: list[Ask]) -> None:
    async def ask(turn: AgentTurn) -> None:
        await turn.ask_form(form)

    async def run() -> None:
        async with talking(tmp_path / "talk.db", FunctionAgent("waiter", ask)) as talk:
            end = (await talk.ask("hello")).end
            assert end is not None
            assert end.error is not None
            assert "ValueError" in end.error.message

    asyncio.run(run())
