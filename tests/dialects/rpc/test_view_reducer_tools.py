"""The view reducer of RPC: results and output of tools (RPC section 5.3)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dialects.rpc.helpers.view_messages import (
    assistant,
    block,
    card,
    content,
    delta,
    ended,
    fold,
    frame,
    read,
    result,
    screen,
    started,
    stop,
    text,
    tool,
    user,
)
from turnwire.core.view import ResultView
from turnwire.dialects.rpc import Transcript


@pytest.mark.parametrize("is_error", [False, True])
@pytest.mark.parametrize("value", ["file contents", [{"type": "text", "text": "a"}], None])
def test_a_tool_result_goes_to_its_tools_card(value: Any, is_error: bool) -> None:
    view = fold(
        started(),
        block(0, tool("toolu_1")),
        block(1, tool("toolu_2")),
        ended(),
        user(result("toolu_1", value, is_error=is_error)),
    )
    assert card(view, "toolu_1").result == ResultView(value, is_error)
    assert card(view, "toolu_2").result is None


def test_a_tool_result_is_not_a_message_on_the_screen() -> None:
    assert fold(user(result("toolu_1"))).messages == []


def test_other_content_of_a_user_message_is_shown_as_a_message() -> None:
    mixed = user(result("toolu_1"), text("And now?"), result("toolu_2"))
    assert content(fold(mixed)) == [[text("And now?")]]
    view = fold(assistant(tool("toolu_1", {}), tool("toolu_2", {}), id="msg_1"), mixed)
    assert [card(view, name).result for name in ("toolu_1", "toolu_2")] == [
        ResultView("ok", False)
    ] * 2


def test_a_user_message_without_content_is_not_shown() -> None:
    assert fold(user(), frame(type="user", message={})).messages == []


def test_a_result_before_its_call_is_kept_for_the_call() -> None:
    view = fold(user(result("toolu_1", "hi")), assistant(tool("toolu_1", {}), id="msg_1"))
    assert card(view, "toolu_1").result == ResultView("hi", False)


def test_a_result_can_be_asked_for_though_its_call_is_not_shown() -> None:
    transcript = Transcript()
    transcript.apply(read(user(result("toolu_1", "hi"))))
    assert transcript.result_of("toolu_1") == ResultView("hi", False)
    assert transcript.view().messages == []


def test_a_tool_of_a_message_that_was_not_streamed_has_a_card_too() -> None:
    view = fold(assistant(text("Hm"), tool("toolu_1", {}), id="msg_1", index=0))
    assert card(view, "toolu_1").result is None


# --- a running tool's output ------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["text_delta", "output_delta"])
def test_output_goes_to_the_card_and_not_into_the_message(kind: str) -> None:
    frames = [started(), block(0, text("Hi")), block(1, tool("toolu_1")), stop(1), ended()]
    view = fold(*frames, delta(1, kind, "3 pas"), delta(1, kind, "sed"))
    assert card(view, "toolu_1").output == "3 passed"
    assert content(view) == content(fold(*frames))


@pytest.mark.parametrize("kind", ["text_delta", "output_delta"])
def test_output_goes_to_the_card_also_when_the_call_is_finished(kind: str) -> None:
    view = fold(
        started(),
        block(0, tool("toolu_1")),
        assistant(tool("toolu_1", {"a": 1}), id="msg_1", index=0),
        stop(0),
        ended(),
        delta(0, kind, "3 passed"),
    )
    assert card(view, "toolu_1").output == "3 passed"
    assert content(view) == [[tool("toolu_1", {"a": 1})]]


@pytest.mark.parametrize("kind", ["text_delta", "output_delta"])
def test_output_that_names_its_tool_goes_to_that_card_during_another_stream(kind: str) -> None:
    output = delta(1, kind, "3 passed")
    output["event"]["tool_use_id"] = "toolu_1"
    frames = [
        started("msg_1"),
        block(1, tool("toolu_1")),
        ended(),
        started("msg_2"),
        block(0, text("")),
        block(1, text("")),
    ]
    view = fold(*frames, output)
    assert card(view, "toolu_1").output == "3 passed"
    assert content(view) == content(fold(*frames))


def test_output_before_its_call_is_kept_for_the_call() -> None:
    output = delta(1, "output_delta", "3 passed")
    output["event"]["tool_use_id"] = "toolu_1"
    view = fold(output, assistant(tool("toolu_1", {}), id="msg_1"))
    assert card(view, "toolu_1").output == "3 passed"


@pytest.mark.parametrize("kind", ["thinking_delta", "hologram_delta"])
def test_a_delta_that_a_tool_has_no_use_for_changes_nothing(kind: str) -> None:
    named = delta(0, kind, "x")
    named["event"]["tool_use_id"] = "toolu_1"
    frames = [started(), block(0, tool("toolu_1"))]
    for wire in (delta(0, kind, "x"), named):
        assert screen(fold(*frames, wire)) == screen(fold(*frames))


@pytest.mark.parametrize("kind", ["text_delta", "output_delta"])
def test_output_and_input_do_not_mix(kind: str) -> None:
    view = fold(
        started(),
        block(0, tool("toolu_1")),
        delta(0, "input_json_delta", '{"a":'),
        delta(0, kind, "output"),
        delta(0, "input_json_delta", "1}"),
    )
    assert content(view) == [[{**tool("toolu_1"), "input_text": '{"a":1}'}]]
    assert card(view, "toolu_1").output == "output"
