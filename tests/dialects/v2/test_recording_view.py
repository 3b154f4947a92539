"""A recording as the frames of a connection: turns, text, requests and background work."""

from __future__ import annotations

import pytest

from tests.helpers.recorded_streams import events_of, recorded
from tests.helpers.sample_events import (
    SUB,
    WHO,
    begins,
    call,
    completed,
    discarded,
    frame,
    piece,
    said,
    started,
)
from tests.helpers.v2_sessions import (
    ASKS,
    END,
    FIGURES,
    MAY_I,
    NOW,
    TASK,
    TURN,
    Events,
    Wire,
    answered,
    live,
    on_the_wire,
    only,
    session,
    told,
    words,
)
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.usage import Usage
from turnwire.engine.recording_view import Recording

# --- turns ------------------------------------------------------------------------------------


def test_a_turn_from_its_start_to_its_end() -> None:
    frames = live(TURN, frame(0, said("Hi")), END, FIGURES)
    inside = {
        "conversation_id": "conv-1",
        "turn_id": 1,
        "timestamp": NOW,
        "trace_id": "00000000000000000000000000000001",
    }
    end = {
        "is_error": False,
        "interrupted": False,
        "stop_reason": "end_turn",
        "usage": {
            "input_tokens": 12,
            "output_tokens": 5,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 3,
        },
        "cost_usd": 0.5,
        "duration_ms": 800,
        "after_sequence": 1,
    }
    nothing: Wire = {"queue": [], "requests": []}
    totals = {
        "input_tokens": 12,
        "output_tokens": 5,
        "cache_read_input_tokens": 3,
        "cost_usd": 0.5,
    }
    assert frames == [
        {
            **inside,
            "type": "turn.started",
            "sequence": 1,
            "payload": {"turn_id": 1, "origin": "user"},
        },
        {
            **inside,
            "turn_id": None,
            "trace_id": None,
            "type": "session.state",
            "sequence": 2,
            "payload": {
                "state": "streaming",
                "running": True,
                "turn_id": 1,
                **nothing,
                "totals": {},
            },
        },
        {
            **inside,
            "type": "assistant.chunk",
            "sequence": 3,
            "payload": {
                "block_id": "msg_1:0",
                "message_id": "msg_1",
                "index": 0,
                "partial": False,
                "text": "Hi",
                "message_sequence": 1,
            },
        },
        {**inside, "type": "assistant.complete", "sequence": 4, "payload": end},
        {
            **inside,
            "turn_id": None,
            "trace_id": None,
            "type": "session.state",
            "sequence": 5,
            "payload": {
                "state": "active",
                "running": False,
                **nothing,
                "last_turn": end,
                "last_turn_id": 1,
                "totals": totals,
            },
        },
        {
            **inside,
            "turn_id": None,
            "trace_id": None,
            "type": "conversation.updated",
            "sequence": 6,
            "payload": {"totals": totals},
        },
    ]


def test_each_turn_has_a_number_and_a_trace_and_all_add_up() -> None:
    frames = live(TURN, END, FIGURES, TURN, TURN, END, FIGURES)
    ends = [each for each in frames if each["type"] == "assistant.complete"]
    assert [(each["turn_id"], int(each["trace_id"], 16)) for each in ends] == [(1, 1), (2, 2)]
    assert frames[-1]["payload"]["totals"]["cost_usd"] == 1.0
    assert only(frames, "session.state")[-1]["last_turn_id"] == 2


def test_an_end_without_figures_comes_with_the_next_event_or_at_the_end() -> None:
    assert told(TURN, END, TURN) == [
        "turn.started",
        "streaming",
        "assistant.complete",
        "active",
        "turn.started",
        "streaming",
    ]
    assert told(TURN, END)[2:] == []
    assert told(TURN, END, finish=True)[2:] == ["assistant.complete", "active"]
    (end,) = only(live(TURN, END, finish=True), "assistant.complete")
    assert end == {"is_error": False, "interrupted": False, "stop_reason": "end_turn"}


