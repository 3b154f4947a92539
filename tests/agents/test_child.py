"""Agents in their own processes: they keep the agent port, and their faults do not reach the server."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest
import uvloop
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from tests.agents.helpers.processes import wait_until_gone
from tests.agents.helpers.session_driver import SECONDS, but_for_ids, talking
from turnwire.agents.child import ChildAgent
from turnwire.agents.demo import DemoAgent
from turnwire.agents.guard import descendants_of, running
from turnwire.agents.process import plain_environment
from turnwire.agents.wire import LineSplitter, Prompt, Said, read_from_agent, read_to_agent, write
from turnwire.core import controls as c
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock, ToolUseBlock
from turnwire.core.content import LoadedFile, TextContent
from turnwire.core.conversation.state import Reply
from turnwire.core.error_codes import Refused
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.offers import SessionOption, offers_of
from turnwire.ports import Agent, AgentGone, AgentSession, SessionStart

ROOT = Path(__file__).parent.parent.parent
STRANGE = "tests.agents.helpers.misbehaving_agents:make"


def child(agent: str = "demo", **options: object) -> Agent:
    """An agent in a process of its own, which finds the tests' agents too."""
    paths = [os.environ.get("PYTHONPATH"), str(ROOT)]
    env = {**plain_environment(), "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    if agent == "demo":
        options = {"delay": 0, **options}
    return ChildAgent(agent, env=env, grace=0.5, **options)  # type: ignore[arg-type]


def test_an_agent_in_a_process_of_its_own_says_the_same() -> None:
    async def heard(agent: Agent) -> list[NormalizedStreamEvent]:
        async with talking(agent) as ear:
            await ear.say("think, use a tool and a subagent")
            await ear.turn_ends()
            assert ear.session.native_session_id == ear.events[0].session_id
            return list(ear.events)

    async def run() -> None:
        there, here = await heard(child()), await heard(DemoAgent(delay=0))
        assert but_for_ids(there) == but_for_ids(here)

    asyncio.run(run())


def test_notices_that_the_rules_need_pass_unchanged() -> None:
    who = ("agent", "s-1", None, None)
    offers = offers_of(["m"], ["plan"], [SessionOption("brave")])
    asked = ToolUseBlock("q1", "poll", "POLL", {}, "in_progress", asks=True)
    said: list[NormalizedStreamEvent] = [
        ev.TurnStarted(*who, by_itself=True),
        ev.AssistantMessage(*who, "m1", 0, [asked]),
        ev.QuestionAsked(*who, "r1", "q1", "poll", [], asks=True),
        ev.SystemEvent(*who, "news", Raw(b'{"a":1}'), True),
        ev.ModelChanged(*who, "news", model="m"),
        ev.PermissionModeChanged(*who, "news", permission_mode="plan"),
        ev.SessionOffered(*who, "news", offers=offers, model="m", options={"brave": True}),
        ev.ChoiceRefused(
            *who, "news", wanted=ev.Choice("m"), stays=ev.Choice(max_thinking_tokens=None)
        ),
        ev.TitleProposed(*who, "news", title="Plans"),
        ev.AnswerDelivered(*who, "news", request_id="q1", in_words=True),
        ev.AgentIdle(*who, "news"),
        ev.TasksListed(*who, "news", tasks=[ev.Task("t1")]),
        ev.TaskChanged(*who, "news", task=ev.Task("t1", "c1", "x", "y"), in_background=True),
        ev.TaskEnded(*who, "news", task=ev.Task("t1")),
        ev.HookRan(*who, "news", run=ev.HookRun("h", "e", "deny", 1)),
    ]
    assert {type(event) for event in said} >= {*ev.SYSTEM_EVENTS}
    assert read_from_agent(write(Said(said))) == Said(said)


def test_a_child_describes_itself_as_its_agent_does() -> None:
    agent = ChildAgent("demo")
    assert (agent.name, agent.unavailable()) == ("demo", None)
    assert agent.capabilities.questions_survive


def test_events_that_are_ready_together_are_read_together() -> None:
    async def run() -> None:
        async with talking(child()) as ear:
            await ear.say("long")
            ended = asyncio.create_task(ear.turn_ends())
            while not ended.done():
                time.sleep(0.02)  # noqa: ASYNC251 (the server has other work: meanwhile the agent goes on)
                await asyncio.sleep(0)
            await ended
            assert len(ear.events) > 1000
            assert max(map(len, ear.batches)) > 3

    asyncio.run(run())


def test_a_question_is_answered_in_a_new_process() -> None:
    async def run() -> None:
        async with talking(child()) as before:
            await before.say("ask")
            asked = await before.heard(ev.QuestionAsked)
            name = before.session.native_session_id
        async with talking(child(), name, known_calls=(asked.tool_use_id,)) as after:
            reply = Reply(asked.tool_use_id, "question", "Blue")
            await after.session.deliver([reply], resumed=True)
            await after.turn_ends()
            assert "**Blue** it is" in after.text

    asyncio.run(run())


def test_an_interrupt_reaches_it_in_the_middle_of_a_flood() -> None:
    async def run() -> None:
        async with talking(child(flood=50, flood_seconds=600)) as ear:
            await ear.say("Hello")
            await ear.heard(ev.ContentDelta, 20)
            await ear.session.interrupt()
            end = await ear.turn_ends()
            assert isinstance(end, ev.TurnCompleted)
            assert end.interrupted

    asyncio.run(run())


def test_invalid_lines_are_ignored() -> None:
    async def run() -> None:
        async with talking(child(garbage=True)) as ear:
            await ear.say("Hello")
            await ear.turn_ends()
            assert "Hello!" in ear.text
            assert ear.all(ev.UnknownEvent) == []

    asyncio.run(run())


def test_the_output_of_an_agent_does_not_disturb_its_events() -> None:
    async def run() -> None:
        async with talking(child(STRANGE, how="prints")) as ear:
            await ear.say("Hello")
            await ear.turn_ends()
            assert ear.text == "Hello."

    asyncio.run(run())


def test_half_a_character_is_replaced_between_the_processes() -> None:
    async def run() -> None:
        async with talking(child(STRANGE, how="half a character")) as ear:
            await ear.say("Hello")
            await ear.turn_ends()
            assert ear.text == "caf\ufffd"

    asyncio.run(run())


# --- the end ------------------------------------------------------------------------------------


def test_a_child_that_is_killed_during_a_tool_reports_how_it_ended() -> None:
    async def run() -> None:
        async with talking(child(die=True)) as ear:
            await ear.say("tool")
            await ear.ends()
            assert ear.gone is not None
            assert ear.gone.message == "The agent's process has ended by SIGKILL."
            assert ear.kinds[-1] == "tool_progress"  # nothing that it had said is lost
            with pytest.raises(AgentGone):
                await ear.say("Hello?")
            assert await ear.session.close() == []

    asyncio.run(run())


def test_the_last_output_of_a_child_is_reported() -> None:
    async def run() -> None:
        async with talking(child(STRANGE, how="exits")) as ear:
            await ear.say("Hello")
            await ear.ends()
            assert ear.gone is not None
            assert ear.gone.message == (
                "The agent's process has ended with exit code 7. It said last: I have had enough."
            )

    asyncio.run(run())


def test_a_control_of_a_child_returns_or_reports_its_death() -> None:
    async def refusal(session: AgentSession, control: c.Control) -> tuple[str, str]:
        with pytest.raises((Refused, AgentGone)) as told:
            await session.control(control)
        return told.value.code, told.value.message

    async def run() -> None:
        async with talking(child(STRANGE)) as ear:
            servers = [c.McpServer("files", "connected")]
            assert await ear.session.control(c.McpStatus()) == c.McpServers(servers)
            said = "This agent has no models."
            assert await refusal(ear.session, c.ListModels()) == ("NOT_SUPPORTED", said)
            said = "The agent failed: ValueError: a mistake"
            assert await refusal(ear.session, c.McpReconnect("broken")) == ("AGENT_ERROR", said)
            gone = ("AGENT_UNAVAILABLE", "It has left.")
            assert await refusal(ear.session, c.McpReconnect("gone")) == gone
            code, _ = await refusal(ear.session, c.McpReconnect("dies"))
            assert code == "AGENT_UNAVAILABLE"

    asyncio.run(run())


@pytest.mark.parametrize("how", ["breaks", "breaks with a thread stuck"])
def test_an_agent_that_breaks_says_why_and_ends(how: str) -> None:
    async def run() -> None:
        async with talking(child(STRANGE, how=how)) as ear:
            below = [process.pid for process in descendants_of(os.getpid(), running())]
            await ear.say("Hello")
            await ear.ends()
            assert ear.gone is not None
            assert ear.gone.message == "The agent failed: ValueError: a mistake"
            assert wait_until_gone(below) == []  # by itself, before it is ended
            assert await ear.session.close() == []

    asyncio.run(run())


def test_closing_an_idle_agent_lets_it_leave() -> None:
    async def run() -> None:
        async with talking(child()) as ear:
            await ear.say("Hello")
            await ear.turn_ends()
            assert await ear.session.close() == []
            await ear.ends()
            assert ear.gone is None

    asyncio.run(run())


def test_closing_ends_a_turn_that_runs_and_names_its_process() -> None:
    async def run() -> None:
        async with talking(child(delay=0.01, obey_interrupt=False)) as ear:
            await ear.say("long")
            await ear.heard(ev.ContentDelta)
            await ear.session.interrupt()
            first, second = await asyncio.gather(ear.session.close(), ear.session.close())
            assert [each.signal for each in first] == ["SIGTERM"]
            assert first == second
            await ear.ends()
            assert ear.gone is None
            with pytest.raises(AgentGone, match="closed"):
                await ear.say("Hello?")

    asyncio.run(run())


def test_closing_ends_the_processes_of_a_tool() -> None:
    async def run() -> None:
        async with talking(child(STRANGE, how="starts processes")) as ear:
            await ear.say("Hello")
            await ear.turn_ends()
            (ended,) = await ear.session.close()
            assert ended.signal == "SIGKILL"  # it is in a session of its own and ignores SIGTERM
            assert wait_until_gone([ended.pid]) == []

    asyncio.run(run())


def test_processes_of_a_dead_agent_are_ended_and_named() -> None:
    async def run() -> None:
        async with talking(child(STRANGE, how="starts processes")) as ear:
            await ear.say("Hello")
            await ear.turn_ends()
            below = descendants_of(os.getpid(), running())
            agent = next(
                p
                for p in below
                if any(q.parent == p.pid for q in below) and p.parent != os.getpid()
            )
            os.kill(agent.pid, signal.SIGKILL)
            await ear.ends()
            assert ear.gone is not None
            assert "SIGKILL" in ear.gone.message
            (left,) = await ear.session.close()
            assert wait_until_gone([left.pid]) == []

    asyncio.run(run())


# --- the start ----------------------------------------------------------------------------------


def nothing_runs() -> bool:
    """Returns whether every process that this one started is gone."""
    return not [each for each in descendants_of(os.getpid(), running()) if not each.dead]


def test_a_child_that_never_starts_is_ended_after_the_deadline() -> None:
    async def run() -> None:
        agent = ChildAgent("demo", never_start=True, start_seconds=0.5)
        with pytest.raises(AgentGone, match=r"did not start within 0\.5 seconds"):
            await agent.open(SessionStart("c"))
        assert nothing_runs()

    asyncio.run(run())


def test_opening_can_be_given_up_at_any_time() -> None:
    async def run() -> None:
        for seconds in (0.0, 0.02, 0.1, 0.3):
            opening = asyncio.create_task(child(never_start=True).open(SessionStart("c")))
            await asyncio.wait([opening], timeout=seconds)
            opening.cancel()
            async with asyncio.timeout(SECONDS):
                with pytest.raises(asyncio.CancelledError):
                    await opening
            assert nothing_runs()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("how", "why"), [("refuses", "It does not want to."), ("crashes", "ValueError: a mistake")]
)
def test_a_child_that_cannot_start_says_why(how: str, why: str) -> None:
    with pytest.raises(AgentGone, match=why):
        asyncio.run(child(STRANGE, how=how).open(SessionStart("c")))


