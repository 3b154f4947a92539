"""ClaudeStreamAdapter: a message from its first delta to its last block."""

from __future__ import annotations

import pytest

from tests.dialects.claude.helpers.stream_frames import (
    INIT,
    Frame,
    assistant,
    block_start,
    block_stop,
    call,
    delta,
    json_piece,
    kinds,
    message_delta,
    message_stop,
    one,
    only,
    result,
    said,
    se,
    start,
    text,
    text_start,
    tool_start,
    user,
)
from tests.helpers.recorded_streams import events_of, line, recorded
from turnwire.core import blocks
from turnwire.core import events as ev
from turnwire.core.usage import Usage
from turnwire.dialects.claude import ClaudeStreamAdapter
from turnwire.dialects.claude.message_state import MessageState


def test_a_streamed_answer_becomes_the_events_of_a_turn() -> None:
    events = events_of(
        [
            INIT,
            start(),
            text_start(),
            text(0, "Hel"),
            text(0, "lo"),
            assistant(said("Hello")),
            block_stop(),
            message_delta(),
            message_stop(),
            result(),
        ]
    )
    assert kinds(events) == [
        "SessionInit",
        "TurnStarted",
        "MessageStarted",
        "ContentStarted",
        "ContentDelta",
        "ContentDelta",
        "AssistantMessage",
        "ContentCompleted",
        "UsageUpdated",
        "MessageCompleted",
        "TurnCompleted",
        "ResultSummary",
    ]
    assert one(ev.ContentCompleted, events).block == blocks.TextBlock("Hello", "completed")
    assert one(ev.MessageCompleted, events) == ev.MessageCompleted(
        "claude", "s", None, None, "m1", "end_turn", Usage(input_tokens=10, output_tokens=5)
    )


def test_every_event_carries_provider_and_session() -> None:
    for event in events_of(recorded("09b_subagent_forward_text")):
        assert event.provider == "claude"
        assert event.session_id == "c3bb5dc4-4f43-4ee3-b6ab-0272e18ed091"


@pytest.mark.parametrize(
    "event",
    [
        {"type": "message_start"},
        {"type": "message_start", "message": None},
        {"type": "message_start", "message": {}},
        {"type": "message_start", "message": {"content": None, "model": None}},
    ],
)
def test_a_message_start_may_lack_message_content_and_model(event: Frame) -> None:
    events = events_of(
        [se(event, api_message_id="m1"), text_start(), text(0, "hi"), message_stop()]
    )
    started = one(ev.MessageStarted, events)
    assert (started.message_id, started.model) == ("m1", None)
    assert one(ev.ContentDelta, events).message_id == "m1"


def test_a_message_without_an_id_gets_one_that_its_assistant_frame_keeps() -> None:
    events = events_of(
        [se({"type": "message_start"}), text_start(), text(0, "hi"), assistant(said("hi"))]
    )
    assert one(ev.MessageStarted, events).message_id == "unnamed-1"
    assert one(ev.AssistantMessage, events).message_id == "unnamed-1"


def test_an_assistant_frame_without_an_id_belongs_to_the_message_that_streams() -> None:
    events = events_of(
        [start("m1"), text_start(), text(0, "hi"), assistant(said("hi"), message_id=None)]
    )
    assert one(ev.AssistantMessage, events).message_id == "m1"


def test_an_assistant_frame_without_an_id_is_a_new_message_when_nothing_waits() -> None:
    events = events_of([assistant(said("a")), assistant(said("b"), message_id=None)])
    assert [m.message_id for m in only(ev.AssistantMessage, events)] == ["m1", "unnamed-1"]


def test_one_assistant_frame_per_block_comes_before_its_block_stop() -> None:
    events = events_of(
        [
            start(),
            text_start(0),
            text(0, "Look"),
            assistant(said("Look"), uuid="u1"),
            block_stop(0),
            tool_start(1, "t1"),
            json_piece(1, '{"a":'),
            json_piece(1, "1}"),
            assistant(call("t1", tool_input={"a": 1}), uuid="u2"),
            block_stop(1),
            message_stop(),
        ]
    )
    assert [m.index for m in only(ev.AssistantMessage, events)] == [0, 1]
    assert [c.index for c in only(ev.ContentCompleted, events)] == [0, 1]


def test_a_whole_assistant_message_may_come_after_message_stop() -> None:
    events = events_of(
        [
            start(),
            text_start(0),
            text(0, "Look"),
            block_stop(0),
            tool_start(1, "t1"),
            json_piece(1, '{"a": 1}'),
            block_stop(1),
            message_delta("tool_use"),
            message_stop(),
            assistant(said("Look"), call("t1", tool_input={"a": 1})),
        ]
    )
    whole = one(ev.AssistantMessage, events)
    assert (whole.message_id, whole.index, len(whole.content)) == ("m1", 0, 2)
    assert [c.block for c in only(ev.ContentCompleted, events)] == whole.content
    assert not only(ev.MessageDiscarded, events)


