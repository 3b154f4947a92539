"""Frames as bytes: written once for all connections, read leniently, commands read strictly."""

from __future__ import annotations

import json

import pytest

from turnwire.core.content import OtherContent
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import codec
from turnwire.dialects.v2 import commands as c
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.errors import BadLine

TRACE = "0af7651916cd43dd8448eb211c80319c"
CHUNK = f.AssistantChunk(
    "conv-1",
    1,
    None,
    "2026-01-01T12:00:00.000Z",
    TRACE,
    p.Chunk("m:0", "m", 0, False, "Hi", message_sequence=2),
)
WRITTEN = (
    b'{"type":"assistant.chunk","conversation_id":"conv-1","turn_id":1,"sequence":%b,'
    b'"timestamp":"2026-01-01T12:00:00.000Z","trace_id":"0af7651916cd43dd8448eb211c80319c",'
    b'"payload":{"block_id":"m:0","message_id":"m","index":0,"partial":false,"text":"Hi",'
    b'"message_sequence":2}}'
)
DEEP = "[" * 100_000 + "]" * 100_000

# --- writing ------------------------------------------------------------------------------------


def test_a_frame_is_written_once_and_numbered_for_each_connection() -> None:
    encoded = codec.encode(CHUNK)
    assert encoded.at(7) == WRITTEN % b"7"
    assert encoded.at(8) == WRITTEN % b"8"


def test_in_a_replay_it_has_no_number() -> None:
    assert codec.encode(CHUNK).replayed() == WRITTEN % b"null"


def test_the_number_in_the_frame_itself_does_not_count() -> None:
    numbered = codec.decode(codec.encode(CHUNK).at(5))
    assert isinstance(numbered, f.AssistantChunk)
    assert codec.encode(numbered) == codec.encode(CHUNK)


def test_outside_of_turns_turn_and_trace_are_null() -> None:
    frame = f.SessionReplayComplete("conv-1", None, None, "t", None, p.ReplayComplete(3))
    assert codec.encode(frame).at(2) == (
        b'{"type":"session.replay_complete","conversation_id":"conv-1","turn_id":null,'
        b'"sequence":2,"timestamp":"t","trace_id":null,"payload":{"through":3}}'
    )


def test_names_are_escaped() -> None:
    frame = f.SessionHeartbeatAck('"\n', None, None, "t", None, p.HeartbeatAck())
    assert json.loads(codec.encode(frame).at(1))["conversation_id"] == '"\n'


# --- reading the server -------------------------------------------------------------------------


def test_what_was_written_is_read_again_from_bytes_and_text() -> None:
    raw = WRITTEN % b"7"
    frame = codec.decode(raw)
    assert isinstance(frame, f.AssistantChunk)
    assert (frame.sequence, frame.payload) == (7, CHUNK.payload)
    assert codec.decode(raw.decode()) == frame


def test_a_frame_of_an_unknown_type_is_kept_whole() -> None:
    frame = codec.decode(b'{"type":"session.novel","sequence":4}')
    assert frame == f.UnknownFrame("session.novel", {"type": "session.novel", "sequence": 4})


def test_an_object_without_a_type_is_unknown_too() -> None:
    assert codec.decode(b'{"sequence":4}') == f.UnknownFrame("", {"sequence": 4})


def test_an_unknown_field_is_passed_over() -> None:
    raw = (WRITTEN % b"7").replace(b'"text":"Hi"', b'"text":"Hi","mood":"good"')
    frame = codec.decode(raw)
    assert isinstance(frame, f.AssistantChunk)
    assert frame.payload == CHUNK.payload


def test_a_known_type_with_a_payload_that_does_not_fit_is_unknown() -> None:
    frame = codec.decode((WRITTEN % b"7").replace(b'"text":"Hi"', b'"text":5'))
    assert isinstance(frame, f.UnknownFrame)
    assert frame.original_type == "assistant.chunk"


