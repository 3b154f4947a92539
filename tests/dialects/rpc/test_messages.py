"""RPC messages: their types and tags, writing and reading."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw, structs

from turnwire.core.blocks import (
    CommandExecutionBlock,
    ErrorBlock,
    FileChangeBlock,
    FileRefBlock,
    McpToolCallBlock,
    TodoListBlock,
    UnknownBlock,
    WebSearchBlock,
)
from turnwire.core.usage import Usage
from turnwire.dialects import rpc as public
from turnwire.dialects.rpc import messages as rpc
from turnwire.dialects.rpc.messages import decode, encode
from turnwire.errors import BadLine


def tags(union: Any) -> dict[Any, Any]:
    """The members of a union by their tags."""
    return {kind.__struct_config__.tag: kind for kind in get_args(union)}


def fields(kind: Any) -> dict[str, bool]:
    """A type's fields as the wire names them, and whether each is required."""
    return {field.encode_name: field.required for field in structs.fields(kind)}


def reading(wire: Any) -> rpc.RpcMessage:
    return decode(json.dumps(wire).encode())


def written(message: rpc.RpcMessage | rpc.RpcBlock) -> Any:
    return json.loads(encode(message))


def stream(event: Any) -> dict[str, Any]:
    """Returns a stream event with this inner event."""
    return {
        "type": "stream_event",
        "uuid": "evt-abc12345-1",
        "session_id": "sess-xyz",
        "event": event,
        "provider": "claude",
    }


def inner(wire: Any) -> rpc.RpcStreamEventData:
    """Returns the inner event of a stream event, after reading."""
    message = reading(stream(wire))
    assert isinstance(message, rpc.RpcStreamEvent)
    return message.event


def user(*blocks: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"content": list(blocks)}, "provider": "claude"}


def block_of(wire: Any) -> rpc.RpcBlock:
    """The block that this JSON value is, inside a message."""
    message = reading(user(wire))
    assert isinstance(message, rpc.RpcUserMessage)
    assert message.message.content is not None
    (block,) = message.message.content
    return block


# --- types and tags (RPC sections 1.1 to 1.3) -------------------------------------------------


def test_rpc_has_five_kinds_of_messages_besides_system_and_unknown() -> None:
    assert tags(rpc.RpcMessage) == {
        "user": rpc.RpcUserMessage,
        "assistant": rpc.RpcAssistantMessage,
        "result": rpc.RpcResultMessage,
        "stream_event": rpc.RpcStreamEvent,
        "error": rpc.RpcErrorMessage,
        "system": rpc.RpcSystemMessage,
        "unknown": rpc.RpcUnknownMessage,
    }


def test_rpc_has_six_stream_events_besides_unknown() -> None:
    assert tags(rpc.RpcStreamEventData) == {
        "message_start": rpc.RpcMessageStartEvent,
        "content_block_start": rpc.RpcContentBlockStartEvent,
        "content_block_delta": rpc.RpcContentBlockDeltaEvent,
        "content_block_stop": rpc.RpcContentBlockStopEvent,
        "message_delta": rpc.RpcMessageDeltaEvent,
        "message_stop": rpc.RpcMessageStopEvent,
        "unknown": rpc.RpcUnknownStreamEvent,
    }


def test_rpc_has_three_deltas_besides_output_and_unknown() -> None:
    assert tags(rpc.RpcDelta) == {
        "text_delta": rpc.RpcTextDelta,
        "thinking_delta": rpc.RpcThinkingDelta,
        "input_json_delta": rpc.RpcInputJsonDelta,
        "output_delta": rpc.RpcOutputDelta,
        "unknown": rpc.RpcUnknownDelta,
    }


