"""The view reducer of RPC: messages, results and turns (RPC sections 5.1 and 5.5)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dialects.rpc.helpers.view_messages import (
    NOTHING,
    assistant,
    block,
    blocks_of,
    content,
    delta,
    ended,
    fold,
    frame,
    screen,
    started,
    stream,
    text,
    user,
)
from turnwire.core.view import View
from turnwire.dialects.rpc import Transcript
from turnwire.dialects.rpc import messages as rpc

# --- dispatch (RPC section 5.1) ---------------------------------------------------------------


def test_a_fresh_transcript_is_empty() -> None:
    assert screen(fold()) == NOTHING


def test_a_user_message_is_shown() -> None:
    (message,) = fold(user(text("Hi"), text("there"))).messages
    assert message.role == "user"
    assert not message.streaming
    assert blocks_of(message) == [text("Hi"), text("there")]


def test_an_assistant_message_is_shown() -> None:
    (message,) = fold(assistant(text("Hello"), id="msg_1", model="claude-sonnet-4-5")).messages
    assert (message.role, message.id, message.model) == ("assistant", "msg_1", "claude-sonnet-4-5")
    assert not message.streaming
    assert blocks_of(message) == [text("Hello")]


FIGURES = {
    "type": "result",
    "subtype": "success",
    "duration_ms": 1234,
    "duration_api_ms": 456,
    "is_error": False,
    "num_turns": 2,
    "session_id": "sess-xyz",
    "provider": "claude",
    "stop_reason": "end_turn",
}


def ends(view: View) -> list[Any]:
    """Returns the ends of the turns."""
    return [(turn["turn_id"], turn["end"]) for turn in screen(view)["turns"]]


WELL = {"is_error": False, "interrupted": False, "stop_reason": "end_turn", "duration_ms": 1234}


def test_a_result_ends_a_turn() -> None:
    usage = {"input_tokens": 200, "output_tokens": 40}
    made = {"usage": usage, "cost_usd": 0.005, "structured_output": {"n": 3}}
    view = fold({**FIGURES, **made}, {**FIGURES, "cost_usd": 0.001})
    assert ends(view) == [
        (1, {**WELL, **made}),
        (2, {**WELL, "cost_usd": 0.001}),
    ]
    assert screen(view)["totals"] == {**usage, "cost_usd": 0.006}
    assert view.messages == []


def test_an_error_is_that_of_the_turn_that_ends() -> None:
    broke = frame(type="error", message="It broke", code="api_error")
    assert screen(fold(broke)) == NOTHING
    why = {"code": "api_error", "message": "It broke"}
    view = fold(broke, FIGURES, user(text("Again?")), FIGURES)
    assert ends(view) == [(1, {**WELL, "is_error": True, "error": why}), (2, WELL)]


def test_an_error_without_a_code_has_a_plain_one() -> None:
    ((_, end),) = ends(fold(frame(type="error", message="It broke"), FIGURES))
    assert end["error"] == {"code": "error", "message": "It broke"}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"errors": ["One.", "Two."], "result": "No"}, "One.\nTwo."),
        ({"result": "No"}, "No"),
        ({}, ""),
    ],
)
def test_a_result_that_is_an_error_says_why(fields: Any, said: str) -> None:
    ((_, end),) = ends(fold({**FIGURES, "is_error": True, "subtype": "error_max_turns", **fields}))
    assert end["error"] == {"code": "error_max_turns", "message": said}


def test_a_turn_that_was_interrupted_did_not_fail() -> None:
    result = {**FIGURES, "is_error": True, "terminal_reason": "aborted_streaming"}
    assert ends(fold(result)) == [(1, {**WELL, "interrupted": True})]


def test_a_stream_event_goes_to_the_message_that_streams() -> None:
    (message,) = fold(started(), block(0, text("")), delta(0, "text_delta", "Hello")).messages
    assert blocks_of(message) == [text("Hello")]


@pytest.mark.parametrize(
    "wire",
    [
        frame(type="system", subtype="status", session_id="sess-xyz"),
        frame(type="hologram", beams=3),
        stream({"type": "ping"}),
        stream({"type": "hologram"}),
        {"type": "content_block_delta", "index": 0},  # a stream event without its wrapper
        {},
    ],
)
def test_unknown_messages_change_nothing(wire: dict[str, Any]) -> None:
    frames = [started(), block(0, text("")), delta(0, "text_delta", "Hel")]
    assert screen(fold(wire)) == NOTHING
    assert screen(fold(*frames, wire)) == screen(fold(*frames))


# --- sub-agents (RPC section 5.5) -------------------------------------------------------------


def test_each_sub_agent_has_its_own_streaming_message() -> None:
    view = fold(
        started("msg_1"),
        block(0, text("")),
        started("msg_2", "toolu_task"),
        block(0, text(""), "toolu_task"),
        delta(0, "text_delta", "main"),
        delta(0, "text_delta", "sub", "toolu_task"),
        ended("toolu_task"),
        delta(0, "text_delta", "!"),
    )
    assert [(m.parent_tool_use_id, m.streaming) for m in view.messages] == [
        ("toolu_task", False),
        (None, True),
    ]
    assert content(view) == [[text("sub")], [text("main!")]]


def test_a_finished_message_without_an_id_belongs_to_its_own_sub_agent() -> None:
    view = fold(
        started("msg_1"),
        block(0, text("ma")),
        started("msg_2", "toolu_task"),
        block(0, text("su"), "toolu_task"),
        assistant(text("sub"), parent="toolu_task"),
        assistant(text("main")),
    )
    assert content(view) == [[text("sub")], [text("main")]]


def test_a_sub_agents_messages_name_the_call_they_belong_to() -> None:
    view = fold(
        user(text("Look for it"), parent="toolu_task"),
        assistant(text("Found it"), id="msg_2", parent="toolu_task"),
        assistant(text("Done"), id="msg_3"),
    )
    parents = [message.parent_tool_use_id for message in view.messages]
    assert parents == ["toolu_task", "toolu_task", None]


def done(**fields: Any) -> rpc.RpcMessage:
    return rpc.RpcResultMessage("success", 5, 4, False, 1, "s-1", "demo", **fields)


def test_a_turn_that_is_named_ends_once_and_keeps_its_name() -> None:
    transcript = Transcript()
    for turn_id in (4, 5, 4):
        transcript.apply(done(), None, turn_id)
    assert [turn.turn_id for turn in transcript.view().turns] == [4, 5]


@pytest.mark.parametrize("error", [None, rpc.RpcErrorMessage("It is gone.", "demo", "agent_lost")])
def test_an_interrupted_turn_failed_only_if_an_error_came_before(
    error: rpc.RpcErrorMessage | None,
) -> None:
    transcript = Transcript()
    if error is not None:
        transcript.apply(error)
    transcript.apply(done(terminal_reason="aborted"))
    [turn] = transcript.view().turns
    assert turn.end.interrupted
    assert turn.end.is_error is (error is not None)