def test_a_structured_result_is_sent_with_the_end() -> None:
    made = ev.ResultSummary(*WHO, "success", False, structured_output=[1])
    for end in (END, ev.TurnFailed(*WHO, "max_turns", "Too many.")):
        (told_end,) = only(live(TURN, end, made), "assistant.complete")
        assert told_end["structured_output"] == [1]


def test_an_interrupted_turn() -> None:
    frames = live(
        TURN,
        words("[Request interrupted by user]", "interrupt"),
        ev.TurnCompleted(*WHO, None, True),
        FIGURES,
    )
    assert only(frames, "conversation.interrupted") == [
        {"reason": "user", "message_sequence": 2, "requested_at": NOW, "acknowledged": True}
    ]
    (end,) = only(frames, "assistant.complete")
    assert (end["interrupted"], end["is_error"], end["after_sequence"]) == (True, False, 2)
    assert only(frames, "session.state")[-1]["state"] == "interrupted"


def test_a_failed_turn() -> None:
    frames = live(TURN, ev.TurnFailed(*WHO, "max_turns", "too many"), FIGURES)
    (end,) = only(frames, "assistant.complete")
    assert end["is_error"] is True
    assert end["error"] == {"code": "max_turns", "message": "too many"}
    assert only(frames, "session.state")[-1]["state"] == "error"


def test_an_end_without_a_start_is_a_turn() -> None:
    assert told(ev.TurnFailed(*WHO, "agent_error", "broken"), finish=True) == [
        "turn.started",
        "assistant.complete",
        "error",
    ]


def test_a_turn_that_never_ends_was_lost() -> None:
    (end,) = only(live(TURN, finish=True), "assistant.complete")
    assert end["error"]["code"] == "agent_lost"


def test_an_init_belongs_to_the_turn_that_it_begins() -> None:
    init = ev.SessionInit(*WHO, "claude-x", permission_mode="plan")
    assert told(init, TURN) == ["turn.started", "streaming", "session.system_event", "streaming"]
    frames = live(init, TURN)
    assert frames[2]["turn_id"] == 1
    assert frames[2]["payload"]["subtype"] == "init"
    state = frames[3]["payload"]
    assert (state["model"], state["permission_mode"]) == ("claude-x", "plan")


def test_an_unchanged_init_is_not_sent_again() -> None:
    init = ev.SessionInit(*WHO, "claude-x")
    end = ev.TurnCompleted(*WHO)
    frames = live(init, TURN, end, init, TURN, end, finish=True)
    assert [each["payload"]["turn_id"] for each in frames if each["type"] == "turn.started"] == [
        1,
        2,
    ]
    assert [each["turn_id"] for each in frames if each["type"] == "session.system_event"] == [1]


def test_an_init_in_the_middle_of_a_turn_is_sent_at_once() -> None:
    init = ev.SessionInit(*WHO, "claude-y")
    assert told(TURN, init) == ["turn.started", "streaming", "session.system_event", "streaming"]


def test_an_init_without_a_turn_belongs_to_no_turn() -> None:
    init = ev.SessionInit(*WHO, "claude-x")
    news = ev.SystemEvent(*WHO, "status", ephemeral=True)
    assert told(init, news) == ["session.system_event", "active", "session.system_event"]
    assert live(init, news)[0]["turn_id"] is None
    assert told(init, finish=True) == ["session.system_event", "active"]


# --- messages ---------------------------------------------------------------------------------


def test_a_message_of_a_person_begins_a_turn() -> None:
    events = (words("Hello"), TURN, words("And more"))
    assert told(*events) == ["turn.started", "user.message", "streaming", "user.message"]
    assert live(*events)[1]["turn_id"] == 1


@pytest.mark.parametrize("origin", ["synthetic", "agent"])
def test_user_text_that_no_person_wrote_is_marked_and_begins_no_turn(origin: ev.UserOrigin) -> None:
    (told_words,) = live(words("Go on", origin))
    assert told_words["turn_id"] is None
    assert told_words["payload"]["origin"] == origin


