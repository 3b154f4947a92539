"""The reducer of views, without a dialect. The rules for frames are in fixtures/reducer."""

from __future__ import annotations

from typing import Any

import msgspec

from turnwire.core.reducer import MessageBuilder, ViewBuilder
from turnwire.core.status import OpenRequest, Status, Totals, TurnEnd
from turnwire.core.view import MessageView, RequestView, ResultView, TextView, ToolView, View


def about(message_id: str, voice: str | None = None, **fields: Any) -> MessageView:
    return MessageView(message_id, "assistant", [], parent_tool_use_id=voice, **fields)


def words(block_id: str, text: str = "") -> TextView:
    return TextView(block_id, "complete", text)


def call(tool_use_id: str) -> ToolView:
    return ToolView(tool_use_id, "complete", "Agent")


def finish(build: ViewBuilder, message: MessageView, *blocks: TextView | ToolView) -> None:
    for index, block in enumerate(blocks):
        build.finish(build.message(message), index, block, message)


def names(messages: list[MessageView]) -> list[Any]:
    """The ids of messages; under each, those of its sub-agents."""
    shown: list[Any] = []
    for message in messages:
        below = [m for b in message.blocks if isinstance(b, ToolView) for m in b.messages]
        shown.append((message.id, names(below)) if below else message.id)
    return shown


def text_of(view: View) -> list[list[str]]:
    return [[b.text for b in m.blocks if isinstance(b, TextView)] for m in view.messages]


# --- where messages stand -----------------------------------------------------------------------


def test_a_fresh_view_is_empty() -> None:
    assert ViewBuilder().view() == View([], [])


def test_a_message_gets_its_position_once() -> None:
    build = ViewBuilder()
    finish(build, about("msg_1"), words("a"))
    finish(build, about("msg_2"), words("b"))
    build.place(build.message(about("msg_1")))
    assert names(build.view().messages) == ["msg_1", "msg_2"]


def test_the_content_of_a_message_follows_from_its_finished_blocks() -> None:
    build = ViewBuilder()
    build.message(about("msg_1", model="early", turn_id=7))
    finish(build, about("msg_1", turn_id=1, sequence=3), words("a"))
    finish(
        build, about("msg_1", turn_id=2, sequence=4, model="m", error="e", agent_id="a"), words("b")
    )
    finish(build, about("msg_1", agent_id="b"), words("c"))
    (message,) = build.view().messages
    told = (message.turn_id, message.sequence, message.model, message.error, message.agent_id)
    assert told == (1, 3, "m", "e", "b")


def test_a_sub_agents_messages_are_under_its_call_in_any_order() -> None:
    build = ViewBuilder()
    finish(build, about("msg_2", "toolu_1"), words("a"))
    assert names(build.view().messages) == ["msg_2"]
    finish(build, about("msg_1"), call("toolu_1"))
    assert names(build.view().messages) == [("msg_1", ["msg_2"])]


def test_a_sub_agent_is_shown_once_even_if_its_call_is_repeated() -> None:
    build = ViewBuilder()
    finish(build, about("msg_1"), call("toolu_1"), call("toolu_1"))
    finish(build, about("msg_2", "toolu_1"), words("a"))
    assert names(build.view().messages) == [("msg_1", ["msg_2"])]


def test_calls_made_by_their_own_sub_agents_are_shown() -> None:
    build = ViewBuilder()
    finish(build, about("msg_1", "toolu_1"), call("toolu_1"))
    finish(build, about("msg_2", "toolu_3"), call("toolu_2"))
    finish(build, about("msg_3", "toolu_2"), call("toolu_3"))
    assert names(build.view().messages) == ["msg_1", ("msg_2", ["msg_3"])]


def test_sub_agents_are_nested_only_so_deep() -> None:
    build = ViewBuilder()
    for depth in range(2000):
        finish(build, about(f"msg_{depth}", f"toolu_{depth}"), call(f"toolu_{depth + 1}"))
    shown = build.view().messages
    assert [message.id for message in shown] == [f"msg_{n}" for n in range(0, 2000, 33)]
    msgspec.json.encode(shown)


# --- blocks -------------------------------------------------------------------------------------


def growing(build: ViewBuilder, name: str, block_id: str, index: int = 0) -> MessageBuilder:
    message = build.message(about(name))
    build.start(message, index, TextView(block_id, "streaming", "")).append("half")
    return message


def test_a_block_id_is_one_block_in_any_message() -> None:
    build = ViewBuilder()
    growing(build, "msg_1", "a")
    growing(build, "msg_1", "a", 3)
    assert text_of(build.view()) == [["half"]]
    growing(build, "msg_2", "a")
    assert names(build.view().messages) == ["msg_2"]
    finish(build, about("msg_3"), words("a", "whole"))
    assert names(build.view().messages) == ["msg_3"]
    build.forget_growing()
    assert text_of(build.view()) == [["whole"]]


def test_a_block_replaces_growing_content_with_another_id() -> None:
    build = ViewBuilder()
    growing(build, "msg_1", "a")
    growing(build, "msg_1", "b")
    finish(build, about("msg_1"), words("c", "whole"))
    build.discard(None, "a")
    build.discard(None, "b")
    assert text_of(build.view()) == [["whole"]]


