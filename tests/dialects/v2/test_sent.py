"""A sent frame: written once for all connections, and in pieces if it is large."""

from __future__ import annotations

from typing import Any

from turnwire.core.conversation.state import Conversation, status_of
from turnwire.core.pieces import in_pieces
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.codec import encode
from turnwire.dialects.v2.sent import Sent

NOW = "2026-01-01T12:00:00.000Z"
IDS = ("talk", None, None, NOW, None)
KIB = 1024


def chunk(text: str, **more: Any) -> f.Frame:
    return f.AssistantChunk(*IDS, p.Chunk("m:0", "m", 0, True, text, **more))


def state_frame() -> f.Frame:
    return f.SessionState(*IDS, status_of(Conversation("talk")))


def of_length(length: int) -> f.Frame:
    """Returns a frame of this many bytes, without a number."""
    return chunk("x" * (length - len(encode(chunk("")).raw)))


def test_a_frame_is_written_once_for_all_connections() -> None:
    frame = chunk("hello")
    sent = Sent(frame)
    assert sent.frame is frame
    assert sent.encoded.raw == encode(frame).raw
    assert sent.encoded is sent.encoded
    assert sent.written == encode(frame).raw


def test_each_connection_gets_its_own_number_in_the_same_frame() -> None:
    sent = Sent(chunk("hello"))
    for number in (1, 12, 3):
        assert sent.at(number) == encode(sent.frame).at(number)
        assert b"".join(sent.pieces(number)) == encode(sent.frame).at(number)


def test_clients_share_a_frame_and_no_client_holds_a_new_one() -> None:
    sent = Sent(chunk("hello"))
    assert sent.shared is sent
    assert sent.holders == 0


def test_a_frame_has_the_number_of_its_entry() -> None:
    entry = chunk("hello", message_sequence=7)
    again = f.MessageReplay(*IDS, f.Replay(7, entry))  # type: ignore[arg-type]
    assert [Sent(each).number for each in (entry, again, chunk("x"))] == [7, 7, None]


def test_a_frame_is_large_beyond_256_kib() -> None:
    for length, is_large in [(100, False), (256 * KIB, False), (256 * KIB + 1, True)]:
        sent = Sent(of_length(max(length, 300)))
        assert sent.is_large is is_large
        assert sent.is_large is is_large, "also when it was written before"


def test_a_large_frame_is_cut_into_pieces_of_64_kib() -> None:
    raw = bytes(range(256)) * 800  # 200 KiB
    assert [len(piece) for piece in in_pieces(raw)] == [64 * KIB, 64 * KIB, 64 * KIB, 8 * KIB]
    assert b"".join(in_pieces(raw)) == raw
    assert b"".join(in_pieces(raw, 1000)) == raw[1000:]
    sent = Sent(of_length(200 * KIB))
    assert max(len(piece) for piece in sent.pieces(5)) == 64 * KIB
    assert b"".join(sent.pieces(5)) == sent.at(5)


def test_a_piece_of_plain_text_counts_by_its_letters_without_being_written() -> None:
    sent = Sent(chunk("hello"))
    assert sent.size == 5 + 400
    assert sent.size == 5 + 400
    assert len(sent.at(1)) < sent.size


def test_every_other_frame_counts_by_its_bytes() -> None:
    written = Sent(chunk("hello"))
    assert written.at(1)
    for sent in (Sent(state_frame()), Sent(chunk("会议" * 500)), written):
        assert sent.size == len(encode(sent.frame).raw)
