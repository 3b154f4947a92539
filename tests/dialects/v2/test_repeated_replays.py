"""Replays among live frames, for a conversation that another process writes."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from tests.dialects.v2.helpers.recorded_sessions import Frame, Session, check


def _told_later(name: str) -> list[Frame]:
    """The frames of a recorded session, as one that follows from another process gets them."""
    session = Session(name)
    frames = [line["server"] for line in session.lines if "server" in line]
    begin = next(n for n, frame in enumerate(frames) if frame["type"] == "session.state") + 1
    kept = [frame for frame in frames[begin:] if _is_kept(frame)]
    complete = deepcopy(session.frame("session.replay_complete"))
    complete["payload"]["through"] = len([f for f in kept if f["type"] != "assistant.complete"])
    last = deepcopy(session.frame("session.state", -1))
    return [*frames[:begin], *map(_replay, kept), complete, last]


def _is_kept(frame: Frame) -> bool:
    return "message_sequence" in frame["payload"] or frame["type"] == "assistant.complete"


def _replay(frame: Frame) -> Frame:
    number = frame["payload"].get("message_sequence")
    payload = {"message_sequence": number, "event": {**frame, "sequence": None}}
    return {**frame, "type": "message.replay", "payload": payload}


def _broken(frames: list[Frame]) -> list[str]:
    name = frames[0]["conversation_id"]
    lines: list[Any] = [{"connect": f"/ws/conversations/{name}?protocol=v2"}]
    for number, frame in enumerate(frames, 1):
        lines.append({"server": {**frame, "sequence": number}})
    return [violation.code for violation in check([*lines, {"close": 1000}]).violations]


@pytest.mark.parametrize("name", ["01", "03", "05", "07"])
def test_a_replay_may_come_among_live_frames(name: str) -> None:
    assert _broken(_told_later(name)) == []


def test_a_later_replay_may_come_entry_by_entry_and_be_empty() -> None:
    *first, state, user, init, text, end, complete, last = _told_later("01")
    runs = deepcopy(state)
    runs["payload"] |= {"state": "streaming", "running": True, "turn_id": 1}

    def through(number: int) -> Frame:
        return {**complete, "payload": {"through": number}}

    told = [*first, state, user, through(1), runs, through(1), runs, init, text, through(3), runs]
    assert _broken([*told, end, through(3), last]) == []


def test_live_frames_may_follow_a_later_replay() -> None:
    session = Session("01")
    title, beat = session.frame("conversation.updated"), session.frame("session.heartbeat_ack")
    assert _broken([*_told_later("01"), title, {**beat, "payload": {}}]) == []


def test_a_later_replay_begins_after_the_newest_entry() -> None:
    frames = _told_later("01")
    del frames[3]
    assert _broken(frames) == ["replay_order"]


def test_a_later_replay_has_the_ends_of_turns_in_their_places() -> None:
    frames = _told_later("01")
    frames[5], frames[6] = frames[6], frames[5]
    assert "replay_order" in _broken(frames)


def test_a_later_replay_names_its_last_entry() -> None:
    frames = _told_later("01")
    frames[-2]["payload"]["through"] = 2
    assert _broken(frames) == ["wrong_through"]


def test_no_other_frame_comes_before_the_state_of_a_later_replay() -> None:
    frames = _told_later("01")
    frames.insert(5, Session("01").frame("conversation.updated"))
    assert _broken(frames) == ["handshake_order"]


def test_no_reset_comes_within_a_later_replay() -> None:
    frames = _told_later("01")
    info = frames[0]["payload"]
    reset = {"reason": "epoch", "epoch": info["epoch"], "first": 1}
    frames.insert(5, {**frames[1], "type": "session.reset", "payload": reset})
    assert _broken(frames) == ["handshake_order"]


def test_the_state_of_a_later_replay_has_the_last_turn_as_it_ended() -> None:
    frames = _told_later("01")
    frames[-1]["payload"]["last_turn"]["stop_reason"] = "max_tokens"
    assert _broken(frames) == ["wrong_state"]


def test_changes_before_a_later_replay_were_sent_before_it() -> None:
    frames = _told_later("01")
    frames.insert(3, Session("01").frame("turn.started"))
    assert _broken(frames) == ["state_missing"]
