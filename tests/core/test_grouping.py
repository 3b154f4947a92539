"""Entries of one model message are one message, and nothing in it changes its place."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from turnwire.core.grouping import contents, group, kept
from turnwire.core.message import KeptBlock, Message, MessagePart, TextPart, TextPayload


def text(words: str) -> TextPart:
    return TextPart(TextPayload(words))


def message(*parts: MessagePart, **meta: Any) -> Message:
    return Message("conv:1", "assistant", list(parts), "2026-01-01T12:00:00Z", meta)


def entry(index: int, *parts: MessagePart, **meta: Any) -> Message:
    return message(*parts, messageId="msg_1", index=index, **meta)


def test_entries_of_one_message_become_one_with_its_parts_in_order() -> None:
    user = Message("conv:1", "user", [text("hi")], "11", {"messageId": "msg_1"})
    tool = Message("conv:1", "tool", [], "13", {"messageId": "msg_1", "index": 9})
    whole = group([user, entry(1, text("b"), uuid="u2"), tool, entry(0, text("a"), uuid="u1")])
    assert whole == [user, message(text("a"), text("b"), messageId="msg_1"), tool]


def test_entries_of_other_messages_and_other_runs_stay_apart() -> None:
    other_run = Message("conv:2", "assistant", [text("c")], "14", {"messageId": "msg_1"})
    other = message(text("b"), messageId="msg_2")
    nameless = message(text("d"))
    entries = [entry(0, text("a")), other, other_run, nameless, nameless]
    assert len(group(entries)) == 5


def test_the_meta_of_a_whole_message_is_that_of_its_entries() -> None:
    kept_block = [{"position": 0, "block": {"type": "error"}}]
    (whole,) = group(
        [
            entry(0, text("a"), usage={"totalTokens": 1}, extra={"/parts/0/x": 1, "/novel": 2}),
            entry(1, blocks=kept_block, argsNotJson=["t"], usage={"totalTokens": 2}),
            entry(2, text("b"), argsNotJson=["u"], extra={"/parts/0/x": 3, "/parts": 4}),
        ]
    )
    assert whole.parts == [text("a"), text("b")]
    assert whole.meta == {
        "messageId": "msg_1",
        "usage": {"totalTokens": 2},
        "blocks": [{"position": 1, "block": {"type": "error"}}],
        "argsNotJson": ["t", "u"],
        "extra": {"/parts/0/x": 1, "/novel": 2, "/parts/1/x": 3, "/parts": 4},
    }
    assert contents(whole) == [text("a"), KeptBlock(1, {"type": "error"}), text("b")]


def test_the_latest_entry_gives_the_time() -> None:
    early, late = (
        Message("conv:1", "assistant", [], time, {"messageId": "m"}) for time in ("11", "12")
    )
    assert group([late, early])[0].timestamp == "12"


@given(st.lists(st.booleans(), max_size=6))
def test_parts_and_kept_blocks_get_their_positions_back(order: list[bool]) -> None:
    whole: list[MessagePart | KeptBlock] = [
        text(str(n)) if is_part else KeptBlock(n, n) for n, is_part in enumerate(order)
    ]
    parts, rest = kept(whole)
    blocks = json.loads(msgspec.json.encode(list(reversed(rest))))
    assert contents(message(*parts, blocks=blocks)) == whole