@pytest.mark.parametrize("origin", ["replay", "interrupt"])
def test_user_text_without_a_turn_keeps_its_origin(origin: ev.UserOrigin) -> None:
    (told_words,) = live(words("Hello", origin))
    assert told_words["payload"]["origin"] == origin
    assert told_words["turn_id"] is None


def test_a_permission_is_asked_for_once() -> None:
    ask = ev.PermissionRequested(*WHO, "r-1", "toolu_1", "Bash", {"command": "ls"})
    frames = live(TURN, ask, ask)
    assert len(only(frames, "assistant.permission_request")) == 1


def test_before_the_first_time_that_is_said_it_is_when_the_recording_began() -> None:
    began = "2026-01-01T12:00:00.000Z"
    conversation = Recording("conv-1", trace_of=lambda turn: f"{turn:032x}", began=began)
    assert {frame.timestamp for frame in conversation.connect()} == {began}


def test_a_message_grows_and_is_finished() -> None:
    grows: Events = [begins(0, TextBlock("", "in_progress")), piece(0, "H"), piece(0, "i")]
    end: Events = [frame(0, said("Hi")), completed()]
    found = only(live(TURN, started(), *grows, *end), "assistant.chunk")
    assert [(each["partial"], each["text"]) for each in found] == [
        (True, "H"),
        (True, "i"),
        (False, "Hi"),
    ]
    conversation = session()
    joined = on_the_wire(conversation.feed_all([TURN, started(), *grows, *end]))
    assert [each["text"] for each in only(joined, "assistant.chunk")] == ["Hi", "Hi"]


def test_partials_of_two_sub_agents_are_not_mixed() -> None:
    sub = ev.ContentStarted(*SUB, "msg_9", 0, TextBlock("", "in_progress"))
    more = ev.ContentDelta(*SUB, "msg_9", 0, "text", "x")
    conversation = session()
    events: Events = [
        TURN,
        begins(0, TextBlock("", "in_progress")),
        sub,
        piece(0, "a"),
        more,
        piece(0, "b"),
    ]
    found = only(on_the_wire(conversation.feed_all(events)), "assistant.chunk")
    assert [(each["block_id"], each["text"]) for each in found] == [
        ("msg_1:0", "a"),
        ("msg_9:0", "x"),
        ("msg_1:0", "b"),
    ]


def test_a_discard_follows_the_finished_blocks_of_its_message() -> None:
    grows: Events = [
        begins(0, TextBlock("a", "in_progress")),
        begins(1, TextBlock("b", "in_progress")),
    ]
    ended = ev.ContentCompleted(*WHO, "msg_1", 0, said("a"))
    frames = live(TURN, started(), *grows, ended, discarded(1))[2:]
    assert [each["type"] for each in frames[-2:]] == ["assistant.chunk", "assistant.discarded"]
    assert frames[-1]["payload"]["block_ids"] == ["msg_1:1"]


def test_a_durable_notice_has_a_number_and_a_transient_one_has_none() -> None:
    kept, moment, unknown, plan = live(
        ev.SystemEvent(*WHO, "compact_boundary"),
        ev.SystemEvent(*WHO, "status", ephemeral=True),
        ev.UnknownEvent(*WHO, "hologram"),
        ev.PlanUpdated(*WHO, []),
    )
    numbers = [each["payload"].get("message_sequence") for each in (kept, moment, unknown, plan)]
    assert numbers == [1, None, 2, 3]
    assert plan["payload"]["subtype"] == "plan"


def test_progress_of_a_tool_is_sent_live() -> None:
    (progress,) = live(ev.ToolProgress(*WHO, "toolu_1", "Bash", 2.0))
    assert progress["type"] == "assistant.tool_progress"


# --- requests ---------------------------------------------------------------------------------


