"""Agents of pydantic-ai behind a conversation: streaming, tools, approvals, questions, history."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from turnwire import DemoAgent, Engine, SqliteStore, Talk
from turnwire.core import events as ev
from turnwire.core import message as m
from turnwire.core.blocks import ToolResultBlock
from turnwire.core.content import FileContent, ImageContent, LoadedFile, TextContent
from turnwire.core.conversation.state import Reply
from turnwire.dialects.v2 import frames as f
from turnwire.ports import Agent, SessionStart
from turnwire.testing import Prompts, check_agent
from turnwire.testing.agent_listener import Listener
from turnwire.testing.agent_order import EventOrder

pydantic_ai: Any = pytest.importorskip("pydantic_ai")

from pydantic_ai import messages as ai  # noqa: E402
from pydantic_ai.models.function import (  # noqa: E402
    AgentInfo,
    DeltaThinkingPart,
    DeltaToolCall,
    FunctionModel,
)
from pydantic_ai.toolsets import FunctionToolset  # noqa: E402

from turnwire.agents.pydantic_ai import PydanticAgent  # noqa: E402
from turnwire.agents.pydantic_ai.history import history_of, prompt_of  # noqa: E402

PROMPTS = Prompts(long="count", tool="add", question="which", permission="delete")
CALLS = {
    "add": ("add", '{"a": 1, "b": 2}'),
    "which": ("request_input", '{"question": "Which size?", "options": ["small", "large"]}'),
    "paint": ("paint", '{"colour": "blue"}'),
    "delete": ("delete", '{"path": "/x"}'),
}


def last_text(messages: list[Any]) -> str:
    prompts = [p for m in messages for p in m.parts if isinstance(p, ai.UserPromptPart)]
    said = prompts[-1].content
    return said if isinstance(said, str) else " ".join(str(each) for each in said)


async def model(messages: list[Any], info: AgentInfo) -> AsyncIterator[Any]:
    """A scripted model: the words of the prompt say which tool it calls; then it sums up."""
    results = [p for p in messages[-1].parts if isinstance(p, ai.ToolReturnPart)]
    words = last_text(messages)
    for word, (name, args) in CALLS.items():
        if word in words and not results:
            call = f"call-{len(messages)}-{id(messages)}"
            yield {0: DeltaToolCall(name, tool_call_id=call)}
            for piece in (args[:5], args[5:]):
                yield {0: DeltaToolCall(json_args=piece, tool_call_id=call)}
            return
    if "think" in words:
        yield {0: DeltaThinkingPart(content="Hm.")}
    if "break" in words:
        raise RuntimeError("the model broke")
    if "history" in words:
        said = [p.content for m in messages for p in m.parts if isinstance(p, ai.TextPart)]
        yield f"{len(messages)} messages, I said {said}"
        return
    if "count" in words:
        while True:
            yield "one "
            await asyncio.sleep(0.005)
    yield "Results: " if results else "Good "
    yield ", ".join(str(each.content) for each in results) if results else "evening."


def agent(function: Any = model, **options: Any) -> PydanticAgent:
    made = pydantic_ai.Agent(FunctionModel(stream_function=function), name="helper")

    def add(a: int, b: int) -> int:
        return a + b

    def delete(path: str) -> str:
        return f"deleted {path}"

    made.tool_plain(add)
    made.tool_plain(requires_approval=True)(delete)
    return PydanticAgent(made, **options)


@asynccontextmanager
async def talking(
    path: Path, options: dict[str, Any] | None = None, *, of: PydanticAgent | None = None
) -> AsyncIterator[Talk]:
    helper = of or agent()
    async with SqliteStore.open(path) as store, Engine(store, {"helper": helper}) as engine:
        if await store.conversation("talk") is not None:
            yield await engine.open("talk")
        else:
            yield await engine.create("helper", conversation_id="talk", options=options)


@asynccontextmanager
async def listening(of: PydanticAgent | None = None, **start: Any) -> AsyncIterator[Listener]:
    session = await (of or agent()).open(SessionStart("talk", **start))
    heard = Listener(session, EventOrder(), 30)
    try:
        yield heard
    finally:
        await session.close()
        await heard.stop()
    assert heard.order.problems == []


def results_of(heard: Listener) -> list[ToolResultBlock]:
    found = [event for event in heard.events if isinstance(event, ev.UserMessage)]
    blocks = [block for event in found for block in event.content]
    return [block for block in blocks if isinstance(block, ToolResultBlock)]


def test_a_pydantic_ai_agent_keeps_the_promises_of_the_port() -> None:
    report = asyncio.run(check_agent(agent, PROMPTS, seconds=30))
    assert report.skipped == [
        *("a listed choice is accepted", "a fork answers", "a session is handed over in pieces"),
        "a message goes into the running turn",
    ]
    assert report.notes == []


async def test_text_and_thinking_stream_and_usage_is_counted() -> None:
    async with listening() as heard:
        await heard.session.prompt([TextContent("think")], turn_uuid="t")
        await heard.turn_ends(1)
        pieces = [event for event in heard.events if isinstance(event, ev.ContentDelta)]
        assert [(each.kind, each.text) for each in pieces] == [
            ("thinking", "Hm."),
            ("text", "Good "),
            ("text", "evening."),
        ]
        summary = heard.first(ev.ResultSummary)
        assert summary is not None
        assert summary.usage is not None
        assert (summary.usage.output_tokens or 0) > 0


async def test_a_tool_has_its_arguments_as_they_stream_and_its_result() -> None:
    async with listening() as heard:
        await heard.session.prompt([TextContent("add")], turn_uuid="t")
        await heard.turn_ends(1)
        inputs = [e.text for e in heard.events if isinstance(e, ev.ContentDelta) and e.tool_use_id]
        assert "".join(inputs) == CALLS["add"][1]
        assert [(each.content, each.is_error) for each in results_of(heard)] == [("3", False)]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ({"decision": "allow"}, "deleted /x"),
        ({"decision": "allow", "updated_input": {"path": "/y"}}, "deleted /y"),
        ({"decision": "deny", "reason": "not that"}, "not that"),
    ],
)
async def test_a_deferred_approval_is_a_permission(reply: dict[str, Any], said: str) -> None:
    async with listening() as heard:
        await heard.session.prompt([TextContent("delete")], turn_uuid="t")
        await heard.until(lambda: heard.first(ev.PermissionRequested) is not None, "a permission")
        asked = heard.first(ev.PermissionRequested)
        assert asked is not None
        assert (asked.tool_name, asked.input) == ("delete", {"path": "/x"})
        await heard.session.deliver([Reply(asked.request_id, "permission", **reply)], resumed=False)
        await heard.turn_ends(1)
        assert said in str(results_of(heard)[0].content)


async def test_a_permission_for_the_session_is_not_asked_again() -> None:
    async with listening() as heard:
        for turn in (1, 2):
            await heard.session.prompt([TextContent("delete")], turn_uuid=f"t{turn}")
            if turn == 1:
                await heard.until(lambda: heard.first(ev.PermissionRequested) is not None, "it")
                asked = heard.first(ev.PermissionRequested)
                assert asked is not None
                reply = Reply(
                    asked.request_id, "permission", decision="allow", remember=asked.suggestions
                )
                await heard.session.deliver([reply], resumed=False)
            await heard.turn_ends(turn)
        assert len([e for e in heard.events if isinstance(e, ev.PermissionRequested)]) == 1


async def test_a_model_that_breaks_fails_the_turn_and_the_next_one_works() -> None:
    async with listening() as heard:
        await heard.session.prompt([TextContent("break")], turn_uuid="t")
        await heard.turn_ends(1)
        failed = heard.first(ev.TurnFailed)
        assert failed is not None
        assert (failed.code, failed.message) == ("runtime_error", "the model broke")
        await heard.session.prompt([TextContent("hello")], turn_uuid="u")
        await heard.turn_ends(2)
        assert heard.first(ev.TurnCompleted) is not None


async def test_a_tool_that_asks_for_a_retry_has_an_error_and_the_model_tries_again() -> None:
    async def tries(messages: list[Any], info: AgentInfo) -> AsyncIterator[Any]:
        returned = [p for p in messages[-1].parts if isinstance(p, ai.ToolReturnPart)]
        if returned and returned[0].outcome == "success":
            yield f"It is {returned[0].content}."
        else:
            path, call = ("/right", "c2") if returned else ("/wrong", "c1")
            yield {0: DeltaToolCall("read", f'{{"path": "{path}"}}', tool_call_id=call)}

    def read(path: str) -> str:
        if path == "/wrong":
            raise pydantic_ai.ModelRetry("No such file. Try /right.")
        return "grass"

    made = pydantic_ai.Agent(FunctionModel(stream_function=tries), retries=2)
    made.tool_plain(read)
    async with listening(PydanticAgent(made)) as heard:
        await heard.session.prompt([TextContent("read")], turn_uuid="t")
        await heard.turn_ends(1)
        first, second = results_of(heard)
        assert (first.tool_use_id, first.is_error) == ("c1", True)
        assert "Try /right." in str(first.content)
        assert (second.tool_use_id, second.content, second.is_error) == ("c2", "grass", False)
        summary = heard.first(ev.ResultSummary)
        assert summary is not None
        assert (summary.is_error, summary.usage is not None) == (False, True)


async def test_an_interrupted_run_keeps_its_text_and_its_tokens(tmp_path: Path) -> None:
    async with talking(tmp_path / "log.db") as talk:
        sent = await talk.send("add and count")
        assert sent.ack.turn_id is not None
        ends, is_stopped = [], False
        async for frame in talk.follow():
            if isinstance(frame, f.AssistantChunk) and frame.payload.text and not is_stopped:
                is_stopped = True
                await talk.interrupt(sent.ack.turn_id)
            if isinstance(frame, f.AssistantComplete):
                ends.append(frame.payload)
                break
        [end] = ends
        assert end.interrupted
        assert end.usage is not None, "the request for the call has used tokens"
        assert (end.usage.output_tokens or 0) > 0
        told = (await talk.ask("history")).text
        assert told.startswith("5 messages, I said ['one ")


async def test_a_model_that_uses_the_id_of_a_call_again_loses_no_call(tmp_path: Path) -> None:
    async def repeats(messages: list[Any], info: AgentInfo) -> AsyncIterator[Any]:
        """Uses `call_0` in each response, as some models do."""
        returned = [p for p in messages[-1].parts if isinstance(p, ai.ToolReturnPart)]
        steps = {"": ("add", CALLS["add"][1]), "3": ("delete", CALLS["delete"][1])}
        step = steps.get(str(returned[0].content) if returned else "")
        if step is None:
            yield "Done."
        else:
            yield {0: DeltaToolCall(*step, tool_call_id="call_0")}

    for turns in (2, 1):  # the second time in another process
        async with talking(tmp_path / "log.db", of=agent(repeats)) as talk:
            for _ in range(turns):
                reply = await talk.ask("add and delete")
                [request] = reply.requests
                await talk.decide(request.request_id, "allow")
                reply = await talk.wait(reply)
                assert [tool.result for tool in reply.tools] == ["3", "deleted /x"]
                assert reply.text == "Done."


async def test_a_run_that_fails_has_its_tokens() -> None:
    async with listening() as heard:
        await heard.session.prompt([TextContent("add, then break")], turn_uuid="t")
        await heard.turn_ends(1)
        assert heard.first(ev.TurnFailed) is not None
        summary = heard.first(ev.ResultSummary)
        assert summary is not None
        assert summary.usage is not None
        assert (summary.usage.output_tokens or 0) > 0


async def test_toolsets_of_the_application_stand_beside_the_question() -> None:
    added = FunctionToolset()
    added.add_function(lambda a, b: a + b, name="add", description="Adds.")
    made = pydantic_ai.Agent(FunctionModel(stream_function=model), name="helper")
    async with listening(PydanticAgent(made, toolsets=[added])) as heard:
        await heard.session.prompt([TextContent("add")], turn_uuid="t")
        await heard.turn_ends(1)
        assert [each.content for each in results_of(heard)] == ["3"]
        await heard.session.prompt([TextContent("which")], turn_uuid="u")
        await heard.until(lambda: heard.first(ev.QuestionAsked) is not None, "a question")


def test_an_argument_that_belongs_to_a_turn_is_refused() -> None:
    made = pydantic_ai.Agent(FunctionModel(stream_function=model))
    with pytest.raises(ValueError, match="message_history: a conversation sets this itself"):
        PydanticAgent(made, message_history=[])


async def test_the_history_is_rebuilt_from_the_log(tmp_path: Path) -> None:
    async with talking(tmp_path / "log.db") as talk:
        assert (await talk.ask("hello")).text == "Good evening."
        assert (await talk.ask("add")).text == "Results: 3"
    async with talking(tmp_path / "log.db") as talk:
        reply = await talk.ask("history")
        said = ["Good evening.", "Results: 3"]
        assert reply.text == f"7 messages, I said {said}"


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_a_fork_has_the_history_before_it_and_nothing_later(
    tmp_path: Path, is_restarted: bool
) -> None:
    path = tmp_path / "talk.db"
    async with talking(path) as talk:
        await talk.ask("hello")
        first = (await talk._engine.open("talk")).row.head
        await talk.ask("history")
        fork = await talk.fork(first)
        again = await fork.fork()  # a fork of a fork that has said nothing yet
        if not is_restarted:
            assert (await fork.ask("history")).text == "3 messages, I said ['Good evening.']"
    async with talking(path) as talk:
        for name in (fork.id, again.id)[not is_restarted :]:
            told = (await (await talk._engine.open(name)).ask("history")).text
            assert told == "3 messages, I said ['Good evening.']"


async def test_a_question_is_answered_after_a_restart_as_the_result_of_its_call(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path / "log.db") as talk:
        await talk.send("which")
        async with asyncio.timeout(30):
            while not (requests := (await talk.status()).requests):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        (request,) = requests
    async with talking(tmp_path / "log.db") as talk:
        await talk.answer(request.request_id, "large")
        async with asyncio.timeout(30):
            while (end := (await talk.status()).last_turn) is None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert not end.is_error
        assert (await talk.ask("history")).text == "5 messages, I said ['Results: large']"


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_the_model_calls_tools_of_the_front_end(tmp_path: Path, is_restarted: bool) -> None:
    schema = {"type": "object", "properties": {"colour": {"type": "string"}}}
    tools = [{"name": "paint", "description": "Paints.", "parameters": schema}, {"name": "clear"}]
    async with talking(tmp_path / "log.db", {"client_tools": tools}) as talk:
        reply = await talk.ask("paint", client_message_id="1")
        [request] = reply.requests
        assert (request.tool_name, request.metadata) == ("paint", {"client_tool": True})
        if not is_restarted:
            await talk.answer(request.request_id, "done")
            reply = await talk.wait(reply)
    if is_restarted:
        async with talking(tmp_path / "log.db") as talk:
            reply = await talk.ask("paint", client_message_id="1")
            await talk.answer(request.request_id, "done")
            reply = await talk.wait(reply)
    assert reply.text == "Results: done"
    assert [tool.result for tool in reply.tools] == ["done"]


def test_a_prompt_may_have_pictures_and_files() -> None:
    found = prompt_of(
        [
            TextContent("Look"),
            ImageContent("image/png", "aGk="),
            ImageContent(url="https://example.org/a.png"),
            FileContent("/a.txt"),
            LoadedFile("report.pdf", "application/pdf", data="aGk="),
        ]
    )
    kinds = [str, ai.BinaryContent, ai.ImageUrl, str, str, ai.BinaryContent]
    assert [type(each) for each in found] == kinds
    assert (found[-1].media_type, found[-1].data) == ("application/pdf", b"hi")


def test_an_empty_log_is_an_empty_history() -> None:
    assert history_of([]) == []


async def test_the_words_of_subagents_are_no_part_of_the_history(tmp_path: Path) -> None:
    """A model rejects a call that is not directly followed by its result."""
    seen: list[list[Any]] = []

    async def looks(messages: list[Any], info: AgentInfo) -> AsyncIterator[str]:
        seen.append(messages)
        yield "Seen."

    other = PydanticAgent(pydantic_ai.Agent(FunctionModel(stream_function=looks)), name="other")
    agents: dict[str, Agent] = {"demo": DemoAgent(delay=0), "other": other}
    async with SqliteStore.open(tmp_path / "log.db") as store, Engine(store, agents) as engine:
        talk = await engine.create("demo")
        await talk.ask("use a subagent")
        await talk.set_agent("other")
        await talk.ask("What was said?")
        entries = [each.entry for each in await store.entries(talk.id)]
    assert any(entry.meta.get("parentToolUseId") for entry in entries)
    [messages] = seen
    assert [last_text(messages[:1]), last_text(messages)] == ["use a subagent", "What was said?"]
    parts = [part for message in messages for part in message.parts]
    assert len([part for part in parts if isinstance(part, ai.UserPromptPart)]) == 2
    for message, following in pairwise(messages):
        calls = [part.tool_call_id for part in message.parts if isinstance(part, ai.ToolCallPart)]
        returned = [part for part in following.parts if isinstance(part, ai.ToolReturnPart)]
        assert [part.tool_call_id for part in returned] == calls
        assert type(message) is not type(following)


def test_a_result_that_came_late_is_moved_to_its_call() -> None:
    def entry(number: int, role: Any, *parts: Any) -> m.Message:
        return m.Message("talk:1", role, list(parts), f"2026-01-01T12:00:0{number}.000Z")

    def said(text: str) -> m.TextPart:
        return m.TextPart(m.TextPayload(text))

    found = history_of(
        [
            entry(1, "user", said("Go.")),
            entry(2, "assistant", m.ToolCallPart(m.ToolCallPayload("c", "look", {}))),
            entry(3, "user", said("Hurry!")),
            entry(4, "tool", m.ToolResultPart(m.ToolResultPayload("c", False, "grass"))),
            entry(5, "assistant", said("Grass.")),
        ]
    )
    kinds = [[type(part).__name__ for part in message.parts] for message in found]
    assert kinds == [
        ["UserPromptPart"],
        ["ToolCallPart"],
        ["ToolReturnPart", "UserPromptPart"],
        ["TextPart"],
    ]
