"""Messages, parts and deltas: their shapes on the wire, and reading without loss."""

from __future__ import annotations

import json
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw, Struct, ValidationError

from tests.helpers.recorded_streams import FIXTURES
from turnwire.core import message as module
from turnwire.core import message_codec
from turnwire.core.message import (
    SCHEMA_VERSION,
    FileRefPart,
    FileRefPayload,
    ImagePart,
    ImagePayload,
    KeptBlock,
    Message,
    MessagePart,
    Meta,
    TextPart,
    TextPayload,
    ThinkingPart,
    ThinkingPayload,
    TokenUsage,
    ToolCallPart,
    ToolCallPayload,
    ToolResultPart,
    ToolResultPayload,
    UnknownPart,
    known_meta,
    meta_of,
    parse_arguments,
    run_id,
    split_run_id,
    to_json,
)
from turnwire.core.message_codec import decode_delta, decode_message, encode, read_message
from turnwire.core.message_deltas import (
    DoneDelta,
    DoneDeltaPayload,
    MessageDelta,
    StartDelta,
    StartDeltaPayload,
    UnknownDelta,
)


def text(words: str) -> TextPart:
    return TextPart(TextPayload(words))


def message(*parts: MessagePart, **meta: Any) -> Message:
    return Message("conv:1", "assistant", list(parts), "2026-01-01T12:00:00Z", meta)


def frame(*parts: Any, **more: Any) -> dict[str, Any]:
    return {
        "runId": "conv:1",
        "role": "assistant",
        "parts": list(parts),
        "timestamp": "2026-01-01T12:00:00Z",
        "meta": {"schemaVersion": 1},
        **more,
    }


def compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


# --- shapes -----------------------------------------------------------------------------------

PARTS: list[tuple[MessagePart, dict[str, Any]]] = [
    (text("Hello"), {"kind": "text", "payload": {"text": "Hello"}}),
    (
        TextPart(TextPayload("Hello", [{"url": "https://example.com"}])),
        {
            "kind": "text",
            "payload": {"text": "Hello", "citations": [{"url": "https://example.com"}]},
        },
    ),
    (ThinkingPart(ThinkingPayload("Hm")), {"kind": "thinking", "payload": {"text": "Hm"}}),
    (
        ThinkingPart(ThinkingPayload("", "sig", "sealed")),
        {"kind": "thinking", "payload": {"text": "", "signature": "sig", "redacted": "sealed"}},
    ),
    (
        ToolCallPart(ToolCallPayload("t", "Read", {"path": "a"})),
        {
            "kind": "tool_call",
            "payload": {"toolCallId": "t", "toolName": "Read", "arguments": {"path": "a"}},
        },
    ),
    (
        ToolCallPart(ToolCallPayload("t", "Read", {}, '{"pa', "CLAUDE_READ")),
        {
            "kind": "tool_call",
            "payload": {
                "toolCallId": "t",
                "toolName": "Read",
                "arguments": {},
                "rawArgsText": '{"pa',
                "toolType": "CLAUDE_READ",
            },
        },
    ),
    (
        ToolResultPart(ToolResultPayload("t", False, "ok")),
        {
            "kind": "tool_result",
            "payload": {"toolCallId": "t", "isError": False, "content": "ok"},
        },
    ),
    (
        ToolResultPart(ToolResultPayload("t", True, {"code": 1}, Raw(b'{"x":1}'))),
        {
            "kind": "tool_result",
            "payload": {
                "toolCallId": "t",
                "isError": True,
                "content": {"code": 1},
                "details": {"x": 1},
            },
        },
    ),
    (
        ToolResultPart(ToolResultPayload("t", False, [text("a"), text("b")])),
        {
            "kind": "tool_result",
            "payload": {
                "toolCallId": "t",
                "isError": False,
                "content": [
                    {"kind": "text", "payload": {"text": "a"}},
                    {"kind": "text", "payload": {"text": "b"}},
                ],
            },
        },
    ),
    (
        ImagePart(ImagePayload("image/png", "aGk=")),
        {"kind": "image", "payload": {"mimeType": "image/png", "data": "aGk="}},
    ),
    (
        ImagePart(ImagePayload("image/png", None, "https://example.com/a.png")),
        {
            "kind": "image",
            "payload": {"mimeType": "image/png", "url": "https://example.com/a.png"},
        },
    ),
    (
        FileRefPart(FileRefPayload("a.txt", "text/plain", 8)),
        {"kind": "file_ref", "payload": {"path": "a.txt", "mimeType": "text/plain", "size": 8}},
    ),
]

