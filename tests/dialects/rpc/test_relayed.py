"""A line that another node has encoded: the same for followers as one of this node."""

from __future__ import annotations

from turnwire.core import events as ev
from turnwire.core import happenings as h
from turnwire.core.blocks import TextBlock
from turnwire.core.entries import entry_of
from turnwire.core.status import Status, TurnEnd
from turnwire.dialects.rpc.projector import RpcProjector
from turnwire.dialects.rpc.relayed import pack, unpack

NOW = "2026-01-01T12:00:00.000Z"
WHO = ("claude", "s-2", None, None)


def test_a_relayed_line_has_the_same_bytes_and_news() -> None:
    text = [TextBlock("Hi", "completed")]
    entry = entry_of("assistant", text, run_id="talk:3", timestamp=NOW, message_id="m", index=0)
    lines = RpcProjector("demo", None, "x").project(
        [
            h.TurnBegan(NOW, 3, "trace", "user", "q-1", "m-1"),
            h.AgentSpoke(NOW, 3, "trace", [ev.MessageStarted(*WHO, "m")], []),
            h.EntryAdded(5, entry, "trace"),
            h.StateChanged(NOW, Status("active", False, [], [])),
            h.TurnEnded(NOW, 3, "trace", TurnEnd(False, False, structured_output={"big": 1 << 70})),
        ]
    )
    relayed = unpack(pack(lines))
    assert {line.news is not None for line in lines} == {True, False}
    for before, after in zip(lines, relayed, strict=True):
        assert after.written == before.written
        assert after.size == before.size
        assert (after.kind, after.turn_id, after.number) == (
            before.kind,
            before.turn_id,
            before.number,
        )
        assert after.news == before.news
