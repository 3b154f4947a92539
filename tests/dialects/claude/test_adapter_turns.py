"""ClaudeStreamAdapter: turns, their origin, figures and end."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dialects.claude.helpers.stream_frames import (
    INIT,
    Frame,
    kinds,
    one,
    only,
    result,
    said,
    start,
    user,
)
from tests.helpers.recorded_streams import events_of, line, recorded
from turnwire.core import events as ev
from turnwire.core.usage import ModelUsage
from turnwire.dialects.claude import ClaudeStreamAdapter, Line, system

# --- user frames that no person wrote -----------------------------------------------------------


def test_the_leftover_of_an_interrupt_is_recognized_by_the_interrupt_before_it() -> None:
    for name in ("07_interrupt_stream", "07b_interrupt_tool", "07c_interrupt_permission"):
        origins = [m.origin for m in only(ev.UserMessage, events_of(recorded(name)))]
        assert origins[-1] == "interrupt", name


def test_the_same_text_without_an_interrupt_is_of_a_person() -> None:
    frame = user([said("[Request interrupted by user] is what I saw")])
    assert one(ev.UserMessage, events_of([frame])).origin == "user"


def test_a_host_can_say_itself_that_it_interrupted() -> None:
    adapter = ClaudeStreamAdapter()
    adapter.interrupt_requested()
    (event,) = adapter.feed(line(user([said("[Request interrupted by user]")])))
    assert isinstance(event, ev.UserMessage)
    assert event.origin == "interrupt"


@pytest.mark.parametrize(
    ("more", "origin"),
    [
        ({"isSynthetic": True}, "synthetic"),
        ({"origin": {"kind": "task-notification"}}, "synthetic"),
        ({"isReplay": True}, "replay"),
        ({"parent_tool_use_id": "t1"}, "agent"),
        ({}, "user"),
    ],
)
def test_a_user_frame_says_where_it_comes_from(more: Frame, origin: str) -> None:
    assert one(ev.UserMessage, events_of([user([said("words")], **more)])).origin == origin


# --- turns and their figures --------------------------------------------------------------------


def test_init_comes_with_every_turn() -> None:
    events = events_of(recorded("14_multi_turn"))
    around = [k for k in kinds(events) if k in ("SessionInit", "TurnStarted", "TurnCompleted")]
    assert around == ["SessionInit", "TurnStarted", "TurnCompleted"] * 4
    init = only(ev.SessionInit, events)[0]
    assert (init.model, init.permission_mode) == ("claude-sonnet-4-5", "default")
    assert init.agent_version == "2.1.325"
    assert "Bash" in init.tools


def test_an_init_has_the_digest_of_the_agents_description() -> None:
    first, second, third, fourth = (
        init.digest for init in only(ev.SessionInit, events_of(recorded("14_multi_turn")))
    )
    assert first == second == third, "they differ only in their names"
    assert first != fourth, "another model and another permission mode"


@pytest.mark.parametrize(
    ("more", "is_same"),
    [
        ({"uuid": "u-2"}, True),
        ({"session_id": "s-2"}, True),
        ({"user_message_uuids": ["u-3"]}, True),
        ({"messaging_socket_path": "/tmp/2.sock"}, True),
        ({"model": "m-2"}, False),
        ({"permissionMode": "plan"}, False),
        ({"tools": ["Bash"]}, False),
        ({"mcp_servers": [{"name": "docs", "status": "connected"}]}, False),
        ({"novel": 1}, False),
    ],
)
def test_only_the_ids_of_an_init_are_not_in_its_digest(more: Frame, is_same: bool) -> None:
    first, second = only(ev.SessionInit, events_of([INIT, {**INIT, **more}]))
    assert (first.digest == second.digest) is is_same


def test_an_init_that_is_nested_too_deeply_has_no_digest() -> None:
    deep = b'{"type":"system","subtype":"init","novel":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    init, _ = ClaudeStreamAdapter().feed(Line(system.Init(), deep, 1))
    assert isinstance(init, ev.SessionInit)
    assert init.digest is None


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"is_error": True, "terminal_reason": "api_error", "result": "API Error"}, "api_error"),
        ({"is_error": True, "terminal_reason": None}, "success"),
        ({"terminal_reason": "prompt_too_long"}, "prompt_too_long"),
        ({"subtype": "error_max_turns", "terminal_reason": None}, "error_max_turns"),
        (
            {"subtype": "error_max_budget_usd", "terminal_reason": "budget_exhausted"},
            "budget_exhausted",
        ),
    ],
)
def test_a_result_may_be_an_error_although_its_subtype_says_success(more: Frame, code: str) -> None:
    events = events_of([INIT, result(**more)])
    assert one(ev.TurnFailed, events).code == code
    assert not only(ev.TurnCompleted, events)


def test_a_failed_turn_says_why_in_the_agents_words() -> None:
    failed = [one(ev.TurnFailed, events_of(recorded(n))) for n in ("11c_api_400", "11d_api_401")]
    assert [f.message for f in failed] == [
        "API Error: 400 bad thing",
        "Invalid API key · Fix external API key",
    ]
    errors = result(is_error=True, errors=["first", "second"])
    assert one(ev.TurnFailed, events_of([errors])).message == "first; second"


def test_an_api_error_is_marked_on_the_assistant_message() -> None:
    message = one(ev.AssistantMessage, events_of(recorded("11_api_529_final")))
    assert (message.model, message.error) == ("<synthetic>", "server_error")


def test_an_interrupted_turn_is_no_failure() -> None:
    completed = only(ev.TurnCompleted, events_of(recorded("07b_interrupt_tool")))
    assert [t.interrupted for t in completed] == [True, False]


def test_a_deferred_tool_pauses_the_turn() -> None:
    completed = one(ev.TurnCompleted, events_of(recorded("10b_hook_defer")))
    assert (completed.stop_reason, completed.deferred_tool_use_id) == ("tool_deferred", "toolu_b")


def test_cost_is_given_per_turn_although_the_agent_counts_over_its_life() -> None:
    summaries = only(ev.ResultSummary, events_of(recorded("14_multi_turn")))
    assert [s.total_cost_usd for s in summaries] == pytest.approx([0.0006, 0.0012, 0.0018, 0.002])
    assert [s.cost_usd for s in summaries] == pytest.approx([0.0006, 0.0006, 0.0006, 0.0002])
    assert [s.model_usage for s in summaries] == [
        *[{"claude-sonnet-4-5": ModelUsage(100, 20, cost_usd=0.0006)}] * 3,
        {"claude-haiku-4-5": ModelUsage(100, 20, cost_usd=0.0002)},
    ]
    assert [s.usage and s.usage.output_tokens for s in summaries] == [20, 20, 20, 20]


def test_a_new_process_counts_from_zero_again() -> None:
    first = result(total_cost_usd=1.0, result_index=0)
    second = result(total_cost_usd=3.0, result_index=1)
    restarted = result(total_cost_usd=5.0, result_index=0)
    cheaper = result(total_cost_usd=0.5)  # an older CLI, without an index
    unpriced = result()
    events = events_of([first, second, restarted, cheaper, unpriced])
    assert [s.cost_usd for s in only(ev.ResultSummary, events)] == [1.0, 2.0, 5.0, 0.5, None]


def test_a_resumed_session_does_not_count_its_earlier_cost_again() -> None:
    def used(cost: float) -> dict[str, Any]:
        return {"claude-sonnet-4-5": {"inputTokens": 100, "costUSD": cost}}

    resumed = result(
        total_cost_usd=5.0,
        result_index=0,
        modelUsage=used(5.0),
        model_usage_since_last_result=used(1.0),
    )
    later = result(total_cost_usd=7.0, modelUsage=used(7.0))
    summaries = only(ev.ResultSummary, events_of([resumed, later]))
    assert [s.cost_usd for s in summaries] == [1.0, 2.0]
    assert summaries[0].model_usage == {"claude-sonnet-4-5": ModelUsage(100, cost_usd=1.0)}


def test_a_broken_stream_ends_the_turn() -> None:
    events = events_of([INIT, start(), {"type": "error", "error": "CLI died"}])
    assert kinds(events)[-2:] == ["MessageDiscarded", "TurnFailed"]
    assert one(ev.TurnFailed, events).message == "CLI died"
    odd = one(ev.TurnFailed, events_of([{"type": "error", "error": {"code": 7}}]))
    assert odd.message == '{"type": "error", "error": {"code": 7}}'


def test_a_result_that_comes_twice_ends_one_turn() -> None:
    result = {"type": "result", "subtype": "success", "is_error": False, "uuid": "u-1"}
    events = events_of([{"type": "system", "subtype": "init"}, result, result])
    assert [type(event).__name__ for event in events].count("TurnCompleted") == 1
    assert [type(event).__name__ for event in events].count("ResultSummary") == 1


def test_a_resumed_session_begins_its_turn_with_the_result_that_it_waited_for() -> None:
    result = {"type": "tool_result", "tool_use_id": "q", "content": "Blue"}
    frame = {"type": "user", "message": {"role": "user", "content": [result]}, "session_id": "s"}
    init = {"type": "system", "subtype": "init", "session_id": "s"}
    events = events_of([frame, init])
    assert [type(event) for event in events[:3]] == [ev.TurnStarted, ev.UserMessage, ev.SessionInit]