def test_rpc_has_these_blocks() -> None:
    assert tags(rpc.RpcBlock) == {
        "text": rpc.RpcTextBlock,
        "thinking": rpc.RpcThinkingBlock,
        "tool_use": rpc.RpcToolUseBlock,
        "tool_result": rpc.RpcToolResultBlock,
        "image": rpc.RpcImageBlock,
        "file_ref": FileRefBlock,
        "command_execution": CommandExecutionBlock,
        "file_change": FileChangeBlock,
        "mcp_tool_call": McpToolCallBlock,
        "web_search": WebSearchBlock,
        "todo_list": TodoListBlock,
        "error": ErrorBlock,
        "unknown": UnknownBlock,
    }


@pytest.mark.parametrize(
    "union", [rpc.RpcMessage, rpc.RpcStreamEventData, rpc.RpcDelta, rpc.RpcBlock]
)
def test_every_message_is_recognized_by_its_type(union: Any) -> None:
    assert {kind.__struct_config__.tag_field for kind in get_args(union)} == {"type"}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (
            rpc.RpcUserMessage,
            {
                "message": True,
                "provider": True,
                "parent_tool_use_id": False,
                "isSynthetic": False,
                "isReplay": False,
            },
        ),
        (
            rpc.RpcAssistantMessage,
            {"message": True, "provider": True, "parent_tool_use_id": False, "error": False},
        ),
        (
            rpc.RpcResultMessage,
            {
                "subtype": True,
                "duration_ms": True,
                "duration_api_ms": True,
                "is_error": True,
                "num_turns": True,
                "session_id": True,
                "provider": True,
                "total_cost_usd": False,
                "cost_usd": False,
                "usage": False,
                "result": False,
                "stop_reason": False,
                "terminal_reason": False,
            },
        ),
        (
            rpc.RpcStreamEvent,
            {
                "uuid": True,
                "session_id": True,
                "event": True,
                "provider": True,
                "parent_tool_use_id": False,
            },
        ),
        (rpc.RpcErrorMessage, {"message": True, "provider": True, "code": False}),
        (
            rpc.RpcSystemMessage,
            {"subtype": True, "session_id": True, "provider": True, "data": False},
        ),
        (rpc.RpcMessageContent, {"content": False, "id": False, "model": False, "index": False}),
        (rpc.RpcMessageStartEvent, {"message": False}),
        (rpc.RpcContentBlockStartEvent, {"index": True, "content_block": True}),
        (rpc.RpcContentBlockDeltaEvent, {"index": True, "delta": True}),
        (rpc.RpcContentBlockStopEvent, {"index": True}),
        (rpc.RpcMessageDeltaEvent, {"delta": True, "usage": False}),
        (rpc.RpcMessageStopEvent, {"discarded_from": False}),
        (rpc.RpcTextDelta, {"text": True}),
        (rpc.RpcThinkingDelta, {"thinking": True}),
        (rpc.RpcInputJsonDelta, {"partial_json": True}),
        (rpc.RpcOutputDelta, {"output": True}),
        (
            rpc.RpcToolUseBlock,
            {"id": True, "toolName": True, "toolType": True, "input": False, "status": False},
        ),
        (rpc.RpcToolResultBlock, {"tool_use_id": True, "content": False, "is_error": False}),
        (rpc.RpcTextBlock, {"text": True, "citations": False}),
        (rpc.RpcThinkingBlock, {"thinking": True, "signature": False, "redacted": False}),
        (rpc.RpcImageBlock, {"source": True}),
        (rpc.RpcImageSource, {"type": True, "media_type": False, "data": False, "url": False}),
    ],
)
def test_a_type_has_these_fields_and_requires_no_others(
    kind: Any, expected: dict[str, bool]
) -> None:
    found = fields(kind)
    assert {name: found.get(name) for name in expected} == expected
    assert not any(required for name, required in found.items() if name not in expected)


@pytest.mark.parametrize("kind", get_args(rpc.RpcMessage))
def test_every_message_but_an_unknown_one_names_its_provider(kind: Any) -> None:
    assert fields(kind).get("provider", False) is (kind is not rpc.RpcUnknownMessage)


