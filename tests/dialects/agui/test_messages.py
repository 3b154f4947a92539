"""Messages and state, assembled from the events of runs."""

from __future__ import annotations

from typing import Any

from turnwire.dialects.agui import events as e
from turnwire.dialects.agui.messages import MessagesBuilder


def built(*events: e.Event, on: MessagesBuilder | None = None) -> Any:
    builder = on or MessagesBuilder()
    for event in events:
        builder.add(event)
    return builder.messages


def test_texts_and_reasoning() -> None:
    told = built(
        e.RunStarted("t", "r", "1.0"),
        e.TextStart("a", "assistant", "s", {"x": 1}),
        e.TextContent("a", "b"),
        e.TextEnd("a", {"y": 2}),
        e.TextStart("a", "assistant"),
        e.TextContent("a", "c"),
        e.ReasoningMessageStart("d", subagent_run_id="s"),
        e.ReasoningContent("d", "e"),
        e.ReasoningMessageEnd("d"),
        e.ReasoningMessageStart("f"),
        e.ReasoningEncryptedValue("message", "f", "xyz"),
    )
    assert told == [
        {
            "id": "a",
            "role": "assistant",
            "content": "bc",
            "subagentRunId": "s",
            "metadata": {"x": 1, "y": 2},
        },
        {"id": "d", "role": "reasoning", "content": "e", "subagentRunId": "s"},
        {"id": "f", "role": "reasoning", "content": "", "encryptedValue": "xyz"},
    ]


def test_calls_and_results() -> None:
    told = built(
        e.ToolCallStart("t-1", "Read", "s", {"x": 1}),
        e.ToolCallArgs("t-1", "{}"),
        e.ToolCallEnd("t-1", {"y": 2}),
        e.ToolCallStart("t-1", "Read"),
        e.TextStart("a", "assistant"),
        e.ToolCallResult("r-1", "t-1", "one", "tool", "s", {"z": 3}),
        e.ToolCallResult("r-2", "t-1", "two"),
        e.ToolCallResult("r-3", "unknown", "three"),
    )
    assert [each["id"] for each in told] == ["t-1", "r-1", "r-2", "a", "r-3"]
    [call] = told[0]["toolCalls"]
    assert call["function"] == {"name": "Read", "arguments": "{}"}
    assert call["metadata"] == {"x": 1, "y": 2}
    assert told[1] == {
        "id": "r-1",
        "toolCallId": "t-1",
        "role": "tool",
        "content": "one",
        "subagentRunId": "s",
        "metadata": {"z": 3},
    }
    last = built(e.ToolCallStart("t-1", "Read"), e.ToolCallResult("r-1", "t-1", "one"))
    assert [each["id"] for each in last] == ["t-1", "r-1"]


def test_an_activity_is_replaced() -> None:
    told = built(
        e.ActivitySnapshot("a", "plan", {"x": 1}), e.ActivitySnapshot("a", "plan", {"x": 2}, "s")
    )
    assert told == [
        {
            "id": "a",
            "role": "activity",
            "activityType": "plan",
            "content": {"x": 2},
            "subagentRunId": "s",
        }
    ]


def test_a_snapshot_replaces_the_messages() -> None:
    builder = MessagesBuilder()
    built(e.TextStart("a", "assistant"), e.TextStart("b", "user"), on=builder)
    built(e.ReasoningMessageStart("c"), on=builder)
    call = {"id": "t-1", "type": "function", "function": {"name": "Read", "arguments": "{"}}
    held = {"id": "t-1", "role": "assistant", "toolCalls": [call]}
    user = {"id": "b", "role": "user", "content": "x"}
    told = built(e.MessagesSnapshot([held, user]), e.ToolCallArgs("t-1", "}"), on=builder)
    assert [each["id"] for each in told] == ["b", "c", "t-1"], "its own reasoning is kept"
    assert told[2]["toolCalls"][0]["function"]["arguments"] == "{}"
    reasoning = {"id": "d", "role": "reasoning", "content": ""}
    assert built(e.MessagesSnapshot([reasoning]), on=builder) == [reasoning]
    builder.put({"id": "d", "role": "reasoning", "content": "y"})
    builder.put(user)
    assert [each["content"] for each in builder.messages] == ["y", "x"]


def test_the_state_is_patched() -> None:
    builder = MessagesBuilder()
    built(e.StateSnapshot({"a": {"b": 1}}), on=builder)
    built(e.StateDelta([e.Patch("add", "/a/c", 2), e.Patch("remove", "/a/b")]), on=builder)
    assert builder.state == {"a": {"c": 2}}
