"""The five examples that define RPC messages on the wire: read, written back, and made."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.dialects.rpc.helpers.example_messages import (
    MESSAGE_DELTA,
    MESSAGE_STOP,
    RESULT,
    TEXT_DELTA,
    TOOL_RESULT,
    TOOL_START,
)
from turnwire.core import ui
from turnwire.core.usage import Usage
from turnwire.dialects.rpc import RpcBridge, decode, encode
from turnwire.dialects.rpc import messages as rpc

WHO = ("claude", "sess-xyz", None, None)


def stream(uuid: str, event: rpc.RpcStreamEventData) -> rpc.RpcStreamEvent:
    return rpc.RpcStreamEvent(uuid, "sess-xyz", event, "claude")


MEANINGS: list[tuple[str, rpc.RpcMessage]] = [
    (
        TEXT_DELTA,
        stream("evt-abc12345-1", rpc.RpcContentBlockDeltaEvent(0, rpc.RpcTextDelta("Hello"))),
    ),
    (
        TOOL_START,
        stream(
            "evt-abc12345-2",
            rpc.RpcContentBlockStartEvent(
                1, rpc.RpcToolUseBlock("toolu_xxx", "Read", "CLAUDE_READ", None, "in_progress")
            ),
        ),
    ),
    (
        TOOL_RESULT,
        rpc.RpcUserMessage(
            rpc.RpcMessageContent(
                [rpc.RpcToolResultBlock("toolu_xxx", "file contents here...", False)]
            ),
            "claude",
        ),
    ),
    (
        MESSAGE_DELTA,
        stream(
            "evt-abc12345-10",
            rpc.RpcMessageDeltaEvent(rpc.RpcMessageDelta("end_turn"), Usage(output_tokens=150)),
        ),
    ),
    (MESSAGE_STOP, stream("evt-abc12345-11", rpc.RpcMessageStopEvent())),
    (
        RESULT,
        rpc.RpcResultMessage("success", 1234, 456, False, 2, "sess-xyz", "claude", 0.015),
    ),
]


@pytest.mark.parametrize(("example", "meaning"), MEANINGS)
def test_an_example_is_read_and_written_back_the_same(
    example: str, meaning: rpc.RpcMessage
) -> None:
    message = decode(example.encode())
    assert message == meaning
    assert json.loads(encode(message)) == json.loads(example)


def test_a_bridge_makes_every_example() -> None:
    bridge = RpcBridge(stream_id="abc12345")

    def made(event: ui.UiStreamEvent) -> list[Any]:
        return [json.loads(encode(message)) for message in bridge.feed(event)]

    assert made(ui.UiTextDelta(*WHO, "msg_1", 0, "Hello")) == [json.loads(TEXT_DELTA)]
    assert made(ui.UiToolStart(*WHO, "msg_1", 1, "toolu_xxx", "Read", "CLAUDE_READ")) == [
        json.loads(TOOL_START)
    ]
    for _ in range(3, 10):
        made(ui.UiToolInputDelta(*WHO, "msg_1", 1, "toolu_xxx", " "))
    assert made(
        ui.UiToolComplete(*WHO, "msg_1", 1, "toolu_xxx", "file contents here...", False)
    ) == [json.loads(TOOL_RESULT)]
    assert made(ui.UiMessageComplete(*WHO, "msg_1", "end_turn", Usage(output_tokens=150))) == [
        json.loads(MESSAGE_DELTA),
        json.loads(MESSAGE_STOP),
    ]
    assert made(ui.UiResultMessage(*WHO, "success", False, 1234, 456, 2, total_cost_usd=0.015)) == [
        json.loads(RESULT)
    ]
