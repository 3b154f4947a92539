"""The view reducer of RPC: messages that stream, are abandoned or begin again (RPC section 5.2)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dialects.rpc.helpers.view_messages import (
    NOTHING,
    assistant,
    block,
    blocks_of,
    card,
    changed,
    content,
    delta,
    ended,
    fold,
    screen,
    started,
    stop,
    stream,
    text,
    thinking,
    tool,
)
from turnwire.core.blocks import UnknownBlock

# --- stream events (RPC section 5.2) ----------------------------------------------------------


def test_a_message_start_makes_a_placeholder() -> None:
    (message,) = fold(started("msg_1")).messages
    assert (message.role, message.id, message.model) == ("assistant", "msg_1", "claude-sonnet-4-5")
    assert message.streaming
    assert message.blocks == []


@pytest.mark.parametrize(
    "event",
    [
        {"type": "message_start"},
        {"type": "message_start", "message": {}},
        {"type": "message_start", "message": {"content": None}},
    ],
)
def test_a_placeholder_needs_no_name(event: dict[str, Any]) -> None:
    view = fold(stream(event), block(0, text("")), delta(0, "text_delta", "Hi"), ended())
    (message,) = view.messages
    assert (message.id, message.model, message.streaming) == ("nameless-1", None, False)
    assert blocks_of(message) == [text("Hi")]


def test_a_block_start_adds_a_block_at_its_index() -> None:
    view = fold(started(), block(1, text("b")), block(0, thinking("a")))
    assert content(view) == [[thinking("a"), text("b")]]


def test_a_block_start_for_a_tool_makes_its_card() -> None:
    view = fold(started(), block(0, tool("toolu_1")))
    shown = card(view, "toolu_1")
    assert (shown.status, shown.result, shown.output) == ("streaming", None, None)


def test_text_grows_with_each_delta() -> None:
    frames = [started(), block(0, text("")), delta(0, "text_delta", "Hel")]
    assert content(fold(*frames)) == [[text("Hel")]]
    assert content(fold(*frames, delta(0, "text_delta", "lo"))) == [[text("Hello")]]


def test_text_grows_from_the_initial_text_of_its_block() -> None:
    frames = [started(), block(0, text("He")), delta(0, "text_delta", "llo")]
    assert content(fold(*frames)) == content(fold(*frames, stop(0))) == [[text("Hello")]]


def test_thinking_grows_with_each_delta() -> None:
    view = fold(
        started(),
        block(0, {**thinking("H"), "signature": "sig"}),
        delta(0, "thinking_delta", "m"),
        delta(0, "thinking_delta", "."),
    )
    assert content(view) == [[{**thinking("Hm."), "signature": "sig"}]]


@pytest.mark.parametrize("end", [stop(0), ended()])
def test_a_tools_input_is_text_until_its_block_ends(end: dict[str, Any]) -> None:
    frames = [started(), block(0, tool("toolu_1")), delta(0, "input_json_delta", '{"file_path"')]
    half = {**tool("toolu_1"), "input_text": '{"file_path"'}
    assert content(fold(*frames)) == [[half]]
    whole = delta(0, "input_json_delta", ': "notes.txt"}')
    assert content(fold(*frames, whole, end)) == [[tool("toolu_1", {"file_path": "notes.txt"})]]


@pytest.mark.parametrize("nonsense", ['{"file_path"', "[" * 100_000])
def test_a_tools_input_that_never_becomes_whole_is_kept_as_text(nonsense: str) -> None:
    frames = [started(), block(0, tool("toolu_1")), delta(0, "input_json_delta", nonsense)]
    kept = {**tool("toolu_1"), "input_text": nonsense}
    assert content(fold(*frames)) == content(fold(*frames, stop(0), ended())) == [[kept]]


def test_deltas_go_to_the_block_with_their_index() -> None:
    view = fold(
        started(),
        block(0, text("")),
        block(1, text("")),
        delta(1, "text_delta", "one"),
        delta(0, "text_delta", "zero"),
        delta(1, "text_delta", "!"),
    )
    assert content(view) == [[text("zero"), text("one!")]]


@pytest.mark.parametrize(
    ("kind", "words"), [("output_delta", "3 passed"), ("hologram_delta", "beam")]
)
def test_a_delta_that_a_block_has_no_use_for_changes_nothing(kind: str, words: str) -> None:
    frames = [started(), block(0, text("Hi"))]
    assert screen(fold(*frames, delta(0, kind, words))) == screen(fold(*frames))


def test_an_unknown_block_is_kept_and_its_deltas_change_nothing() -> None:
    hologram = {"type": "hologram", "beams": 3}
    view = fold(started(), block(0, hologram), delta(0, "text_delta", "x"), stop(0))
    (message,) = view.messages
    assert blocks_of(message) == [UnknownBlock("hologram", hologram)]


def test_a_block_stop_keeps_the_content_of_the_block() -> None:
    frames = [started(), block(0, text("")), delta(0, "text_delta", "Hello")]
    assert content(fold(*frames, stop(0))) == content(fold(*frames))


def test_a_message_delta_changes_nothing_on_the_screen() -> None:
    frames = [started(), block(0, text("Hi"))]
    told = changed("end_turn", {"output_tokens": 150})
    assert screen(fold(*frames, told)) == screen(fold(*frames))


def test_a_message_stop_ends_the_streaming() -> None:
    (message,) = fold(started(), block(0, text("Hi")), stop(0), ended()).messages
    assert not message.streaming
    assert blocks_of(message) == [text("Hi")]


@pytest.mark.parametrize(
    "wire",
    [
        block(0, text("Hi")),
        delta(0, "text_delta", "Hi"),
        stop(0),
        changed("end_turn"),
        ended(),
        ended(discarded_from=0),
    ],
)
def test_a_stream_event_without_a_message_changes_nothing(wire: dict[str, Any]) -> None:
    assert screen(fold(wire)) == NOTHING


@pytest.mark.parametrize("wire", [delta(7, "text_delta", "Hi"), stop(7)])
def test_a_stream_event_without_a_block_changes_nothing(wire: dict[str, Any]) -> None:
    frames = [started(), block(0, text("Hi"))]
    assert screen(fold(*frames, wire)) == screen(fold(*frames))


def test_messages_follow_each_other() -> None:
    view = fold(
        started("msg_1"),
        block(0, text("one")),
        ended(),
        started("msg_2"),
        block(0, text("two")),
    )
    assert content(view) == [[text("one")], [text("two")]]
    assert [message.streaming for message in view.messages] == [False, True]


# --- abandoned messages -----------------------------------------------------------------------


def test_an_abandoned_message_keeps_the_blocks_before_and_drops_the_rest() -> None:
    view = fold(
        started(),
        block(0, tool("toolu_kept")),
        block(1, text("void")),
        block(2, tool("toolu_void")),
        ended(discarded_from=1),
    )
    (message,) = view.messages
    assert blocks_of(message) == [tool("toolu_kept")]
    assert not message.streaming


@pytest.mark.parametrize("message_id", ["msg_1", None])
def test_a_message_abandoned_from_its_first_block_on_disappears(message_id: str | None) -> None:
    view = fold(started(message_id), block(0, tool("toolu_1")), ended(discarded_from=0))
    assert screen(view) == NOTHING


def test_a_message_abandoned_before_its_first_block_disappears() -> None:
    assert screen(fold(started(), ended(discarded_from=0))) == NOTHING


def test_a_removed_message_may_be_sent_again() -> None:
    again = [started(), block(0, text("Hello")), ended()]
    frames = [started(), block(0, text("Hel")), ended(discarded_from=0), *again]
    assert screen(fold(*frames)) == screen(fold(*again))


def test_late_events_of_a_removed_message_change_nothing() -> None:
    view = fold(
        started(),
        ended(discarded_from=0),
        block(0, text("late")),
        delta(0, "text_delta", "later"),
        ended(),
    )
    assert screen(view) == NOTHING


def test_a_finished_message_without_an_id_does_not_go_to_a_message_that_disappeared() -> None:
    view = fold(started(), ended(discarded_from=0), assistant(text("Hello")))
    assert content(view) == [[text("Hello")]]


# --- begun anew ---------------------------------------------------------------------------------


def test_a_message_that_is_streamed_again_before_its_end_is_not_doubled() -> None:
    first = [started("msg_1"), block(0, text("")), delta(0, "text_delta", "Hel")]
    again = [started("msg_1"), block(0, text("")), delta(0, "text_delta", "Hello")]
    assert content(fold(*first, *again)) == [[text("Hello")]]


def test_a_message_is_no_longer_streaming_when_the_next_one_begins() -> None:
    view = fold(started("msg_1"), block(0, text("")), started("msg_2"))
    assert [message.streaming for message in view.messages] == [False, True]


def test_a_delta_of_another_kind_than_its_block_changes_nothing() -> None:
    view = fold(
        started("msg_1"),
        block(0, text("a")),
        delta(0, "input_json_delta", "{}"),
        delta(0, "thinking_delta", "hm"),
    )
    assert content(view) == [[text("a")]]