def test_no_file_in_the_folder_of_a_child_replaces_a_module(tmp_path: Path) -> None:
    (tmp_path / "msgspec.py").write_text("raise SystemExit('hijacked')")

    async def run() -> None:
        async with talking(child(), cwd=str(tmp_path)) as ear:
            await ear.say("Hello")
            await ear.turn_ends()
            assert ear.all(ev.SessionInit)[0].cwd == str(tmp_path)

    asyncio.run(run())


def test_a_large_prompt_arrives_whole() -> None:
    async def run() -> None:
        async with talking(child()) as ear:
            await ear.say("think " + "x" * 5_000_000)
            await ear.turn_ends()
            (result,) = ear.all(ev.ResultSummary)
            assert result.usage is not None
            assert (result.usage.input_tokens or 0) > 1_250_000

    asyncio.run(run())


def test_the_bytes_of_a_file_arrive_in_a_child() -> None:
    file = LoadedFile("a.pdf", "application/pdf", 2, data="aGk=")
    read = read_to_agent(write(Prompt([TextContent("hi"), file], "u")))
    assert read == Prompt([TextContent("hi"), file], "u")


def test_a_large_answer_arrives_whole() -> None:
    async def run() -> None:
        async with talking(child(flood=1000, flood_seconds=0.01)) as ear:
            await ear.say("Hello")
            await ear.turn_ends()
            block = ear.all(ev.AssistantMessage)[0].content[0]
            assert isinstance(block, TextBlock)
            deltas = [d for d in ear.all(ev.ContentDelta) if d.message_id.endswith("_1")]
            assert "".join(delta.text for delta in deltas) == block.text

    asyncio.run(run())