def test_frames_with_one_message_id_are_one_message() -> None:
    events = events_of(
        [
            assistant(said("one"), uuid="u1"),
            assistant(call("t1"), uuid="u2"),
            assistant(said("one"), uuid="u3"),
        ]
    )
    messages = only(ev.AssistantMessage, events)
    assert [(m.message_id, m.index) for m in messages] == [("m1", 0), ("m1", 1), ("m1", 2)]


def test_a_repeated_frame_keeps_its_index() -> None:
    events = events_of(
        [
            assistant(said("one"), uuid="u1"),
            assistant(said("two"), uuid="u2"),
            assistant(said("one"), uuid="u1"),
            assistant(said("one"), said("two"), uuid="u3"),
            assistant(call("t1")),
            assistant(call("t1")),
        ]
    )
    assert [m.index for m in only(ev.AssistantMessage, events)] == [0, 1, 0, 0, 2, 2]


def test_a_message_may_be_said_in_parts_with_another_in_between() -> None:
    events = events_of(
        [
            assistant(said("a1"), message_id="a"),
            assistant(said("b1"), message_id="b"),
            assistant(said("a2"), message_id="a"),
            assistant(said("b2"), message_id="b"),
        ]
    )
    messages = only(ev.AssistantMessage, events)
    assert [(m.message_id, m.index) for m in messages] == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]


def test_only_the_last_few_messages_of_a_sub_agent_are_remembered() -> None:
    adapter = ClaudeStreamAdapter()
    for number in range(100):
        adapter.feed(line(assistant(said("x"), message_id=f"m{number}")))
    assert list(adapter._main.past) == [f"m{number}" for number in range(91, 99)]


def test_a_whole_message_may_come_after_one_of_its_blocks_was_said_alone() -> None:
    events = events_of(
        [
            start(),
            text_start(0),
            text(0, "A"),
            assistant(said("A"), uuid="u1"),
            block_stop(0),
            text_start(1),
            text(1, "B"),
            block_stop(1),
            message_stop(),
            assistant(said("A"), said("B"), uuid="u2"),
            assistant(said("B"), uuid="u3"),
        ]
    )
    assert [m.index for m in only(ev.AssistantMessage, events)] == [0, 0, 1]


def test_a_frame_of_another_kind_than_the_block_that_waits_is_the_next_block() -> None:
    thinking = {"type": "thinking", "thinking": "hm"}
    events = events_of([start(), block_start(0, thinking), assistant(said("words"))])
    assert one(ev.AssistantMessage, events).index == 1


def test_a_message_may_be_finished_in_part_before_it_begins_to_stream() -> None:
    api: Frame = {"api_message_id": "m1"}
    whole = [start(), text_start(0), text(0, "A"), block_stop(0), message_stop()]
    for frames in (whole, [{**frame, **api} for frame in whole], [{**f, **api} for f in whole[1:]]):
        events = events_of([assistant(said("A")), *frames])
        assert kinds(events)[1:6] == [
            "AssistantMessage",
            "MessageStarted",
            "ContentStarted",
            "ContentDelta",
            "ContentCompleted",
        ]
        assert kinds(events).count("MessageStarted") == 1


def test_the_end_of_an_unstreamed_message_gives_no_event() -> None:
    api: Frame = {"api_message_id": "m1"}
    events = events_of([assistant(said("A")), message_stop(**api), start("m1")])
    assert kinds(events) == ["TurnStarted", "AssistantMessage", "TurnFailed"]


def test_many_blocks_are_placed_as_fast_as_few() -> None:
    frames: list[Frame] = [start()]
    frames += [text_start(index, api_message_id="m1") for index in range(3000)]
    frames += [assistant(call(f"t{n}"), uuid=f"u{n}") for n in range(3000)]
    events = events_of(frames)
    assert [m.index for m in only(ev.AssistantMessage, events)] == list(range(3000, 6000))


def test_an_assistant_message_needs_no_stream_events_at_all() -> None:
    events = events_of([assistant(said("hello"))])
    assert kinds(events) == ["TurnStarted", "AssistantMessage", "TurnFailed"]
    assert one(ev.AssistantMessage, events).content == [blocks.TextBlock("hello", "completed")]


def test_an_empty_assistant_message_is_still_a_message() -> None:
    events = events_of([assistant(), {"type": "assistant", "session_id": "s"}])
    assert [m.content for m in only(ev.AssistantMessage, events)] == [[], []]