DELTAS: dict[str, dict[str, Any]] = {
    "start": {"modelId": "claude-x", "requestId": "req_1"},
    "text": {"textDelta": "Hel"},
    "thinking": {"textDelta": "Hm"},
    "tool_call_start": {"toolCallId": "t", "toolName": "Read"},
    "tool_call_args": {"toolCallId": "t", "argsTextDelta": '{"pa'},
    "tool_call_end": {"toolCallId": "t"},
    "usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3, "cost": 0.5},
    "done": {"finishReason": "end_turn"},
    "error": {"errorCode": "overloaded", "message": "try again", "retryable": True},
}


def delta_frame(kind: str, payload: dict[str, Any], **more: Any) -> dict[str, Any]:
    frame = {"kind": kind, "runId": "conv:1", "seq": 1, "timestamp": "12:00", "payload": payload}
    return frame | more


@pytest.mark.parametrize(("part", "on_the_wire"), PARTS)
def test_a_part_is_a_kind_and_a_payload(part: MessagePart, on_the_wire: dict[str, Any]) -> None:
    assert json.loads(msgspec.json.encode(part)) == on_the_wire
    assert msgspec.json.decode(compact(on_the_wire), type=MessagePart) == part


def test_these_are_all_the_kinds_of_parts() -> None:
    kinds = {part["kind"] for _, part in PARTS}
    assert kinds == {"text", "thinking", "tool_call", "tool_result", "image", "file_ref"}
    assert {tag_of(kind) for kind in get_args(MessagePart)} == kinds | {"unknown"}


@pytest.mark.parametrize("kind", DELTAS)
def test_a_delta_has_the_shape_of_the_contract(kind: str) -> None:
    raw = compact(delta_frame(kind, DELTAS[kind], providerRaw={"any": "thing"}))
    delta = decode_delta(raw)
    assert tag_of(type(delta)) == kind
    assert json.loads(encode(delta)) == json.loads(raw)
    assert json.loads(encode(decode_delta(compact(delta_frame(kind, DELTAS[kind]))))) == (
        delta_frame(kind, DELTAS[kind])
    )


def test_these_are_all_the_kinds_of_deltas() -> None:
    assert {tag_of(kind) for kind in get_args(MessageDelta)} == {*DELTAS, "unknown"}


def tag_of(kind: type[Struct]) -> object:
    return kind.__struct_config__.tag


def test_a_message_has_the_shape_of_the_contract() -> None:
    whole = message(*(part for part, _ in PARTS), schemaVersion=1, trace="abc")
    assert json.loads(encode(whole)) == frame(
        *(part for _, part in PARTS), meta={"schemaVersion": 1, "trace": "abc"}
    )
    assert decode_message(encode(whole)) == whole
    assert decode_message(encode(whole).decode()) == whole
    assert "meta" not in json.loads(encode(message()))


@pytest.mark.parametrize(
    ("payload", "missing"),
    [
        ({"kind": "text", "payload": {}}, "text"),
        ({"kind": "tool_call", "payload": {"toolCallId": "t", "toolName": "x"}}, "arguments"),
        ({"kind": "tool_result", "payload": {"toolCallId": "t", "content": "x"}}, "isError"),
        ({"kind": "image", "payload": {"data": "aGk="}}, "mimeType"),
        ({"kind": "file_ref", "payload": {}}, "path"),
    ],
)
def test_required_fields_of_the_contract_are_required(payload: Any, missing: str) -> None:
    with pytest.raises(ValidationError, match=missing):
        msgspec.json.decode(compact(payload), type=MessagePart)


# --- run ids and meta -------------------------------------------------------------------------


def test_a_run_is_a_turn_of_a_conversation() -> None:
    assert run_id("conv", 7) == "conv:7"
    assert split_run_id("conv:7") == ("conv", 7)
    assert split_run_id("team:conv:7") == ("team:conv", 7)


@pytest.mark.parametrize("foreign", ["run", "run:", "run:x", "run:-1", "run:²", "run:٣"])
def test_a_foreign_run_id_has_no_turn(foreign: str) -> None:
    assert split_run_id(foreign) == (foreign, None)


def test_meta_carries_the_version_and_the_turn() -> None:
    assert meta_of("conv:7", message_id="msg_1") == {
        "schemaVersion": SCHEMA_VERSION,
        "messageId": "msg_1",
        "turnId": 7,
    }
    assert meta_of("run") == {"schemaVersion": SCHEMA_VERSION}


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "message_id": st.none() | st.text(),
            "index": st.none() | st.integers(0, 9),
            "blocks": st.none() | st.lists(st.builds(KeptBlock, st.integers(0, 9), st.text())),
            "usage": st.none() | st.builds(TokenUsage, *[st.integers(0, 9)] * 3, st.none()),
            "args_not_json": st.none() | st.lists(st.text()),
            "aborted": st.booleans(),
            "data": st.none() | st.booleans() | st.dictionaries(st.text(), st.integers(0, 9)),
        },
    )
)
def test_meta_has_the_shape_of_its_type_on_the_wire(known: dict[str, Any]) -> None:
    assert meta_of("conv:7", **known) == to_json(Meta(SCHEMA_VERSION, turn_id=7, **known))