def test_the_package_offers_what_a_caller_needs() -> None:
    assert public.decode is decode
    assert public.encode is encode
    assert public.RpcMessage == rpc.RpcMessage
    assert set(public.__all__) == {
        "RpcBridge",
        "RpcMessage",
        "ToolProgressMode",
        "Transcript",
        "decode",
        "encode",
    }


# --- one of each, nested as it should be ------------------------------------------------------

MESSAGES: list[tuple[rpc.RpcMessage, dict[str, Any]]] = [
    (
        rpc.RpcUserMessage(
            rpc.RpcMessageContent([rpc.RpcTextBlock("Hi")]), "claude", "toolu_task", True, True
        ),
        {
            "type": "user",
            "message": {"content": [{"type": "text", "text": "Hi"}]},
            "provider": "claude",
            "parent_tool_use_id": "toolu_task",
            "isSynthetic": True,
            "isReplay": True,
        },
    ),
    (
        rpc.RpcAssistantMessage(
            rpc.RpcMessageContent(
                [rpc.RpcThinkingBlock("Hm", "sig", "sealed"), rpc.RpcTextBlock("Hello", [1])],
                "msg_1",
                "claude-sonnet-4-5",
                3,
            ),
            "claude",
            "toolu_task",
            "rate_limit",
        ),
        {
            "type": "assistant",
            "message": {
                "content": [
                    {
                        "type": "thinking",
                        "thinking": "Hm",
                        "signature": "sig",
                        "redacted": "sealed",
                    },
                    {"type": "text", "text": "Hello", "citations": [1]},
                ],
                "id": "msg_1",
                "model": "claude-sonnet-4-5",
                "index": 3,
            },
            "provider": "claude",
            "parent_tool_use_id": "toolu_task",
            "error": "rate_limit",
        },
    ),
    (
        rpc.RpcResultMessage(
            "error_max_turns",
            1234,
            456,
            True,
            2,
            "sess-xyz",
            "claude",
            0.015,
            0.005,
            Usage(200, 40, 5, 6),
            "Stopped.",
            "end_turn",
            "max_turns",
        ),
        {
            "type": "result",
            "subtype": "error_max_turns",
            "duration_ms": 1234,
            "duration_api_ms": 456,
            "is_error": True,
            "num_turns": 2,
            "session_id": "sess-xyz",
            "provider": "claude",
            "total_cost_usd": 0.015,
            "cost_usd": 0.005,
            "usage": {
                "input_tokens": 200,
                "output_tokens": 40,
                "cache_creation_input_tokens": 5,
                "cache_read_input_tokens": 6,
            },
            "result": "Stopped.",
            "stop_reason": "end_turn",
            "terminal_reason": "max_turns",
        },
    ),
    (
        rpc.RpcErrorMessage("It broke", "claude"),
        {"type": "error", "message": "It broke", "provider": "claude"},
    ),
    (
        rpc.RpcErrorMessage("It broke", "claude", "api_error"),
        {"type": "error", "message": "It broke", "provider": "claude", "code": "api_error"},
    ),
    (
        rpc.RpcSystemMessage("status", "sess-xyz", "claude"),
        {"type": "system", "subtype": "status", "session_id": "sess-xyz", "provider": "claude"},
    ),
    (
        rpc.RpcUnknownMessage("hologram", {"type": "hologram", "beams": 3}),
        {"type": "unknown", "originalType": "hologram", "data": {"type": "hologram", "beams": 3}},
    ),
]


@pytest.mark.parametrize(("message", "wire"), MESSAGES)
def test_a_message_is_written_and_read_like_this(
    message: rpc.RpcMessage, wire: dict[str, Any]
) -> None:
    assert written(message) == wire
    assert reading(wire) == message