def test_a_question_and_its_answer() -> None:
    asked = ev.QuestionAsked(*WHO, "r-7", "toolu_ask", "AskUserQuestion", [])
    frames = live(TURN, frame(0, ASKS), asked, answered("toolu_ask"))
    assert [each["type"] for each in frames[2:]] == [
        "assistant.request_input",
        "session.state",
        "assistant.request_resolved",
        "assistant.tool_result",
        "session.state",
    ]
    waiting, streaming = frames[3]["payload"], frames[-1]["payload"]
    assert waiting["state"] == "waiting_input"
    assert waiting["requests"] == [
        {
            "request_id": "toolu_ask",
            "kind": "question",
            "tool_use_id": "toolu_ask",
            "tool_name": "AskUserQuestion",
            "input": {"question": "Why?"},
            "turn_id": 1,
            "message_sequence": 1,
            "questions": [{"id": "answer", "question": "Why?"}],
        }
    ]
    assert frames[4]["payload"] == {
        "request_id": "toolu_ask",
        "outcome": "answered",
        "message_sequence": 2,
    }
    assert (streaming["state"], streaming["requests"]) == ("streaming", [])


def test_a_permission_and_its_end() -> None:
    frames = live(TURN, frame(0, call("toolu_1", {"path": "a"})), MAY_I, answered("toolu_1"))
    assert only(frames, "assistant.permission_request") == [
        {
            "request_id": "r-1",
            "tool_use_id": "toolu_1",
            "tool_name": "Read",
            "input": {"path": "a"},
            "message_sequence": 2,
            "title": "Read a file",
            "suggestions": [{"type": "addRules"}],
        }
    ]
    (waiting,) = [each for each in only(frames, "session.state") if each["requests"]]
    assert waiting["requests"] == [
        {
            "request_id": "r-1",
            "kind": "permission",
            "tool_use_id": "toolu_1",
            "tool_name": "Read",
            "input": {"path": "a"},
            "turn_id": 1,
            "message_sequence": 2,
            "title": "Read a file",
            "suggestions": [{"type": "addRules"}],
        }
    ]
    assert [each["outcome"] for each in only(frames, "assistant.request_resolved")] == ["answered"]


def test_the_agent_takes_a_request_back() -> None:
    asked = ev.QuestionAsked(*WHO, "r-7", "toolu_ask", "AskUserQuestion", [])
    other = ev.QuestionAsked(*WHO, "r-8", "toolu_else", "AskUserQuestion", [])
    back = [ev.RequestWithdrawn(*WHO, name) for name in ("r-7", "r-1", "r-7", "r-8")]
    frames = live(TURN, frame(0, ASKS), asked, other, MAY_I, *back)
    assert [
        (each["request_id"], each["outcome"], each["by"])
        for each in only(frames, "assistant.request_resolved")
    ] == [
        ("toolu_ask", "cancelled", "agent"),
        ("r-1", "cancelled", "agent"),
        ("toolu_else", "cancelled", "agent"),
    ]


@pytest.mark.parametrize(
    ("end", "by"),
    [
        (END, "agent"),
        (ev.TurnCompleted(*WHO, None, True), "interrupt"),
        (ev.TurnFailed(*WHO, "api_error", "oops"), "agent"),
    ],
)
def test_at_the_end_of_a_turn_nothing_stays_open(end: NormalizedStreamEvent, by: str) -> None:
    begun: Events = [TURN, frame(0, call("toolu_1", {}), ASKS), MAY_I]
    frames = live(*begun, end, FIGURES)
    resolved = only(frames, "assistant.request_resolved")
    assert [(each["request_id"], each["outcome"], each["by"]) for each in resolved] == [
        ("toolu_ask", "cancelled", by),
        ("r-1", "cancelled", by),
    ]
    results = only(frames, "assistant.tool_result")
    assert [(each["tool_use_id"], each["is_error"]) for each in results] == [
        ("toolu_1", True),
        ("toolu_ask", True),
    ]
    assert only(frames, "session.state")[-1]["requests"] == []


def test_a_result_after_the_end_of_its_turn_is_not_sent_again() -> None:
    frames = live(TURN, frame(0, call("toolu_1", {})), END, FIGURES, answered("toolu_1"))
    assert len(only(frames, "assistant.tool_result")) == 1