def test_known_meta_reads_the_valid_fields() -> None:
    found = known_meta(message(messageId="msg_1", turnId="seven", novel=1))
    assert found == Meta(message_id="msg_1")


@pytest.mark.parametrize(
    ("written", "expected"),
    [("", {}), ('{"a": 1}', {"a": 1}), ("[]", None), ('{"a"', None), ("{" * 9999, None)],
)
def test_arguments_are_a_json_object_or_nothing(written: str, expected: Any) -> None:
    assert parse_arguments(written) == expected


# --- messages of a newer version --------------------------------------------------------------

NEWER: list[dict[str, Any]] = [
    frame(
        {"kind": "hologram", "payload": {"beams": 3}}, {"kind": "text", "payload": {"text": "a"}}
    ),
    frame({"kind": "text", "payload": {"text": "a", "novel": 1}, "mood": "calm"}),
    frame(novel={"a": [1]}, **{"with/slash~": 2}),
    frame(meta={"schemaVersion": 99, "novel": {"extra": 1}}),
    frame({"kind": "text"}),
    frame({"kind": "text", "payload": {"text": 7}}),
    frame({"novel": True}),
    frame({"kind": "text", "payload": {"text": "a", "citations": "not a list"}}),
    frame(
        {
            "kind": "tool_result",
            "payload": {
                "toolCallId": "t",
                "isError": False,
                "content": [
                    {"kind": "hologram", "payload": {}},
                    {"kind": "text", "payload": {"text": "a", "novel": 1}},
                ],
                "details": {"a": 1},
            },
        }
    ),
    frame({"kind": "unknown", "novel": 1}),
    frame("a bare string", ["a list"]),
    frame(meta=["not", "a", "map"]),
]


@pytest.mark.parametrize("value", NEWER, ids=json.dumps)
def test_a_message_of_a_newer_version_is_read_and_written_back_unchanged(value: Any) -> None:
    read = decode_message(json.dumps(value))
    assert json.loads(encode(read)) == value
    assert read_message(value) == read
    # Another encoder, that knows nothing of all this, keeps it too.
    assert json.loads(encode(decode_message(msgspec.json.encode(read)))) == value


def test_an_unknown_part_and_an_unknown_field_can_be_looked_at() -> None:
    read = read_message(
        frame(
            {"kind": "hologram", "payload": 3}, {"kind": "text", "payload": {"text": "a", "b": 1}}
        )
    )
    assert read.parts == [
        UnknownPart("hologram", {"kind": "hologram", "payload": 3}),
        text("a"),
    ]
    assert read.meta["extra"] == {"/parts/1/payload/b": 1}


def test_empty_extra_fields_are_not_kept() -> None:
    value = frame({"kind": "text", "payload": {"text": "a", "citations": None}}, novel=None)
    read = read_message(value)
    assert read == message(text("a"), schemaVersion=1)
    assert "meta" not in json.loads(encode(read_message(frame(meta={}))))


def test_extra_fields_never_change_known_fields() -> None:
    forged = {
        "/role": "system",
        "/parts/0/payload/text": "forged",
        "/parts/9/payload": 1,
        "/parts/x/payload": 1,
        "/timestamp/x": 1,
        "/runId/x/y": 1,
        "/new": 1,
    }
    honest = message(text("honest"), extra=forged)
    assert json.loads(encode(honest)) == {**json.loads(encode(message(text("honest")))), "new": 1}


def test_more_extra_fields_are_added_to_the_existing_ones() -> None:
    value = frame({"kind": "text", "payload": {"text": "a"}}, novel=1)
    value["meta"]["extra"] = {"/older": 2}
    assert read_message(value).meta["extra"] == {"/older": 2, "/novel": 1}
    value["meta"]["extra"] = "nonsense"
    assert read_message(value).meta["extra"] == {"/novel": 1}


@pytest.mark.parametrize(
    "value",
    [
        delta_frame("hologram", {"beams": 3}),
        delta_frame("text", {"novel": 1}),  # a required field is missing
        {"novel": 1},
        delta_frame("text", {"textDelta": "a", "novel": 1}),
        delta_frame("done", {"finishReason": "x"}, novel=[1]),
        delta_frame("text", {"textDelta": "a"}, providerRaw={"kind": "x"}, novel=1),
    ],
    ids=json.dumps,
)
def test_a_delta_of_a_newer_version_is_read_and_written_back_unchanged(value: Any) -> None:
    read = decode_delta(json.dumps(value))
    assert json.loads(encode(read)) == value
    assert json.loads(encode(decode_delta(msgspec.json.encode(read)))) == value