EVENTS: list[tuple[rpc.RpcStreamEventData, dict[str, Any]]] = [
    (rpc.RpcMessageStartEvent(), {"type": "message_start"}),
    (
        rpc.RpcMessageStartEvent(rpc.RpcMessageContent([], "msg_1", "claude-sonnet-4-5")),
        {
            "type": "message_start",
            "message": {"content": [], "id": "msg_1", "model": "claude-sonnet-4-5"},
        },
    ),
    (
        rpc.RpcContentBlockStartEvent(2, rpc.RpcTextBlock("")),
        {"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": ""}},
    ),
    (
        rpc.RpcContentBlockDeltaEvent(0, rpc.RpcTextDelta("Hel")),
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "Hel"},
        },
    ),
    (
        rpc.RpcContentBlockDeltaEvent(1, rpc.RpcThinkingDelta("Hm")),
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "thinking_delta", "thinking": "Hm"},
        },
    ),
    (
        rpc.RpcContentBlockDeltaEvent(2, rpc.RpcInputJsonDelta('{"a')),
        {
            "type": "content_block_delta",
            "index": 2,
            "delta": {"type": "input_json_delta", "partial_json": '{"a'},
        },
    ),
    (
        rpc.RpcContentBlockDeltaEvent(2, rpc.RpcOutputDelta("3 passed\n")),
        {
            "type": "content_block_delta",
            "index": 2,
            "delta": {"type": "output_delta", "output": "3 passed\n"},
        },
    ),
    (rpc.RpcContentBlockStopEvent(2), {"type": "content_block_stop", "index": 2}),
    (
        rpc.RpcMessageDeltaEvent(rpc.RpcMessageDelta("end_turn"), Usage(output_tokens=150)),
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 150},
        },
    ),
    (
        rpc.RpcMessageDeltaEvent(rpc.RpcMessageDelta(None)),
        {"type": "message_delta", "delta": {"stop_reason": None}},
    ),
    (rpc.RpcMessageStopEvent(), {"type": "message_stop"}),
    (rpc.RpcMessageStopEvent(0), {"type": "message_stop", "discarded_from": 0}),
]


@pytest.mark.parametrize(("event", "wire"), EVENTS)
def test_a_stream_event_is_written_and_read_like_this(
    event: rpc.RpcStreamEventData, wire: dict[str, Any]
) -> None:
    message = rpc.RpcStreamEvent("evt-abc12345-1", "sess-xyz", event, "claude")
    assert written(message) == stream(wire)
    assert reading(stream(wire)) == message


BLOCKS: list[dict[str, Any]] = [
    {"type": "text", "text": "Hello"},
    {"type": "thinking", "thinking": "Hm", "signature": "sig"},
    {
        "type": "tool_use",
        "id": "toolu_1",
        "toolName": "Read",
        "toolType": "CLAUDE_READ",
        "input": {"file_path": "notes.txt"},
        "status": "completed",
    },
    {"type": "tool_result", "tool_use_id": "toolu_1", "content": None, "is_error": True},
    {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
    {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "aGk="},
    },
    {"type": "file_ref", "path": "notes.txt", "status": "completed", "size": 3},
    {"type": "command_execution", "id": "c", "command": "ls", "status": "failed", "exit_code": 1},
    {
        "type": "file_change",
        "id": "e",
        "changes": [{"path": "a", "kind": "add"}],
        "status": "failed",
    },
    {
        "type": "mcp_tool_call",
        "id": "m",
        "server": "s",
        "tool_name": "t",
        "arguments": {},
        "status": "completed",
        "result": [1],
    },
    {"type": "web_search", "id": "w", "query": "q", "status": "completed", "results": []},
    {"type": "todo_list", "items": [{"content": "a", "status": "pending"}], "status": "completed"},
    {"type": "error", "message": "no", "status": "failed", "code": "E"},
    {"type": "unknown", "originalType": "hologram", "data": {"type": "hologram", "beams": 3}},
]


def test_the_samples_contain_every_block() -> None:
    assert {block["type"] for block in BLOCKS} == set(tags(rpc.RpcBlock))


@pytest.mark.parametrize("wire", BLOCKS)
def test_a_block_is_read_and_written_back_the_same(wire: dict[str, Any]) -> None:
    assert isinstance(block_of(wire), tags(rpc.RpcBlock)[wire["type"]])
    assert written(reading(user(wire))) == user(wire)


