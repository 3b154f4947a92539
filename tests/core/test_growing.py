"""Messages that go on: told again to who comes in between, and ended when nothing more comes."""

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
    """What a client is told that comes after these."""
    growing = Growing()
    growing.feed_all(events, 2, "trace")
    return [event for each in growing.open_messages() for event in each.events]


def test_nothing_is_told_again_where_nothing_goes_on() -> None:
    assert heard_again() == []
    for end in (ev.MessageCompleted(*WHO, "m"), ev.MessageDiscarded(*WHO, "m", 0, "restarted")):
        assert heard_again(BEGUN, block(TextBlock("", "in_progress")), end) == []


def test_each_block_is_told_again_as_one_piece() -> None:
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


def test_a_question_is_told_again_while_it_is_being_written() -> None:
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


def test_a_question_of_another_message_is_not_told_with_this_one() -> None:
    other: list[NormalizedStreamEvent] = [
        block(ASKS, 0, "x"),
        piece("{", "tool_input", 0, "x"),
        piece("{", "tool_input", 5),
        ev.ContentCompleted(*WHO, "x", 0, ASKS),
    ]
    assert heard_again(BEGUN, *other) == [BEGUN]


def test_a_block_is_told_again_with_its_own_message() -> None:
    text = TextBlock("", "in_progress")
    sub: list[NormalizedStreamEvent] = [
        ev.MessageStarted(*SUB, "h"),
        ev.ContentStarted(*SUB, "h", 0, text),
    ]
    assert heard_again(BEGUN, *sub, block(text)) == [BEGUN, block(text), *sub]


@pytest.mark.parametrize("helpers", [True, False])
def test_what_is_cut_short_ends_once(helpers: bool) -> None:
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
