"""The v2 projector: the opening of a connection, and the present state."""

from __future__ import annotations

from typing import Any

import pytest

from turnwire.core import events as ev
from turnwire.core import happenings as h
from turnwire.core.blocks import TextBlock
from turnwire.core.entries import entry_of
from turnwire.core.growing import Growing
from turnwire.core.opening import Opening, Start
from turnwire.core.status import Capabilities, Limits, Status, Totals, TurnEnd
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.projector import V2Projector

NOW, LATER = "2026-01-01T12:00:00.000Z", "2026-01-01T13:00:00.000Z"
WHO = ("claude", "s-2", None, None)
STATUS = Status("active", False, [], [])
HERE = ("talk", None, None, NOW, None)
TURN = ("talk", 3, None, NOW, "trace")


def projector() -> V2Projector:
    return V2Projector("talk")


@pytest.mark.parametrize(
    ("happening", "frame"),
    [
        (h.StateChanged(NOW, STATUS), f.SessionState(*HERE, STATUS)),
        (
            h.Changed(NOW, "Mine", Totals(1)),
            f.ConversationUpdated(*HERE, p.ConversationNews("Mine", Totals(1))),
        ),
        (
            h.TurnBegan(NOW, 3, "trace", "user", "q", "m"),
            f.TurnStarted(*TURN, p.TurnStart(3, "user", "q", "m")),
        ),
        (
            h.TurnEnded(NOW, 3, "trace", TurnEnd(False, False)),
            f.AssistantComplete(*TURN, TurnEnd(False, False)),
        ),
    ],
    ids=["state", "title", "start", "end"],
)
def test_each_thing_that_happens_is_a_frame(happening: Any, frame: f.Frame) -> None:
    assert projector().frames([happening]) == [frame]
    [sent] = projector().project([happening])
    assert sent.frame == frame


def test_an_entry_is_published_and_replayed_with_its_number() -> None:
    at: Any = {"run_id": "talk:3", "timestamp": NOW}
    entry = entry_of("assistant", [TextBlock("Hi", "completed")], **at, message_id="m", index=0)
    added = h.EntryAdded(5, entry, "trace")
    [sent] = projector().project([added])
    assert (sent.number, sent.frame.turn_id) == (5, 3)
    [again] = projector().replay(added, LATER)
    assert again.number == 5
    assert again.frame == f.MessageReplay("talk", 3, None, LATER, "trace", f.Replay(5, sent.frame))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("start", "kinds"),
    [
        (Start(0), [f.SessionConnected]),
        (Start(4, resumed=True), [f.SessionResumed]),
        (Start(0, "epoch"), [f.SessionConnected, f.SessionReset]),
    ],
)
def test_the_first_frame_has_the_position_of_the_connection(
    start: Start, kinds: list[type]
) -> None:
    offered, limits = Capabilities("demo", []), Limits(1, 1, 1)
    opening = Opening(NOW, "k", "client", "e", start, 9, offered, limits)
    told = [sent.frame for sent in projector().greet(opening)]
    assert [type(frame) for frame in told] == kinds
    info = p.SessionInfo("k", "client", "e", start.after + 1, 9, offered, limits)
    assert isinstance(told[0], f.SessionConnected | f.SessionResumed)
    assert told[0].payload == info


def test_a_new_client_gets_the_state_and_a_snapshot_of_each_block() -> None:
    growing = Growing()
    block = ev.ContentStarted(*WHO, "m", 0, TextBlock("", "in_progress"))
    pieces = [ev.ContentDelta(*WHO, "m", 0, "text", text) for text in ("Hi ", "there")]
    spoke = h.AgentSpoke(NOW, 3, "trace", [], growing.feed_all([block, *pieces], 3, "trace"))
    texts = [frame.payload.text for frame in projector().frames([spoke])]  # type: ignore[attr-defined]
    assert texts == ["Hi ", "there"]
    told = [sent.frame for sent in projector().present(h.Now(NOW, 9, STATUS, growing))]
    chunk = p.Chunk("m:0", "m", 0, True, "Hi there", 2, None, None, True)
    assert told == [
        f.SessionReplayComplete(*HERE, p.ReplayComplete(9)),
        f.SessionState(*HERE, STATUS),
        f.AssistantChunk(*TURN, chunk),
    ]