def test_a_delta_with_spaces_or_nulls_is_the_same_delta() -> None:
    value = delta_frame("text", {"textDelta": "a", "index": None})
    assert decode_delta(json.dumps(value)) == decode_delta(
        compact(delta_frame("text", {"textDelta": "a"}))
    )


def test_an_unknown_delta_keeps_its_name_and_all_it_said() -> None:
    value = delta_frame("hologram", {})
    assert decode_delta(json.dumps(value)) == UnknownDelta("hologram", value)
    assert decode_delta("[]") == UnknownDelta("", [])
    assert encode(decode_delta("[]")) == b"[]"


@pytest.mark.parametrize("raw", ["[]", "{}", '{"runId": "x"}', json.dumps(frame(role="robot"))])
def test_an_invalid_message_is_refused(raw: str) -> None:
    with pytest.raises(ValidationError):
        decode_message(raw)


def test_an_invalid_delta_is_refused() -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_delta("{")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["kind", "payload", "text", "extra", "data", "a/b~"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


def without_nothings(value: Any) -> Any:
    """Returns a value without its null and empty fields."""
    if isinstance(value, dict):
        left = {key: without_nothings(each) for key, each in value.items()}
        return {key: each for key, each in left.items() if each not in (None, {}, [])}
    if isinstance(value, list):
        return [without_nothings(each) for each in value]
    return value


@given(st.lists(json_values, max_size=2), json_values, json_values)
def test_any_message_is_read_back_complete(parts: list[Any], novel: Any, meta: Any) -> None:
    value = frame(*parts, novel=novel, meta={"schemaVersion": 1, "novel": meta})
    read = decode_message(json.dumps(value))
    assert without_nothings(json.loads(encode(read))) == without_nothings(value)


# --- messages of an older version -------------------------------------------------------------

VERSION_1 = (FIXTURES / "message" / "entries.v1.jsonl").read_bytes().splitlines()


@pytest.mark.parametrize("raw", VERSION_1)
def test_entries_of_version_1_are_read(raw: bytes) -> None:
    entry = decode_message(raw)
    assert entry.meta["schemaVersion"] == SCHEMA_VERSION
    assert not any(isinstance(part, UnknownPart) for part in entry.parts)
    assert "extra" not in entry.meta
    assert json.loads(encode(entry)) == json.loads(raw)


def test_entries_of_version_1_have_every_role_and_every_kind() -> None:
    entries = [decode_message(raw) for raw in VERSION_1]
    assert {entry.role for entry in entries} == {"system", "user", "assistant", "tool"}
    kinds = {tag_of(type(part)) for entry in entries for part in entry.parts}
    assert kinds == {"text", "thinking", "tool_call", "tool_result", "image", "file_ref"}
    assert {entry.meta.get("messageType") for entry in entries} == {
        None,
        *get_args(module.EventName),
    }


def test_an_older_version_is_upgraded_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def rename(value: dict[str, Any]) -> dict[str, Any]:
        rest = {key: each for key, each in value.items() if key != "time"}
        return {**rest, "timestamp": value["time"]}

    def speak(value: dict[str, Any]) -> dict[str, Any]:
        return {**value, "role": {"bot": "assistant"}.get(value["role"], value["role"])}

    monkeypatch.setattr(message_codec, "SCHEMA_VERSION", 3)
    monkeypatch.setattr(message_codec, "_UPGRADES", {1: rename, 2: speak})
    old = {"runId": "conv:1", "role": "bot", "parts": [], "time": "12:00"}
    newest = Message("conv:1", "assistant", [], "12:00", {"schemaVersion": 3})
    assert decode_message(json.dumps(old)) == newest
    assert decode_message(json.dumps(old | {"meta": {"schemaVersion": 1}})) == newest
    second = frame(role="bot", meta={"schemaVersion": 2, "x": 1})
    assert decode_message(json.dumps(second)).meta == {"schemaVersion": 3, "x": 1}
    third = frame(meta={"schemaVersion": 3})
    assert decode_message(json.dumps(third)).role == "assistant"


@pytest.mark.parametrize("version", ["one", 0, -1, None, 99])
def test_a_message_of_an_unknown_version_is_read_as_far_as_possible(version: Any) -> None:
    read = read_message(frame(meta={"schemaVersion": version}))
    assert read.meta == {"schemaVersion": version}


# --- typed use --------------------------------------------------------------------------------


def test_the_types_read_as_the_contract_does() -> None:
    start = StartDelta("conv:1", 1, "12:00", StartDeltaPayload("claude-x", None, message_id="m"))
    done = DoneDelta("conv:1", 2, "12:01", DoneDeltaPayload("end_turn", message_id="m"))
    assert start.payload.model_id == "claude-x"
    assert encode(done) == (
        b'{"kind":"done","runId":"conv:1","seq":2,"timestamp":"12:01",'
        b'"payload":{"finishReason":"end_turn","messageId":"m"}}'
    )
