"""The codec: frames are written once for all connections and read leniently; commands are read strictly."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from tests.helpers.schema_validator import validator
from turnwire.core.content import OtherContent, parts_of
from turnwire.core.error_codes import Refused
from turnwire.core.message import ImagePart, TextPart
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


def test_half_a_character_is_written_as_the_log_has_it() -> None:
    half = msgspec.structs.replace(CHUNK, payload=p.Chunk("m:0", "m", 0, True, "a\ud83d"))
    read = codec.decode(codec.encode(half).at(1))
    assert isinstance(read, f.AssistantChunk)
    assert read.payload.text == "a\ufffd"


def test_outside_of_turns_turn_and_trace_are_null() -> None:
    frame = f.SessionReplayComplete("conv-1", None, None, "t", None, p.ReplayComplete(3))
    assert codec.encode(frame).at(2) == (
        b'{"type":"session.replay_complete","conversation_id":"conv-1","turn_id":null,'
        b'"sequence":2,"timestamp":"t","trace_id":null,"payload":{"through":3}}'
    )


def test_names_are_escaped() -> None:
    frame = f.SessionHeartbeatAck('"\n', None, None, "t", None, p.HeartbeatAck())
    assert json.loads(codec.encode(frame).at(1))["conversation_id"] == '"\n'


UNKNOWN = {"payload": {"sequence": None}, "type": "session.novel", "sequence": 4, "mood": [1]}


def test_a_frame_of_an_unknown_type_is_written_as_it_came() -> None:
    encoded = codec.encode(codec.decode(json.dumps(UNKNOWN)))
    assert json.loads(encoded.at(7)) == UNKNOWN | {"sequence": 7}
    assert json.loads(encoded.replayed()) == UNKNOWN | {"sequence": None}


def test_an_unknown_payload_that_is_no_object_is_written_unchanged() -> None:
    assert codec.encode(f.UnknownFrame("", [1, 2])).replayed() == b"[1,2]"


@pytest.mark.parametrize("event", [UNKNOWN, {"type": "user.message", "payload": 5}, {}, "text"])
def test_an_unknown_event_in_a_replay_is_written_as_it_came(event: Any) -> None:
    envelope = json.loads(WRITTEN % b"3") | {"type": "message.replay"}
    frame = envelope | {"payload": {"message_sequence": 3, "event": event}}
    assert json.loads(codec.encode(codec.decode(json.dumps(frame))).at(3)) == frame


# --- reading the server -------------------------------------------------------------------------


def test_written_frames_are_read_from_bytes_and_text() -> None:
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


def test_a_number_too_large_for_a_float_hides_nothing() -> None:
    news = p.SystemNews("compact_boundary", 1, data=Raw(b'{"size":1e999,"more":7}'))
    written = codec.encode(f.SessionSystemEvent("c", None, None, "t", None, news)).at(1)
    for raw in (written, written.decode()):
        frame = codec.decode(raw)
        assert isinstance(frame, f.SessionSystemEvent)
        assert frame.payload.data == {"size": math.inf, "more": 7}


def test_content_of_an_unknown_kind_does_not_hide_the_rest() -> None:
    words = {"type": "user.message", "conversation_id": "c", "turn_id": 1, "sequence": 1}
    words |= {"timestamp": "t", "trace_id": TRACE}
    content = [{"type": "text", "text": "Look"}, {"type": "hologram", "url": "x"}]
    payload = {"content": content, "message_sequence": 1}
    frame = codec.decode(json.dumps({**words, "payload": payload}))
    assert isinstance(frame, f.UserMessage)
    assert frame.payload.content[1] == OtherContent("hologram", content[1])


LATER: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("session.reset", {"reason": "retention", "epoch": "e-2", "first": 9}, ("reason",)),
    (
        "session.error",
        {"code": "TEAPOT", "message": "No.", "retryable": False, "what_to_do": "Tea."},
        ("code",),
    ),
    (
        "session.state",
        {
            "state": "dreaming",
            "running": True,
            "queue": [],
            "requests": [
                {"request_id": "r", "kind": "riddle", "tool_use_id": "t", "tool_name": "Bash"}
            ],
            "last_turn": {"is_error": False, "interrupted": False, "origin": "timer"},
        },
        ("state", "requests", "last_turn"),
    ),
    ("turn.started", {"turn_id": 1, "origin": "timer"}, ("origin",)),
    ("user.message", {"content": [], "message_sequence": 1, "origin": "parrot"}, ("origin",)),
    (
        "assistant.request_resolved",
        {"request_id": "r", "outcome": "lost", "message_sequence": 1, "decision": "maybe"},
        ("outcome", "decision"),
    ),
    (
        "conversation.interrupted",
        {"reason": "user", "message_sequence": 1, "queue": "shuffle"},
        ("queue",),
    ),
    ("user.interrupt.ack", {"outcome": "pondered"}, ("outcome",)),
    ("assistant.complete", {"is_error": False, "interrupted": False, "origin": "x"}, ("origin",)),
]


@pytest.mark.parametrize(("kind", "payload", "names"), LATER, ids=[kind for kind, _, _ in LATER])
def test_a_value_that_is_not_known_is_kept_as_it_came(
    kind: str, payload: dict[str, Any], names: tuple[str, ...]
) -> None:
    value = json.loads(WRITTEN % b"7") | {"type": kind, "payload": payload}
    frame = codec.decode(json.dumps(value))
    assert not isinstance(frame, f.UnknownFrame)
    written = json.loads(codec.encode(frame).at(7))["payload"]
    assert {name: written[name] for name in names} == {name: payload[name] for name in names}


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"{", "invalid_json"),
        (b"", "invalid_json"),
        ('{"type":"a', "invalid_json"),
        (b'{"type":"\\ud800"}', "invalid_json"),
        (b'{"type":"a","payload":%b}' % (b"9" * 5000), "invalid_json"),
        (b"[1]", "not_an_object"),
        (b'"text"', "not_an_object"),
        (f'{{"type":"session.state","payload":{DEEP}}}', "too_deep"),
        (DEEP.encode(), "too_deep"),
    ],
    ids=lambda value: repr(value[:30]),
)
def test_a_line_without_a_json_object_is_a_bad_line(raw: bytes | str, reason: str) -> None:
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
    ('{"type":"session.heartbeat","payload":' + "[" * 900 + "]" * 900 + "}", "INVALID_PAYLOAD"),
]


@pytest.mark.parametrize(("raw", "code"), REFUSED, ids=[raw[:60] for raw, _ in REFUSED])
def test_an_invalid_command_is_refused(raw: str, code: str) -> None:
    for given in (raw, raw.encode()):
        with pytest.raises(Refused) as caught:
            codec.decode_command(given)
        assert caught.value.code == code
        assert not caught.value.retryable


def words(*content: Any) -> dict[str, Any]:
    return {"content": list(content)}


def permission(**fields: Any) -> dict[str, Any]:
    return {"request_id": "r-1", "decision": "deny", **fields}


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("message", {}, "`payload.content` is missing: add it"),
    ("message", {"content": ""}, "`payload.content`: Expected `str` of length >= 1"),
    ("message", {"content": []}, "`payload.content`: Expected `array` of length >= 1"),
    (
        "message",
        {"content": "Hi", "mood": 1},
        "`payload.mood` is not known: correct its name, or leave it out",
    ),
    (
        "message",
        words({"type": "text", "text": "Hi", "tone": 1}),
        "`payload.content[0].tone` is not known: correct its name, or leave it out",
    ),
    (
        "message",
        words({"type": "text", "text": "Hi"}, {"type": "image", "blob": {"blob_id": "b", "at": 1}}),
        "`payload.content[1].blob.at` is not known: correct its name, or leave it out",
    ),
    (
        "message",
        words({"type": "image", "mime_type": "image/png"}),
        "`payload.content[0]`: the image has no content: add `data`, `url` or `blob`",
    ),
    (
        "message",
        words({"type": "file_ref", "path": "a", "line": 3}),
        "`payload.content[0].line` is not known: correct its name, or leave it out",
    ),
    (
        "message",
        words({"type": "hologram"}),
        "`payload.content[0].type`: Invalid value 'hologram'",
    ),
    (
        "message",
        words({"type": "unknown", "originalType": "hologram", "data": {}}),
        "`payload.content[0].type`: Invalid value 'unknown'",
    ),
    ("queue", {"action": "remove"}, "`payload`: `queue_id` is missing: remove needs it"),
    ("queue", {"action": "move"}, "`payload`: `queue_id` is missing: move needs it"),
    (
        "queue",
        {"action": "replace", "queue_id": "q-1"},
        "`payload`: `content` is missing: replace needs it",
    ),
    (
        "queue",
        {"action": "replace", "queue_id": "q-1", "content": ""},
        "`payload.content`: Expected `str` of length >= 1",
    ),
    (
        "queue",
        {"action": "remove", "queue_id": "q-1", "content": "Hi"},
        "`payload`: `content` is not for remove: leave it out",
    ),
    (
        "queue",
        {"action": "resume", "queue_id": "q-1"},
        "`payload`: `queue_id` is not for resume: leave it out",
    ),
    ("interrupt", {"turn_id": 0}, "`payload.turn_id`: Expected `int` >= 1"),
    ("rewind", {"message_sequence": 0}, "`payload.message_sequence`: Expected `int` >= 1"),
    (
        "permission_response",
        permission(updated_input={}),
        "`payload`: `updated_input` is not for deny: leave it out, or allow",
    ),
    (
        "permission_response",
        permission(remember=[{}]),
        "`payload`: `remember` is not for deny: leave it out, or allow",
    ),
]


@pytest.mark.parametrize(("kind", "payload", "said"), WRONG, ids=[said for _, _, said in WRONG])
def test_a_refusal_names_the_field_and_gives_advice(
    kind: str, payload: dict[str, Any], said: str
) -> None:
    with pytest.raises(Refused) as caught:
        codec.read_command({"type": f"user.{kind}", "payload": payload})
    assert (caught.value.code, caught.value.message) == ("INVALID_PAYLOAD", f"user.{kind}: {said}")
    assert not validator("v2-client").is_valid({"type": f"user.{kind}", "payload": payload})


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        ({"control": "dance"}, "`payload.control`: Invalid value 'dance'"),
        ({"control": "mcp_reconnect"}, "`payload.server` is missing: add it"),
        ({"server": "files"}, "`payload.control` is missing: add it"),
        (
            {"control": "mcp_status", "server": "files"},
            "`payload.server` is not known: correct its name, or leave it out",
        ),
    ],
)
def test_a_control_must_be_known_and_complete(payload: dict[str, Any], said: str) -> None:
    frame = {"type": "session.control", "payload": payload}
    with pytest.raises(Refused) as caught:
        codec.read_command(frame)
    assert caught.value.message == f"session.control: {said}"
    assert not validator("v2-client").is_valid(frame)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"client_mesage_id": "m-1"},
            "`client_mesage_id` is not known: correct its name, or leave it out",
        ),
        ({"client_message_id": ""}, "`client_message_id`: Expected `str` of length >= 1"),
    ],
)
def test_the_fields_next_to_the_payload_are_read_strictly_too(
    fields: dict[str, Any], said: str
) -> None:
    frame = {"type": "session.heartbeat", **fields}
    with pytest.raises(Refused) as caught:
        codec.read_command(frame)
    assert caught.value.message == f"session.heartbeat: {said}"
    assert not validator("v2-client").is_valid(frame)


RIGHT: list[tuple[str, dict[str, Any]]] = [
    ("message", {"content": "Hi"}),
    ("message", words({"type": "text", "text": "Hi"}, {"type": "image", "url": "u"})),
    ("message", words({"type": "image", "data": "iVBORw0KGgo="})),
    ("message", words({"type": "file_ref", "path": "a", "blob": {"blob_id": "b-1"}})),
    ("queue", {"action": "remove", "queue_id": "q-1"}),
    ("queue", {"action": "replace", "queue_id": "q-1", "content": "Hi"}),
    ("queue", {"action": "move", "queue_id": "q-1"}),
    ("queue", {"action": "move", "queue_id": "q-1", "before": "q-2"}),
    ("queue", {"action": "resume"}),
    ("permission_response", permission(reason="no")),
    ("permission_response", permission(decision="allow", updated_input={}, remember=[{}])),
]


@pytest.mark.parametrize(("kind", "payload"), RIGHT, ids=[str(payload) for _, payload in RIGHT])
def test_valid_commands_are_read_and_written_unchanged(kind: str, payload: dict[str, Any]) -> None:
    frame = {"type": f"user.{kind}", "payload": payload}
    assert json.loads(msgspec.json.encode(codec.read_command(frame))) == frame
    assert validator("v2-client").is_valid(frame)


def test_the_log_keeps_the_content_of_a_client_unchanged() -> None:
    items = words({"type": "text", "text": "Hi"}, {"type": "image", "blob": {"blob_id": "b-1"}})
    sent = codec.read_command({"type": "user.message", "payload": items})
    assert isinstance(sent, c.SendMessage)
    parts, rest = parts_of(sent.payload.content)
    assert [type(part) for part in parts] == [TextPart, ImagePart]
    assert rest == []


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


def test_a_frame_is_the_bytes_before_and_after_its_number() -> None:
    encoded = codec.encode(CHUNK)
    assert encoded.at(7) == encoded.head + b"7" + encoded.tail
    assert encoded.head.endswith(b'"sequence":')