def test_a_tool_call_may_be_read_without_its_input_and_its_status() -> None:
    block = block_of({"type": "tool_use", "id": "t", "toolName": "Read", "toolType": "CLAUDE_READ"})
    assert block == rpc.RpcToolUseBlock("t", "Read", "CLAUDE_READ", None, "in_progress")
    assert written(block) == {
        "type": "tool_use",
        "id": "t",
        "toolName": "Read",
        "toolType": "CLAUDE_READ",
        "input": None,
        "status": "in_progress",
    }


def test_a_tool_result_may_be_read_without_its_content_and_without_a_word_of_errors() -> None:
    block = block_of({"type": "tool_result", "tool_use_id": "t"})
    assert block == rpc.RpcToolResultBlock("t", None, False)
    assert written(block) == {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": None,
        "is_error": False,
    }


def test_a_system_message_carries_the_agents_own_bytes() -> None:
    raw = (
        b'{"type":"system","subtype":"init","session_id":"sess-xyz","provider":"claude",'
        b'"data":{ "tools" : ["Read"], "n": 1.0 }}'
    )
    message = decode(raw)
    assert isinstance(message, rpc.RpcSystemMessage)
    assert isinstance(message.data, Raw)
    assert bytes(message.data) == b'{ "tools" : ["Read"], "n": 1.0 }'
    assert encode(message) == raw


def test_a_message_only_beginning_may_lack_its_body_or_its_content() -> None:
    assert inner({"type": "message_start"}) == rpc.RpcMessageStartEvent(None)
    for body in ({}, {"content": None}):
        event = inner({"type": "message_start", "message": body})
        assert event == rpc.RpcMessageStartEvent(rpc.RpcMessageContent(None))


@pytest.mark.parametrize(
    "message",
    [
        rpc.RpcUserMessage(rpc.RpcMessageContent([]), "claude"),
        rpc.RpcAssistantMessage(rpc.RpcMessageContent([]), "claude"),
        rpc.RpcStreamEvent("u", "s", rpc.RpcMessageStopEvent(), "claude"),
    ],
)
def test_messages_of_the_agent_itself_have_no_parent(message: rpc.RpcMessage) -> None:
    assert "parent_tool_use_id" not in written(message)


# --- unknown things (RPC section 2.2) ---------------------------------------------------------


def test_an_unknown_block_has_one_shape_in_both_directions() -> None:
    hologram = {"type": "hologram", "beams": 3}
    shape = {"type": "unknown", "originalType": "hologram", "data": hologram}
    assert block_of(hologram) == UnknownBlock("hologram", hologram)
    assert block_of(shape) == UnknownBlock("hologram", hologram)
    assert written(reading(user(hologram))) == user(shape)
    assert written(reading(user(shape))) == user(shape)


def test_the_data_of_an_unknown_block_is_json_and_not_a_string_of_json() -> None:
    message = rpc.RpcUserMessage(
        rpc.RpcMessageContent([UnknownBlock("hologram", {"beams": [1, None, 0.5]})]), "claude"
    )
    (block,) = written(message)["message"]["content"]
    assert block["data"] == {"beams": [1, None, 0.5]}
    assert sorted(block) == ["data", "originalType", "type"]


def test_a_known_block_keeps_its_place_next_to_an_unknown_one() -> None:
    message = reading(user({"type": "text", "text": "a"}, {"type": "x"}, {"type": "y"}))
    assert message == rpc.RpcUserMessage(
        rpc.RpcMessageContent(
            [
                rpc.RpcTextBlock("a"),
                UnknownBlock("x", {"type": "x"}),
                UnknownBlock("y", {"type": "y"}),
            ]
        ),
        "claude",
    )


def test_a_tool_call_in_the_models_own_spelling_is_unknown() -> None:
    native = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}}
    assert block_of(native) == UnknownBlock("tool_use", native)


