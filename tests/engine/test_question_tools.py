"""A tool of any name may ask a person. An invalid question is refused with an error."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from pathlib import Path

import pytest

from tests.agents.helpers.asking_agent import COLOURS, QUESTION, Asker, AskerSession, How
from tests.engine.helpers.watcher import Watcher, engine_on
from turnwire.core.events import NormalizedStreamEvent
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Talk
from turnwire.engine.export.markdown import markdown_of
from turnwire.ports import AgentSession, SessionStart
from turnwire.stores.sqlite.fsck import check


async def asked(talk: Talk, seen: Watcher) -> f.AssistantRequestInput:
    await talk.send("ask")
    question = await seen.until(f.AssistantRequestInput)
    await seen.state("waiting_input")
    return question


def test_a_tool_of_any_name_asks_a_person_and_gets_the_answer(path: Path) -> None:
    async def scene() -> None:
        agent = Asker()
        async with engine_on(path, agent=agent) as engine:
            talk = await engine.create("asker", user="ann")
            async with Watcher(talk) as seen:
                question = (await asked(talk, seen)).payload
                call = seen.of(f.AssistantToolCall)[-1].payload
                assert question.question_id == call.tool_use_id
                assert (question.message_id, question.index) == (call.message_id, call.index)
                assert (question.question, question.options) == ("Which colour?", COLOURS)
                assert question.questions == [QUESTION]
                assert question.announced
                (request,) = (await talk.status()).requests
                assert (request.kind, request.tool_name) == ("question", "ask_human")
                await talk.answer(question.question_id, "blue", user="ann")
                end = await seen.until(f.AssistantComplete)
                assert end.payload.error is None
                (result,) = seen.of(f.AssistantToolResult)
                assert result.payload.content == "They said blue."
            assert [reply.decision for reply in agent.replies] == [None]
            audited = [row.action for row in await engine.store.audit(conversation_id=talk.id)]
            assert [action for action in audited if action in ("asked", "answered")] == [
                "asked",
                "answered",
            ]
            row = (await engine.open(talk.id)).row
            document = "".join([text async for text in markdown_of(engine.store, row)])
            assert "Which colour?" in document
            assert "1. blue" in document

    asyncio.run(scene())


def test_the_question_of_a_tool_is_shown_once_and_on_its_call(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path, agent=Asker()) as engine:
            talk = await engine.create("asker")
            async with Watcher(talk) as seen:
                question = await asked(talk, seen)
                tools = [
                    block
                    for message in seen.view().messages
                    for block in message.blocks
                    if block.id == question.payload.question_id
                ]
                (tool,) = tools
                assert tool.request is not None  # type: ignore[union-attr]
            async with Watcher(talk) as later:
                assert later.view().messages == seen.view().messages
                await talk.answer(question.payload.question_id, "red")
                await later.until(f.AssistantComplete)

    asyncio.run(scene())


@pytest.mark.needs_sqlite(reason="looks into the file")
def test_the_question_of_a_tool_outlives_its_agent_and_its_server(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path, agent=Asker()) as engine:
            talk = await engine.create("asker", conversation_id="talk")
            async with Watcher(talk) as seen:
                await asked(talk, seen)
        async with engine_on(path, agent=Asker()) as engine:
            (request,) = (await engine.status("talk")).requests
            assert (request.kind, request.questions) == ("question", [QUESTION])

    asyncio.run(scene())
    assert not check_file(path)


@pytest.mark.needs_sqlite(reason="looks into the file")
def test_a_damaged_log_gets_the_call_of_its_question_back(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path, agent=Asker()) as engine:
            talk = await engine.create("asker", conversation_id="talk")
            async with Watcher(talk) as seen:
                await asked(talk, seen)

    asyncio.run(scene())
    with sqlite3.connect(path) as file:
        file.execute("DELETE FROM messages WHERE message_type = 'tool_call'")
    file.close()
    assert check_file(path, repair=True)
    assert not check_file(path)


@pytest.mark.needs_sqlite(reason="looks into the file")
def test_a_call_that_says_that_it_is_a_question_is_one_everywhere(path: Path) -> None:
    async def ask() -> None:
        async with engine_on(path, agent=Asker("marked")) as engine:
            talk = await engine.create("asker", user="ann", conversation_id="talk")
            async with Watcher(talk) as seen:
                question = (await asked(talk, seen)).payload
                assert not question.announced
                assert not seen.of(f.AssistantToolCall), "it is told once"
                assert (question.tool_name, question.question) == ("ask_human", "Which colour?")
            found = await engine.store.search("colour", user="ann")
            assert [each.conversation_id for each in found] == ["talk"]

    async def answer() -> None:
        async with engine_on(path, agent=Asker("marked")) as engine:
            talk = await engine.open("talk")
            async with Watcher(talk) as seen:
                (request,) = (await talk.status()).requests
                await talk.answer(request.request_id, "blue", user="ann")
                await seen.until(f.AssistantComplete)
            row = (await engine.open("talk")).row
            document = "".join([text async for text in markdown_of(engine.store, row)])
            assert "1. blue" in document

    asyncio.run(ask())
    assert not check_file(path)
    with sqlite3.connect(path) as file:
        lost = file.execute("DELETE FROM messages WHERE message_type = 'input_request'")
        assert lost.rowcount == 1
    file.close()
    assert check_file(path, repair=True)
    assert not check_file(path)
    asyncio.run(answer())


def check_file(path: Path, *, repair: bool = False) -> list[str]:
    """Returns the findings of fsck."""
    return [
        finding.kind
        for finding in check(path, now=time.time_ns() // 1_000_000, repair=repair).findings
    ]


def test_the_question_of_a_tool_is_found_by_its_words(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path, agent=Asker()) as engine:
            talk = await engine.create("asker", user="ann")
            async with Watcher(talk) as seen:
                await asked(talk, seen)
            found = await engine.store.search("colour", user="ann")
            assert [each.conversation_id for each in found] == [talk.id]

    asyncio.run(scene())


def test_a_stop_cancels_the_question_of_a_tool(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path, agent=Asker()) as engine:
            talk = await engine.create("asker")
            async with Watcher(talk) as seen:
                await asked(talk, seen)
                await talk.interrupt(1)
                assert (await seen.until(f.AssistantRequestResolved)).payload.outcome == "cancelled"
                await seen.until(f.AssistantComplete)

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("how", "advice"),
    [
        ("late", "Ask before the result"),
        ("empty", "Put at least one Question"),
        ("nameless", "Set `tool_use_id`"),
        ("renamed", "Use the same name in both"),
    ],
)
@pytest.mark.parametrize("local", [True, False], ids=["in the agent", "in the engine"])
def test_an_invalid_question_ends_the_turn_with_advice(
    path: Path, caplog: pytest.LogCaptureFixture, how: How, advice: str, *, local: bool
) -> None:
    async def scene() -> None:
        agent = Asker(how) if local else Unchecked(how)
        async with engine_on(path, agent=agent) as engine:
            talk = await engine.create("asker")
            async with Watcher(talk) as seen:
                await talk.send("ask")
                end = (await seen.until(f.AssistantComplete)).payload
                assert end.error is not None
                assert advice in end.error.message
                assert "BadQuestion" in end.error.message
                said = [chunk.payload.text for chunk in seen.of(f.AssistantChunk)]
                assert said == ["One question first."], "what came before it is kept"

    with caplog.at_level(logging.ERROR, "turnwire"):
        asyncio.run(scene())
    assert advice in caplog.text


def test_the_second_question_of_one_call_is_refused_and_the_first_answer_is_kept(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        agent = Asker("twice")
        async with engine_on(path, agent=agent) as engine:
            talk = await engine.create("asker")
            async with Watcher(talk) as seen:
                question = await asked(talk, seen)
                await talk.answer(question.payload.question_id, "blue")
                await seen.until(f.AssistantComplete)
        assert [reply.answer for reply in agent.replies] == ["blue", "blue"]

    with caplog.at_level(logging.ERROR, "turnwire"):
        asyncio.run(scene())
    assert "announce another call" in caplog.text


class Unchecked(Asker):
    """An agent whose session is not checked: the engine gets all its events."""

    async def open(self, start: SessionStart) -> AgentSession:
        session = AskerSession(self)
        session._questions.feed = _no_check  # type: ignore[method-assign]
        return session


def _no_check(event: NormalizedStreamEvent) -> None:
    pass
