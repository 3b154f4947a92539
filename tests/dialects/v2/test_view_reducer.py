"""The view reducer of v2 where rules interact. The single rules are in fixtures/reducer."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from turnwire.core.view import View
from turnwire.dialects.v2.codec import decode
from turnwire.dialects.v2.frames import UnknownFrame
from turnwire.dialects.v2.view_reducer import ViewReducer


def frame(kind: str, payload: Any, sequence: int | None = None, **fields: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "conversation_id": "conv-1",
        "turn_id": 1,
        "sequence": sequence,
        "timestamp": "2026-01-01T12:00:00.000Z",
        "trace_id": None,
        "payload": payload,
        **fields,
    }


def connected(name: str = "c-1", *, kind: str = "connected", **fields: Any) -> dict[str, Any]:
    info = {
        "connection_id": name,
        "client_id": "web-1",
        "epoch": "e-1",
        "first": 1,
        "head": 0,
        "capabilities": {"agent": "demo", "commands": []},
        "limits": {"max_frame_bytes": 1, "max_queue": 1, "heartbeat_seconds": 1},
    }
    return frame(f"session.{kind}", info | fields, 1)


def said(number: int, text: str = "Hi", **fields: Any) -> dict[str, Any]:
    """A finished block."""
    whole = {"partial": False, "text": text, "message_sequence": number}
    return frame("assistant.chunk", {**place(number), **whole}, **fields)


def place(index: int) -> dict[str, Any]:
    return {"block_id": f"msg_1:{index}", "message_id": "msg_1", "index": index}


def piece(text: str, chunk_seq: int | None, **fields: Any) -> dict[str, Any]:
    payload = {**place(0), "partial": True, "text": text, **fields}
    return frame("assistant.chunk", payload | ({"chunk_seq": chunk_seq} if chunk_seq else {}))


def fold(*frames: dict[str, Any]) -> View:
    reducer = ViewReducer()
    for each in frames:
        reducer.apply(decode(json.dumps(each)))
    return reducer.view()


def blocks(view: View) -> list[Any]:
    return [
        json.loads(msgspec.json.encode(block))
        for message in view.messages
        for block in message.blocks
    ]


def texts(view: View) -> list[str]:
    return [block["text"] for block in blocks(view)]


# --- connections --------------------------------------------------------------------------------


def test_a_frame_that_this_connection_has_had_changes_nothing() -> None:
    assert fold(said(1, sequence=7), said(2, sequence=7), said(2, sequence=3)).cursor == 1


def test_the_next_connection_counts_from_one_again() -> None:
    view = fold(connected("c-1"), said(1, sequence=2), connected("c-2"), said(2, sequence=2))
    assert view.cursor == 2


def test_the_first_frame_of_a_connection_may_be_repeated() -> None:
    view = fold(connected("c-1"), said(1, sequence=2), connected("c-1"), said(2, sequence=2))
    assert view.cursor == 1


@pytest.mark.parametrize("kind", ["connected", "resumed"])
def test_a_client_without_a_copy_begins_where_the_connection_begins(kind: str) -> None:
    view = fold(connected(kind=kind, first=41), said(41))
    assert (view.first, view.cursor, view.behind) == (41, 41, False)


def test_a_client_with_a_copy_goes_on_from_its_cursor() -> None:
    view = fold(connected("c-1"), said(1), connected("c-2", kind="resumed", first=2), said(2))
    assert (view.first, view.cursor, view.behind) == (1, 2, False)


def test_a_client_with_a_part_of_the_log_begins_after_it() -> None:
    reducer = ViewReducer(cursor=40, epoch="e-1")
    assert (reducer.cursor, reducer.epoch) == (40, "e-1")
    for each in (connected(kind="resumed", first=41), said(41), said(40)):
        reducer.apply(decode(json.dumps(each)))
        assert not reducer.is_behind
    assert reducer.cursor == 41
    assert (reducer.view().first, len(reducer.view().messages)) == (41, 1)
    reducer.apply(decode(json.dumps(said(43))))
    assert reducer.is_behind
    reducer.apply(decode(json.dumps(connected("c-2", epoch="e-2", first=1))))
    assert (reducer.cursor, reducer.epoch, reducer.is_behind) == (0, "e-2", False)


def test_the_status_is_that_of_the_newest_state() -> None:
    reducer = ViewReducer()
    assert reducer.status is None
    state = {"state": "streaming", "running": True, "queue": [], "requests": [], "turn_id": 7}
    for each in (connected(), frame("session.state", state, 2)):
        reducer.apply(decode(json.dumps(each)))
    assert reducer.status is not None
    assert (reducer.status.turn_id, reducer.status) == (7, reducer.view().status)


def test_a_new_connection_clears_the_gap() -> None:
    behind = [connected("c-1"), said(2)]
    assert fold(*behind).behind
    assert not fold(*behind, connected("c-2")).behind
    reset = frame("session.reset", {"reason": "tail", "epoch": "e-1", "first": 2})
    assert not fold(*behind, reset).behind


def test_a_client_with_a_gap_keeps_it_whatever_frames_come() -> None:
    view = fold(said(2), said(1), said(1))
    assert (view.cursor, view.behind) == (1, True)


# --- frames that are not known ------------------------------------------------------------------


@pytest.mark.parametrize(
    "unknown",
    [
        {"type": "hologram"},
        {"type": "hologram", "payload": "beams", "sequence": "one"},
        {"type": "hologram", "payload": {"message_sequence": "one"}, "sequence": True},
        {},
    ],
)
def test_a_frame_without_any_sense_changes_nothing(unknown: dict[str, Any]) -> None:
    assert fold(unknown, said(1), unknown) == fold(said(1))


def test_not_even_an_object_changes_anything() -> None:
    reducer = ViewReducer()
    reducer.apply(UnknownFrame("", [1, 2]))
    assert reducer.view() == View([], [])


def test_an_unknown_frame_counts_once() -> None:
    unknown = frame("hologram", {"message_sequence": 1}, 5)
    assert fold(unknown, unknown, said(2, sequence=5), said(2, sequence=6)).cursor == 2
    assert fold(frame("hologram", {"message_sequence": 3}), said(1)).behind


def test_a_known_frame_that_cannot_be_read_counts_too() -> None:
    view = fold(frame("assistant.chunk", {"message_sequence": 1, "text": 17}), said(2))
    assert (view.cursor, view.behind, texts(view)) == (2, False, ["Hi"])


@pytest.mark.parametrize(
    "event", [connected("c-9"), frame("session.state", {"state": "active"}), piece("x", None)]
)
def test_only_durable_frames_can_be_replayed(event: dict[str, Any]) -> None:
    replay = frame("message.replay", {"message_sequence": None, "event": event})
    assert fold(connected(), replay, said(1)) == fold(connected(), said(1))


# --- blocks -------------------------------------------------------------------------------------


def test_a_finished_block_without_a_number_is_shown_and_moves_no_cursor() -> None:
    whole = frame("assistant.chunk", {**place(0), "partial": False, "text": "Hi"})
    view = fold(whole)
    assert (texts(view), view.cursor, view.messages[0].timestamp) == (["Hi"], 0, None)


def test_a_complete_snapshot_makes_a_frozen_block_grow_again() -> None:
    frozen = [piece("one ", 1), piece("three", 3)]
    again = piece("one ", 1, snapshot=True)
    assert [b["status"] for b in blocks(fold(*frozen))] == ["frozen"]
    assert texts(fold(*frozen, again, piece("two", 2))) == ["one two"]


def test_a_snapshot_may_be_of_another_kind_than_the_block() -> None:
    thinking = {**place(0), "partial": True, "snapshot": True, "text": "Hm", "chunk_seq": 1}
    view = fold(piece("Hi", 1), frame("assistant.thinking", thinking))
    assert [(b["type"], b["text"]) for b in blocks(view)] == [("thinking", "Hm")]


def test_an_unknown_block_has_the_content_of_its_newest_partial() -> None:
    def other(query: str, chunk_seq: int) -> dict[str, Any]:
        payload = {**place(0), "partial": True, "chunk_seq": chunk_seq, "block": {"query": query}}
        return frame("assistant.block", payload)

    view = fold(other("a", 1), other("b", 2), other("z", 1), other("d", 4))
    assert [(b["block"]["query"], b["status"]) for b in blocks(view)] == [("b", "frozen")]


def test_a_snapshot_of_a_tool_call_has_all_its_input_so_far() -> None:
    def call(text: str, chunk_seq: int, **fields: Any) -> dict[str, Any]:
        tool = {"tool_use_id": "toolu_1", "tool_name": "Read", "input_text": text}
        payload = {**place(0), "block_id": "toolu_1", "partial": True, "chunk_seq": chunk_seq}
        return frame("assistant.tool_call", payload | tool | fields)

    view = fold(call('{"a"', 3, snapshot=True), call(": 1}", 4))
    assert [b["input_text"] for b in blocks(view)] == ['{"a": 1}']


# --- the rest -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("user.message", {"content": []}),
        ("assistant.tool_result", {"tool_use_id": "t", "is_error": False, "content": ""}),
        (
            "assistant.request_input",
            {
                **place(1),
                "question_id": "t",
                "question": "",
                "options": [],
                "required": True,
                "metadata": None,
                "inbox_item_id": None,
                "deadline_at": None,
                "questions": [],
                "tool_name": "request_input",
            },
        ),
        (
            "assistant.permission_request",
            {"request_id": "r", "tool_use_id": "t", "tool_name": "Bash", "input": {}},
        ),
        ("assistant.request_resolved", {"request_id": "r", "outcome": "answered"}),
        ("conversation.interrupted", {"reason": "user"}),
        ("session.system_event", {"subtype": "init"}),
    ],
)
def test_a_frame_that_is_already_in_the_copy_changes_nothing(kind: str, payload: Any) -> None:
    again = frame(kind, {**payload, "message_sequence": 1})
    assert fold(again).cursor == 1
    assert fold(said(1), again) == fold(said(1))


def test_a_default_that_was_sent_is_left_out_of_the_view() -> None:
    stopped = {"reason": "user", "message_sequence": 1}
    told = {"queue": "hold", "acknowledged": False, "processes": []}
    silent, explicit = (
        fold(frame("conversation.interrupted", stopped | more)) for more in ({}, told)
    )
    assert msgspec.json.encode(explicit) == msgspec.json.encode(silent)


def test_an_unknown_enum_value_is_kept() -> None:
    stopped = {"reason": "user", "message_sequence": 1, "queue": "shuffle"}
    (event,) = blocks(fold(frame("conversation.interrupted", stopped)))
    assert event["data"] == {"reason": "user", "queue": "shuffle"}


def test_the_end_of_no_turn_in_particular_changes_nothing() -> None:
    end = frame("assistant.complete", {"is_error": False, "interrupted": False}, turn_id=None)
    assert fold(end) == View([], [])