def test_a_deferred_question_does_not_end_its_turn() -> None:
    paused = ev.TurnCompleted(*WHO, "tool_deferred", False, "toolu_ask")
    begun: Events = [TURN, frame(0, ASKS), paused, FIGURES]
    frames = live(*begun, finish=True)
    assert only(frames, "assistant.complete") == []
    state = frames[-1]["payload"]
    assert (state["state"], state["running"], state["turn_id"]) == ("waiting_input", False, 1)
    resumed = live(*begun, TURN, answered("toolu_ask"), END, FIGURES)
    starts = only(resumed, "turn.started")
    assert [(each["turn_id"], each["origin"]) for each in starts] == [(1, "user"), (1, "resume")]
    (end,) = only(resumed, "assistant.complete")
    assert (end["cost_usd"], end["duration_ms"]) == (1.0, 1600)
    assert end["usage"] == {
        "input_tokens": 24,
        "output_tokens": 10,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 6,
    }
    assert end["origin"] == "resume"


def test_a_call_at_which_a_turn_waits_has_to_be_allowed() -> None:
    paused = ev.TurnCompleted(*WHO, "tool_deferred", False, "toolu_1")
    begun: Events = [TURN, frame(0, call("toolu_1", {"path": "a"})), paused, FIGURES]
    frames = live(*begun)
    assert only(frames, "assistant.permission_request") == [
        {
            "request_id": "toolu_1",
            "tool_use_id": "toolu_1",
            "tool_name": "Read",
            "input": {"path": "a"},
            "message_sequence": 2,
        }
    ]
    assert frames[-1]["payload"]["state"] == "waiting_input"
    resumed = live(*begun, TURN, answered("toolu_1"), END, FIGURES)
    assert [each["outcome"] for each in only(resumed, "assistant.request_resolved")] == ["answered"]
    assert len(only(resumed, "assistant.tool_result")) == 1


def test_missing_figures_are_not_invented() -> None:
    paused = ev.TurnCompleted(*WHO, "tool_deferred", False, "toolu_ask")
    bare = ev.ResultSummary(*WHO, "success", False)
    (end,) = only(live(TURN, paused, bare, TURN, END, bare), "assistant.complete")
    assert end == {
        "is_error": False,
        "interrupted": False,
        "stop_reason": "end_turn",
        "origin": "resume",
        "duration_ms": 0,
    }
    some = ev.ResultSummary(*WHO, "success", False, usage=Usage(1))
    (end,) = only(live(TURN, paused, some, TURN, END, some), "assistant.complete")
    assert end["usage"] == {"input_tokens": 2}


# --- sub-agents and background work -----------------------------------------------------------

SUB_SAYS = ev.AssistantMessage(*SUB, "msg_9", 0, [said("Looking.")])
SUB_CALLS = ev.AssistantMessage(*SUB, "msg_9", 1, [call("toolu_sub", {})])
SUB_ASKS = ev.PermissionRequested(*SUB, "r-9", "toolu_sub", "Read", {})


def test_a_sub_agent_ends_with_the_turn_that_waits_for_its_result() -> None:
    frames = live(TURN, frame(0, TASK), SUB_CALLS, SUB_ASKS, END, FIGURES)
    results = only(frames, "assistant.tool_result")
    assert [each["tool_use_id"] for each in results] == ["toolu_task", "toolu_sub"]
    assert [each["request_id"] for each in only(frames, "assistant.request_resolved")] == ["r-9"]


def test_background_work_goes_on_and_keeps_its_turn() -> None:
    launched: Events = [TURN, frame(0, TASK), answered("toolu_task"), SUB_CALLS, SUB_ASKS]
    frames = live(*launched, END, FIGURES, answered("toolu_sub", SUB), SUB_SAYS)
    after = frames[next(n for n, f in enumerate(frames) if f["type"] == "assistant.complete") :]
    assert [(each["type"], each["turn_id"]) for each in after] == [
        ("assistant.complete", 1),
        ("session.state", None),
        ("conversation.updated", None),
        ("assistant.request_resolved", 1),
        ("assistant.tool_result", 1),
        ("session.state", None),
        ("assistant.chunk", 1),
    ]
    assert after[1]["payload"]["state"] == "waiting_input"
    assert after[5]["payload"]["state"] == "active"
    later = live(*launched, END, FIGURES, TURN, SUB_SAYS, answered("toolu_sub", SUB))[-4:]
    assert [(each["turn_id"], int(each["trace_id"] or "0", 16)) for each in later] == [
        (1, 1),
        (1, 1),
        (1, 1),
        (None, 0),  # the state is that of no turn
    ]