# --- lines --------------------------------------------------------------------------------------


@given(st.lists(st.binary(max_size=12), max_size=20), st.integers(1, 7))
def test_lines_are_the_same_for_any_cuts(lines: list[bytes], size: int) -> None:
    lines = [line.replace(b"\n", b"") for line in lines]
    data = b"".join(line + b"\n" for line in lines)
    split = LineSplitter(12)
    found = [line for at in range(0, len(data), size) for line in split.feed(data[at : at + size])]
    assert found == lines


def test_a_line_that_is_too_long_is_the_end() -> None:
    split = LineSplitter(1 << 20)
    assert split.feed(b"x" * (1 << 20)) == []
    with pytest.raises(AgentGone, match="a line of more than 1 MB"):
        split.feed(b"xx\nnext\n")


def test_an_agent_that_writes_an_endless_line_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnwire.agents.child._LONGEST", 1 << 20)

    async def run() -> None:
        async with talking(child(flood=500, flood_seconds=0.01)) as ear:
            await ear.say("Hello")
            await ear.ends()
            assert ear.gone is not None
            assert "a line of more than 1 MB" in ear.gone.message

    asyncio.run(run())


def test_a_child_runs_in_an_event_loop_of_uvloop_too() -> None:
    async def run() -> None:
        session = await ChildAgent("demo", delay=0).open(SessionStart("c"))
        await session.prompt([TextContent("hello")], turn_uuid="u")
        said: list[object] = []
        async for batch in session.events():
            said += batch
            if any(isinstance(event, ev.TurnCompleted) for event in batch):
                break
        await session.close()
        assert said

    uvloop.run(run())
