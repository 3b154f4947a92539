"""ClaudeStreamAdapter: what each turn of Claude's stream means, one sentence a test."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
import pytest

from tests.streams import events_of, line, recorded
from turnwire.core import blocks
from turnwire.core import events as ev
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.usage import ModelUsage, Usage
from turnwire.dialects.claude import ClaudeStreamAdapter, Line, system
from turnwire.dialects.claude.message_state import MessageState

E = TypeVar("E")
Frame = dict[str, Any]


# --- small frames -------------------------------------------------------------------------------


def se(event: Frame, **more: Any) -> Frame:
    return {"type": "stream_event", "session_id": "s", "event": event, **more}


def start(message_id: str | None = "m1", **more: Any) -> Frame:
    return se({"type": "message_start", "message": {"id": message_id, "model": "claude"}}, **more)


def block_start(index: int, block: Frame, **more: Any) -> Frame:
    return se({"type": "content_block_start", "index": index, "content_block": block}, **more)


def text_start(index: int = 0, **more: Any) -> Frame:
    return block_start(index, {"type": "text", "text": ""}, **more)


def tool_start(index: int, tool_id: str, name: str = "Bash", **more: Any) -> Frame:
    block = {"type": "tool_use", "id": tool_id, "name": name, "input": {}}
    return block_start(index, block, **more)


def delta(index: int, body: Frame, **more: Any) -> Frame:
    return se({"type": "content_block_delta", "index": index, "delta": body}, **more)


def text(index: int, piece: str, **more: Any) -> Frame:
    return delta(index, {"type": "text_delta", "text": piece}, **more)


def json_piece(index: int, piece: str, **more: Any) -> Frame:
    return delta(index, {"type": "input_json_delta", "partial_json": piece}, **more)


def block_stop(index: int = 0, **more: Any) -> Frame:
    return se({"type": "content_block_stop", "index": index}, **more)


def message_delta(stop_reason: str | None = "end_turn", **more: Any) -> Frame:
    usage = {"input_tokens": 10, "output_tokens": 5}
    return se(
        {"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": usage}, **more
    )


def message_stop(**more: Any) -> Frame:
    return se({"type": "message_stop"}, **more)


def assistant(*content: Frame, message_id: str | None = "m1", **more: Any) -> Frame:
    message: Frame = {"model": "claude", "content": list(content)}
    if message_id is not None:
        message["id"] = message_id
    return {"type": "assistant", "session_id": "s", "message": message, **more}


def said(words: str) -> Frame:
    return {"type": "text", "text": words}


def call(tool_id: str, name: str = "Bash", tool_input: Any = None) -> Frame:
    return {"type": "tool_use", "id": tool_id, "name": name, "input": tool_input or {}}


def user(content: Any, **more: Any) -> Frame:
    return {
        "type": "user",
        "session_id": "s",
        "message": {"role": "user", "content": content},
        **more,
    }


def tool_result(tool_id: str, content: Any = "ok", **more: Any) -> Frame:
    return {"type": "tool_result", "tool_use_id": tool_id, "content": content, **more}


def result(**more: Any) -> Frame:
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "session_id": "s",
        "terminal_reason": "completed",
        "stop_reason": "end_turn",
        **more,
    }


INIT: Frame = {"type": "system", "subtype": "init", "session_id": "s", "model": "claude"}


def only(kind: type[E], events: list[NormalizedStreamEvent]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def one(kind: type[E], events: list[NormalizedStreamEvent]) -> E:
    (event,) = only(kind, events)
    return event


def kinds(events: list[NormalizedStreamEvent]) -> list[str]:
    return [type(event).__name__ for event in events]


# --- a message as it grows ----------------------------------------------------------------------


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


def test_a_message_nobody_named_gets_a_name_that_its_assistant_frame_keeps() -> None:
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


def test_a_repeated_frame_keeps_its_place() -> None:
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


def test_only_the_last_few_messages_of_a_voice_are_remembered() -> None:
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


def test_the_end_of_a_message_that_was_never_streamed_is_no_news() -> None:
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


def test_a_message_started_twice_is_started_once_and_keeps_what_is_finished() -> None:
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


# --- streams that begin in the middle, or contradict themselves ---------------------------------


def test_a_delta_without_a_start_begins_its_message_and_its_block() -> None:
    events = events_of([text(0, "lo", api_message_id="m9"), text(0, "!", api_message_id="m9")])
    assert kinds(events)[:5] == [
        "TurnStarted",
        "MessageStarted",
        "ContentStarted",
        "ContentDelta",
        "ContentDelta",
    ]
    assert one(ev.MessageStarted, events).message_id == "m9"


def test_thinking_and_citations_without_a_start_begin_their_block_too() -> None:
    events = events_of(
        [
            start(),
            delta(0, {"type": "signature_delta", "signature": "x"}),
            delta(1, {"type": "citations_delta", "citation": {}}),
            block_stop(0),
        ]
    )
    begun = [c.block for c in only(ev.ContentStarted, events)]
    assert begun == [blocks.ThinkingBlock("", "in_progress"), blocks.TextBlock("", "in_progress")]
    assert one(ev.ContentCompleted, events).block == blocks.ThinkingBlock("", "completed", "x")


def test_a_tool_that_nobody_saw_start_is_not_made_up() -> None:
    events = events_of([start(), json_piece(0, "{}"), block_stop(0), message_stop()])
    assert not only(ev.ContentStarted, events) + only(ev.ContentCompleted, events)


def test_a_delta_after_its_blocks_end_is_passed_by() -> None:
    events = events_of([start(), text_start(), text(0, "a"), block_stop(), text(0, "b")])
    assert [d.text for d in only(ev.ContentDelta, events)] == ["a"]


def test_stream_events_of_a_message_that_is_over_are_passed_by() -> None:
    over: Frame = {"api_message_id": "m1"}
    late = [text(0, "x", **over), block_stop(0, **over), message_delta(**over)]
    begun = [start("m1", **over), text_start(0, **over), message_stop(**over)]
    assert kinds(events_of(begun + late + [message_stop(**over)])) == kinds(events_of(begun))
    replaced = [start("m1", **over), assistant(said("retry"), message_id="m2")]
    assert kinds(events_of(replaced + late + [message_stop(**over)])) == kinds(events_of(replaced))


def test_a_message_stop_without_a_message_means_nothing() -> None:
    assert events_of([message_stop()]) == []


def test_pings_and_signs_of_life_mean_nothing() -> None:
    assert events_of([se({"type": "ping"}), {"type": "keep_alive"}]) == []


# --- abandoned and restarted --------------------------------------------------------------------


def test_abandoned_blocks_are_discarded_and_their_message_ends() -> None:
    events = events_of(
        [
            start(),
            text_start(0),
            text(0, "kept"),
            assistant(said("kept")),
            block_stop(0),
            text_start(1),
            text(1, "cut"),
            block_stop(1),
            message_stop(abandoned_blocks={"api_message_id": "m1", "from_block_index": 1}),
        ]
    )
    gone = one(ev.MessageDiscarded, events)
    assert (gone.message_id, gone.from_index, gone.reason) == ("m1", 1, "abandoned")
    assert not only(ev.MessageCompleted, events)


def test_nothing_is_discarded_when_the_abandoned_blocks_never_came() -> None:
    """The CLI says so after an interrupt: the one block there was is confirmed as aborted."""
    events = events_of(recorded("07_interrupt_stream"))
    assert not only(ev.MessageDiscarded, events)
    assert [m.aborted for m in only(ev.AssistantMessage, events)] == [True, False]


def test_a_restarted_message_discards_what_was_not_confirmed() -> None:
    events = events_of(
        [
            start("m1"),
            text_start(0),
            text(0, "sure"),
            assistant(said("sure")),
            block_stop(0),
            text_start(1),
            text(1, "uns"),
            start("m2"),
        ]
    )
    first = only(ev.MessageDiscarded, events)[0]
    assert (first.message_id, first.from_index, first.reason) == ("m1", 1, "restarted")


def test_a_message_whose_blocks_are_all_confirmed_loses_none_when_it_is_cut_off() -> None:
    events = events_of(
        [start("m1"), text_start(0), assistant(said("sure")), start("m2"), message_stop()]
    )
    gone = one(ev.MessageDiscarded, events)
    assert (gone.message_id, gone.from_index) == ("m1", 1)


def test_a_message_without_blocks_is_discarded_from_the_start() -> None:
    gone = one(ev.MessageDiscarded, events_of([start("m1"), result()]))
    assert (gone.from_index, gone.reason) == (0, "turn_ended")


def test_a_retry_that_is_not_streamed_replaces_the_partial_message() -> None:
    events = events_of(
        [start("m1"), text_start(0), text(0, "par"), assistant(said("whole"), message_id="m2")]
    )
    gone = one(ev.MessageDiscarded, events)
    assert (gone.message_id, gone.from_index, gone.reason) == ("m1", 0, "replaced")
    assert one(ev.AssistantMessage, events).message_id == "m2"


def test_an_end_of_stream_leaves_nothing_half_said() -> None:
    events = events_of([INIT, start(), text_start(), text(0, "hal")])
    assert kinds(events)[-2:] == ["MessageDiscarded", "TurnFailed"]
    assert one(ev.TurnFailed, events).code == "agent_lost"
    assert one(ev.MessageDiscarded, events).reason == "stream_ended"


# --- tools, sub-agents, background --------------------------------------------------------------


def test_parallel_tools_keep_their_ids_indexes_and_results() -> None:
    events = events_of(recorded("05_parallel"))
    calls = {
        block.id: message.index
        for message in only(ev.AssistantMessage, events)
        for block in message.content
        if isinstance(block, blocks.ToolUseBlock)
    }
    assert calls == {"toolu_a": 1, "toolu_b": 2, "toolu_c": 3}
    results = {
        block.tool_use_id: (block.content, block.is_error)
        for message in only(ev.UserMessage, events)
        for block in message.content
        if isinstance(block, blocks.ToolResultBlock)
    }
    assert results == {
        "toolu_a": ("A", False),
        "toolu_b": ("1\tthe secret is 7\n2\tline two\n3\t", False),
        "toolu_c": ("C", False),
    }


def test_a_tool_result_in_a_user_frame_is_the_tools_word_with_its_details() -> None:
    frame = user([tool_result("t1", "boom", is_error=True)], tool_use_result={"stderr": "boom"})
    message = one(ev.UserMessage, events_of([frame]))
    (block,) = message.content
    assert isinstance(block, blocks.ToolResultBlock)
    assert (message.origin, block.is_error, block.status) == ("tool", True, "failed")
    assert msgspec.json.decode(msgspec.json.encode(block))["details"] == {"stderr": "boom"}


def test_details_are_left_out_where_it_is_not_clear_whose_they_are() -> None:
    frame = user([tool_result("t1"), tool_result("t2")], tool_use_result={"x": 1})
    for block in one(ev.UserMessage, events_of([frame])).content:
        assert isinstance(block, blocks.ToolResultBlock)
        assert block.details is msgspec.UNSET


def test_sub_agents_speak_under_their_tool_call_even_interleaved() -> None:
    sub: Frame = {"parent_tool_use_id": "agent_tool", "agent_id": "a1"}
    other: Frame = {"parent_tool_use_id": "other_tool", "agent_id": "a2"}
    events = events_of(
        [
            start("main"),
            text_start(0),
            start("sub", **sub),
            text_start(0, **sub),
            text(0, "sub ", **sub),
            text(0, "main ", parent_tool_use_id=None),
            start("other", **other),
            text_start(0, **other),
            text(0, "other", **other),
            text(0, "words", **sub),
            message_stop(**sub),
            message_stop(**other),
            message_stop(),
        ]
    )
    pieces = [(d.message_id, d.parent_tool_use_id, d.agent_id, d.text) for d in _deltas(events)]
    assert pieces == [
        ("sub", "agent_tool", "a1", "sub "),
        ("main", None, None, "main "),
        ("other", "other_tool", "a2", "other"),
        ("sub", "agent_tool", "a1", "words"),
    ]
    completed = {c.message_id: c.block for c in only(ev.ContentCompleted, events)}
    assert completed["sub"] == blocks.TextBlock("sub words", "completed")
    assert not only(ev.MessageDiscarded, events)


def _deltas(events: list[NormalizedStreamEvent]) -> list[ev.ContentDelta]:
    return only(ev.ContentDelta, events)


def test_a_sub_agents_id_may_become_known_later() -> None:
    parent: Frame = {"parent_tool_use_id": "t1"}
    events = events_of([user([said("go")], **parent), user([said("on")], **parent, agent_id="a1")])
    assert [m.agent_id for m in only(ev.UserMessage, events)] == [None, "a1"]


def test_a_sub_agent_starts_no_turn() -> None:
    frame = assistant(said("sub"), parent_tool_use_id="t1", agent_id="a1")
    assert kinds(events_of([frame])) == ["AssistantMessage"]


def test_only_so_many_sub_agents_are_remembered() -> None:
    adapter = ClaudeStreamAdapter()
    for number in range(3000):
        adapter.feed(line(user([said("go")], parent_tool_use_id=f"t{number}")))
    assert len(adapter._lanes) < 1100
    assert None in adapter._lanes


def test_the_sub_agent_that_is_forgotten_is_one_that_has_long_been_quiet() -> None:
    sub: Frame = {"parent_tool_use_id": "t", "agent_id": "a"}
    busy: Frame = {"parent_tool_use_id": "busy"}
    frames = [start("b", **busy), text_start(0, **busy), assistant(said("one"), **sub)]
    for number in range(3000):
        frames.append(assistant(said("x"), parent_tool_use_id=f"t{number}", message_id="x"))
        if number % 500 == 0:
            frames.append(user([said("go on")], **sub))
    frames += [assistant(said("two"), **sub), text(0, "still here", **busy, api_message_id="b")]
    events = events_of(frames)
    mine = [m for m in only(ev.AssistantMessage, events) if m.parent_tool_use_id == "t"]
    assert [m.index for m in mine] == [0, 1]
    assert len(only(ev.MessageStarted, events)) == 1


def test_when_all_are_in_mid_message_the_oldest_is_forgotten() -> None:
    adapter = ClaudeStreamAdapter()
    for number in range(1100):
        adapter.feed(line(start(f"m{number}", parent_tool_use_id=f"t{number}")))
    assert "t0" not in adapter._lanes
    assert "t1099" in adapter._lanes


def test_a_background_agent_goes_on_after_the_result_and_an_unprompted_turn_follows() -> None:
    events = events_of(recorded("09c_subagent_background"))
    turns = [
        kind
        for kind in kinds(events)
        if kind in ("TurnStarted", "TurnCompleted", "AssistantMessage", "UserMessage")
    ]
    ended = turns.index("TurnCompleted")
    assert turns[ended + 1 : ended + 4] == ["UserMessage", "AssistantMessage", "TurnStarted"]
    assert [t.origin for t in only(ev.TurnCompleted, events)] == [None, "task-notification"]
    late = [e for e in only(ev.AssistantMessage, events) if e.parent_tool_use_id]
    assert {e.parent_tool_use_id for e in late} == {"toolu_agent"}


def test_a_heartbeat_is_its_tools_own_and_no_sub_agents() -> None:
    progress = one(ev.ToolProgress, events_of(recorded("26_long_tool")))
    assert (progress.tool_use_id, progress.parent_tool_use_id) == ("toolu_b", None)
    assert (progress.elapsed_seconds, progress.heartbeat) == (30, True)


def test_progress_of_a_sub_agents_tool_stays_under_the_sub_agent() -> None:
    frame = {"type": "tool_progress", "tool_use_id": "t2", "parent_tool_use_id": "t1"}
    progress = one(ev.ToolProgress, events_of([frame]))
    assert (progress.tool_use_id, progress.parent_tool_use_id) == ("t2", "t1")


# --- user frames that no person wrote -----------------------------------------------------------


def test_the_leftover_of_an_interrupt_is_recognized_by_the_interrupt_before_it() -> None:
    for name in ("07_interrupt_stream", "07b_interrupt_tool", "07c_interrupt_permission"):
        origins = [m.origin for m in only(ev.UserMessage, events_of(recorded(name)))]
        assert origins[-1] == "interrupt", name


def test_the_same_words_without_an_interrupt_are_a_persons() -> None:
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


def test_an_init_has_the_digest_of_what_the_agent_is() -> None:
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
def test_only_what_names_an_init_is_not_in_its_digest(more: Frame, is_same: bool) -> None:
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


def test_a_resumed_session_does_not_cost_again_what_it_has_cost_before() -> None:
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


# --- what the agent asks ------------------------------------------------------------------------


def test_a_permission_request_shows_exactly_what_would_run() -> None:
    asked = only(ev.PermissionRequested, events_of(recorded("03_tools_allow")))[1]
    assert asked.tool_use_id == "toolu_bash1"
    assert asked.tool_name == "Bash"
    assert asked.input["command"] == "echo hi > made.txt; cat made.txt"
    assert asked.title == "Bash"
    assert asked.suggestions[0].type == "addRules"


def test_a_sub_agents_permission_request_is_found_under_its_tool_call() -> None:
    asked = one(ev.PermissionRequested, events_of(recorded("09_subagent")))
    assert (asked.parent_tool_use_id, asked.agent_id) == ("toolu_agent", "a583cab084e2aca75")


def test_an_unknown_agents_request_keeps_the_agents_id() -> None:
    request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}, "agent_id": "a9"}
    frame = {"type": "control_request", "request_id": "r1", "request": request}
    asked = one(ev.PermissionRequested, events_of([frame]))
    assert (asked.parent_tool_use_id, asked.agent_id) == (None, "a9")
    assert asked.tool_use_id == "r1"


def test_ask_user_question_is_a_question_with_its_options() -> None:
    asked = one(ev.QuestionAsked, events_of(recorded("06_ask_user")))
    assert asked.tool_use_id == "toolu_ask"
    colour, sizes = asked.questions
    assert (colour.id, colour.header, colour.multi) == ("Which colour?", "Colour", False)
    assert [(o.label, o.description) for o in colour.options] == [
        ("Red", "warm"),
        ("Blue", "cold"),
    ]
    assert sizes.multi


@pytest.mark.parametrize("name", ["06_ask_user", "08_request_input"])
def test_each_event_of_a_question_says_that_it_is_one(name: str) -> None:
    events = events_of(recorded(name))
    said = [
        block
        for event in events
        for block in (
            event.content
            if isinstance(event, ev.AssistantMessage)
            else [event.block]
            if isinstance(event, ev.ContentStarted | ev.ContentCompleted)
            else []
        )
        if isinstance(block, blocks.ToolUseBlock)
    ]
    assert len(said) >= 3, "as it begins, as it ends, and as it is said for good"
    assert all(block.asks is True for block in said)
    assert one(ev.QuestionAsked, events).asks is True


def test_a_call_that_is_work_does_not_say_that_it_asks() -> None:
    messages = only(ev.AssistantMessage, events_of(recorded("05_parallel")))
    calls = [
        each for said in messages for each in said.content if isinstance(each, blocks.ToolUseBlock)
    ]
    assert calls
    assert not any(call.asks or call.is_question for call in calls)


def test_the_request_input_tool_is_a_question_under_the_tools_own_id() -> None:
    asked = one(ev.QuestionAsked, events_of(recorded("08_request_input")))
    assert (asked.tool_use_id, asked.tool_name) == ("toolu_ri", "request_input")
    assert [q.question for q in asked.questions] == ["Your name?"]


@pytest.mark.parametrize(
    "message",
    [
        None,
        "tools/call",
        {"method": "tools/list"},
        {"method": "tools/call"},
        {"method": "tools/call", "params": {"name": 7}},
        {"method": "tools/call", "params": {"name": "other_tool"}},
    ],
)
def test_other_messages_to_a_hosts_tools_are_no_questions(message: Any) -> None:
    request = {"subtype": "mcp_message", "server_name": "front", "message": message}
    assert events_of([{"type": "control_request", "request_id": "r", "request": request}]) == []


def test_a_question_without_a_tool_use_id_goes_by_its_request() -> None:
    call_it = {"method": "tools/call", "params": {"name": "request_input", "arguments": {}}}
    request = {"subtype": "mcp_message", "server_name": "front", "message": call_it}
    frame = {"type": "control_request", "request_id": "r1", "request": request}
    assert one(ev.QuestionAsked, events_of([frame])).tool_use_id == "r1"


def test_a_withdrawn_request_is_said() -> None:
    events = events_of(recorded("07c_interrupt_permission"))
    asked = one(ev.PermissionRequested, events)
    assert one(ev.RequestWithdrawn, events).request_id == asked.request_id


def test_what_an_mcp_server_asks_is_a_question() -> None:
    request = {"subtype": "elicitation", "message": "Really?"}
    frame = {"type": "control_request", "request_id": "1", "request": request}
    event = one(ev.QuestionAsked, events_of([frame]))
    assert (event.request_id, event.tool_use_id, event.tool_name) == ("1", "1", "request_input")
    assert [each.question for each in event.questions] == ["Really?"]


def test_a_dialog_is_passed_on() -> None:
    request = {"subtype": "request_user_dialog"}
    frame = {"type": "control_request", "request_id": "1", "request": request}
    event = one(ev.SystemEvent, events_of([frame]))
    assert event.subtype == "request_user_dialog"
    assert msgspec.json.decode(msgspec.json.encode(event))["data"] == frame


@pytest.mark.parametrize(
    ("response", "origin"),
    [
        ({"still_queued": ["p1"]}, "interrupt"),
        ({"more": 1, "still_queued": []}, "interrupt"),
        ({"mode": "plan"}, "user"),
        ({"still_queued": [], "long": "x" * 5000}, "user"),
        (None, "user"),
    ],
)
def test_an_interrupt_is_known_by_its_receipt(response: Any, origin: str) -> None:
    outcome = {"subtype": "success", "request_id": "r", "response": response}
    if response is None:
        del outcome["response"]
    leftover = user([said("[Request interrupted by user]")])
    events = events_of([{"type": "control_response", "response": outcome}, leftover])
    assert one(ev.UserMessage, events).origin == origin


def test_hooks_and_the_hosts_own_requests_are_no_events() -> None:
    hook = {"subtype": "hook_callback", "callback_id": "h"}
    frames = [
        {"type": "control_request", "request_id": "1", "request": hook},
        {"type": "control_request", "request_id": "2", "request": {"subtype": "interrupt"}},
        {"type": "control_response", "response": {"subtype": "success", "request_id": "2"}},
        {"type": "control_response", "response": {"subtype": "error", "request_id": "3"}},
    ]
    assert events_of(frames) == []


# --- the plan -----------------------------------------------------------------------------------


def test_the_plan_follows_the_task_tools_and_ignores_a_refused_todo_list() -> None:
    plans = [p.items for p in only(ev.PlanUpdated, events_of(recorded("15_todo")))]
    assert plans == [
        [blocks.TodoItem("Do A", "pending", "1", "Doing A")],
        [blocks.TodoItem("Do A", "in_progress", "1", "Doing A")],
    ]


def test_a_todo_list_is_a_plan_once_it_is_written() -> None:
    plan = one(ev.PlanUpdated, events_of(recorded("15b_todowrite_enabled")))
    assert [(i.content, i.status, i.active_form) for i in plan.items] == [
        ("Do A", "in_progress", "Doing A"),
        ("Do B", "pending", "Doing B"),
    ]


# --- everything else ----------------------------------------------------------------------------


def test_news_about_the_session_is_passed_on_untouched() -> None:
    frame = {"type": "system", "subtype": "compact_boundary", "session_id": "s", "new": [1]}
    event = one(ev.SystemEvent, events_of([frame]))
    assert event.subtype == "compact_boundary"
    assert msgspec.json.decode(msgspec.json.encode(event))["data"] == frame


def test_a_system_subtype_nobody_knows_is_passed_on_by_its_own_name() -> None:
    frame = {"type": "system", "subtype": "brand_new", "n": 1}
    event = one(ev.SystemEvent, events_of([frame]))
    assert event.subtype == "brand_new"
    assert msgspec.json.decode(msgspec.json.encode(event))["data"] == frame


@pytest.mark.parametrize("kind", ["rate_limit_event", "command_lifecycle", "conversation_reset"])
def test_other_messages_are_news_too(kind: str) -> None:
    assert one(ev.SystemEvent, events_of([{"type": kind}])).subtype == kind


OF_THE_MOMENT: list[Frame] = [
    {"type": "system", "subtype": "api_retry"},
    {"type": "system", "subtype": "background_tasks_changed"},
    {"type": "system", "subtype": "commands_changed"},
    {"type": "system", "subtype": "hook_progress"},
    {"type": "system", "subtype": "hook_started"},
    {"type": "system", "subtype": "session_state_changed"},
    {"type": "system", "subtype": "status"},
    {"type": "system", "subtype": "task_progress"},
    {"type": "system", "subtype": "thinking_tokens"},
    {"type": "attachment"},
    {"type": "auth_status"},
    {"type": "command_lifecycle"},
    {"type": "prompt_suggestion"},
    {"type": "rate_limit_event"},
    {"type": "transcript_mirror"},
]


@pytest.mark.parametrize("frame", OF_THE_MOMENT, ids=lambda frame: list(frame.values())[-1])
def test_news_of_the_moment_is_not_worth_keeping(frame: Frame) -> None:
    assert not line(frame).unknown
    assert one(ev.SystemEvent, events_of([frame])).ephemeral is True


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "system", "subtype": "compact_boundary"},
        {"type": "system", "subtype": "task_notification"},
        {"type": "system", "subtype": "hook_response"},
        {"type": "system", "subtype": "brand_new"},
        {"type": "conversation_reset"},
        {
            "type": "control_request",
            "request_id": "1",
            "request": {"subtype": "request_user_dialog"},
        },
        se({"type": "error"}),
    ],
)
def test_all_other_news_is_kept_and_what_nobody_knows_as_well(frame: Frame) -> None:
    assert one(ev.SystemEvent, events_of([frame])).ephemeral is False


@pytest.mark.parametrize(
    ("frame", "name"),
    [
        ({"type": "brand_new", "n": 1}, "brand_new"),
        ({"n": 1}, ""),
        (se({"type": "brand_new"}), "stream_event/brand_new"),
        (
            {"type": "control_request", "request_id": "r", "request": {"subtype": "new"}},
            "control_request/new",
        ),
        (
            {"type": "control_response", "response": {"subtype": "maybe"}},
            "control_response/maybe",
        ),
    ],
)
def test_unknown_kinds_pass_through_whole(frame: Frame, name: str) -> None:
    event = one(ev.UnknownEvent, events_of([frame]))
    assert event.original_type == name
    assert msgspec.json.decode(msgspec.json.encode(event))["data"] == frame


def test_an_unknown_delta_passes_through_beside_its_block() -> None:
    strange = {"type": "colour_delta", "colour": "red"}
    events = events_of([start(), text_start(), delta(0, strange), text(0, "x")])
    event = one(ev.UnknownEvent, events)
    assert event.original_type == "delta/colour_delta"
    assert msgspec.json.decode(msgspec.json.encode(event))["data"] == strange
    assert one(ev.ContentDelta, events).text == "x"


def test_an_unknown_block_keeps_its_shape_and_its_neighbours() -> None:
    strange = {"type": "hologram", "depth": 3}
    events = events_of([assistant(said("a"), strange, said("b"))])
    assert one(ev.AssistantMessage, events).content == [
        blocks.TextBlock("a", "completed"),
        blocks.UnknownBlock("hologram", strange),
        blocks.TextBlock("b", "completed"),
    ]


def test_a_streamed_unknown_block_is_confirmed_by_its_own_kind() -> None:
    strange = {"type": "hologram", "depth": 3}
    other = {"type": "smell"}
    events = events_of(
        [start(), block_start(0, strange), assistant(other), assistant(strange), block_stop(0)]
    )
    assert [m.index for m in only(ev.AssistantMessage, events)] == [1, 0]
    assert one(ev.ContentCompleted, events).block == blocks.UnknownBlock("hologram", strange)


def test_an_error_of_the_models_api_in_the_stream_is_news() -> None:
    event = one(ev.SystemEvent, events_of([se({"type": "error", "error": {"type": "x"}})]))
    assert event.subtype == "stream_error"


def test_an_error_in_the_stream_is_passed_on_as_sound_json() -> None:
    raw = b'{"type":"stream_event","new":"\xff","event":{"type":"error"}}'
    event = one(ev.SystemEvent, events_of([raw]))
    msgspec.json.encode(event).decode()


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
