"""Questions in a Claude session without Claude: waiting hooks, answers, prompts."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.agents.claude.helpers.fake_programs import player
from tests.agents.claude.helpers.recorded_lines import INIT, PROMPT, asked_of_it, heard
from tests.agents.helpers.session_driver import talking
from turnwire.agents.claude import ClaudeAgent
from turnwire.agents.claude.extensions.hook_runs import HookRuns
from turnwire.agents.claude.questions.question_delivery import QuestionDelivery
from turnwire.agents.claude.session import ClaudeSession
from turnwire.agents.claude.turn.turn_tracker import TurnTracker
from turnwire.core import events as ev
from turnwire.core.conversation.state import Reply

QUESTIONS = {"questions": [{"question": "Which?"}]}
ASKED = {"tool_name": "AskUserQuestion", "tool_input": QUESTIONS}


class Told:
    """The part of a session that asks, with a record of its events."""

    def __init__(self, hold: float = 0.0) -> None:
        self.events: list[ev.NormalizedStreamEvent] = []
        self.delivered: list[tuple[str, str]] = []
        self.turn = TurnTracker()
        self.asking = QuestionDelivery(
            self.turn,
            hold,
            HookRuns([], "c", lambda run: None),
            [],
            whose=lambda agent_id: ("claude", "s", None, agent_id),
            say=lambda *events: self.events.extend(events),
            delivered=lambda reply, how: self.delivered.append((reply.request_id, how)),
        )

    async def ask(self, call: str) -> dict[str, Any]:
        return (await self.asking.ask(ASKED, call, None))["hookSpecificOutput"]  # type: ignore[no-any-return]


async def test_a_question_is_withdrawn_once_and_other_requests_wait_for_it() -> None:
    told = Told()
    told.asking.question.open("q")
    interrupts = 0

    async def interrupt() -> None:
        nonlocal interrupts
        interrupts += 1

    waiting = [asyncio.create_task(told.asking.take_back(interrupt)) for _ in range(2)]
    await asyncio.sleep(0)
    assert told.asking.is_muted
    assert told.asking.is_in_the_way, "for a prompt that comes after a control"
    assert (await told.ask("q"))["permissionDecision"] == "defer"
    assert not any(task.done() for task in waiting)
    assert told.asking.end_turn(is_done=False) is None
    await asyncio.gather(*waiting)
    assert (interrupts, told.events) == (1, []), "no event is shown"
    assert not told.asking.is_in_the_way


async def test_an_answer_to_a_sub_agent_is_sent_although_claudes_own_question_was_cancelled() -> (
    None
):
    told = Told()
    told.asking.question.open("q")
    cancelled = Reply("q", "question", decision="deny", reason="Too late.")
    helper = Reply("h", "question", "left", in_words=True, parent_tool_use_id="t")
    assert told.asking.deliver([cancelled, helper], resumed=True) is None
    said = await told.ask("q")
    assert said["permissionDecision"] == "deny"
    assert said["permissionDecisionReason"].startswith("Too late.\n")
    assert "My answer: left" in said["permissionDecisionReason"]
    assert told.delivered == [], "as it was said"


async def test_a_withdrawn_call_waits_for_no_answer() -> None:
    told = Told(hold=60.0)
    waiting = asyncio.create_task(told.ask("q"))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert told.asking.deliver([Reply("q", "question", "teal")], resumed=False) is None
    assert (await told.ask("q"))["permissionDecision"] == "allow", "it was kept for the call"


async def test_a_program_that_ends_while_it_is_closed_is_not_reported_as_lost(
    tmp_path: Path,
) -> None:
    """The program has a pending question, and so some time to defer it."""
    block = {"type": "tool_use", "id": "q", "name": "AskUserQuestion", "input": QUESTIONS}
    message = {"id": "m", "role": "assistant", "model": "x", "content": [block]}
    called = heard({"type": "assistant", "session_id": "s", "message": message})
    tape = [*asked_of_it("initialize", {"session_state": "idle"}), PROMPT, heard(INIT), called]
    path = tmp_path / "tape.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in tape))
    env = {"CLAUDE_TAPE": str(path), "ANTHROPIC_API_KEY": "sk-tape", "HOME": str(tmp_path)}
    agent = ClaudeAgent({}, titles=False, env=env, cli_path=player(tmp_path))
    async with talking(agent, cwd=str(tmp_path)) as ear:
        await ear.say("ask me")
        await ear.heard(ev.AssistantMessage)
        assert isinstance(ear.session, ClaudeSession)
        program = ear.session._process.below()[0]
        closing = asyncio.create_task(ear.session.close())
        await asyncio.sleep(0)
        os.kill(program.pid, signal.SIGKILL)
        await ear.ends()
        await closing
        assert ear.gone is None
