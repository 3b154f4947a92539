"""Partials: frames of growing blocks, which are not durable."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from tests.dialects.v2.helpers.partial_frames import Partials
from tests.helpers.sample_events import (
    SUB,
    WHO,
    any_event,
    begins,
    call,
    completed,
    discarded,
    piece,
)
from turnwire.core import events as ev
from turnwire.core.blocks import ErrorBlock, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.partials import Partial
from turnwire.dialects.v2 import codec
from turnwire.dialects.v2.frames import Frame

NOW = "2026-01-01T12:00:00.000Z"
TRACE = "0af7651916cd43dd8448eb211c80319c"

TEXT = TextBlock("", "in_progress")
THINKING = ThinkingBlock("", "in_progress")
ASKS = ToolUseBlock("toolu_1", "AskUserQuestion", "CLAUDE_ASK", None, "in_progress")


def on_the_wire(frames: Iterable[Frame]) -> list[dict[str, Any]]:
    return [json.loads(codec.encode(frame).replayed()) for frame in frames]


class Growing:
    """Partials whose frames are read as a client reads them."""

    def __init__(self) -> None:
        self.partials = Partials("conv-1")

    def feed(self, *events: NormalizedStreamEvent) -> list[dict[str, Any]]:
        """Feeds the events one by one."""
        frames = [f for e in events for f in self.partials.feed(e, 3, TRACE, NOW)]
        return [frame["payload"] for frame in on_the_wire(frames)]

    def together(self, *events: NormalizedStreamEvent) -> list[dict[str, Any]]:
        """Feeds all events at once."""
        frames = self.partials.feed_all(events, 3, TRACE, NOW)
        return [frame["payload"] for frame in on_the_wire(frames)]

    def snapshots(self) -> list[dict[str, Any]]:
        return [frame["payload"] for frame in on_the_wire(self.partials.snapshots(NOW))]


def pieces(*texts: str, index: int = 0, kind: ev.DeltaKind = "text") -> list[ev.ContentDelta]:
    return [piece(index, text, kind) for text in texts]


# --- text and thinking ------------------------------------------------------------------------


def test_a_piece_of_text_says_where_it_belongs() -> None:
    partials = Partials("conv-1")
    assert partials.feed(begins(0, TEXT), 3, TRACE, NOW) == []
    assert on_the_wire(partials.feed(piece(0, "Hi "), 3, TRACE, NOW)) == [
        {
            "type": "assistant.chunk",
            "conversation_id": "conv-1",
            "turn_id": 3,
            "sequence": None,
            "timestamp": NOW,
            "trace_id": TRACE,
            "payload": {
                "block_id": "msg_1:0",
                "message_id": "msg_1",
                "index": 0,
                "partial": True,
                "text": "Hi ",
                "chunk_seq": 1,
            },
        }
    ]


def test_pieces_of_a_block_are_counted() -> None:
    growing = Growing()
    growing.feed(begins(0, TEXT), begins(1, THINKING))
    found = growing.feed(
        piece(0, "a"), piece(1, "x", "thinking"), piece(0, "b"), piece(1, "y", "thinking")
    )
    assert [(each["block_id"], each["text"], each["chunk_seq"]) for each in found] == [
        ("msg_1:0", "a", 1),
        ("msg_1:1", "x", 1),
        ("msg_1:0", "b", 2),
        ("msg_1:1", "y", 2),
    ]


def test_the_snapshot_has_the_text_so_far() -> None:
    growing = Growing()
    growing.feed(begins(0, TEXT), *pieces("Hi ", "there"), begins(1, THINKING))
    found = [
        (block.message_id, block.index, block.text)
        for block in growing.partials.growing.open_blocks()
    ]
    assert found == [("msg_1", 0, "Hi there"), ("msg_1", 1, "")]


def test_thinking_is_a_frame_of_its_own_type() -> None:
    partials = Partials("conv-1")
    partials.feed(begins(0, THINKING), 3, TRACE, NOW)
    (frame,) = on_the_wire(partials.feed(piece(0, "hm", "thinking"), 3, TRACE, NOW))
    assert frame["type"] == "assistant.thinking"
    assert frame["payload"]["text"] == "hm"


def test_the_initial_text_of_a_block_is_its_first_partial() -> None:
    growing = Growing()
    found = growing.feed(
        begins(0, TextBlock("Hi ", "in_progress")),
        piece(0, "there"),
        begins(1, ThinkingBlock("hm", "in_progress")),
    )
    assert [(each["text"], each["chunk_seq"]) for each in found] == [
        ("Hi ", 1),
        ("there", 2),
        ("hm", 1),
    ]


def test_a_sub_agent_is_named_and_keeps_its_turn() -> None:
    partials = Partials("conv-1")
    partials.feed(ev.ContentStarted(*SUB, "msg_9", 0, TEXT), 3, TRACE, NOW)
    later = ev.ContentDelta(*SUB, "msg_9", 0, "text", "Hi")
    (frame,) = on_the_wire(partials.feed(later, 4, "another", NOW))
    assert (frame["turn_id"], frame["trace_id"]) == (3, TRACE)
    assert frame["payload"]["parent_tool_use_id"] == "toolu_task"
    assert frame["payload"]["agent_id"] == "agent-7"


def test_adjacent_partials_are_joined() -> None:
    growing = Growing()
    found = growing.together(
        begins(0, TEXT),
        *pieces("a", "b", "c"),
        begins(1, THINKING),
        *pieces("x", "y", index=1, kind="thinking"),
        *pieces("d", "e"),
    )
    assert [(each["text"], each["chunk_seq"]) for each in found] == [
        ("abc", 1),
        ("xy", 1),
        ("de", 2),
    ]


# --- tool calls and other blocks --------------------------------------------------------------


def test_a_tool_call_is_shown_before_its_arguments() -> None:
    growing = Growing()
    found = growing.feed(
        begins(1, call("toolu_1")), *pieces('{"a"', ":1}", index=1, kind="tool_input")
    )
    common = {
        "block_id": "toolu_1",
        "message_id": "msg_1",
        "index": 1,
        "partial": True,
        "tool_use_id": "toolu_1",
        "tool_name": "Read",
        "tool_type": "CLAUDE_READ",
    }
    assert found == [
        {**common, "input_text": "", "chunk_seq": 1},
        {**common, "input_text": '{"a"', "chunk_seq": 2},
        {**common, "input_text": ":1}", "chunk_seq": 3},
    ]


def test_a_question_does_not_grow() -> None:
    growing = Growing()
    assert growing.feed(begins(0, ASKS), *pieces("{", "}", kind="tool_input")) == []
    assert growing.snapshots() == []
    assert growing.feed(discarded(0)) == []


def test_another_block_is_shown_when_it_begins() -> None:
    partials = Partials("conv-1")
    (frame,) = on_the_wire(partials.feed(begins(0, ErrorBlock("no", "failed")), 3, TRACE, NOW))
    assert frame["type"] == "assistant.block"
    assert frame["payload"] == {
        "block_id": "msg_1:0",
        "message_id": "msg_1",
        "index": 0,
        "partial": True,
        "block": {"type": "error", "message": "no", "status": "failed"},
        "chunk_seq": 1,
    }


def test_a_result_inside_of_a_message_does_not_grow() -> None:
    growing = Growing()
    result = ToolResultBlock("toolu_1", "ok", False, "completed")
    assert growing.feed(begins(0, result), piece(0, "x")) == []


def test_a_piece_that_does_not_fit_its_block_is_left_out() -> None:
    growing = Growing()
    growing.feed(begins(0, TEXT), begins(1, call("toolu_1")))
    assert growing.feed(piece(0, "{", "tool_input"), piece(1, "x"), piece(2, "y")) == []
    assert growing.feed(ev.ContentDelta(*WHO, "msg_2", 0, "text", "z")) == []


# --- the end of blocks ------------------------------------------------------------------------


def test_a_finished_block_takes_no_more_pieces() -> None:
    growing = Growing()
    growing.feed(begins(0, TEXT), piece(0, "a"))
    growing.partials.growing.closed("msg_1", 0)
    assert growing.feed(piece(0, "b"), begins(0, TEXT), piece(0, "c")) == []
    assert growing.snapshots() == []


def test_a_block_that_was_finished_before_it_began_does_not_begin() -> None:
    growing = Growing()
    growing.partials.growing.closed("msg_1", 0)
    assert growing.feed(begins(0, TEXT), piece(0, "a")) == []


def test_growing_blocks_of_a_discarded_message_are_void() -> None:
    growing = Growing()
    growing.feed(begins(0, TEXT), begins(1, call("toolu_1")), begins(2, TEXT), begins(3, TEXT))
    growing.feed(piece(0, "a"), piece(2, "b"))  # of the last one nothing has been seen
    growing.partials.growing.closed("msg_1", 0)
    assert growing.feed(discarded(1, "restarted")) == [
        {"block_ids": ["toolu_1", "msg_1:2"], "reason": "restarted"}
    ]
    assert growing.feed(piece(1, "x", "tool_input"), begins(4, TEXT), discarded(0)) == []


def test_no_frame_is_sent_for_an_empty_discarded_message() -> None:
    growing = Growing()
    assert growing.feed(discarded(0)) == []


def test_an_unfinished_block_of_a_finished_message_is_void() -> None:
    growing = Growing()
    growing.feed(begins(0, TEXT), piece(0, "a"))
    assert growing.feed(completed()) == [{"block_ids": ["msg_1:0"], "reason": "abandoned"}]


def test_a_block_finished_after_the_end_changes_nothing() -> None:
    growing = Growing()
    growing.feed(begins(0, TEXT), completed())
    growing.partials.growing.closed("msg_1", 0)
    assert growing.feed(piece(0, "late")) == []


def test_only_so_many_messages_are_remembered() -> None:
    partials = Partials("conv-1")
    for number in range(1000):
        partials.growing.closed(f"msg_{number}", 0)
        partials.feed(ev.MessageCompleted(*WHO, f"other_{number}"), 3, TRACE, NOW)
    assert len(partials.growing._resting) == 256


# --- saving -----------------------------------------------------------------------------------


def test_only_new_text_is_saved() -> None:
    growing = Growing()
    partials = growing.partials
    growing.feed(
        begins(0, THINKING), piece(0, "Hm", "thinking"), begins(1, TEXT), *pieces("a", index=1)
    )
    assert partials.growing.has_grown
    assert partials.growing.unsaved_length() == 3
    assert not partials.growing.has_grown
    who = (WHO[2], WHO[3], WHO[0])
    assert partials.growing.take_unsaved(100) == [
        Partial("msg_1", 0, "thinking", "Hm", 0, 0, *who),
        Partial("msg_1", 1, "text", "a", 0, 1, *who),
    ]
    assert partials.growing.take_unsaved(100) == []
    growing.feed(*pieces("b", "c", index=1))
    assert partials.growing.take_unsaved(100) == [Partial("msg_1", 1, "text", "bc", 1, 1, *who)]


def test_at_most_the_requested_amount_is_saved_at_once() -> None:
    growing = Growing()
    growing.feed(begins(0, TEXT), *pieces("Once ", "upon ", "a time"), begins(1, TEXT))
    growing.feed(*pieces("the end", index=1))
    taken = [growing.partials.growing.take_unsaved(7) for _ in range(4)]
    found = [[(each.index, each.start, each.text) for each in some] for some in taken]
    assert found == [
        [(0, 0, "Once up")],
        [(0, 7, "on a ti")],
        [(0, 14, "me"), (1, 0, "the e")],
        [(1, 5, "nd")],
    ]


def test_text_that_could_not_be_saved_is_saved_again() -> None:
    growing = Growing()
    growing.feed(begins(0, TEXT), *pieces("Hi "))
    first = growing.partials.growing.take_unsaved(100)
    growing.feed(begins(1, TEXT), *pieces("there"))
    growing.partials.growing.not_saved(first)
    assert growing.partials.growing.has_grown
    [again] = growing.partials.growing.take_unsaved(100)
    assert (again.start, again.text) == (0, "Hi there")


def test_an_incomplete_tool_call_is_not_saved() -> None:
    growing = Growing()
    growing.feed(begins(0, call("toolu_1")), *pieces('{"a"', kind="tool_input"))
    assert growing.partials.growing.unsaved_length() == 0
    assert growing.partials.growing.take_unsaved(100) == []
    [left] = growing.partials.growing.open_blocks()
    assert left.partial is None
    growing.feed(begins(1, TEXT), *pieces("Hi", index=1))
    _, text = growing.partials.growing.open_blocks()
    assert text.partial == Partial("msg_1", 1, "text", "Hi", provider=WHO[0])


def test_a_partial_names_its_sub_agent_and_its_model() -> None:
    growing = Growing()
    growing.feed(ev.MessageStarted(*WHO, "msg_1", "opus"), begins(0, TEXT), *pieces("Hi"))
    [saved] = growing.partials.growing.take_unsaved(100)
    assert (saved.provider, saved.model) == (WHO[0], "opus")
    [left] = growing.partials.growing.open_blocks()
    assert left.partial == saved


def test_a_block_is_open_until_it_is_finished_or_its_message_ends() -> None:
    growing = Growing()
    partials = growing.partials
    growing.feed(begins(0, TEXT), begins(1, TEXT), *pieces("a"), *pieces("b", index=1))
    assert partials.growing.is_open(("msg_1", 0))
    assert not partials.growing.is_open(("msg_1", 2))
    assert not partials.growing.is_open(("msg_2", 0))
    partials.growing.closed("msg_1", 0)
    assert not partials.growing.is_open(("msg_1", 0))
    assert [each.text for each in partials.growing.take_unsaved(100)] == ["b"], "it is in the log"
    growing.feed(completed())
    assert not partials.growing.is_open(("msg_1", 1))


@given(
    st.lists(st.text(max_size=3), min_size=1, max_size=1500),
    st.integers(min_value=1, max_value=700),
    st.integers(min_value=1, max_value=40),
)
def test_the_pieces_that_are_saved_are_the_whole_text(
    texts: list[str], often: int, most: int
) -> None:
    growing = Growing()
    growing.partials.feed(begins(0, TEXT), 1, TRACE, NOW)
    saved = ""
    for number, text in enumerate(texts):
        growing.partials.feed(piece(0, text, "text"), 1, TRACE, NOW)
        if number % often == 0:
            for partial in growing.partials.growing.take_unsaved(most):
                assert partial.start == len(saved)
                assert len(partial.text) <= most
                saved += partial.text
    while some := growing.partials.growing.take_unsaved(10_000):
        saved += "".join(partial.text for partial in some)
    assert saved == "".join(texts)


# --- tools and news ---------------------------------------------------------------------------


def test_a_message_in_which_something_grows_is_not_forgotten() -> None:
    partials = Partials("conv-1")

    def begin(message_id: str) -> None:
        start = ev.ContentStarted(*WHO, message_id, 0, TextBlock("", "in_progress"))
        partials.feed(start, 1, None, "now")

    def grow(message_id: str) -> list[Frame]:
        return partials.feed(ev.ContentDelta(*WHO, message_id, 0, "text", "x"), 1, None, "now")

    begin("first")
    assert len(grow("first")) == 1
    for number in range(300):
        partials.growing.closed(f"other-{number}", 0)
    assert len(grow("first")) == 1
    assert len(partials.snapshots("now")) == 1
    for number in range(300):  # all of them grow
        begin(f"growing-{number}")
        assert len(grow(f"growing-{number}")) == 1
    assert len(partials.snapshots("now")) == 301


def test_output_of_a_tool_is_a_partial() -> None:
    growing = Growing()
    printed = [ev.ContentDelta(*WHO, "msg_1", 0, "tool_output", t, "toolu_1") for t in "ab"]
    assert growing.together(*printed) == [{"tool_use_id": "toolu_1", "output": "ab"}]
    other = ev.ContentDelta(*WHO, "msg_1", 0, "tool_output", "c", "toolu_2")
    found = growing.together(*printed, other)
    assert [each["output"] for each in found] == ["ab", "c"]
    assert growing.feed(piece(4, "d", "tool_output")) == [{"tool_use_id": "msg_1:4", "output": "d"}]


def test_a_tool_still_runs() -> None:
    partials = Partials("conv-1")
    progress = ev.ToolProgress(*SUB, "toolu_1", "Bash", 2.5, "so far")
    (frame,) = on_the_wire(partials.feed(progress, 3, TRACE, NOW))
    assert frame["type"] == "assistant.tool_progress"
    assert frame["payload"] == {
        "tool_use_id": "toolu_1",
        "output": "so far",
        "elapsed_seconds": 2.5,
        "parent_tool_use_id": "toolu_task",
        "agent_id": "agent-7",
        "tool_name": "Bash",
    }


def test_a_transient_notice_is_sent_without_a_number() -> None:
    partials = Partials("conv-1")
    news = ev.SystemEvent(*WHO, "status", Raw(b'{"status":"requesting"}'), True)
    (frame,) = on_the_wire(partials.feed(news, None, None, NOW))
    assert frame["type"] == "session.system_event"
    assert frame["turn_id"] is None
    assert frame["payload"] == {
        "subtype": "status",
        "data": {"status": "requesting"},
        "provider": "claude",
    }
    bare = ev.SystemEvent(*WHO, "status", ephemeral=True)
    (frame,) = on_the_wire(partials.feed(bare, None, None, NOW))
    assert "data" not in frame["payload"]
    said = ev.SystemEvent(*WHO, "error_retry", ephemeral=True, text="Reconnecting")
    (frame,) = on_the_wire(partials.feed(said, None, None, NOW))
    assert frame["payload"]["text"] == "Reconnecting"


def test_a_durable_notice_is_sent_from_the_log() -> None:
    growing = Growing()
    assert growing.feed(ev.SystemEvent(*WHO, "compact_boundary"), ev.TurnStarted(*WHO)) == []
    assert growing.together(ev.TurnStarted(*WHO)) == []


# --- snapshots --------------------------------------------------------------------------------


def test_a_snapshot_has_all_content_so_far() -> None:
    growing = Growing()
    growing.feed(
        begins(0, TEXT),
        *pieces("a", "b"),
        begins(1, THINKING),
        begins(2, call("toolu_1")),
        piece(2, "{", "tool_input"),
        begins(3, ErrorBlock("no", "failed")),
    )
    text, tool, other = growing.snapshots()  # nothing of the thinking has been seen yet
    assert text == {
        "block_id": "msg_1:0",
        "message_id": "msg_1",
        "index": 0,
        "partial": True,
        "text": "ab",
        "chunk_seq": 2,
        "snapshot": True,
    }
    assert (tool["input_text"], tool["chunk_seq"]) == ("{", 2)
    assert (other["block"]["type"], other["chunk_seq"]) == ("error", 1)


def joined(shown: dict[str, list[Any]], payloads: Iterable[dict[str, Any]]) -> None:
    """Add pieces up as a client does, and insist on their numbers."""
    for payload in payloads:
        if "block_ids" in payload:
            for name in payload["block_ids"]:
                del shown[name]
        elif "chunk_seq" in payload:
            so_far = shown.setdefault(payload["block_id"], [0, ""])
            assert payload["chunk_seq"] == so_far[0] + 1
            so_far[0] += 1
            so_far[1] += payload.get("text") or payload.get("input_text") or ""


@given(st.lists(st.lists(any_event(), max_size=6), max_size=8))
def test_a_snapshot_equals_the_joined_partials_of_any_events(
    batches: list[list[NormalizedStreamEvent]],
) -> None:
    growing = Growing()
    shown: dict[str, list[Any]] = {}
    for batch in batches:
        joined(shown, growing.together(*batch))
        snapshots = {
            each["block_id"]: [each["chunk_seq"], each.get("text") or each.get("input_text") or ""]
            for each in growing.snapshots()
        }
        assert snapshots == shown


@given(st.lists(any_event(), max_size=40))
def test_joined_or_not_it_comes_to_the_same(events: list[NormalizedStreamEvent]) -> None:
    one, other = Growing(), Growing()
    for event in events:
        one.feed(event)
    other.together(*events)
    first, second = one.snapshots(), other.snapshots()
    for each in (*first, *second):
        del each["chunk_seq"]
    assert first == second


def test_many_pieces_become_few_strings() -> None:
    """A piece is a string of its own, which takes many times its characters."""
    growing = Growing()
    growing.feed(begins(0, TEXT))
    said = [f"{number} " for number in range(2_000)]
    growing.feed(*pieces(*said))
    [block] = growing.partials.growing._growing["msg_1"].blocks.values()
    assert block is not None
    assert len(block.pieces) < 600
    assert growing.snapshots()[0]["text"] == "".join(said)
