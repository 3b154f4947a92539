"""The scenes of the demo agent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import pytest

from tests.agents.helpers.session_driver import Ear, but_for_ids, talking
from turnwire.agents.demo import DemoAgent, texts
from turnwire.agents.demo.script import SCENES
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock, ThinkingBlock
from turnwire.core.content import ImageContent
from turnwire.core.controls import Done, McpStatus, StopTask
from turnwire.core.conversation.state import Reply
from turnwire.core.error_codes import Refused
from turnwire.ports import AgentGone, SessionStart


def with_demo(run: Callable[[Ear], Coroutine[Any, Any, None]], **options: Any) -> Ear:
    """Runs a scene with a demo without delays."""

    async def talk() -> Ear:
        async with talking(DemoAgent(**{"delay": 0, **options})) as ear:
            await run(ear)
        return ear

    return asyncio.run(talk())


def told(prompt: str, **options: Any) -> Ear:
    """Returns all events of a prompt until its turn ends."""

    async def run(ear: Ear) -> None:
        await ear.say(prompt)
        await ear.turn_ends()

    return with_demo(run, **options)


# --- an answer ----------------------------------------------------------------------------------


def test_a_prompt_without_a_known_word_is_answered_with_help() -> None:
    ear = told("Good morning")
    assert "`everything`" in ear.text
    assert "You said: *Good morning*" in ear.text
    assert ear.kinds == [
        "session_init",
        "turn_started",
        "system_event",
        "message_started",
        "content_started",
        "content_delta",
        "assistant_message",
        "content_completed",
        "usage_updated",
        "message_completed",
        "turn_completed",
        "result_summary",
    ]


def test_the_pieces_add_up_to_the_text() -> None:
    ear = told("Good morning")
    assert "".join(delta.text for delta in ear.all(ev.ContentDelta)) == ear.text
    assert len(ear.all(ev.ContentDelta)) > 50


def test_the_figures_are_believable_and_it_costs_nothing() -> None:
    (result,) = told("think").all(ev.ResultSummary)
    assert (result.cost_usd, result.is_error, result.num_turns) == (0.0, False, 1)
    assert result.usage is not None
    assert (result.usage.input_tokens or 0) > 100
    assert (result.usage.output_tokens or 0) > 20


def test_the_same_prompt_gives_the_same_events_under_other_ids() -> None:
    first, second = (told("think tool plan subagent").events for _ in range(2))
    assert but_for_ids(first) == but_for_ids(second)
    assert first != second


def test_only_the_first_turn_introduces_the_session() -> None:
    async def run(ear: Ear) -> None:
        await ear.say("Hello")
        await ear.turn_ends()
        await ear.say("Hello again")
        await ear.turn_ends(2)

    ear = with_demo(run)
    assert len(ear.all(ev.SessionInit)) == 1
    assert len({event.message_id for event in ear.all(ev.MessageStarted)}) == 2


def test_an_empty_prompt_is_answered_too() -> None:
    async def run(ear: Ear) -> None:
        await ear.session.prompt([ImageContent("image/png", "")], turn_uuid="t")
        await ear.turn_ends()

    assert "You said" not in with_demo(run).text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_help_of_the_demo_shows_every_word(language: texts.Language) -> None:
    ear = told("help" if language == "en" else "帮助")
    for scene in SCENES:
        words = scene.english if language == "en" else scene.chinese
        if scene.name not in ("answer", "help"):
            assert any(word[:2] in ear.text for word in words), scene.name


def test_both_languages_have_every_text() -> None:
    assert texts.TEXTS["en"].keys() == texts.TEXTS["zh"].keys()


# --- scenes -------------------------------------------------------------------------------------


def test_thinking_comes_before_the_answer() -> None:
    first, second = told("please think").all(ev.ContentCompleted)
    assert isinstance(first.block, ThinkingBlock)
    assert isinstance(second.block, TextBlock)


def test_a_tool_prints_while_it_runs_and_then_has_its_result() -> None:
    ear = told("run a tool")
    (call,) = ear.calls
    assert (call.tool_name, call.input["command"]) == ("Bash", "ls -l")
    printed = "".join(progress.output or "" for progress in ear.all(ev.ToolProgress))
    assert ear.results[call.id].content == printed
    streamed = "".join(d.text for d in ear.all(ev.ContentDelta) if d.kind == "tool_input")
    assert msgspec.json.decode(streamed) == call.input


def test_a_plan_advances_to_its_end() -> None:
    states = [
        [item.status for item in plan.items] for plan in told("make a plan").all(ev.PlanUpdated)
    ]
    assert states == [
        ["in_progress", "pending", "pending"],
        ["completed", "in_progress", "pending"],
        ["completed", "completed", "in_progress"],
        ["completed", "completed", "completed"],
    ]


def test_events_of_a_sub_agent_name_its_call() -> None:
    ear = told("use a subagent")
    agent, bash = ear.calls
    voices = {event.parent_tool_use_id for event in ear.events}
    assert voices == {None, agent.id}
    assert [u.origin for u in ear.all(ev.UserMessage)] == ["agent", "tool", "tool"]
    assert ear.results[agent.id].content == "There are 48 words in notes.txt."
    assert bash.id in ear.results
    assert "There are 48 words" not in ear.text


def test_an_error_discards_an_unfinished_message_and_fails_the_turn() -> None:
    async def run(ear: Ear) -> None:
        await ear.say("error")
        end = await ear.turn_ends()
        assert isinstance(end, ev.TurnFailed)
        assert (end.code, end.message) == ("demo_error", "The demo failed, as it was asked to.")

    ear = with_demo(run)
    assert [discarded.reason for discarded in ear.all(ev.MessageDiscarded)] == ["abandoned"]
    assert ear.all(ev.ResultSummary)[0].is_error


def test_background_work_outlives_its_turn_and_reports_in_a_turn_of_its_own() -> None:
    async def run(ear: Ear) -> None:
        await ear.say("background")
        await ear.turn_ends(2)

    ear = with_demo(run)
    ends = ear.all(ev.TurnCompleted)
    assert [end.origin for end in ends] == [None, "task-notification"]
    between = ear.events[ear.events.index(ends[0]) : ear.events.index(ends[1])]
    assert any(event.parent_tool_use_id == ear.calls[0].id for event in between)
    news = [event.subtype for event in ear.all(ev.SystemEvent) if event.subtype != "status"]
    assert news == [
        "task_started",
        "background_tasks_changed",
        "task_notification",
        "background_tasks_changed",
    ]


def test_all_background_work_is_reported_in_any_order_of_its_ends() -> None:
    async def run(ear: Ear) -> None:
        await ear.say("background")
        await ear.turn_ends()
        await ear.say("background")
        await ear.turn_ends(4)

    news = with_demo(run, delay=0.001).all(ev.SystemEvent)
    running: list[str] = []
    counts: list[int] = []
    for event in news:
        assert isinstance(event.data, msgspec.Raw)
        data = msgspec.json.decode(event.data)
        match event.subtype:
            case "task_started":
                running.append(data["task_id"])
            case "task_notification":
                running.remove(data["task_id"])
            case "background_tasks_changed":
                assert [task["task_id"] for task in data["tasks"]] == running
                counts.append(len(running))
    assert counts == [1, 2, 1, 0]


def test_a_prompt_during_background_work_has_a_turn_of_its_own() -> None:
    async def run(ear: Ear) -> None:
        await ear.say("background")
        await ear.turn_ends()
        await ear.say("long")
        await ear.turn_ends(3)

    ear = with_demo(run)
    assert "A long answer" in ear.text
    assert "The background work is done" in ear.text


def tasks(ear: Ear) -> list[tuple[str, str]]:
    """Returns the ids and outcomes of background work."""
    news = [(event.subtype, event.data) for event in ear.all(ev.SystemEvent)]
    return [
        (data["task_id"], data.get("status", "begun"))
        for subtype, raw in news
        if subtype in ("task_started", "task_notification") and isinstance(raw, msgspec.Raw)
        for data in [msgspec.json.decode(raw)]
    ]


async def stop_first_task(ear: Ear) -> None:
    """Stops the first task as soon as it is announced."""
    await ear.until(lambda: tasks(ear))
    [(task, _)] = tasks(ear)
    assert await ear.session.control(StopTask(task)) == Done()
    await ear.until(lambda: tasks(ear) == [(task, "begun"), (task, "stopped")])
    with pytest.raises(Refused, match="Nothing called") as refused:
        await ear.session.control(StopTask(task))
    assert refused.value.code == "INVALID_PAYLOAD", "it is not there any more"


def test_background_work_that_is_stopped_ends_and_is_not_reported() -> None:
    async def run(ear: Ear) -> None:
        await ear.say("background")
        await ear.turn_ends()
        (call,) = ear.calls
        await ear.until(lambda: any(e.parent_tool_use_id == call.id for e in ear.events))
        await stop_first_task(ear)
        said = [event for event in ear.events if event.parent_tool_use_id == call.id]
        await ear.say("Hello")
        end = await ear.turn_ends(2)
        assert isinstance(end, ev.TurnCompleted)
        assert end.origin is None, "the agent begins no turn by itself"
        assert [e for e in ear.events if e.parent_tool_use_id == call.id] == said

    ear = with_demo(run, delay=0.02)
    assert "The background work is done" not in ear.text
    last = [event for event in ear.all(ev.SystemEvent) if event.subtype != "status"][-1]
    assert isinstance(last.data, msgspec.Raw)
    assert msgspec.json.decode(last.data)["tasks"] == []


def test_background_work_can_be_stopped_before_its_turn_is_over() -> None:
    async def run(ear: Ear) -> None:
        await ear.say("background, and a long answer")
        await stop_first_task(ear)
        assert ear.order.turns_ended == 0
        await ear.session.interrupt()
        await ear.turn_ends()
        await ear.say("Hello")
        await ear.turn_ends(2)

    ear = with_demo(run, delay=0.001)
    assert [end.origin for end in ear.all(ev.TurnCompleted)] == [None, None]
    assert "searching" not in str(ear.events), "it never began"


def test_a_control_that_the_demo_does_not_offer_is_refused() -> None:
    async def run(ear: Ear) -> None:
        with pytest.raises(Refused) as refused:
            await ear.session.control(McpStatus())
        assert refused.value.code == "NOT_SUPPORTED"

    with_demo(run)


def test_stopping_a_task_of_a_closed_session_is_refused() -> None:
    async def run() -> None:
        async with talking(DemoAgent(delay=0.02)) as ear:
            await ear.say("background")
            await ear.turn_ends()
            await ear.until(lambda: any(event.parent_tool_use_id for event in ear.events))
            [(task, _)] = tasks(ear)
            stopping = asyncio.create_task(ear.session.control(StopTask(task)))
            await asyncio.sleep(0)  # it is asked, and nothing has come of it yet
            await ear.session.close()
            with pytest.raises(AgentGone):
                await stopping

    asyncio.run(run())


def test_several_scenes_are_shown_in_their_order() -> None:
    ear = told("first a tool, then think")
    assert ear.text.index("three") < ear.text.index("42") < ear.text.index("That was it.")


def test_the_word_everything_plays_all_scenes() -> None:
    async def run(ear: Ear) -> None:
        await ear.say("show me everything")
        await ear.answer("Red")
        asked = await ear.heard(ev.PermissionRequested)
        await ear.session.deliver(
            [Reply(asked.request_id, "permission", decision="allow")], resumed=False
        )
        await ear.turn_ends(2)

    ear = with_demo(run)
    kinds = set(ear.kinds)
    every = {tag for tag in _tags() if tag not in ("turn_failed", "message_discarded")}
    others = {"agent_idle", "answer_delivered", "choice_refused", "hook_ran", "model_changed"}
    others |= {"permission_mode_changed", "session_offered", "title_proposed"}
    assert every - kinds == {"request_withdrawn", "unknown_event", *others}


def _tags() -> set[str]:
    from typing import get_args

    return {str(kind.__struct_config__.tag) for kind in get_args(ev.NormalizedStreamEvent)}


def test_chinese_is_answered_in_chinese() -> None:
    async def run(ear: Ear) -> None:
        await ear.say("请先思考，然后提问，再用工具")
        asked = await ear.answer("蓝色")
        assert asked.questions[0].question == "要什么颜色？"
        await ear.turn_ends()

    ear = with_demo(run)
    assert "那就**蓝色**" in ear.text
    assert "三" in ear.text


# --- questions ----------------------------------------------------------------------------------


def test_an_answer_becomes_the_result_of_the_question() -> None:
    async def run(ear: Ear) -> None:
        await ear.say("ask me")
        asked = await ear.answer({"answer": ["Red", "Blue"]})
        await ear.turn_ends()
        assert ear.results[asked.tool_use_id].content == "The person answered: Red, Blue"

    assert "**Red, Blue** it is" in with_demo(run).text


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"Which colour shall it be?": "Red", "And in which sizes?": []}, "**Red** it is"),
        ({"Which colour shall it be?": "", "And in which sizes?": ["Small"]}, "**Small** it is"),
        ("", "Then I choose myself."),
    ],
)
def test_a_form_has_several_questions_and_may_be_skipped(answer: Any, said: str) -> None:
    async def run(ear: Ear) -> None:
        await ear.say("a form")
        asked = await ear.answer(answer)
        assert [each.multi for each in asked.questions] == [False, True]
        await ear.turn_ends()

    assert said in with_demo(run).text


def test_a_question_survives_the_process_that_asked_it() -> None:
    async def run() -> None:
        agent = DemoAgent(delay=0)
        async with talking(agent) as before:
            await before.say("think, ask, and then a tool")
            asked = await before.heard(ev.QuestionAsked)
            name = before.session.native_session_id
        async with talking(agent, name, known_calls=(asked.tool_use_id,)) as after:
            reply = Reply(asked.tool_use_id, "question", "Green")
            await after.session.deliver([reply], resumed=True)
            end = await after.turn_ends()
        assert isinstance(end, ev.TurnCompleted)
        assert after.results[asked.tool_use_id].content == "The person answered: Green"
        assert "**Green** it is" in after.text
        assert "42" not in after.text
        assert "three" in after.text
        ids = [{e.message_id for e in ear.all(ev.MessageStarted)} for ear in (before, after)]
        assert not ids[0] & ids[1]
        assert not {call.id for call in before.calls} & {call.id for call in after.calls}

    asyncio.run(run())


def test_an_answer_that_is_delivered_again_after_a_crash_gets_text_with_other_ids() -> None:
    async def run() -> None:
        agent = DemoAgent(delay=0)
        async with talking(agent) as before:
            await before.say("question")
            asked = await before.heard(ev.QuestionAsked)
        said = []
        for _ in range(2):
            async with talking(agent, known_calls=(asked.tool_use_id,)) as after:
                reply = Reply(asked.tool_use_id, "question", "Green")
                await after.session.deliver([reply], resumed=True)
                await after.turn_ends()
                said.append({event.message_id for event in after.all(ev.MessageStarted)})
        assert all(said)
        assert not said[0] & said[1]

    asyncio.run(run())


def test_an_answer_to_an_unknown_question_is_reported_as_text() -> None:
    async def run(ear: Ear) -> None:
        await ear.session.deliver([Reply("toolu_1", "question", {"x": 5})], resumed=True)
        await ear.turn_ends()

    assert "Your answer was: 5" in with_demo(run).text


def test_an_answer_without_an_open_question_is_ignored() -> None:
    async def run(ear: Ear) -> None:
        await ear.session.deliver([Reply("toolu_1", "question", "late")], resumed=False)
        await ear.say("Hello")
        await ear.turn_ends()

    assert "late" not in with_demo(run).text


# --- permissions --------------------------------------------------------------------------------


def decided(**how: Any) -> tuple[Ear, ev.PermissionRequested]:
    """A permission, decided like this."""
    found: list[ev.PermissionRequested] = []

    async def run(ear: Ear) -> None:
        await ear.say("delete something")
        asked = await ear.heard(ev.PermissionRequested)
        found.append(asked)
        await ear.session.deliver([Reply(asked.request_id, "permission", **how)], resumed=False)
        await ear.turn_ends()

    return with_demo(run), found[0]


def test_an_allowed_call_runs_as_it_was_shown() -> None:
    ear, asked = decided(decision="allow")
    assert asked.input == ear.calls[0].input
    assert "removed directory 'build'" in ear.results[asked.tool_use_id].content
    assert "`rm -r build`" in ear.text


def test_a_denied_call_does_not_run() -> None:
    ear, asked = decided(decision="deny", reason="not today")
    result = ear.results[asked.tool_use_id]
    assert result.is_error
    assert result.content == "The person said no: not today"
    assert ear.all(ev.ToolProgress) == []


def test_a_changed_call_runs_as_it_was_changed() -> None:
    ear, asked = decided(decision="allow", updated_input={"command": "rm build/app.o"})
    assert ear.results[asked.tool_use_id].content == "$ rm build/app.o\n"
    assert "`rm build/app.o`" in ear.text


def test_a_remembered_permission_is_not_asked_again() -> None:
    async def run(ear: Ear) -> None:
        await ear.say("delete something")
        asked = await ear.heard(ev.PermissionRequested)
        reply = Reply(asked.request_id, "permission", decision="allow", remember=asked.suggestions)
        await ear.session.deliver([reply], resumed=False)
        await ear.turn_ends()
        await ear.say("delete more")
        await ear.turn_ends(2)

    assert len(with_demo(run).all(ev.PermissionRequested)) == 1


# --- interrupts ---------------------------------------------------------------------------------


def interrupted(prompt: str, when: type[ev.Event], number: int = 1) -> Ear:
    """A turn that is interrupted as soon as an event of a kind was heard."""

    async def run(ear: Ear) -> None:
        await ear.say(prompt)
        await ear.heard(when, number)
        await ear.session.interrupt()
        end = await ear.turn_ends()
        assert isinstance(end, ev.TurnCompleted)
        assert end.interrupted
        await ear.say("Hello")
        assert isinstance(await ear.turn_ends(2), ev.TurnCompleted)

    return with_demo(run, delay=0.001)


def test_an_interrupt_keeps_the_text_so_far() -> None:
    ear = interrupted("long", ev.ContentDelta, 5)
    (cut,) = [message for message in ear.all(ev.AssistantMessage) if message.aborted]
    (block,) = cut.content
    assert isinstance(block, TextBlock)
    assert 5 < len(block.text) < 1000
    assert block.text.startswith("## A long answer")


def test_an_interrupt_while_it_thinks() -> None:
    ear = interrupted("think", ev.ContentDelta, 3)
    (cut,) = [message for message in ear.all(ev.AssistantMessage) if message.aborted]
    assert isinstance(cut.content[0], ThinkingBlock)


def test_an_interrupt_between_two_blocks_cuts_nothing() -> None:
    ear = interrupted("plan", ev.PlanUpdated)
    assert not any(message.aborted for message in ear.all(ev.AssistantMessage))


def test_an_interrupt_during_a_growing_call_discards_the_call() -> None:
    ear = interrupted("plan", ev.ContentStarted, 2)
    assert [discarded.reason for discarded in ear.all(ev.MessageDiscarded)] == ["turn_ended"]
    assert ear.calls == []


def test_an_interrupt_gives_a_running_tool_its_result() -> None:
    ear = interrupted("tool", ev.ToolProgress)
    assert ear.results[ear.calls[0].id].is_error


def test_an_interrupt_ends_a_sub_agent_with_its_call() -> None:
    ear = interrupted("subagent", ev.UsageUpdated, 2)  # its command runs
    assert [ear.results[call.id].is_error for call in ear.calls] == [True, True]


@pytest.mark.parametrize("kind", [ev.QuestionAsked, ev.PermissionRequested])
def test_an_interrupt_withdraws_the_open_request(
    kind: type[ev.QuestionAsked | ev.PermissionRequested],
) -> None:
    ear = interrupted("ask" if kind is ev.QuestionAsked else "permission", kind)
    asked = ear.all(kind)[0]
    assert [w.request_id for w in ear.all(ev.RequestWithdrawn)] == [asked.request_id]
    assert ear.results[asked.tool_use_id].is_error


def test_an_interrupt_without_a_turn_does_nothing() -> None:
    async def run(ear: Ear) -> None:
        await ear.session.interrupt()
        await ear.say("Hello")
        end = await ear.turn_ends()
        assert isinstance(end, ev.TurnCompleted)
        assert not end.interrupted

    with_demo(run)


# --- misbehaviour -------------------------------------------------------------------------------


def test_the_demo_can_ignore_interrupts() -> None:
    async def run(ear: Ear) -> None:
        await ear.say("think")
        await ear.heard(ev.ContentDelta)
        await ear.session.interrupt()
        end = await ear.turn_ends()
        assert isinstance(end, ev.TurnCompleted)
        assert not end.interrupted

    with_demo(run, obey_interrupt=False)


def test_the_demo_can_take_a_prompt_and_stay_silent() -> None:
    async def run(ear: Ear) -> None:
        await ear.say("Hello")
        await ear.session.interrupt()

    assert with_demo(run, silent=True).events == []


def test_the_demo_can_hang_at_its_start() -> None:
    async def run() -> None:
        async with asyncio.timeout(0.05):
            await DemoAgent(never_start=True).open(SessionStart("c"))

    with pytest.raises(TimeoutError):
        asyncio.run(run())


def test_the_demo_can_die_during_a_tool() -> None:
    async def run(ear: Ear) -> None:
        await ear.say("tool")
        await ear.ends()
        assert ear.gone is not None
        assert "killed in the middle of a tool" in ear.gone.message
        with pytest.raises(AgentGone):
            await ear.say("Hello?")

    ear = with_demo(run, die=True)
    assert ear.kinds[-1] == "tool_progress"


def test_the_demo_can_flood() -> None:
    async def run(ear: Ear) -> None:
        await ear.say("Hello")
        await ear.turn_ends()

    ear = with_demo(run, flood=200, flood_seconds=0.02)
    flood = ear.all(ev.AssistantMessage)[0].content[0]
    assert isinstance(flood, TextBlock)
    assert 3_900_000 < len(flood.text) < 4_100_000


def test_a_flood_can_be_interrupted() -> None:
    async def run(ear: Ear) -> None:
        await ear.say("Hello")
        await ear.heard(ev.ContentDelta, 10)
        await ear.session.interrupt()
        await ear.turn_ends()

    assert with_demo(run, flood=100, flood_seconds=600).all(ev.TurnCompleted)[0].interrupted


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"dealy": 0}, r"The demo has no option 'dealy'\. Did you mean delay\?"),
        ({"volume": 1}, r"The demo has no option 'volume'\. There is: delay, obey_interrupt, "),
        ({"delay": "slow"}, "The demo cannot use its options: .*delay"),
    ],
)
def test_an_invalid_option_is_named_with_the_nearest_known_one(
    option: dict[str, Any], said: str
) -> None:
    with pytest.raises(TypeError, match=said):
        DemoAgent(**option)
    with pytest.raises(AgentGone, match=said):
        asyncio.run(DemoAgent().open(SessionStart("c", options=option)))


def test_a_conversation_can_have_options_of_its_own() -> None:
    async def run() -> None:
        async with talking(DemoAgent(), delay=0) as ear:
            await ear.say("long")
            await ear.turn_ends()
            assert ear.all(ev.ResultSummary)[0].duration_ms == 0

    asyncio.run(run())
