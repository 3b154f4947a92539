"""Conversations run on a real store with the demo agent."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.engine.helpers.scripted_agent import ScriptedAgent, ScriptedSession
from tests.engine.helpers.watcher import Watcher, engine_on, talk_with
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.conversation.state import Options
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine
from turnwire.ports import AgentSession, SessionStart
from turnwire.stores.sqlite import SqliteStore


def run(test: object) -> None:
    asyncio.run(test)  # type: ignore[arg-type]


def test_an_agent_without_models_refuses_to_change_the_model(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path) as engine:
            talk = await talk_with(engine)
            with pytest.raises(Refused) as refused:
                await talk.set_model("another")
            assert refused.value.code == "NOT_SUPPORTED"

    run(scene())


def test_a_message_starts_a_turn_that_ends_once(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path) as engine:
            talk = await talk_with(engine)
            async with Watcher(talk) as seen:
                answer = await talk.send("hello")
                assert answer.ack.turn_id == 1
                complete = await seen.until(f.AssistantComplete)
                await seen.state("active")
            assert not complete.payload.is_error
            assert len(seen.of(f.AssistantComplete)) == 1
            payloads = [getattr(frame, "payload", None) for frame in seen.frames]
            found = [getattr(payload, "message_sequence", None) for payload in payloads]
            numbers = [number for number in found if number is not None]
            assert numbers == list(range(1, len(numbers) + 1))

    run(scene())


def test_sending_again_under_the_same_id_gets_the_first_answer_again(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path) as engine:
            talk = await talk_with(engine)
            first = await talk.send("hello", client_message_id="m-1", user="ann")
            again = await talk.send("hello", client_message_id="m-1", user="ann")
            assert (again.ack, again.duplicate) == (first.ack, True)
            with pytest.raises(Refused) as refused:
                await talk.send("something else", client_message_id="m-1", user="ann")
            assert refused.value.code == "IDEMPOTENCY_CONFLICT"
            other = await talk.send("hello", client_message_id="m-1", user="ben")
            assert not other.duplicate

    run(scene())


def test_half_a_character_is_refused(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path) as engine:
            talk = await talk_with(engine)
            with pytest.raises(Refused, match="half of a character") as refused:
                await talk.send("caf\udce9")
            assert refused.value.code == "INVALID_PAYLOAD"

    run(scene())


def test_a_later_follower_sees_the_same_conversation(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path) as engine:
            talk = await talk_with(engine)
            async with Watcher(talk) as seen:
                await talk.send("think tool plan subagent")
                await seen.until(f.AssistantComplete)
                await seen.state("active")
                async with Watcher(talk) as late:
                    assert late.view().messages == seen.view().messages
                    assert late.view().turns == seen.view().turns

    run(scene())


def test_a_follower_resumes_after_its_number_without_a_gap_or_a_double(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path) as engine:
            talk = await talk_with(engine)
            async with Watcher(talk) as seen:
                await talk.send("tool")
                await seen.until(f.AssistantComplete)
                await seen.state("active")
            head = seen.view().cursor
            for last in range(head + 1):
                async with Watcher(talk, last_sequence=last, epoch=engine.store.epoch) as again:
                    replayed = [r.payload.message_sequence for r in again.of(f.MessageReplay)]
                numbered = [number for number in replayed if number is not None]
                assert numbered == list(range(last + 1, head + 1))

    run(scene())


def test_a_question_waits_and_its_answer_is_the_tools_result(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path) as engine:
            talk = await talk_with(engine)
            async with Watcher(talk) as seen:
                await talk.send("question")
                asked = await seen.until(f.AssistantRequestInput)
                await seen.state("waiting_input")
                with pytest.raises(Refused) as refused:
                    await talk.answer(asked.payload.question_id, "  ")
                assert refused.value.code == "INPUT_REQUIRED"
                await talk.answer(asked.payload.question_id, "Blue", user="ann")
                resolved = await seen.until(f.AssistantRequestResolved)
                assert (resolved.payload.outcome, resolved.payload.by) == ("answered", "ann")
                result = await seen.until(f.AssistantToolResult)
                assert result.payload.tool_use_id == asked.payload.question_id
                assert "Blue" in str(result.payload.content)
                await seen.until(f.AssistantComplete)
                with pytest.raises(Refused) as refused:
                    await talk.answer(asked.payload.question_id, "Red")
                assert refused.value.code == "DUPLICATE_INPUT_RESPONSE"

    run(scene())


def test_an_answer_after_a_restart_is_still_the_tools_result(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path) as engine:
            talk = await talk_with(engine)
            async with Watcher(talk) as seen:
                await talk.send("question")
                asked = await seen.until(f.AssistantRequestInput)
                await seen.state("waiting_input")
        async with engine_on(path) as engine:
            talk = await engine.open(talk.id)
            async with Watcher(talk) as seen:
                status = await talk.status()
                assert (status.state, status.running) == ("waiting_input", False)
                await talk.answer(asked.payload.question_id, "Blue")
                went_on = await seen.until(f.TurnStarted)
                assert (went_on.payload.origin, went_on.payload.turn_id) == ("resume", 1)
                result = await seen.until(f.AssistantToolResult)
                assert result.payload.tool_use_id == asked.payload.question_id
                assert not result.payload.is_error
                await seen.until(f.AssistantComplete)
                assert len(seen.of(f.AssistantComplete)) == 1

    run(scene())


def test_an_interrupt_ends_the_turn_with_a_receipt(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path) as engine:
            talk = await engine.create("demo", options={"delay": 0.01})
            async with Watcher(talk) as seen:
                await talk.send("long")
                await seen.until(f.AssistantChunk)
                assert (await talk.interrupt(1, user="ann")).ack.outcome == "requested"
                receipt = await seen.until(f.ConversationInterrupted)
                assert (receipt.payload.by, receipt.payload.acknowledged) == ("ann", True)
                complete = await seen.until(f.AssistantComplete)
                assert complete.payload.interrupted
                await seen.state("interrupted")
                assert (await talk.interrupt(1)).ack.outcome == "already_ended"

    run(scene())


@pytest.mark.parametrize("queue", [[], ["next"]])
def test_a_conversation_that_is_archived_says_so_and_can_be_woken(
    path: Path, queue: list[str]
) -> None:
    async def scene() -> None:
        async with engine_on(path) as engine:
            rules = Options(on_disconnect="continue")
            talk = await engine.create("demo", options={"delay": 0.01}, rules=rules)
            async with Watcher(talk) as seen:
                await talk.send("long")
                await seen.until(f.AssistantChunk)
                for words in queue:
                    await talk.send(words)
                await engine.end(talk.id, reason="archived")
                assert (await seen.until(f.ConversationInterrupted)).payload.reason == "archived"
                end = (await seen.until(f.AssistantComplete)).payload
                assert end.error
                assert end.error.message == "The conversation was archived."
                await seen.state("interrupted")
            async with Watcher(talk) as back:
                await talk.send("and now")
                for _ in [*queue, "and now"]:
                    assert not (await back.until(f.AssistantComplete)).payload.is_error

    run(scene())


class LastWords(ScriptedAgent):
    """An agent whose sessions finish a text while they are closed."""

    async def open(self, start: SessionStart) -> AgentSession:
        session = await super().open(start)
        assert isinstance(session, ScriptedSession)
        close = session.close

        async def closed() -> list[EndedProcess]:
            session.speaks("good-bye", finishes=True)
            while session.has_unread:  # noqa: ASYNC110 (the reader's next turn)
                await asyncio.sleep(0)
            return await close()

        session.close = closed  # type: ignore[method-assign]
        return session


def test_an_archived_conversation_has_ended_even_if_its_agent_speaks_until_the_end(
    path: Path,
) -> None:
    async def scene() -> None:
        agent = LastWords()
        async with SqliteStore.open(path) as store, Engine(store, {"scripted": agent}) as engine:
            talk = await engine.create("scripted", rules=Options(on_disconnect="continue"))
            await talk.send("hello")
            session = await agent.opened()
            session.begins()
            await engine.end(talk.id, reason="archived")
            row = await store.conversation(talk.id)
            assert row is not None
            assert (row.state.turn, row.state.state) == (None, "interrupted")

    run(scene())


def test_the_audit_trail_says_that_a_turn_ended_because_it_was_deleted(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path) as engine:
            talk = await engine.create("demo", options={"delay": 0.01})
            async with Watcher(talk) as seen:
                await talk.send("long")
                await seen.until(f.AssistantChunk)
            await engine.remove(talk.id, by="ann")
            trail = await engine.store.audit(conversation_id=talk.id)
            (stopped,) = [row.data for row in trail if row.action == "interrupted"]
            assert stopped["reason"] == "deleted"

    run(scene())


def test_messages_during_a_turn_are_queued_and_run_in_order(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path) as engine:
            talk = await talk_with(engine)
            async with Watcher(talk) as seen:
                await talk.send("question")
                asked = await seen.until(f.AssistantRequestInput)
                one = await talk.send("one")
                two = await talk.send("two")
                assert one.ack.queue_id
                assert two.ack.queue_id
                await talk.answer(asked.payload.question_id, "Blue")
                for _ in range(3):
                    await seen.until(f.AssistantComplete)
            texts = [frame.payload.content[0].text for frame in seen.of(f.UserMessage)]  # type: ignore[union-attr]
            assert texts == ["question", "one", "two"]
            assert [frame.turn_id for frame in seen.of(f.AssistantComplete)] == [1, 2, 3]

    run(scene())


def test_an_idle_conversation_costs_no_task(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path) as engine:
            before = asyncio.all_tasks()
            talk = await talk_with(engine)
            async with Watcher(talk) as seen:
                await talk.send("hello")
                await seen.until(f.AssistantComplete)
            assert asyncio.all_tasks() - before  # the agent is still open
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(scene())


def test_text_of_a_background_task_has_the_trace_of_its_turn(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path) as engine:
            talk = await talk_with(engine)
            async with Watcher(talk) as seen:
                await talk.send("background")
                complete = await seen.until(f.AssistantComplete)
                growing = await seen.until(
                    f.AssistantChunk,
                    lambda chunk: bool(chunk.payload.partial and chunk.payload.parent_tool_use_id),
                )
                assert (growing.turn_id, growing.trace_id) == (1, complete.trace_id)
                await seen.until(f.AssistantComplete)

    run(scene())
