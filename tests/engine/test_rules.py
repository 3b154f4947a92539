"""Remembered permission rules on a real store: after a restart, and until they are taken back."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.engine.helpers.watcher import Watcher, engine_on, talk_with
from turnwire.agents.demo.agent import DemoAgent
from turnwire.core.status import Rule
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, Talk


async def is_asked(talk: Talk, seen: Watcher, *, always: bool = False) -> bool:
    """Sends a message whose turn needs a permission. Returns whether a person was asked."""
    before = len(seen.of(f.AssistantPermissionRequest))
    turn_id = (await talk.send("delete something")).ack.turn_id

    def is_over(frame: f.SessionState) -> bool:
        status = frame.payload
        return bool(status.requests) or (status.last_turn_id == turn_id and not status.running)

    state = await seen.until(f.SessionState, is_over)
    for request in state.payload.requests:
        remember = request.suggestions if always else []
        await talk.decide(request.request_id, "allow", remember=remember, user="ann")
        await seen.until(f.AssistantComplete, lambda frame: frame.turn_id == turn_id)
    return len(seen.of(f.AssistantPermissionRequest)) > before


async def rules_of(engine: Engine, talk: Talk) -> list[Rule]:
    stored = [given.rule for given in await engine.store.rules()]
    row = await engine.store.conversation(talk.id)
    assert row is not None
    assert row.state.rules == stored, "the table is that of the state"
    return stored


async def actions(engine: Engine, talk: Talk) -> list[str]:
    return [row.action for row in await engine.store.audit(conversation_id=talk.id)]


def test_always_holds_after_a_restart_until_it_is_taken_back(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path, agent=DemoAgent(delay=0)) as engine:
            talk = await talk_with(engine)
            async with Watcher(talk) as seen:
                assert await is_asked(talk, seen, always=True)
                assert not await is_asked(talk, seen)
                assert seen.of(f.SessionState)[-1].payload.rules == 1
            [rule] = await rules_of(engine, talk)
            assert (rule.agent, rule.tool_name, rule.by, rule.kept_by) == (
                *("demo", "Bash", "ann"),
                "turnwire",
            )
            assert "allowed_by_rule" in await actions(engine, talk)
        async with engine_on(path, agent=DemoAgent(delay=0)) as engine:
            talk = await engine.open(talk.id)
            async with Watcher(talk) as seen:
                assert not await is_asked(talk, seen), "in a new process of agent and server"
                assert await engine.store.inbox(open_only=False) != []
                assert await engine.store.inbox() == []
                for _ in range(2):
                    answer = await talk.forget_rule(rule.rule_id, user="ann")
                    assert answer.ack.rule_id == rule.rule_id
                assert await rules_of(engine, talk) == []
                assert await is_asked(talk, seen), "the process of the agent still lives"
            assert (await actions(engine, talk)).count("rule_taken_back") == 1

    asyncio.run(scene())


def test_a_fork_asks_again(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path, agent=DemoAgent(delay=0)) as engine:
            talk = await talk_with(engine)
            async with Watcher(talk) as seen:
                await is_asked(talk, seen, always=True)
            fork = await talk.fork()
            async with Watcher(fork) as seen:
                assert await is_asked(fork, seen)
            assert [given.conversation_id for given in await engine.store.rules()] == [talk.id]
            await engine.remove(talk.id)
            assert await engine.store.rules() == []

    asyncio.run(scene())


def test_a_rule_of_an_archived_conversation_can_be_taken_back(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path, agent=DemoAgent(delay=0)) as engine:
            talk = await talk_with(engine)
            async with Watcher(talk) as seen:
                await is_asked(talk, seen, always=True)
            [rule] = await rules_of(engine, talk)
            await engine.store.change(talk.id, archived=True)
            await engine.end(talk.id, reason="archived")
            talk = await engine.open(talk.id)
            await talk.forget_rule(rule.rule_id)
            assert await rules_of(engine, talk) == []

    asyncio.run(scene())
