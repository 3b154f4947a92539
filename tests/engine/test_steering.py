"""Messages into a running turn, on a real file: taken once, refused, or in doubt after a loss."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.agents.claude.helpers.log_checks import check_log
from tests.engine.helpers.scripted_agent import ScriptedAgent, ScriptedSession
from tests.engine.helpers.watcher import Watcher, engine_on
from turnwire.agents.child import ChildAgent
from turnwire.agents.demo import DemoAgent
from turnwire.core.content import TextContent
from turnwire.core.conversation.state import Options
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Talk


@asynccontextmanager
async def steered(path: Path) -> AsyncIterator[tuple[Talk, Watcher, ScriptedAgent]]:
    """A conversation whose first turn runs; at the end fsck finds nothing."""
    agent = ScriptedAgent(steers=True)
    async with engine_on(path / "turnwire.db", agent=agent) as engine:
        talk = await engine.create("demo", rules=Options(on_disconnect="continue"))
        async with Watcher(talk) as seen:
            await talk.send("go")
            (await agent.opened()).begins()
            await seen.until(f.UserMessage)
            yield talk, seen, agent
    if (path / "turnwire.db").exists():  # else: the tests run with a database
        check_log(path / "turnwire.db")


def said(seen: Watcher) -> list[tuple[str, int | None, bool]]:
    """Returns the messages of people, their turns, and whether they went into one."""
    frames = [frame for frame in seen.frames if isinstance(frame, f.UserMessage)]
    return [
        (part.text, frame.turn_id, frame.payload.steered_as is not None)
        for frame in frames
        for part in frame.payload.content
        if isinstance(part, TextContent)
    ]


async def test_the_agent_takes_a_message_into_its_turn(tmp_path: Path) -> None:
    async with steered(tmp_path) as (talk, seen, agent):
        ack = (await talk.send("in blue", steer=True, client_message_id="m-2")).ack
        again = await talk.send("in blue", steer=True, client_message_id="m-2")
        assert again.duplicate
        assert again.ack == ack
        session = agent.live[0]
        assert await session.takes() == ack.queue_id
        await seen.until(f.UserMessage)
        session.ends()
        await seen.until(f.AssistantComplete)
        assert said(seen) == [("go", 1, False), ("in blue", 1, True)]
        with pytest.raises(Refused, match="used for another frame"):
            await talk.send("in blue", client_message_id="m-2")  # not into the turn


async def test_a_refused_message_has_its_own_turn(tmp_path: Path) -> None:
    async with steered(tmp_path) as (talk, seen, agent):
        agent.refuses_messages = True
        await talk.send("in blue", steer=True)
        await seen.until(f.SessionState, lambda frame: bool(frame.payload.queue))
        await seen.until(
            f.SessionState, lambda frame: [i.steers for i in frame.payload.queue] == [None]
        )
        agent.live[0].ends()
        await seen.until(f.UserMessage)
        assert said(seen) == [("go", 1, False), ("in blue", 2, False)]


async def test_a_message_that_the_turn_did_not_take_starts_the_next_one_from_the_queue(
    tmp_path: Path,
) -> None:
    async with steered(tmp_path) as (talk, seen, agent):
        queue_id = (await talk.send("in blue", steer=True)).ack.queue_id
        await seen.until(f.SessionState, lambda frame: bool(frame.payload.queue))
        agent.live[0].ends()
        start = await seen.until(f.TurnStarted, lambda frame: frame.payload.turn_id == 2)
        assert start.payload.queue_id == queue_id
        await seen.until(f.UserMessage)
        assert said(seen) == [("go", 1, False), ("in blue", 2, False)]


async def lost(session: ScriptedSession, seen: Watcher, talk: Talk) -> None:
    session._die("It fell.")
    await seen.until(f.AssistantComplete)
    await talk.change_queue("resume")


async def test_after_a_loss_the_record_of_the_agent_decides_whether_it_is_sent_again(
    tmp_path: Path,
) -> None:
    async with steered(tmp_path) as (talk, seen, agent):
        await talk.send("in blue", steer=True)
        session = agent.live[0]
        await session.takes(reports=False)
        await lost(session, seen, talk)
        session = await agent.opened()
        assert session.contents == [[]]  # the agent knows the message
        session.begins()
        await talk.send("in red", steer=True)
        await session.steered.get()
        await lost(session, seen, talk)
        session = await agent.opened()
        assert session.contents == [[TextContent("in red")]]
        assert said(seen) == [("go", 1, False), ("in blue", 2, False), ("in red", 3, False)]


async def test_an_agent_that_cannot_take_messages_refuses_them(tmp_path: Path) -> None:
    async with engine_on(tmp_path / "turnwire.db", agent=ScriptedAgent()) as engine:
        talk = await engine.create("demo")
        with pytest.raises(Refused) as refused:
            await talk.send("in blue", steer=True)
        assert refused.value.code == "NOT_SUPPORTED"
        assert (await talk.status()).turn_id is None


@pytest.mark.parametrize("is_child", [False, True])
async def test_the_demo_answers_a_message_in_the_same_turn(tmp_path: Path, is_child: bool) -> None:
    agent = ChildAgent("demo", delay=0.0) if is_child else DemoAgent(delay=0.0)
    async with engine_on(tmp_path / "turnwire.db", agent=agent) as engine:
        talk = await engine.create("demo")
        async with Watcher(talk) as seen:
            await talk.send("question")
            asked = await seen.until(f.AssistantRequestInput)
            await talk.send("and in blue", steer=True)
            await seen.until(f.SessionState, lambda frame: bool(frame.payload.queue))
            # The answer goes to the agent after the message.
            await talk.answer(asked.payload.question_id, "Red")
            await seen.until(f.AssistantComplete)
            assert said(seen) == [("question", 1, False), ("and in blue", 1, True)]
            chunks = [each for each in seen.frames if isinstance(each, f.AssistantChunk)]
            texts = [chunk.payload.text for chunk in chunks if not chunk.payload.partial]
            assert "and in blue" in texts[-1]
