"""All turns of a connection as streams, one after the other."""

from __future__ import annotations

from turnwire.core.status import OpenRequest, Status, TurnEnd
from turnwire.dialects.aisdk import chunks as u
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.turn_streams.aisdk.writer import UiWriter
from turnwire.turn_streams.turns import TurnsWriter

AT = "2026-01-01T12:00:00.000Z"


def text(turn_id: int, number: int) -> f.Frame:
    chunk = p.Chunk(f"m:{number}", "m", 0, False, "x", message_sequence=number)
    return f.AssistantChunk("talk", turn_id, None, AT, None, chunk)


def end(turn_id: int) -> f.Frame:
    return f.AssistantComplete("talk", turn_id, None, AT, None, TurnEnd(False, False))


def test_each_turn_has_a_stream_and_nothing_follows_its_end() -> None:
    turns = TurnsWriter[u.Chunk](lambda reader, after: UiWriter(reader, after=after))
    state = f.SessionState("talk", None, None, AT, None, Status("active", False, [], []))
    assert turns.feed(state) == []
    kinds = [type(chunk) for frame in (text(1, 1), end(1)) for chunk in turns.feed(frame)]
    whole = [u.Start, u.StartStep, u.TextStart, u.TextDelta, u.TextEnd, u.FinishStep, u.Finish]
    assert kinds == whole
    assert turns.feed(text(1, 2)) == [], "background work goes on"
    assert [type(chunk) for frame in (text(2, 3), end(2)) for chunk in turns.feed(frame)] == whole


def test_a_turn_that_waits_has_another_stream_after_the_reply() -> None:
    turns = TurnsWriter[u.Chunk](lambda reader, after: UiWriter(reader, after=after))
    request = OpenRequest("r", "permission", "t", "Read", turn_id=1)
    waiting = Status("waiting_input", True, [], [request], turn_id=1)
    turns.feed(text(1, 1))
    waits = turns.feed(f.SessionState("talk", None, None, AT, None, waiting))
    assert [type(each) for each in waits] == [u.FinishStep, u.Finish]
    assert turns.feed(f.SessionState("talk", None, None, AT, None, waiting)) == []
    assert [type(each) for each in turns.feed(text(1, 2))][:2] == [u.Start, u.TextStart]