def test_a_sub_agent_without_a_call_belongs_to_the_running_turn() -> None:
    assert live(TURN, SUB_SAYS)[-1]["turn_id"] == 1
    asked = live(SUB_ASKS, ev.RequestWithdrawn(*WHO, "r-9"))
    assert [each["type"] for each in asked if each["type"] != "session.state"] == [
        "assistant.tool_call",  # the call that it is asked for, which the stream does not have
        "assistant.permission_request",
        "assistant.request_resolved",
    ]
    assert {each["turn_id"] for each in asked} == {None}


def test_the_agent_begins_by_itself_when_its_task_has_ended() -> None:
    woken = ev.TurnStarted(*WHO, by_itself=True)
    frames = live(TURN, END, FIGURES, woken, END, FIGURES, TURN)
    starts = [each["origin"] for each in only(frames, "turn.started")]
    assert starts == ["user", "agent", "user"]
    ends = [each.get("origin") for each in only(frames, "assistant.complete")]
    assert ends == [None, "agent"]


def test_the_agent_may_say_at_the_end_that_it_began_by_itself() -> None:
    end = ev.TurnCompleted(*WHO, "end_turn", origin="task-notification")
    assert only(live(TURN, end, FIGURES), "assistant.complete")[0]["origin"] == "agent"


def test_background_tasks_are_in_the_state() -> None:
    def changed(*tasks: ev.Task) -> ev.SystemEvent:
        return ev.TasksListed(*WHO, "background_tasks_changed", ephemeral=True, tasks=[*tasks])

    one = ev.Task("t-1", None, "local_agent", "look around")
    two = ev.Task("t-2")
    states = only(
        live(
            TURN,
            changed(one),
            END,
            FIGURES,
            changed(one, two),
            changed(),
        ),
        "session.state",
    )
    first = {
        "task_id": "t-1",
        "turn_id": 1,
        "kind": "local_agent",
        "description": "look around",
        "status": "running",
    }
    tasks = [state.get("background_tasks") for state in states]
    second = {"task_id": "t-2", "turn_id": 1, "status": "running"}
    assert tasks == [None, [first], [first], [first, second], None]


def test_only_so_many_calls_are_remembered() -> None:
    conversation = session()
    conversation.feed(TURN)
    for number in range(5000):
        conversation.feed(frame(number, call(f"toolu_{number}", {})))
        conversation.feed(answered(f"toolu_{number}"))
    assert conversation._calls == {}
    assert conversation._state.tools == {}


# --- time -------------------------------------------------------------------------------------


def test_without_a_clock_the_time_is_the_latest_that_an_event_has_said() -> None:
    conversation = session()
    spoken = frame(0, said("Hi"), timestamp="2026-01-01T12:00:05.000Z")
    frames = on_the_wire(conversation.feed_all([TURN, spoken, END]) + conversation.finish())
    assert [each["timestamp"] for each in frames] == [
        "1970-01-01T00:00:00.000Z",
        "1970-01-01T00:00:00.000Z",
        "2026-01-01T12:00:05.000Z",
        "2026-01-01T12:00:05.000Z",
        "2026-01-01T12:00:05.000Z",
    ]


# --- recorded ---------------------------------------------------------------------------------


def test_a_recorded_question_is_asked_once() -> None:
    conversation = session()
    frames = on_the_wire(conversation.feed_all(events_of(recorded("08_request_input"))))
    assert [each["question"] for each in only(frames, "assistant.request_input")] == ["Your name?"]
    assert "toolu_ri" not in [each["block_id"] for each in only(frames, "assistant.tool_call")]
