"""What a front end of AG-UI sends."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import structs

from turnwire.core.content import TextContent
from turnwire.core.error_codes import Refused
from turnwire.core.status import OpenRequest
from turnwire.dialects.agui.inputs import ResumeEntry, RunAgentInput, SentMessage
from turnwire.dialects.v2 import commands as c
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.turn_streams.agui.requests import ClientCopy, answer_of, content_of, tool_answers

HERE = ("talk", 7, 1, "2026-01-01T12:00:00.000Z", None)
PERMISSION = OpenRequest("r-1", "permission", "t-1", "Read", None, 7)
QUESTION = OpenRequest("q-1", "question", "q-1", "ask", None, 7)
TOOL = OpenRequest("t-2", "question", "t-2", "paint", None, 7, metadata={"client_tool": True})


def user(content: Any) -> SentMessage:
    return SentMessage("m-1", "user", content)


def media(kind: str, source: str, value: str, media_type: Any = "image/png") -> dict[str, Any]:
    return {"type": kind, "source": {"type": source, "value": value, "mimeType": media_type}}


def test_an_input_is_read_strictly_and_unknown_fields_are_ignored() -> None:
    raw = b'{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"a","x":1}]}'
    said = msgspec.json.decode(raw, type=RunAgentInput)
    assert said.messages == [SentMessage("m", "user", "a")]
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"threadId":"t","runId":4,"messages":[]}', type=RunAgentInput)


def test_the_content_of_a_message_is_text_images_and_blobs() -> None:
    assert content_of(user("hello")) == [c.SentText("hello")]
    parts = [
        {"type": "text", "text": "hello"},
        {"type": "text", "text": ""},
        media("image", "data", "AAAA"),
        media("image", "url", "https://a.example/b.png", 4),
        media("image", "url", "data:image/gif;base64,AAAA"),
        media("image", "url", "/api/blobs/b-1"),
        media("document", "url", "https://chat.example/api/blobs/b-2", "text/csv"),
    ]
    assert content_of(user(parts)) == [
        c.SentText("hello"),
        c.SentImage("image/png", data="AAAA"),
        c.SentImage("image/*", url="https://a.example/b.png"),
        c.SentImage("image/gif", data="AAAA"),
        c.SentImage("image/png", blob=c.SentBlob("b-1")),
        c.SentFile("b-2", "text/csv", blob=c.SentBlob("b-2")),
    ]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "INVALID_PAYLOAD"),
        ([{"type": "audio"}], "INVALID_PAYLOAD"),
        ([{"type": "text", "text": 5}], "INVALID_PAYLOAD"),
        ([{"type": "image", "source": 5}], "INVALID_PAYLOAD"),
        ([media("document", "data", "AAAA", "text/csv")], "NOT_SUPPORTED"),
        ([media("document", "url", "https://a.example/b.csv", "text/csv")], "NOT_SUPPORTED"),
    ],
)
def test_other_content_is_refused(content: Any, code: str) -> None:
    with pytest.raises(Refused) as refused:
        content_of(user(content))
    assert refused.value.code == code


def test_a_decision_has_the_form_that_the_interrupt_has_named() -> None:
    def decided(**entry: Any) -> Any:
        command = answer_of(ResumeEntry("r-1", **entry), PERMISSION)
        assert isinstance(command, c.PermissionResponse)
        return command.payload

    assert decided(status="resolved", payload=True) == c.PermissionChoice("r-1", "allow")
    assert decided(status="resolved", payload={"approved": True, "editedArgs": {"a": 1}}) == (
        c.PermissionChoice("r-1", "allow", None, {"a": 1})
    )
    assert decided(status="resolved", payload={"approved": False, "reason": "No."}) == (
        c.PermissionChoice("r-1", "deny", "No.")
    )
    assert decided(status="cancelled").decision == "deny"
    with pytest.raises(Refused):
        decided(status="resolved")


def test_always_is_a_rule_that_the_agent_has_suggested() -> None:
    def decided(offers: list[str], *, is_decision_only: bool = False, **payload: Any) -> Any:
        asked = structs.replace(PERMISSION, suggestions=offers, decision_only=is_decision_only)
        command = answer_of(ResumeEntry("r-1", "resolved", payload), asked)
        assert isinstance(command, c.PermissionResponse)
        return command.payload.remember

    assert decided(["a", "b"], approved=True, always=True) == ["a", "b"]
    assert decided(["a", "b"], approved=True, always=True, is_decision_only=True) == ["a"]
    assert decided(["a", "b"], approved=True, remember=["b"], is_decision_only=True) == ["b"]
    assert decided(["a"], approved=True, always=False) == []
    for code, offers, payload in (
        ("NOT_SUPPORTED", [], {"approved": True, "always": True}),
        ("INVALID_PAYLOAD", ["a"], {"approved": False, "always": True}),
        ("INVALID_PAYLOAD", ["a"], {"approved": True, "always": 1}),
        ("INVALID_PAYLOAD", ["a"], {"approved": True, "remember": "a"}),
    ):
        with pytest.raises(Refused) as refused:
            decided(offers, **payload)
        assert refused.value.code == code


def test_an_answer_is_a_text_or_an_object() -> None:
    def answered(payload: Any) -> Any:
        command = answer_of(ResumeEntry("q-1", "resolved", payload), QUESTION)
        assert isinstance(command, c.InputResponse)
        return command.payload.answer

    assert answered("Blue") == "Blue"
    assert answered({"a": "Blue"}) == {"a": "Blue"}
    assert answered({"answer": "Blue"}) == "Blue"
    assert answered({"answer": "Blue", "b": "x"}) == {"answer": "Blue", "b": "x"}
    with pytest.raises(Refused):
        answered(4)
    assert answer_of(ResumeEntry("q-1", "cancelled"), QUESTION) is None


def test_results_of_the_front_end_answer_the_calls_that_wait() -> None:
    messages = [
        user("hello"),
        SentMessage("a", "tool", "red", tool_call_id="t-2"),
        SentMessage("b", "tool", "twice", tool_call_id="t-2"),
        SentMessage("c", "tool", "of another", tool_call_id="t-9"),
    ]
    [answer] = tool_answers(messages, [TOOL, QUESTION])
    assert answer.payload == c.QuestionAnswer("t-2", "red")
    failed = SentMessage("a", "tool", "x", tool_call_id="t-2", error="No paint.")
    assert tool_answers([failed], [TOOL])[0].payload.answer == "No paint."
    parts = SentMessage("a", "tool", [{"type": "text", "text": "y"}], tool_call_id="t-2")
    assert tool_answers([parts], [TOOL])[0].payload.answer == "y"
    odd = SentMessage("a", "user", "x", tool_call_id="t-2")
    assert tool_answers([odd], [TOOL]) == []


def test_the_copy_of_a_client_is_compared() -> None:
    call = {"id": "t-1", "function": {"name": "Read", "arguments": "{}"}}
    copy = ClientCopy.of(
        [
            SentMessage("m-1", "user", [{"type": "text", "text": "x"}]),
            SentMessage("b-1", "assistant", "abc", tool_calls=[call, {"odd": 1}]),
            SentMessage("t-1:result", "tool", "x", tool_call_id="t-1"),
            SentMessage("own", "tool", "xy", tool_call_id="t-2"),
        ]
    )
    lengths = {"m-1": 0, "b-1": 3, "t-1": 2, "t-1:result": 1, "own": 2, "t-2:result": 2}
    assert copy.lengths == lengths

    def has(kind: Any, payload: Any) -> bool | None:
        return copy.has(kind(*HERE, payload))

    def text(words: str) -> p.Chunk:
        return p.Chunk("b-1", "m", 0, False, words, message_sequence=1)

    def words(name: str | None, **more: Any) -> p.UserWords:
        return p.UserWords([TextContent("x")], 1, name, **more)

    assert has(f.UserMessage, words("m-1"))
    assert has(f.UserMessage, words(None)) is False
    assert has(f.UserMessage, words("m-1", origin="agent")) is None
    assert has(f.AssistantChunk, text("abc"))
    assert has(f.AssistantChunk, text("abcd")) is False
    assert has(f.AssistantToolCall, p.ToolCall("t-1", "m", 0, False, "t-1", "Read"))
    asked = p.RequestInput("q", "?", [], True, None, None, None, [], "q", "m", 0, 2, "ask")
    assert has(f.AssistantRequestInput, asked) is False
    assert has(f.AssistantToolResult, p.ToolResult("t-1", False, "x", 2))
    assert has(f.AssistantRequestResolved, p.RequestResolved("r", "answered", 3)) is None
