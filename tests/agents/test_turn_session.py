"""Sessions of an agent of one's own that runs one turn at a time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from turnwire import AgentTurn, Engine, SqliteStore, TurnSession, Usage, frames
from turnwire.ports import AgentCapabilities, SessionStart
from turnwire.testing import Prompts, check_agent


class Counter:
    """Counts the turns of a session, and does what a message names."""

    name = "counter"
    capabilities = AgentCapabilities(is_free=True, questions_survive=True)

    def unavailable(self) -> str | None:
        return None

    async def open(self, start: SessionStart) -> CounterSession:
        return CounterSession(self.name, start)


class CounterSession(TurnSession):
    def __init__(self, name: str, start: SessionStart) -> None:
        super().__init__(name, start)
        self.turns = 0

    async def run_turn(self, turn: AgentTurn) -> None:
        self.turns += 1
        if turn.answer is not None:
            await turn.say(f"So: {turn.answer}.")
        elif turn.text == "wait":
            await turn.say("I wait.")
            await asyncio.Event().wait()
        elif turn.text == "ask":
            await turn.say(await turn.ask("Which?", ["one", ("two", "the second")]))
        elif turn.text == "call":
            await turn.think("I count.")
            await turn.plan([("count", "in_progress")])
            async with turn.tool("count", {"to": 2}, needs_permission=True) as call:
                await call.output("1, ")
                call.result = "1, 2"
            turn.usage = Usage(input_tokens=3)
            await turn.say("Counted.")
        else:
            await turn.say(f"Turn {self.turns}.")


def test_an_agent_with_a_session_of_its_own_keeps_the_promises_of_the_port() -> None:
    prompts = Prompts(long="wait", question="ask", permission="call")
    report = asyncio.run(check_agent(Counter, prompts))
    assert report.notes == []
    assert {"a question survives its process", "an interrupt ends a question"} <= set(report.kept)


def test_a_session_keeps_its_state_between_turns_and_pairs_calls_with_results(
    tmp_path: Path,
) -> None:
    async def run() -> None:
        async with (
            SqliteStore.open(tmp_path / "talk.db") as store,
            Engine(store, {"counter": Counter()}) as engine,
        ):
            talk = await engine.create("counter")
            assert (await talk.ask("hello")).text == "Turn 1."
            reply = await talk.ask("call")
            await talk.decide(reply.requests[0].request_id, "allow")
            reply = await talk.wait(reply)
            assert reply.text == "Counted."
            assert [(tool.tool_name, tool.result, tool.is_error) for tool in reply.tools] == [
                ("count", "1, 2", False)
            ]
            assert [
                frame.payload.text
                for frame in reply.frames
                if isinstance(frame, frames.AssistantThinking)
            ] == ["I count."]
            assert reply.usage is not None
            assert reply.usage.input_tokens == 3
            assert (await talk.ask("hello")).text == "Turn 3."

    asyncio.run(run())


def test_a_session_without_run_turn_says_what_is_missing() -> None:
    class Empty(TurnSession):
        pass

    with pytest.raises(TypeError, match="run_turn"):
        Empty("empty", SessionStart(conversation_id="one"))  # type: ignore[abstract]