def test_an_unknown_block_may_begin_in_a_stream() -> None:
    hologram = {"type": "hologram"}
    event = inner({"type": "content_block_start", "index": 1, "content_block": hologram})
    assert event == rpc.RpcContentBlockStartEvent(1, UnknownBlock("hologram", hologram))


def test_an_unknown_delta_is_kept() -> None:
    delta = {"type": "hologram_delta", "beam": 1}
    event = inner({"type": "content_block_delta", "index": 1, "delta": delta})
    expected = rpc.RpcUnknownDelta("hologram_delta", delta)
    assert event == rpc.RpcContentBlockDeltaEvent(1, expected)
    assert written(reading(stream({"type": "content_block_delta", "index": 1, "delta": delta})))[
        "event"
    ]["delta"] == {"type": "unknown", "originalType": "hologram_delta", "data": delta}


def test_an_unknown_stream_event_is_kept() -> None:
    ping = {"type": "ping", "n": 1}
    assert inner(ping) == rpc.RpcUnknownStreamEvent("ping", ping)
    assert written(reading(stream(ping))) == stream(
        {"type": "unknown", "originalType": "ping", "data": ping}
    )


@pytest.mark.parametrize(
    ("wire", "name"),
    [
        ({"type": "hologram", "beams": 3}, "hologram"),
        ({"type": "user", "provider": "claude"}, "user"),  # without its required fields
        ({"type": "error", "message": "no provider"}, "error"),
        ({"type": "unknown", "mine": True}, "unknown"),
        ({"type": 7}, ""),
        ({}, ""),
    ],
)
def test_an_unknown_message_is_kept(wire: dict[str, Any], name: str) -> None:
    message = reading(wire)
    assert message == rpc.RpcUnknownMessage(name, wire)
    assert written(message) == {"type": "unknown", "originalType": name, "data": wire}
    assert reading(written(message)) == message


def test_an_unknown_field_does_not_disturb() -> None:
    wire = {"type": "error", "message": "no", "provider": "claude", "new": {"a": 1}}
    assert reading(wire) == rpc.RpcErrorMessage("no", "claude")


def test_an_optional_field_of_the_wrong_type_does_not_cost_the_message() -> None:
    wire = {"type": "error", "message": "no", "provider": "claude", "code": 500}
    assert reading(wire) == rpc.RpcErrorMessage("no", "claude")


# --- invalid messages -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"{'type': 'user'}", b"hello", b"\xff", b'{"a": "\xff"}']
)
def test_invalid_json_is_a_bad_line(raw: bytes) -> None:
    with pytest.raises(BadLine) as caught:
        decode(raw)
    assert caught.value.raw == raw
    assert caught.value.line == 1


@pytest.mark.parametrize("raw", [b"[]", b"null", b"5", b'"user"', b"true"])
def test_json_that_is_no_object_is_a_bad_line(raw: bytes) -> None:
    with pytest.raises(BadLine) as caught:
        decode(raw)
    assert caught.value.reason == "not_an_object"
    assert caught.value.raw == raw


def test_json_too_deep_to_be_read_is_a_bad_line() -> None:
    with pytest.raises(BadLine):
        decode(b'{"type":"hologram","beams":' + b"[" * 100_000 + b"]" * 100_000 + b"}")


WORDS = st.sampled_from(
    [
        *tags(rpc.RpcMessage),
        *tags(rpc.RpcStreamEventData),
        *tags(rpc.RpcDelta),
        *tags(rpc.RpcBlock),
        "hologram",
    ]
)
NAMES = ["type", "message", "content", "event", "delta", "index", "content_block", "provider"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | WORDS,
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.sampled_from(NAMES), part),
    max_leaves=15,
)


@given(st.dictionaries(st.sampled_from(NAMES), JSON))
def test_any_object_is_read_and_read_again_unchanged(wire: dict[str, Any]) -> None:
    message = reading(wire)
    assert reading(written(message)) == message