def test_a_message_without_blocks_at_its_position_is_not_shown() -> None:
    build = ViewBuilder()
    message = growing(build, "msg_1", "a")
    build.place(message)
    build.discard(None, "a")
    assert build.view().messages == []
    growing(build, "msg_1", "b")
    assert text_of(build.view()) == [["half"]]


def test_reading_a_growing_block_does_not_change_it() -> None:
    build = ViewBuilder()
    block = build.start(build.message(about("msg_1")), 0, TextView("a", "streaming", "so "))
    for piece, whole in [("far", "so far"), (",", "so far,"), (" so", "so far, so")]:
        block.append(piece)
        assert text_of(build.view()) == text_of(build.view()) == [[whole]]


# --- tools --------------------------------------------------------------------------------------


def card(build: ViewBuilder) -> ToolView:
    ((shown,),) = (message.blocks for message in build.view().messages)
    assert isinstance(shown, ToolView)
    return shown


def test_events_of_a_tool_before_its_call_are_kept_for_it() -> None:
    build = ViewBuilder()
    build.ask(OpenRequest("r-1", "permission", "toolu_1", "Agent"))
    build.progress("toolu_1", "3 passed", 2.5)
    finish(build, about("msg_1"), call("toolu_1"))
    shown = card(build)
    assert (shown.output, shown.elapsed_seconds) == ("3 passed", 2.5)
    assert shown.request == RequestView("r-1", "permission")


def test_a_tool_with_a_result_accepts_no_output_and_no_other_result() -> None:
    build = ViewBuilder()
    finish(build, about("msg_1"), call("toolu_1"))
    build.progress("toolu_1", "half")
    assert build.result_of("toolu_1") is None
    assert build.result("toolu_1", ResultView("ok", False))
    assert not build.result("toolu_1", ResultView("other", True))
    build.progress("toolu_1", "late", 9)
    shown = card(build)
    assert (shown.output, shown.elapsed_seconds) == (None, None)
    assert shown.result == build.result_of("toolu_1") == ResultView("ok", False)
    assert build.result_of("toolu_2") is None


def test_a_discarded_call_is_removed_with_its_output() -> None:
    build = ViewBuilder()
    message = build.message(about("msg_1"))
    build.start(message, 0, ToolView("toolu_1", "streaming", "Agent"))
    build.progress("toolu_1", "half")
    build.discard(None, "toolu_1")
    finish(build, about("msg_1"), call("toolu_1"))
    assert card(build).output is None


def test_an_answer_goes_to_the_request_that_the_card_shows() -> None:
    build = ViewBuilder()
    finish(build, about("msg_1"), call("toolu_1"))
    build.resolve("r-1", outcome="answered")
    for name in ("r-1", "r-2"):
        build.ask(OpenRequest(name, "permission", "toolu_1", "Agent"))
    build.resolve("r-1", outcome="expired")
    assert card(build).request == RequestView("r-2", "permission")
    build.resolve("r-2", outcome="answered", decision="allow")
    answered = RequestView("r-2", "permission", "answered", decision="allow")
    assert card(build).request == answered
    build.resolve("r-2", outcome="cancelled")
    assert card(build).request == answered


# --- turns and state ----------------------------------------------------------------------------


def test_totals_are_the_sum_of_the_turns_until_the_server_sends_them() -> None:
    build = ViewBuilder()
    build.end_turn(1, TurnEnd(False, False, cost_usd=0.5))
    build.end_turn(1, TurnEnd(True, False, cost_usd=9))
    build.end_turn(2, TurnEnd(False, False, cost_usd=0.25))
    assert build.view().totals == Totals(cost_usd=0.75)
    build.set_status(Status("active", False, [], [], totals=Totals(cost_usd=3), title="A title"))
    build.set_status(Status("active", False, [], []))
    view = build.view()
    assert (view.totals, view.title) == (Totals(cost_usd=3), "A title")
    assert [turn.turn_id for turn in view.turns] == [1, 2]


def test_a_missing_title_keeps_the_title_and_an_empty_one_clears_it() -> None:
    build = ViewBuilder()
    build.tell("Greetings", None)
    build.tell(None, Totals(input_tokens=3))
    assert (build.view().title, build.view().totals) == ("Greetings", Totals(input_tokens=3))
    build.tell("", None)
    assert (build.view().title, build.view().totals) == (None, Totals(input_tokens=3))


def test_a_turn_that_cost_nothing_adds_nothing_to_write() -> None:
    build = ViewBuilder()
    build.end_turn(1, TurnEnd(False, False))
    assert msgspec.json.encode(build.view().totals) == b"{}"


def test_open_requests_are_those_of_the_state_and_later_ones() -> None:
    build = ViewBuilder()
    first, second, third = (
        OpenRequest(name, "question", f"toolu_{name}", "request_input") for name in "abc"
    )
    build.ask(first)
    assert build.view().status is None
    build.set_status(Status("waiting_input", False, [], [second]))
    build.ask(third)
    build.resolve("b", outcome="answered")
    status = build.view().status
    assert status is not None
    assert status.requests == [third]