def test_string_content_is_one_text_block() -> None:
    events = events_of([user("plain words")])
    assert one(ev.UserMessage, events).content == [blocks.TextBlock("plain words", "completed")]


def test_a_block_that_no_frame_confirms_is_put_together_from_its_deltas() -> None:
    thinking = {"type": "thinking", "thinking": "", "signature": ""}
    events = events_of(
        [
            start(),
            block_start(0, thinking),
            delta(0, {"type": "thinking_delta", "thinking": "Hm"}),
            delta(0, {"type": "signature_delta", "signature": "c2ln"}),
            block_stop(0),
            text_start(1),
            text(1, "See"),
            delta(1, {"type": "citations_delta", "citation": {"url": "u"}}),
            block_stop(1),
            tool_start(2, "t1"),
            json_piece(2, '{"x": [1]}'),
            block_stop(2),
            tool_start(3, "t2"),
            json_piece(3, '{"x": [1'),
            block_stop(3),
            tool_start(4, "t3"),
            block_stop(4),
            block_start(5, {"type": "redacted_thinking", "data": "xyz"}),
            block_stop(5),
        ]
    )
    assert [c.block for c in only(ev.ContentCompleted, events)] == [
        blocks.ThinkingBlock("Hm", "completed", "c2ln"),
        blocks.TextBlock("See", "completed", [{"url": "u"}]),
        blocks.ToolUseBlock("t1", "Bash", "CLAUDE_BASH", {"x": [1]}, "in_progress"),
        blocks.ToolUseBlock("t2", "Bash", "CLAUDE_BASH", None, "in_progress", '{"x": [1'),
        blocks.ToolUseBlock("t3", "Bash", "CLAUDE_BASH", {}, "in_progress"),
        blocks.ThinkingBlock("", "completed", redacted="xyz"),
    ]


def test_a_message_stop_ends_the_blocks_that_were_left_open() -> None:
    events = events_of([start(), text_start(), text(0, "hi"), message_stop()])
    assert kinds(events)[-3:-1] == ["ContentCompleted", "MessageCompleted"]


def test_a_message_delta_may_say_next_to_nothing() -> None:
    quiet = se({"type": "message_delta", "delta": None})
    events = events_of([start(), quiet, message_stop()])
    ended = one(ev.MessageCompleted, events)
    assert (ended.stop_reason, ended.usage) == (None, None)


def test_a_tools_input_is_unknown_at_its_start_and_streams_under_the_tools_own_id() -> None:
    events = events_of([start(), tool_start(0, "t1"), json_piece(0, ""), json_piece(0, "{}")])
    begun = one(ev.ContentStarted, events).block
    assert begun == blocks.ToolUseBlock("t1", "Bash", "CLAUDE_BASH", None, "in_progress")
    piece = one(ev.ContentDelta, events)
    assert (piece.kind, piece.text, piece.tool_use_id) == ("tool_input", "{}", "t1")


def test_a_message_start_may_already_carry_blocks() -> None:
    message = {"id": "m1", "content": [{"type": "text", "text": "Hi"}]}
    events = events_of(
        [se({"type": "message_start", "message": message}), text(0, " you"), message_stop()]
    )
    assert one(ev.ContentCompleted, events).block == blocks.TextBlock("Hi you", "completed")


def test_a_block_started_twice_is_started_once() -> None:
    events = events_of([start(), text_start(), text(0, "a"), text_start(), text(0, "b")])
    assert len(only(ev.ContentStarted, events)) == 1
    assert [d.text for d in only(ev.ContentDelta, events)] == ["a", "b"]


def test_a_message_started_twice_is_started_once_and_keeps_its_finished_blocks() -> None:
    events = events_of(
        [
            start("m1"),
            text_start(0),
            assistant(said("sure")),
            start("m1"),
            block_stop(0),
            message_stop(),
            start("m2"),
            message_stop(),
            start("m1"),
            start("m2"),
        ]
    )
    assert [m.message_id for m in only(ev.MessageStarted, events)] == ["m1", "m2"]
    assert len(only(ev.ContentCompleted, events)) == 1
    assert not only(ev.MessageDiscarded, events)


def test_a_message_waits_until_each_block_is_finished_and_a_block_is_finished_once() -> None:
    state = MessageState("m", has_own_id=True)
    block = blocks.TextBlock("a", "completed")
    for index in range(2):
        state.start(index, block)
    for _ in range(2):
        assert state.place([block], "u") == 0
        assert state.waits()
    assert state.place([block], "v") == 1
    assert not state.waits()
