"""UI messages, assembled from the chunks of a stream."""

from __future__ import annotations

from typing import Any

from turnwire.dialects.aisdk import chunks as u
from turnwire.dialects.aisdk.messages import MessageBuilder

GONE = {"turnwire": {"discarded": True}}
TOOL = {"type": "dynamic-tool", "toolName": "Read", "toolCallId": "t-1", "providerExecuted": True}


def built(*chunks: u.Chunk) -> Any:
    builder = MessageBuilder()
    assert builder.message is None
    for chunk in (u.Start("turn-7"), *chunks):
        builder.add(chunk)
    message = builder.message
    assert message is not None
    return message


def parts(*chunks: u.Chunk) -> Any:
    return built(*chunks)["parts"]


def test_the_metadata_of_a_message_is_merged() -> None:
    assert built() == {"id": "turn-7", "role": "assistant", "parts": []}
    more = u.MessageMetadata({"turnwire": {"a": 1, "b": 1}})
    told = built(more, u.Finish("stop", {"turnwire": {"b": 2}}), u.Abort())
    assert told["metadata"] == {"turnwire": {"a": 1, "b": 2}}


def test_texts_and_reasoning_grow() -> None:
    assert parts(
        u.StartStep(),
        u.TextStart("m:0", GONE),
        u.TextDelta("m:0", "a"),
        u.TextDelta("m:0", "b"),
        u.ReasoningStart("m:1"),
        u.ReasoningDelta("m:1", "c"),
        u.TextEnd("m:0"),
        u.ReasoningEnd("m:1", GONE),
        u.TextStart("m:2"),
    ) == [
        {"type": "step-start"},
        {"type": "text", "text": "ab", "state": "done", "providerMetadata": GONE},
        {"type": "reasoning", "id": "m:1", "text": "c", "state": "done", "providerMetadata": GONE},
        {"type": "text", "text": "", "state": "streaming"},
    ]


def test_a_tool_call_has_one_part() -> None:
    begun = (u.ToolInputStart("t-1", "Read"), u.ToolInputDelta("t-1", "{}"))
    assert parts(*begun) == [{**TOOL, "state": "input-streaming"}]
    ready = (*begun, u.ToolInputAvailable("t-1", "Read", {}))
    whole = {**TOOL, "input": {}}
    assert parts(*ready) == [{**whole, "state": "input-available"}]
    about = {"turnwire": {"parentToolCallId": "t-0"}}
    nested = (*begun, u.ToolInputAvailable("t-1", "Read", {}, about))
    told = {**whole, "state": "input-available", "callProviderMetadata": about}
    assert parts(*nested) == [told]
    asked = (*ready, u.ToolApprovalRequest("r-1", "t-1"))
    waits = {**whole, "approval": {"id": "r-1"}}
    assert parts(*asked) == [{**waits, "state": "approval-requested"}]
    runs = (*ready, u.ToolProgress("t-1", "a"))
    output = {**whole, "state": "output-available"}
    assert parts(*runs) == [{**output, "output": "a", "preliminary": True}]
    assert parts(*runs, u.ToolOutputAvailable("t-1", "ab")) == [{**output, "output": "ab"}]
    failed = {"state": "output-error", "errorText": "no"}
    assert parts(*runs, u.ToolOutputError("t-1", "no")) == [{**whole, **failed}]
    wrong = u.ToolInputError("t-1", "Read", "{", "no")
    assert parts(wrong) == [{**TOOL, **failed, "input": "{"}]


def test_later_data_replaces_data_with_the_same_id() -> None:
    assert parts(
        u.DataChunk("data-plan", "plan", [1]),
        u.File("/a", "image/png"),
        u.DataChunk("data-plan", "plan", [2]),
        u.DataChunk("data-usage", "plan", {}),
        u.SourceUrl("s", "https://a.example"),
    ) == [
        {"type": "data-plan", "id": "plan", "data": [2]},
        {"type": "file", "url": "/a", "mediaType": "image/png"},
        {"type": "data-usage", "id": "plan", "data": {}},
        {"type": "source-url", "sourceId": "s", "url": "https://a.example"},
    ]
