"""A recording as the frames of a connection: connecting, reconnecting, and the rules for every stream."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.recorded_streams import RECORDED, events_of
from tests.helpers.sample_events import WHO, any_event, begins, frame, piece, said
from tests.helpers.v2_sessions import (
    END,
    FIGURES,
    NOW,
    TURN,
    Wire,
    on_the_wire,
    only,
    session,
    words,
)
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock
from turnwire.core.events import NormalizedStreamEvent
from turnwire.dialects.v2 import codec
from turnwire.dialects.v2.validator.check import SessionCheck

# --- connecting -------------------------------------------------------------------------------


LATER = "2026-01-01T13:00:00.000Z"


def test_a_connection_begins_with_these_frames() -> None:
    envelope = {"conversation_id": "conv-1", "turn_id": None, "timestamp": NOW, "trace_id": None}
    assert on_the_wire(session().connect(now=NOW)) == [
        {
            **envelope,
            "type": "session.connected",
            "sequence": 1,
            "payload": {
                "connection_id": "c-1",
                "client_id": "recording",
                "epoch": "recorded",
                "first": 1,
                "head": 0,
                "capabilities": {"agent": "claude", "commands": []},
                "limits": {"max_frame_bytes": 1048576, "max_queue": 0, "heartbeat_seconds": 15},
            },
        },
        {**envelope, "type": "session.replay_complete", "sequence": 2, "payload": {"through": 0}},
        {
            **envelope,
            "type": "session.state",
            "sequence": 3,
            "payload": {
                "state": "active",
                "running": False,
                "queue": [],
                "requests": [],
                "totals": {},
            },
        },
    ]


def test_a_client_that_reconnects_gets_the_missed_frames() -> None:
    conversation = session(keep=True)
    conversation.feed_all([TURN, words("Hello"), frame(0, said("Hi"))], now=NOW)
    conversation.feed_all([begins(1, TextBlock("", "in_progress")), piece(1, "So")], now=NOW)
    resumed, missed, complete, state, snapshot = on_the_wire(conversation.connect(1, now=LATER))
    assert resumed["type"] == "session.resumed"
    assert (resumed["payload"]["first"], resumed["payload"]["head"]) == (2, 2)
    assert missed == {
        "type": "message.replay",
        "conversation_id": "conv-1",
        "turn_id": 1,
        "sequence": 2,
        "timestamp": LATER,
        "trace_id": "00000000000000000000000000000001",
        "payload": {
            "message_sequence": 2,
            "event": {
                "type": "assistant.chunk",
                "conversation_id": "conv-1",
                "turn_id": 1,
                "sequence": None,
                "timestamp": NOW,
                "trace_id": "00000000000000000000000000000001",
                "payload": {
                    "block_id": "msg_1:0",
                    "message_id": "msg_1",
                    "index": 0,
                    "partial": False,
                    "text": "Hi",
                    "message_sequence": 2,
                },
            },
        },
    }
    assert complete["payload"] == {"through": 2}
    assert (state["payload"]["turn_id"], state["payload"]["state"]) == (1, "streaming")
    assert snapshot["payload"]["snapshot"] is True
    assert snapshot["payload"]["text"] == "So"


@pytest.mark.parametrize(
    ("last_sequence", "epoch", "reason"),
    [(1, "another", "epoch"), (9, "recorded", "beyond_head"), (9, None, "beyond_head")],
)
def test_a_copy_of_something_else_is_void(
    last_sequence: int, epoch: str | None, reason: str
) -> None:
    conversation = session(keep=True)
    conversation.feed_all([TURN, frame(0, said("Hi"), said("there"))], now=NOW)
    frames = on_the_wire(conversation.connect(last_sequence, epoch=epoch))
    assert [each["type"] for each in frames] == [
        "session.connected",
        "session.reset",
        "message.replay",
        "message.replay",
        "session.replay_complete",
        "session.state",
    ]
    assert frames[1]["payload"] == {"reason": reason, "epoch": "recorded", "first": 1}


@pytest.mark.parametrize(
    ("cursor", "types"),
    [
        (0, ["assistant.chunk", "assistant.complete", "assistant.chunk", "assistant.complete"]),
        (1, ["assistant.complete", "assistant.chunk", "assistant.complete"]),
        (2, ["assistant.complete"]),
    ],
)
def test_the_end_of_a_turn_is_replayed_after_its_entries(cursor: int, types: list[str]) -> None:
    conversation = session(keep=True)
    other = ev.AssistantMessage(*WHO, "msg_2", 0, [said("Bye")])
    conversation.feed_all([TURN, frame(0, said("Hi")), END, FIGURES, TURN, other, END])
    conversation.finish()
    replays = only(on_the_wire(conversation.connect(cursor)), "message.replay")
    assert [each["event"]["type"] for each in replays] == types
    assert [each["message_sequence"] for each in replays[-1:]] == [None]


def test_transient_frames_are_not_replayed() -> None:
    conversation = session()
    conversation.feed_all([TURN, frame(0, said("Hi"))])
    assert len(conversation.connect(1)) == 3
    with pytest.raises(ValueError, match="keep=True"):
        conversation.connect()


# --- rules that always hold -------------------------------------------------------------------


def check(frames: list[Wire], *, deferred: bool = False) -> None:
    """Numbers without gaps, one result for each call, one end for each turn."""
    assert [each["sequence"] for each in frames] == [*range(1, len(frames) + 1)]
    payloads = [each["payload"] for each in frames]
    numbers = [each["message_sequence"] for each in payloads if each.get("message_sequence")]
    assert numbers == [*range(1, len(numbers) + 1)]
    pieces: dict[str, int] = {}
    for payload in payloads:
        if payload.get("partial"):
            pieces[payload["block_id"]] = pieces.get(payload["block_id"], 0) + 1
            assert payload["chunk_seq"] == pieces[payload["block_id"]]
    results = [each["tool_use_id"] for each in only(frames, "assistant.tool_result")]
    assert len(set(results)) == len(results)
    started = {each["turn_id"] for each in frames if each["type"] == "turn.started"}
    ended = [each["turn_id"] for each in frames if each["type"] == "assistant.complete"]
    assert len(set(ended)) == len(ended)
    assert started - set(ended) == ({max(started)} if deferred else set())
    opened = [
        *(each["question_id"] for each in only(frames, "assistant.request_input")),
        *(each["request_id"] for each in only(frames, "assistant.permission_request")),
    ]
    closed = [each["request_id"] for each in only(frames, "assistant.request_resolved")]
    waiting = [each["request_id"] for each in only(frames, "session.state")[-1]["requests"]]
    assert sorted(opened) == sorted(closed + waiting)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_stream_keeps_them(path: Path) -> None:
    events = events_of(path.read_bytes().splitlines())
    one, other = session(), session()
    together = on_the_wire(one.connect() + one.feed_all(events) + one.finish())
    check(together, deferred=path.stem == "10b_hook_defer")
    single = on_the_wire(
        other.connect() + [each for event in events for each in other.feed(event)] + other.finish()
    )
    check(single, deferred=path.stem == "10b_hook_defer")
    durable = [
        [f for f in frames if f["payload"].get("message_sequence")] for frames in (together, single)
    ]
    assert [f["payload"] for f in durable[0]] == [f["payload"] for f in durable[1]]
    calls = {
        each["tool_use_id"] for each in only(together, "assistant.tool_call") if not each["partial"]
    }
    results = {each["tool_use_id"] for each in only(together, "assistant.tool_result")}
    left = calls - results
    assert left == ({"toolu_b"} if path.stem == "10b_hook_defer" else set())


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_client_that_connects_during_a_recorded_stream_has_the_same_view(path: Path) -> None:
    conversation = session(keep=True)
    sent = conversation.connect()
    grown: dict[str, str] = {}
    for event in events_of(path.read_bytes().splitlines()):
        new = conversation.feed(event)
        sent += new
        for payload in (each["payload"] for each in on_the_wire(new)):
            for name in [*payload.get("block_ids", ()), payload.get("block_id")]:
                if name is not None and not payload.get("partial"):
                    grown.pop(name, None)
            if payload.get("partial"):
                text = payload.get("text") or payload.get("input_text") or ""
                grown[payload["block_id"]] = grown.get(payload["block_id"], "") + text
        later = on_the_wire(conversation.connect())
        snapshots = {
            each["payload"]["block_id"]: each["payload"].get("text")
            or each["payload"].get("input_text")
            or ""
            for each in later
            if each["payload"].get("snapshot")
        }
        assert snapshots == grown
    sent += conversation.finish()
    wire = on_the_wire(sent)
    kept = [
        {**each, "sequence": None}
        for each in wire
        if each["payload"].get("message_sequence") or each["type"] == "assistant.complete"
    ]
    replayed = only(on_the_wire(conversation.connect()), "message.replay")
    assert [each["event"] for each in replayed] == kept
    assert on_the_wire(conversation.connect())[-1]["payload"] == only(wire, "session.state")[-1]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_stream_breaks_no_rule_for_any_disconnect(
    path: Path,
) -> None:
    events = events_of(path.read_bytes().splitlines())
    for cut in range(0, len(events), 5):
        conversation = session(keep=True)
        before = on_the_wire(conversation.connect() + conversation.feed_all(events[:cut]))
        cursor = max(each["payload"].get("message_sequence") or 0 for each in before)
        again = conversation.connect(cursor, epoch="recorded")
        after = on_the_wire(again + conversation.feed_all(events[cut:]) + conversation.finish())
        address = "/ws/conversations/conv-1?protocol=v2"
        lines = [
            {"connect": address},
            *({"server": each} for each in before),
            {"close": 1006},
            {"connect": f"{address}&last_sequence={cursor}&epoch=recorded"},
            *({"server": each} for each in after),
        ]
        check_of_the_page = SessionCheck()
        for number, line in enumerate(lines, 1):
            check_of_the_page.feed(json.dumps(line).encode(), number)
        check_of_the_page.finish()
        assert check_of_the_page.report().violations == []


@given(st.lists(st.lists(any_event(), max_size=8), max_size=8))
def test_any_events_keep_the_rules(batches: list[list[NormalizedStreamEvent]]) -> None:
    conversation = session(keep=True)
    frames = conversation.connect()
    for batch in batches:
        frames += conversation.feed_all(batch, now=NOW)
    frames += conversation.finish(now=NOW)
    check(on_the_wire(frames))
    for each in frames:
        codec.decode(codec.encode(each).at(1))
