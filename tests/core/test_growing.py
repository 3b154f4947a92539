"""Growing messages: snapshots for new followers, and the end of unfinished ones."""

from __future__ import annotations

from typing import Any

import pytest

from turnwire.core import events as ev
from turnwire.core.blocks import (
    ContentBlock,
    ErrorBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.growing import Growing, OpenMessage

WHO = ("demo", "s", None, None)
SUB = ("demo", "s", "toolu_task", "agent-7")
ASKS = ToolUseBlock("toolu_1", "AskUserQuestion", "ASK", None, "in_progress", asks=True)
BEGUN = ev.MessageStarted(*WHO, "m")


def block(block: ContentBlock, index: int = 0, message_id: str = "m") -> ev.ContentStarted:
    return ev.ContentStarted(*WHO, message_id, index, block)


def piece(text: str, kind: Any = "text", index: int = 0, message_id: str = "m") -> ev.ContentDelta:
    call = "toolu_1" if kind == "tool_input" else None
    return ev.ContentDelta(*WHO, message_id, index, kind, text, call)


def heard_again(*events: NormalizedStreamEvent) -> list[NormalizedStreamEvent]:
    """Returns the snapshot for a client that connects after these events."""
    growing = Growing()
    growing.feed_all(events, 2, "trace")
    return [event for each in growing.open_messages() for event in each.events]


def test_no_snapshot_is_sent_without_a_growing_message() -> None:
    assert heard_again() == []
    for end in (ev.MessageCompleted(*WHO, "m"), ev.MessageDiscarded(*WHO, "m", 0, "restarted")):
        assert heard_again(BEGUN, block(TextBlock("", "in_progress")), end) == []


def test_each_block_is_one_piece_in_the_snapshot() -> None:
    call = ToolUseBlock("toolu_1", "Bash", "BASH", None, "in_progress")
    thinking, other = ThinkingBlock("", "in_progress", "proof"), ErrorBlock("no", "in_progress")
    text = TextBlock("", "in_progress")
    others: list[NormalizedStreamEvent] = [
        block(thinking, 1),
        piece("hm", "thinking", 1),
        block(call, 2),
        piece("{", "tool_input", 2),
        block(other, 3),
        block(text, 4),
    ]
    first = (block(TextBlock("one ", "in_progress")), piece("two"))
    again = heard_again(BEGUN, *first, *others)
    assert again == [BEGUN, block(text), piece("one two"), *others]


def test_a_growing_question_is_in_the_snapshot() -> None:
    assert heard_again(BEGUN, block(ASKS)) == [BEGUN, block(ASKS)]
    written: list[NormalizedStreamEvent] = [
        BEGUN,
        block(ASKS),
        piece("{", "tool_input"),
        piece("}", "tool_input"),
    ]
    assert heard_again(*written) == [BEGUN, block(ASKS), piece("{}", "tool_input")]
    done = ev.ContentCompleted(*WHO, "m", 0, ASKS)
    assert heard_again(*written, done) == [BEGUN]


def test_a_question_of_another_message_is_not_part_of_the_snapshot() -> None:
    other: list[NormalizedStreamEvent] = [
        block(ASKS, 0, "x"),
        piece("{", "tool_input", 0, "x"),
        piece("{", "tool_input", 5),
        ev.ContentCompleted(*WHO, "x", 0, ASKS),
    ]
    assert heard_again(BEGUN, *other) == [BEGUN]


def test_a_block_is_in_the_snapshot_with_its_own_message() -> None:
    text = TextBlock("", "in_progress")
    sub: list[NormalizedStreamEvent] = [
        ev.MessageStarted(*SUB, "h"),
        ev.ContentStarted(*SUB, "h", 0, text),
    ]
    assert heard_again(BEGUN, *sub, block(text)) == [BEGUN, block(text), *sub]


@pytest.mark.parametrize("helpers", [True, False])
def test_an_interrupted_message_ends_once(helpers: bool) -> None:
    growing = Growing()
    growing.feed_all([BEGUN], 2, "second")
    growing.feed_all([ev.MessageStarted(*SUB, "h")], 1, "first")
    ends = [OpenMessage(2, "second", [ev.MessageDiscarded(*WHO, "m", 0, "turn_ended")])]
    if helpers:
        end = ev.MessageDiscarded(*SUB, "h", 0, "turn_ended")
        ends.append(OpenMessage(1, "first", [end]))
    assert growing.hush(helpers=helpers) == ends
    assert growing.hush(helpers=False) == []
    assert len(growing.open_messages()) == (0 if helpers else 1)


def test_a_conversation_grows_until_its_last_message_has_ended() -> None:
    growing = Growing()
    assert not growing.is_growing
    growing.feed_all([BEGUN, block(TextBlock("", "in_progress")), piece("Hi")], 2, "trace")
    assert growing.is_growing
    growing.closed("m", 0)
    assert growing.is_growing  # more blocks may come
    growing.feed_all([ev.MessageCompleted(*WHO, "m")], 2, "trace")
    assert not growing.is_growing