def test_content_of_an_unknown_kind_does_not_hide_the_rest() -> None:
    words = {"type": "user.message", "conversation_id": "c", "turn_id": 1, "sequence": 1}
    words |= {"timestamp": "t", "trace_id": TRACE}
    content = [{"type": "text", "text": "Look"}, {"type": "hologram", "url": "x"}]
    payload = {"content": content, "message_sequence": 1}
    frame = codec.decode(json.dumps({**words, "payload": payload}))
    assert isinstance(frame, f.UserMessage)
    assert frame.payload.content[1] == OtherContent("hologram", content[1])


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"{", "invalid_json"),
        (b"", "invalid_json"),
        ('{"type":"a', "invalid_json"),
        (b'{"type":"\\ud800"}', "invalid_json"),
        (b"[1]", "not_an_object"),
        (b'"text"', "not_an_object"),
        (f'{{"type":"session.state","payload":{DEEP}}}', "too_deep"),
        (DEEP.encode(), "too_deep"),
    ],
    ids=lambda value: repr(value[:30]),
)
def test_what_is_no_json_object_is_a_bad_line(raw: bytes | str, reason: str) -> None:
    with pytest.raises(BadLine) as caught:
        codec.decode(raw)
    assert caught.value.reason == reason
    assert caught.value.raw == (raw.encode() if isinstance(raw, str) else raw)


# --- reading a client ---------------------------------------------------------------------------


def test_a_command_is_read_from_bytes_text_and_json() -> None:
    raw = b'{"type":"user.interrupt","client_message_id":"m-1","payload":{"turn_id":4}}'
    stop = c.Interrupt(payload=c.Stop(4), client_message_id="m-1")
    assert codec.decode_command(raw) == stop
    assert codec.decode_command(raw.decode()) == stop
    assert codec.read_command(json.loads(raw)) == stop


def test_a_heartbeat_needs_no_payload() -> None:
    assert codec.decode_command(b'{"type":"session.heartbeat"}') == c.Heartbeat()


def test_an_unknown_field_beside_the_payload_is_allowed_as_in_any_frame() -> None:
    assert codec.decode_command(b'{"type":"session.heartbeat","t":1}') == c.Heartbeat()


REFUSED = [
    ("{", "INVALID_FORMAT"),
    ("", "INVALID_FORMAT"),
    ('{"type":"user.message","payload":{"content":"\\ud800"}}', "INVALID_FORMAT"),
    (DEEP, "INVALID_FORMAT"),
    ("[]", "INVALID_FORMAT"),
    ("{}", "INVALID_FORMAT"),
    ('{"type":5}', "INVALID_FORMAT"),
    ('{"type":"user.shout"}', "UNKNOWN_MESSAGE_TYPE"),
    ('{"type":"assistant.chunk"}', "UNKNOWN_MESSAGE_TYPE"),
    ('{"type":"user.message"}', "INVALID_PAYLOAD"),
    ('{"type":"user.message","payload":{"content":5}}', "INVALID_PAYLOAD"),
    ('{"type":"user.message","payload":{"content":"x","mood":"good"}}', "INVALID_PAYLOAD"),
    ('{"type":"user.interrupt","payload":{"turn_id":"4"}}', "INVALID_PAYLOAD"),
    ('{"type":"user.queue","payload":{"action":"burn"}}', "INVALID_PAYLOAD"),
    ('{"type":"session.heartbeat","client_message_id":5}', "INVALID_PAYLOAD"),
]


@pytest.mark.parametrize(("raw", "code"), REFUSED, ids=[raw[:60] for raw, _ in REFUSED])
def test_what_is_not_understood_is_refused(raw: str, code: str) -> None:
    for given in (raw, raw.encode()):
        with pytest.raises(Refused) as caught:
            codec.decode_command(given)
        assert caught.value.code == code
        assert not caught.value.retryable


def test_bytes_that_are_no_utf_8_are_refused() -> None:
    with pytest.raises(Refused) as caught:
        codec.decode_command(b'{"type":"\xff"}')
    assert caught.value.code == "INVALID_FORMAT"


def test_a_refusal_names_the_frame_that_it_refuses() -> None:
    for raw in (
        '{"type":"a","client_message_id":"m-1"}',
        '{"type":"user.message","client_message_id":"m-1"}',
    ):
        with pytest.raises(Refused) as caught:
            codec.decode_command(raw)
        assert caught.value.data == {"client_message_id": "m-1"}
    with pytest.raises(Refused) as caught:
        codec.decode_command('{"type":"a","client_message_id":1}')
    assert caught.value.data == {"client_message_id": None}
