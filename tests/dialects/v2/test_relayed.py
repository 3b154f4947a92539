"""A frame that another node has encoded: the same for followers as one of this node."""

from __future__ import annotations

from turnwire.core.conversation.state import Conversation, status_of
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.codec import encode
from turnwire.dialects.v2.relayed import pack, unpack
from turnwire.dialects.v2.sent import Sent

NOW = "2026-01-01T12:00:00.000Z"
IDS = ("talk", None, None, NOW, None)


def test_a_relayed_frame_has_the_same_bytes_number_and_content() -> None:
    frames = [
        f.AssistantChunk(*IDS, p.Chunk("m:0", "m", 0, False, 'He said "sequence":null', 7)),
        f.SessionState(*IDS, status_of(Conversation("talk"))),
    ]
    relayed = unpack(pack([Sent(frame) for frame in frames]))
    for before, after in zip(frames, relayed, strict=True):
        sent = Sent(before)
        assert after.written == sent.written == encode(before).raw
        assert after.at(9) == sent.at(9)
        assert after.pieces(9) == sent.pieces(9)
        assert after.number == sent.number
        assert after.size == len(sent.written)
        assert (after.is_large, after.holders, after.shared) == (False, 0, after)
        assert after.frame == before
        assert after.frame is after.frame  # decoded once
