"""The view reducer of RPC: finished messages replace what was streamed (RPC section 5.4)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dialects.rpc.helpers.view_messages import (
    assistant,
    block,
    blocks_of,
    content,
    delta,
    ended,
    fold,
    frame,
    result,
    screen,
    started,
    stop,
    stream,
    text,
    thinking,
    tool,
    user,
)
from turnwire.core.blocks import UnknownBlock

HALF = [
    started("msg_1"),
    block(0, thinking("")),
    delta(0, "thinking_delta", "H"),
    block(1, text("")),
    delta(1, "text_delta", "Hel"),
    block(2, tool("toolu_1")),
    delta(2, "input_json_delta", '{"a"'),
    block(3, tool("toolu_2")),
]

FINISHED = [thinking("Hm"), text("Hello"), tool("toolu_1", {"a": 1}), tool("toolu_2", {})]


def test_a_finished_message_takes_the_place_of_its_placeholder_and_keeps_its_id() -> None:
    (message,) = fold(*HALF, assistant(*FINISHED, id="msg_1", index=0)).messages
    assert message.id == "msg_1"
    assert message.streaming
    assert blocks_of(message) == FINISHED


def test_a_finished_message_without_an_id_replaces_the_streaming_message() -> None:
    (message,) = fold(*HALF, assistant(*FINISHED)).messages
    assert message.id == "msg_1"
    assert blocks_of(message) == FINISHED


def test_a_finished_message_without_an_id_finds_its_placeholder_after_the_end_too() -> None:
    (message,) = fold(*HALF, ended(), assistant(*FINISHED)).messages
    assert not message.streaming
    assert blocks_of(message) == FINISHED


def test_without_an_index_a_tool_call_is_found_by_its_id() -> None:
    second = assistant(tool("toolu_2", {"b": 2}), id="msg_1")
    half = {**tool("toolu_1"), "input_text": '{"a"'}
    assert content(fold(*HALF, second))[0][2:] == [half, tool("toolu_2", {"b": 2})]
    first = assistant(tool("toolu_1", {"a": 1}), id="msg_1")
    assert content(fold(*HALF, second, first))[0][2:] == [
        tool("toolu_1", {"a": 1}),
        tool("toolu_2", {"b": 2}),
    ]


def test_without_an_index_thinking_and_text_are_found_by_their_kind() -> None:
    for finished in (thinking("Hm"), text("Hello")):
        (blocks,) = content(fold(*HALF, assistant(finished, id="msg_1")))
        assert len(blocks) == 4
        assert finished in blocks


def test_without_an_index_blocks_of_one_kind_are_found_in_their_order() -> None:
    first, second = block(0, text("a")), block(1, text("b"))
    finished = [assistant(text("A"), id="msg_1"), assistant(text("B"), id="msg_1")]
    for begun in ([first, second], [second, first]):
        assert content(fold(started(), *begun, *finished)) == [[text("A"), text("B")]]


def test_without_an_index_unknown_blocks_are_found_by_their_original_type() -> None:
    frames = [
        started(),
        block(0, {"type": "hologram"}),
        block(1, {"type": "smell"}),
        assistant({"type": "smell", "of": "roses"}, id="msg_1"),
    ]
    (message,) = fold(*frames).messages
    assert blocks_of(message) == [
        UnknownBlock("hologram", {"type": "hologram"}),
        UnknownBlock("smell", {"type": "smell", "of": "roses"}),
    ]


def test_without_an_index_a_block_that_was_not_streamed_goes_to_the_end() -> None:
    more = assistant(tool("toolu_3", {}), text("Hello"), id="msg_1")
    (blocks,) = content(fold(*HALF, more))
    assert blocks == [
        thinking("H"),
        text("Hello"),
        {**tool("toolu_1"), "input_text": '{"a"'},
        tool("toolu_2"),
        tool("toolu_3", {}),
    ]


def test_blocks_with_an_index_are_placed_by_it() -> None:
    view = fold(
        started(),
        block(0, text("a")),
        block(1, text("b")),
        assistant(text("B"), text("C"), id="msg_1", index=1),
    )
    assert content(view) == [[text("a"), text("B"), text("C")]]


def test_a_finished_block_takes_no_more_deltas() -> None:
    view = fold(
        *HALF,
        assistant(*FINISHED, id="msg_1", index=0),
        delta(0, "thinking_delta", "late"),
        delta(1, "text_delta", "late"),
        delta(2, "input_json_delta", "late"),
        stop(0),
        stop(1),
        stop(2),
    )
    assert content(view) == [FINISHED]


def test_a_block_may_be_finished_before_it_begins() -> None:
    view = fold(
        started(),
        assistant(text("Hello"), id="msg_1", index=0),
        block(0, text("")),
        delta(0, "text_delta", "Hel"),
        stop(0),
        ended(),
    )
    assert content(view) == [[text("Hello")]]


def test_a_message_may_be_finished_in_part_before_it_begins() -> None:
    view = fold(
        started("msg_0"),
        block(0, text("before")),
        ended(),
        assistant(text("Hello"), id="msg_1", index=0),
        started("msg_1"),
        block(0, text("")),
        block(1, text("")),
        delta(1, "text_delta", "there"),
    )
    assert content(view) == [[text("before")], [text("Hello"), text("there")]]


def test_a_finished_message_finds_the_placeholder_without_an_id_that_took_its_first_part() -> None:
    first, second = (assistant(text(t), id="msg_1", index=i) for i, t in enumerate("ab"))
    start = stream({"type": "message_start"})
    view = fold(start, block(0, text("")), first, ended(), second, first)
    assert content(view) == [[text("a"), text("b")]]


def test_frames_with_one_id_are_one_message() -> None:
    view = fold(
        assistant(thinking("Hm"), id="msg_1", index=0),
        assistant(text("Hello"), id="msg_1", index=1, model="claude-sonnet-4-5"),
        user(result("toolu_0")),
        assistant(tool("toolu_1", {}), id="msg_1"),
    )
    assert content(view) == [[thinking("Hm"), text("Hello"), tool("toolu_1", {})]]
    assert view.messages[0].model == "claude-sonnet-4-5"


def test_a_finished_message_does_not_forget_the_model() -> None:
    (message,) = fold(started(), assistant(text("Hi"), id="msg_1", index=0)).messages
    assert message.model == "claude-sonnet-4-5"


def test_a_finished_message_is_appended_when_nothing_streams() -> None:
    view = fold(
        user(text("Hi")),
        assistant(text("one"), id="msg_1"),
        assistant(text("two"), id="msg_2"),
        assistant(text("three")),
    )
    assert content(view) == [[text("Hi")], [text("one")], [text("two")], [text("three")]]


def test_a_finished_message_is_appended_when_everything_streamed_is_finished() -> None:
    view = fold(*HALF, assistant(*FINISHED, id="msg_1", index=0), ended(), assistant(text("x")))
    assert content(view) == [FINISHED, [text("x")]]


def test_a_finished_message_with_another_id_is_another_message() -> None:
    view = fold(started("msg_1"), block(0, text("a")), assistant(text("b"), id="msg_2"))
    assert content(view) == [[text("b")], [text("a")]]  # growing blocks are at the end


def test_a_finished_message_without_content_adds_no_block() -> None:
    frames = [started(), block(0, text("a"))]
    empty = frame(type="assistant", message={"id": "msg_1"})
    assert screen(fold(*frames, empty)) == screen(fold(*frames))


def test_a_finished_message_without_an_id_goes_to_a_placeholder_that_is_still_empty() -> None:
    view = fold(started("msg_1"), assistant(text("Hello")), ended())
    assert [message.id for message in view.messages] == ["msg_1"]
    assert content(view) == [[text("Hello")]]


def test_a_finished_message_goes_to_a_placeholder_that_has_no_id() -> None:
    view = fold(
        stream({"type": "message_start"}),
        block(0, text("")),
        delta(0, "text_delta", "Hel"),
        assistant(text("Hello"), id="msg_1", index=0),
        ended(),
    )
    assert content(view) == [[text("Hello")]]


@pytest.mark.parametrize(
    "finished",
    [
        assistant(*FINISHED, id="msg_1", index=0),
        assistant(text("Hello"), id="msg_1", index=1),
        assistant(tool("toolu_2", {}), id="msg_1"),
        user(result("toolu_1", "hi")),
    ],
)
def test_a_finished_message_may_be_repeated(finished: dict[str, Any]) -> None:
    assert screen(fold(*HALF, finished, finished)) == screen(fold(*HALF, finished))
