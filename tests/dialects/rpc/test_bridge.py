"""The bridge: UI events as RPC messages (RPC section 4)."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from turnwire.core import blocks as unified
from turnwire.core import events as ev
from turnwire.core import ui
from turnwire.core.blocks import ContentBlock
from turnwire.core.ui import UiStreamAdapter, UiStreamEvent
from turnwire.core.usage import ModelUsage, Usage
from turnwire.dialects.rpc import RpcBridge, ToolProgressMode, decode, encode
from turnwire.dialects.rpc import messages as rpc
from turnwire.dialects.rpc.bridge import to_rpc_block

WHO = ("claude", "sess-xyz", None, None)
SUB = ("claude", "sess-xyz", "toolu_task", "agent-7")  # a sub-agent under its tool call

MODES: tuple[ToolProgressMode, ...] = get_args(ToolProgressMode)


def feed(*events: UiStreamEvent, **options: Any) -> list[rpc.RpcMessage]:
    """Returns the messages of a new bridge."""
    bridge = RpcBridge(**options)
    return [message for event in events for message in bridge.feed(event)]


def wire(*events: UiStreamEvent, **options: Any) -> list[Any]:
    """Returns the same messages as read from the wire."""
    return [json.loads(encode(message)) for message in feed(*events, **options)]


def inner(*events: UiStreamEvent, **options: Any) -> list[rpc.RpcStreamEventData]:
    """Returns the events inside the stream events; other messages are an error."""
    carried = []
    for message in feed(*events, **options):
        assert isinstance(message, rpc.RpcStreamEvent)
        carried.append(message.event)
    return carried


ONE_OF_EACH: list[UiStreamEvent] = [
    ui.UiMessageStart(*WHO, "msg_1", "claude-sonnet-4-5"),
    ui.UiBlockStart(*WHO, "msg_1", 0, unified.TextBlock("", "in_progress")),
    ui.UiTextDelta(*WHO, "msg_1", 0, "Hello"),
    ui.UiThinkingDelta(*WHO, "msg_1", 1, "Hm"),
    ui.UiToolStart(*WHO, "msg_1", 2, "toolu_1", "Read", "CLAUDE_READ"),
    ui.UiToolInputDelta(*WHO, "msg_1", 2, "toolu_1", '{"file_path": '),
    ui.UiBlockStop(*WHO, "msg_1", 2),
    ui.UiToolProgress(*WHO, "msg_1", 2, "toolu_1", "3 passed"),
    ui.UiToolComplete(*WHO, "msg_1", 2, "toolu_1", "hi", False),
    ui.UiMessageComplete(*WHO, "msg_1", "end_turn", Usage(output_tokens=150)),
    ui.UiAssistantMessage(*WHO, "msg_1", 0, [unified.TextBlock("Hello", "completed")]),
    ui.UiUserMessage(*WHO, [unified.TextBlock("Hi", "completed")], "user"),
    ui.UiResultMessage(*WHO, "success", False, 1234, 456, 2),
    ui.UiError(*WHO, "It broke", "api_error"),
    ui.UiSystemMessage(*WHO, "status", Raw(b'{"a": 1}')),
]


def test_each_ui_event_has_a_test() -> None:
    assert {type(event) for event in ONE_OF_EACH} == set(get_args(UiStreamEvent))


# --- the table (RPC section 4.1) --------------------------------------------------------------


def test_a_message_start_is_a_message_start() -> None:
    assert inner(ui.UiMessageStart(*WHO, "msg_1", "claude-sonnet-4-5")) == [
        rpc.RpcMessageStartEvent(rpc.RpcMessageContent([], "msg_1", "claude-sonnet-4-5"))
    ]


def test_a_text_delta_is_a_text_delta() -> None:
    assert inner(ui.UiTextDelta(*WHO, "msg_1", 3, "Hello")) == [
        rpc.RpcContentBlockDeltaEvent(3, rpc.RpcTextDelta("Hello"))
    ]


def test_half_a_character_is_written_as_the_log_has_it() -> None:
    [said] = wire(ui.UiTextDelta(*WHO, "msg_1", 0, "a\ud83d"))
    assert said["event"]["delta"]["text"] == "a\ufffd"


def test_a_thinking_delta_is_a_thinking_delta() -> None:
    assert inner(ui.UiThinkingDelta(*WHO, "msg_1", 3, "Hm")) == [
        rpc.RpcContentBlockDeltaEvent(3, rpc.RpcThinkingDelta("Hm"))
    ]


def test_a_tools_input_is_an_input_json_delta() -> None:
    assert inner(ui.UiToolInputDelta(*WHO, "msg_1", 3, "toolu_1", '{"a')) == [
        rpc.RpcContentBlockDeltaEvent(3, rpc.RpcInputJsonDelta('{"a'))
    ]


@pytest.mark.parametrize("arguments", [None, {"file_path": "notes.txt"}])
def test_a_tool_start_is_a_block_start_with_a_whole_tool_use_block(arguments: Any) -> None:
    (message,) = wire(
        ui.UiToolStart(*WHO, "msg_1", 3, "toolu_1", "mcp__files__read", "MCP", arguments)
    )
    assert message["event"] == {
        "type": "content_block_start",
        "index": 3,
        "content_block": {
            "type": "tool_use",
            "id": "toolu_1",
            "toolName": "mcp__files__read",
            "toolType": "MCP",
            "input": arguments,
            "status": "in_progress",
        },
    }


def test_a_block_start_is_a_block_start() -> None:
    block = unified.ThinkingBlock("", "in_progress")
    assert inner(ui.UiBlockStart(*WHO, "msg_1", 3, block)) == [
        rpc.RpcContentBlockStartEvent(3, rpc.RpcThinkingBlock(""))
    ]


def test_a_block_stop_is_a_block_stop() -> None:
    assert inner(ui.UiBlockStop(*WHO, "msg_1", 3)) == [rpc.RpcContentBlockStopEvent(3)]


def test_an_assistant_message_is_an_assistant_message() -> None:
    blocks: list[ContentBlock] = [
        unified.TextBlock("Hello", "completed"),
        unified.ToolUseBlock("toolu_1", "Read", "CLAUDE_READ", {"file_path": "a"}, "in_progress"),
    ]
    event = ui.UiAssistantMessage(*WHO, "msg_1", 2, blocks, "claude-sonnet-4-5", "rate_limit")
    assert wire(event) == [
        {
            "type": "assistant",
            "message": {
                "content": [
                    {"type": "text", "text": "Hello"},
                    {
                        "type": "tool_use",
                        "id": "toolu_1",
                        "toolName": "Read",
                        "toolType": "CLAUDE_READ",
                        "input": {"file_path": "a"},
                        "status": "in_progress",
                    },
                ],
                "id": "msg_1",
                "model": "claude-sonnet-4-5",
                "index": 2,
            },
            "provider": "claude",
            "error": "rate_limit",
        }
    ]


def test_an_assistant_message_says_when_it_was_cut_short() -> None:
    whole, cut = wire(
        ui.UiAssistantMessage(*WHO, "msg_1", 0, []),
        ui.UiAssistantMessage(*WHO, "msg_1", 0, [], aborted=True),
    )
    assert "aborted" not in whole
    assert cut["aborted"] is True


@pytest.mark.parametrize(
    ("origin", "marks"),
    [
        ("user", {}),
        ("tool", {}),
        ("agent", {}),
        ("synthetic", {"isSynthetic": True}),
        ("interrupt", {"isSynthetic": True}),
        ("replay", {"isReplay": True}),
    ],
)
def test_a_user_message_is_a_user_message(origin: ev.UserOrigin, marks: dict[str, Any]) -> None:
    event = ui.UiUserMessage(*WHO, [unified.TextBlock("Hi", "completed")], origin, "uuid-1")
    assert wire(event) == [
        {
            "type": "user",
            "message": {"content": [{"type": "text", "text": "Hi"}]},
            "provider": "claude",
            "uuid": "uuid-1",
            **marks,
        }
    ]


def test_a_result_is_a_result() -> None:
    event = ui.UiResultMessage(
        *WHO,
        "error_max_turns",
        True,
        1234,
        456,
        2,
        0.005,
        0.015,
        Usage(200, 40, 5, 6),
        "Stopped.",
        "end_turn",
        "max_turns",
        {"answer": 42},
        ["one", "two"],
        {"claude-sonnet-4-5": ModelUsage(200, 40, cost_usd=0.005)},
    )
    assert wire(event) == [
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
            "structured_output": {"answer": 42},
            "errors": ["one", "two"],
            "model_usage": {
                "claude-sonnet-4-5": {"input_tokens": 200, "output_tokens": 40, "cost_usd": 0.005}
            },
        }
    ]


def test_an_error_is_an_error() -> None:
    assert wire(ui.UiError(*WHO, "It broke"), ui.UiError(*WHO, "Again", "api_error")) == [
        {"type": "error", "message": "It broke", "provider": "claude"},
        {"type": "error", "message": "Again", "provider": "claude", "code": "api_error"},
    ]


# --- a running tool's output (RPC section 4.2) ------------------------------------------------

OUTPUT = ui.UiToolProgress(*WHO, "msg_1", 2, "toolu_1", "3 passed\n", 1.5)


def test_output_is_sent_only_to_connections_that_ask_for_output() -> None:
    assert feed(OUTPUT) == []
    assert feed(OUTPUT, tool_progress="off") == []


def test_output_can_be_a_text_delta_on_the_tools_own_block() -> None:
    assert inner(OUTPUT, tool_progress="text_delta") == [
        rpc.RpcContentBlockDeltaEvent(2, rpc.RpcTextDelta("3 passed\n"), "toolu_1")
    ]


def test_output_can_be_an_output_delta_on_the_tools_own_block() -> None:
    assert wire(OUTPUT, tool_progress="output_delta", stream_id="abc12345") == [
        {
            "type": "stream_event",
            "uuid": "evt-abc12345-1",
            "session_id": "sess-xyz",
            "event": {
                "type": "content_block_delta",
                "index": 2,
                "delta": {"type": "output_delta", "output": "3 passed\n"},
                "tool_use_id": "toolu_1",
            },
            "provider": "claude",
        }
    ]


def test_only_a_tools_output_names_its_tool_in_the_delta() -> None:
    deltas = wire(*ONE_OF_EACH[:7])
    assert not any("tool_use_id" in frame["event"] for frame in deltas)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("nothing", [None, ""])
def test_a_heartbeat_without_output_is_not_sent(
    mode: ToolProgressMode, nothing: str | None
) -> None:
    assert feed(ui.UiToolProgress(*WHO, "msg_1", 2, "t", nothing, 30.0), tool_progress=mode) == []


@pytest.mark.parametrize("mode", MODES)
def test_the_output_of_an_unknown_tool_has_no_block(
    mode: ToolProgressMode,
) -> None:
    assert feed(ui.UiToolProgress(*WHO, None, None, "t", "3 passed"), tool_progress=mode) == []


@given(
    st.sampled_from(MODES),
    st.lists(st.tuples(st.integers(0, 9), st.text()), max_size=8),
)
def test_output_is_never_input(mode: ToolProgressMode, outputs: list[tuple[int, str]]) -> None:
    events = [ui.UiToolProgress(*WHO, "msg_1", i, f"toolu_{i}", text) for i, text in outputs]
    deltas = inner(*events, tool_progress=mode)
    shown = [(index, text) for index, text in outputs if text]
    kind = rpc.RpcTextDelta if mode == "text_delta" else rpc.RpcOutputDelta
    expected = [] if mode == "off" else shown
    assert deltas == [
        rpc.RpcContentBlockDeltaEvent(i, kind(text), f"toolu_{i}") for i, text in expected
    ]
    assert b"input_json_delta" not in b"".join(encode(m) for m in feed(*events, tool_progress=mode))


def two_tools_at_work() -> list[ev.NormalizedStreamEvent]:
    calls = [
        unified.ToolUseBlock(f"toolu_{i}", "Bash", "CLAUDE_BASH", None, "in_progress")
        for i in (1, 2)
    ]
    return [
        ev.MessageStarted(*WHO, "msg_1"),
        ev.ContentStarted(*WHO, "msg_1", 1, calls[0]),
        ev.ContentStarted(*WHO, "msg_1", 2, calls[1]),
        ev.MessageCompleted(*WHO, "msg_1", "tool_use"),
        ev.ToolProgress(*WHO, "toolu_2", output="two"),
        ev.ToolProgress(*WHO, "toolu_1", output="one"),
        ev.ToolProgress(*WHO, "toolu_1", heartbeat=True),
        ev.ContentDelta(*WHO, "msg_1", 2, "tool_output", "more", "toolu_2"),
    ]


@pytest.mark.parametrize(
    ("mode", "delta"), [("text_delta", rpc.RpcTextDelta), ("output_delta", rpc.RpcOutputDelta)]
)
def test_each_tools_output_goes_to_its_own_block(mode: ToolProgressMode, delta: Any) -> None:
    adapter = UiStreamAdapter()
    events = [out for event in two_tools_at_work() for out in adapter.feed(event)]
    assert inner(*events, tool_progress=mode)[-3:] == [
        rpc.RpcContentBlockDeltaEvent(2, delta("two"), "toolu_2"),
        rpc.RpcContentBlockDeltaEvent(1, delta("one"), "toolu_1"),
        rpc.RpcContentBlockDeltaEvent(2, delta("more"), "toolu_2"),
    ]


# --- a tool's result (RPC section 4.3) --------------------------------------------------------


@pytest.mark.parametrize("is_error", [True, False])
@pytest.mark.parametrize(
    "result", ["file contents", "", None, [{"type": "text", "text": "a"}], {"n": 1}]
)
def test_a_tools_result_is_one_user_message_with_the_real_result_and_the_real_is_error(
    result: Any, is_error: bool
) -> None:
    assert wire(ui.UiToolComplete(*WHO, "msg_1", 2, "toolu_1", result, is_error)) == [
        {
            "type": "user",
            "message": {
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_1",
                        "content": result,
                        "is_error": is_error,
                    }
                ]
            },
            "provider": "claude",
        }
    ]


def test_the_result_of_an_unknown_tool_is_sent() -> None:
    assert feed(ui.UiToolComplete(*WHO, None, None, "toolu_1", "hi", False)) == [
        rpc.RpcUserMessage(
            rpc.RpcMessageContent([rpc.RpcToolResultBlock("toolu_1", "hi", False)]), "claude"
        )
    ]


def test_tool_results_leave_one_by_one_and_never_among_other_blocks() -> None:
    adapter, bridge = UiStreamAdapter(), RpcBridge()
    words = unified.TextBlock("And now?", "completed")
    first = unified.ToolResultBlock("toolu_1", "one", False, "completed")
    second = unified.ToolResultBlock("toolu_2", "two", True, "failed")
    contents: list[list[ContentBlock]] = []
    events: list[ev.NormalizedStreamEvent] = [
        ev.UserMessage(*WHO, [first, words, second], "tool"),
        ev.AssistantMessage(*WHO, "msg_1", 0, [words, first, words, second, words]),
    ]
    for event in events:
        for out in adapter.feed(event):
            for message in bridge.feed(out):
                assert isinstance(message, rpc.RpcUserMessage | rpc.RpcAssistantMessage)
                contents.append(message.message.content)  # type: ignore[arg-type]
    kinds = [[type(block) for block in content] for content in contents]
    result, text = [rpc.RpcToolResultBlock], [rpc.RpcTextBlock]
    assert kinds == [result, result, text, text, result, text, result, text]


# --- the end of a message (RPC section 4.4) ---------------------------------------------------


def test_the_end_of_a_message_is_two_frames() -> None:
    assert inner(ui.UiMessageComplete(*WHO, "msg_1", "end_turn", Usage(10, 150))) == [
        rpc.RpcMessageDeltaEvent(rpc.RpcMessageDelta("end_turn"), Usage(10, 150)),
        rpc.RpcMessageStopEvent(),
    ]


def test_the_end_of_a_message_is_two_frames_also_without_details() -> None:
    frames = wire(ui.UiMessageComplete(*WHO, "msg_1"))
    assert [frame["event"] for frame in frames] == [
        {"type": "message_delta", "delta": {"stop_reason": None}},
        {"type": "message_stop"},
    ]


@pytest.mark.parametrize("index", [0, 2])
def test_an_abandoned_message_says_in_its_last_frame_from_where_on_it_is_void(index: int) -> None:
    frames = wire(ui.UiMessageComplete(*WHO, "msg_1", discarded_from=index))
    assert [frame["event"] for frame in frames] == [
        {"type": "message_delta", "delta": {"stop_reason": None}},
        {"type": "message_stop", "discarded_from": index},
    ]


# --- system messages (RPC section 3) ----------------------------------------------------------


def test_system_messages_go_only_to_a_connection_that_asks_for_them() -> None:
    event = ui.UiSystemMessage(*WHO, "init", Raw(b'{"tools":["Read"]}'))
    assert feed(event) == []
    assert wire(event, system=True) == [
        {
            "type": "system",
            "subtype": "init",
            "session_id": "sess-xyz",
            "provider": "claude",
            "data": {"tools": ["Read"]},
        }
    ]


def test_a_system_message_without_data_omits_the_field() -> None:
    (message,) = wire(ui.UiSystemMessage(*WHO, "status", UNSET), system=True)
    assert "data" not in message


# --- fields of every message ------------------------------------------------------------------


def test_every_message_names_the_provider() -> None:
    for message in wire(*ONE_OF_EACH, system=True, tool_progress="output_delta"):
        assert message["provider"] == "claude"
    other = ("codex", "sess-xyz", None, None)
    (message,) = wire(ui.UiTextDelta(*other, "msg_1", 0, "Hello"))
    assert message["provider"] == "codex"


def test_messages_of_the_agent_itself_name_no_sub_agent() -> None:
    for message in wire(*ONE_OF_EACH, system=True, tool_progress="output_delta"):
        assert "parent_tool_use_id" not in message
        assert "agent_id" not in message


@pytest.mark.parametrize(
    "event",
    [
        ui.UiMessageStart(*SUB, "msg_1"),
        ui.UiBlockStart(*SUB, "msg_1", 0, unified.TextBlock("", "in_progress")),
        ui.UiTextDelta(*SUB, "msg_1", 0, "x"),
        ui.UiThinkingDelta(*SUB, "msg_1", 0, "x"),
        ui.UiToolStart(*SUB, "msg_1", 0, "toolu_1", "Read", "CLAUDE_READ"),
        ui.UiToolInputDelta(*SUB, "msg_1", 0, "toolu_1", "x"),
        ui.UiBlockStop(*SUB, "msg_1", 0),
        ui.UiToolProgress(*SUB, "msg_1", 0, "toolu_1", "x"),
        ui.UiToolComplete(*SUB, "msg_1", 0, "toolu_1", "x", False),
        ui.UiMessageComplete(*SUB, "msg_1"),
        ui.UiAssistantMessage(*SUB, "msg_1", 0, []),
        ui.UiUserMessage(*SUB, [], "agent"),
    ],
)
def test_messages_of_a_sub_agent_name_the_agent_and_its_call(event: UiStreamEvent) -> None:
    messages = wire(event, tool_progress="text_delta")
    assert {(m["parent_tool_use_id"], m["agent_id"]) for m in messages} == {SUB[2:]}
    assert {message["type"] for message in messages} < {"user", "assistant", "stream_event"}


def test_every_message_of_the_bridge_is_read_back_the_same() -> None:
    for message in feed(*ONE_OF_EACH, system=True, tool_progress="text_delta"):
        assert decode(encode(message)) == message


def test_a_usages_keys_are_in_snake_case() -> None:
    (delta, _) = wire(ui.UiMessageComplete(*WHO, "msg_1", None, Usage(1, 2, 3, 4)))
    assert delta["event"]["usage"] == {
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_creation_input_tokens": 3,
        "cache_read_input_tokens": 4,
    }


# --- the uuid of a stream event (RPC section 1.2) ---------------------------------------------


def uuids(messages: list[rpc.RpcMessage]) -> list[str]:
    return [message.uuid for message in messages if isinstance(message, rpc.RpcStreamEvent)]


def test_stream_events_are_numbered_from_one_and_nothing_else_is() -> None:
    messages = feed(*ONE_OF_EACH, stream_id="abc12345", system=True)
    numbers = [f"evt-abc12345-{n}" for n in range(1, 10)]
    assert uuids(messages) == numbers
    others = [m for m in messages if not isinstance(m, rpc.RpcStreamEvent)]
    assert not any("uuid" in json.loads(encode(message)) for message in others)


def test_a_stream_is_named_after_its_session_unless_it_has_a_name() -> None:
    long = ("claude", "0123456789abcdef", None, None)
    short = ("claude", "s-1", None, None)
    events = [
        ui.UiTextDelta(*long, "msg_1", 0, "a"),
        ui.UiTextDelta(*long, "msg_1", 0, "b"),
        ui.UiTextDelta(*short, "msg_2", 0, "c"),  # the agent began another session
    ]
    assert uuids(feed(*events)) == ["evt-01234567-1", "evt-01234567-2", "evt-s-1-3"]
    assert uuids(feed(*events, stream_id="x")) == ["evt-x-1", "evt-x-2", "evt-x-3"]


def test_each_stream_event_names_its_own_session() -> None:
    messages = wire(
        ui.UiTextDelta("claude", "one", None, None, "msg_1", 0, "a"),
        ui.UiTextDelta("claude", "two", None, None, "msg_1", 0, "a"),
    )
    assert [message["session_id"] for message in messages] == ["one", "two"]


# --- blocks -----------------------------------------------------------------------------------

SAME_ON_BOTH_SIDES: list[Any] = [
    unified.FileRefBlock("notes.txt", "completed"),
    unified.CommandExecutionBlock("c", "ls", "completed"),
    unified.FileChangeBlock("e", [unified.FileChange("a", "add")], "completed"),
    unified.McpToolCallBlock("m", "s", "t", {}, "completed"),
    unified.WebSearchBlock("w", "q", "completed"),
    unified.TodoListBlock([unified.TodoItem("a", "pending")], "completed"),
    unified.ErrorBlock("no", "failed"),
    unified.UnknownBlock("hologram", {"type": "hologram"}),
]

TRANSLATED: list[tuple[ContentBlock, rpc.RpcBlock]] = [
    (unified.TextBlock("Hello", "completed", [1]), rpc.RpcTextBlock("Hello", [1])),
    (
        unified.ThinkingBlock("Hm", "completed", "sig", "sealed"),
        rpc.RpcThinkingBlock("Hm", "sig", "sealed"),
    ),
    (
        unified.ToolUseBlock("t", "Read", "CLAUDE_READ", {"a": 1}, "failed"),
        rpc.RpcToolUseBlock("t", "Read", "CLAUDE_READ", {"a": 1}, "failed"),
    ),
    (
        unified.ToolResultBlock("t", ["a"], True, "failed"),
        rpc.RpcToolResultBlock("t", ["a"], True),
    ),
    (
        unified.ImageBlock("completed", "image/png", "aGk="),
        rpc.RpcImageBlock(rpc.RpcImageSource("base64", "image/png", "aGk=")),
    ),
    (
        unified.ImageBlock("completed", url="https://example.com/a.png"),
        rpc.RpcImageBlock(rpc.RpcImageSource("url", url="https://example.com/a.png")),
    ),
]


def test_every_block_is_translated() -> None:
    tried = {type(block) for block in SAME_ON_BOTH_SIDES} | {type(block) for block, _ in TRANSLATED}
    assert tried == set(get_args(ContentBlock))


@pytest.mark.parametrize(("block", "expected"), TRANSLATED)
def test_a_block_gets_the_shape_rpc_clients_know(
    block: ContentBlock, expected: rpc.RpcBlock
) -> None:
    assert to_rpc_block(block) == expected


@pytest.mark.parametrize("block", SAME_ON_BOTH_SIDES)
def test_other_blocks_are_written_the_same_on_both_sides(block: Any) -> None:
    assert to_rpc_block(block) is block


def test_a_connection_may_have_its_own_name_for_the_agent() -> None:
    events: list[UiStreamEvent] = [
        ui.UiTextDelta(*WHO, "msg_1", 0, "Hi"),
        ui.UiUserMessage(*WHO, [], "user"),
        ui.UiError(*WHO, "no"),
    ]
    assert {message["provider"] for message in wire(*events, provider="mine")} == {"mine"}
    assert {message["provider"] for message in wire(*events)} == {"claude"}
