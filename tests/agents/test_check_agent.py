"""`check_agent`: good agents pass, and each fault of a bad agent is named."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from tests.agents.helpers.asking_agent import Asker, How
from tests.agents.helpers.boastful_agent import Boaster, Lack
from tests.agents.helpers.misbehaving_agents import (
    ENDED,
    FIGURES,
    SAID,
    STARTED,
    WHOSE,
    StrangeAgent,
    result_of,
)
from tests.helpers.recorded_streams import FIXTURES, RECORDED
from turnwire import AgentTurn, Ask, UseTool
from turnwire import agent as function_agent
from turnwire.agents.child import ChildAgent
from turnwire.agents.demo import DemoAgent
from turnwire.agents.replay import ReplayAgent
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock
from turnwire.core.events import NormalizedStreamEvent
from turnwire.dialects import claude
from turnwire.errors import BadLine
from turnwire.ports import Agent
from turnwire.testing import AgentBroken, AgentReport, Prompts, check_agent
from turnwire.testing.agent_order import EventOrder

PROMPTS = Prompts(long="long", tool="tool subagent", question="ask", permission="permission")
TEXT = TextBlock("", "in_progress")
BEGUN = ev.MessageStarted(*WHOSE, "m-1")
BLOCK = ev.ContentStarted(*WHOSE, "m-1", 0, TEXT)
PIECE = ev.ContentDelta(*WHOSE, "m-1", 0, "text", "x")
BLOCK_ENDED = ev.ContentCompleted(*WHOSE, "m-1", 0, TEXT)
COMPLETED = ev.MessageCompleted(*WHOSE, "m-1")


UNCLAIMED = [
    "a picture is accepted",
    "a listed choice is accepted",
    "a session is handed over in pieces",
]


def test_the_demo_keeps_every_promise() -> None:
    report = asyncio.run(check_agent(lambda: DemoAgent(delay=0.0005), PROMPTS))
    assert (len(report.kept), report.skipped, report.notes) == (18, UNCLAIMED, [])


def test_the_demo_in_a_process_of_its_own_keeps_every_promise() -> None:
    report = asyncio.run(check_agent(lambda: ChildAgent("demo", delay=0.0005), PROMPTS))
    assert (len(report.kept), report.skipped, report.notes) == (18, UNCLAIMED, [])


def test_the_replay_agent_passes_the_checks_that_a_recording_allows() -> None:
    path = FIXTURES / "claude" / "14_multi_turn.jsonl"
    report = asyncio.run(check_agent(lambda: ReplayAgent(path, 0)))
    assert "a resumed session answers" in report.kept
    assert "a question is answered" in report.skipped


def test_an_agent_that_ignores_interrupts_is_reported_and_not_refused() -> None:
    def make() -> Agent:
        return DemoAgent(delay=0.002, obey_interrupt=False)

    report = asyncio.run(check_agent(make, Prompts("think", long="long"), seconds=1.5))
    assert report.notes == ["interrupt: ignored; only close() stops this agent"]


# --- order --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_events_of_the_real_claude_are_in_order(path: Path) -> None:
    adapter, order = claude.ClaudeStreamAdapter(), EventOrder()
    for line in claude.read(path.read_bytes().splitlines()):
        if not isinstance(line, BadLine) and (events := adapter.feed(line)):
            order.feed(events)
    if events := adapter.finish():
        order.feed(events)
    assert order.problems == []


@pytest.mark.parametrize(
    ("batches", "problem"),
    [
        ([[]], "a batch is empty"),
        ([[SAID]], "assistant_message of the main agent outside of a turn"),
        ([[STARTED, STARTED]], "turn_started in a turn"),
        ([[ENDED, FIGURES]], "turn_completed without a turn"),
        ([[STARTED, ENDED], [FIGURES]], "no result_summary after it in its batch"),
        ([[STARTED, FIGURES]], "result_summary in a turn"),
        ([[STARTED, BEGUN, ENDED, FIGURES]], "the turn ended and message m-1 did not"),
        ([[STARTED, BEGUN, BEGUN]], "the one before it has not ended"),
        ([[STARTED, BLOCK]], "content_started of message m-1, which has not begun"),
        ([[STARTED, BLOCK_ENDED]], "content_completed of message m-1, which has not begun"),
        ([[STARTED, COMPLETED]], "message_completed of message m-1, which has not begun"),
        ([[STARTED, BEGUN, BLOCK, BLOCK]], "block 0 of message m-1 began twice"),
        ([[STARTED, BEGUN, PIECE]], "a piece of block 0 of message m-1: it is not open"),
        ([[STARTED, BEGUN, BLOCK_ENDED]], "block 0 of message m-1 ended: it was not open"),
        ([[STARTED, BEGUN, BLOCK, COMPLETED]], "message m-1 ended with open blocks: 0"),
        (
            [[STARTED, BEGUN, BLOCK, PIECE, BLOCK_ENDED]],
            "block 0 of message m-1 ended with another text",
        ),
        (
            [[ev.UnknownEvent(*WHOSE, "request/item/tool/askInRhyme")]],
            "a request that no person is shown: item/tool/askInRhyme",
        ),
        ([[STARTED, result_of("t-1")]], "a result for t-1, which was never called"),
        ([[ev.TurnStarted("", "", None, None)]], "provider is empty"),
    ],
)
def test_events_out_of_order_are_named(
    batches: list[list[NormalizedStreamEvent]], problem: str
) -> None:
    order = EventOrder()
    for batch in batches:
        order.feed(batch)
    assert any(problem in each for each in order.problems), order.problems


def test_a_second_result_and_a_second_request_are_named() -> None:
    order = EventOrder(["t-1"])
    asked = ev.QuestionAsked(*WHOSE, "r-1", "t-2", "request_input", [])
    order.feed([STARTED, result_of("t-1"), result_of("t-1"), asked, asked])
    assert order.problems == ["a second result for t-1", "request r-1 was asked twice"]


def test_events_of_a_sub_agent_after_the_turn_are_in_order() -> None:
    late = ev.AssistantMessage("strange", "s-1", "t-1", "a-1", "m-2", 0, [TEXT])
    output = ev.ContentDelta(*WHOSE, "m-9", 0, "tool_output", "x", "t-1")
    order = EventOrder()
    order.feed([STARTED, output, ENDED, FIGURES, late])
    order.feed([ev.UserMessage(*WHOSE, [TEXT], "replay")])
    assert order.problems == []


def test_a_turn_whose_stream_broke_off_has_no_figures() -> None:
    order = EventOrder()
    order.feed([STARTED, ev.TurnFailed(*WHOSE, "agent_lost", "gone")])
    assert order.problems == []


# --- bad agents ---------------------------------------------------------------------------------


def checked(agent: StrangeAgent, prompts: Prompts | None = None) -> AgentReport:
    """Returns the report of the checks about an agent."""
    return asyncio.run(check_agent(lambda: agent, prompts, seconds=0.3))


def test_a_plain_agent_passes() -> None:
    report = checked(StrangeAgent())
    assert len(report.skipped) == 14


def test_an_agent_whose_tool_that_asks_has_a_name_of_its_own_passes() -> None:
    report = asyncio.run(check_agent(Asker, Prompts(question="ask"), seconds=30))
    assert "a question reaches a person" in report.kept


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ("deaf", "a question reaches a person: the question was not asked and answered"),
        ("forgetful", "an answer outlives its process: the answer was dropped"),
        ("late", "which has its result already"),
        ("twice", "is the second one of the call"),
        ("other", "which is what a person is shown"),
    ],
)
def test_an_agent_whose_question_cannot_be_answered_is_refused(how: How, problem: str) -> None:
    prompts = Prompts(question="ask")
    with pytest.raises(AgentBroken, match=problem):
        asyncio.run(check_agent(lambda: Asker(how), prompts, seconds=1))


@pytest.mark.parametrize(
    ("agent", "problem"),
    [
        (StrangeAgent(how="on strike"), "it is unavailable: It is on strike."),
        (StrangeAgent(how="refuses"), "open() raised AgentGone: It does not want to."),
        (StrangeAgent(how="crashes"), "raised ValueError('a mistake')"),
        (StrangeAgent(how="breaks"), "events() ended before end of turn 1: The agent failed"),
        (StrangeAgent(how="never closes"), "close() took more than 0.3 seconds"),
        (StrangeAgent(how="immortal"), "prompt() after close() did not raise AgentGone"),
        (
            StrangeAgent(how="modest"),
            "mcp_status was answered, but is not in its capabilities",
        ),
        (StrangeAgent(how="boasts"), "models was refused: NOT_SUPPORTED"),
        (StrangeAgent([[STARTED]]), "no end of turn 1 after 0.3 seconds"),
        (StrangeAgent([[STARTED, ENDED, FIGURES]]), "the turn has no content"),
        (
            StrangeAgent([[STARTED, SAID, ENDED, FIGURES]]),
            "a resumed session answers: a second process uses ids of the first one again: m-1",
        ),
        (
            StrangeAgent([[STARTED, SAID, ENDED], [FIGURES]]),
            "a prompt gets a turn: turn_completed has no result_summary after it in its batch",
        ),
        (
            StrangeAgent([[STARTED, ev.TurnFailed(*WHOSE, "tired", "No."), FIGURES]]),
            "the turn failed: tired: No.",
        ),
    ],
)
def test_each_fault_of_a_bad_agent_is_named(agent: StrangeAgent, problem: str) -> None:
    with pytest.raises(AgentBroken) as broken:
        checked(agent)
    assert problem in str(broken.value)


@pytest.mark.parametrize(
    ("lack", "problem"),
    [
        ("blind", "a picture is accepted: the turn failed: overwhelmed"),
        ("stubborn", "a listed choice is accepted: it lists 'careful', but it was refused"),
        ("lonely", "a fork answers: the turn failed: overwhelmed"),
        ("closed", "a turn has ended, and take_pieces() returned nothing about it"),
        ("repeating", "take_pieces() returns pieces again that were taken before"),
        ("confused", "pieces of another session: another"),
        ("greedy", "steer() returned True without a turn: the message would be lost"),
        ("stammering", "a message was taken that was not accepted, or twice: ['late', 'late']"),
        ("slow", "a message was taken when its turn had ended"),
    ],
)
def test_an_ability_that_is_claimed_and_missing_is_named(lack: Lack, problem: str) -> None:
    with pytest.raises(AgentBroken) as broken:
        asyncio.run(check_agent(lambda: Boaster(lack), Prompts(long="long"), seconds=5))
    assert problem in str(broken.value)
    assert "1 of 21 checks failed" in str(broken.value)


def test_an_agent_with_every_ability_passes() -> None:
    report = asyncio.run(check_agent(lambda: Boaster("fine"), Prompts(long="long"), seconds=5))
    assert "a session is handed over in pieces" in report.kept
    assert "a message goes into the running turn" in report.kept


@function_agent("careful")
async def careful(turn: AgentTurn) -> AsyncGenerator[Any, Any]:
    """Asks a question before it wants a permission, and the other way round."""
    if turn.text in ("tool", "permission"):
        yield Ask("Which size?", ["small", "large"])
    if turn.text != "Hello.":
        yield UseTool("pack", {}, "packed", needs_permission=True)
    if turn.text == "question" and turn.answer is None:
        yield Ask("Which colour?", ["red", "blue"])
    yield "Done."


@pytest.mark.parametrize(
    ("prompts", "kept"),
    [
        (Prompts(permission="permission"), "a permission is allowed or denied"),
        (Prompts(question="question"), "a question is answered"),
        (Prompts(question="question"), "an answer outlives its process"),
        (Prompts(tool="tool"), "a tool has its result"),
    ],
)
def test_a_request_before_the_awaited_one_gets_its_reply(prompts: Prompts, kept: str) -> None:
    report = asyncio.run(check_agent(lambda: careful, prompts, seconds=5))
    assert kept in report.kept


def test_a_tool_that_is_never_called_is_named() -> None:
    with pytest.raises(AgentBroken, match="the agent called no tool"):
        checked(StrangeAgent(), Prompts(tool="use one"))


def test_a_question_that_is_never_asked_is_named() -> None:
    with pytest.raises(AgentBroken, match=r"no QuestionAsked after 0\.3 seconds"):
        checked(StrangeAgent(), Prompts(question="ask"))
