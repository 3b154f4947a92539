"""What a front end of the AI SDK sends."""

from __future__ import annotations

from typing import Any

import pytest

from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import commands as c
from turnwire.turn_streams.aisdk.requests import (
    SentMessage,
    TurnPlace,
    answers_in,
    content_of,
    place_in,
)


def message(*parts: dict[str, Any], name: str = "turn-7", metadata: Any = None) -> SentMessage:
    return SentMessage(name, "assistant", [*parts], metadata)


def file(url: str, media_type: str = "image/png", **more: Any) -> dict[str, Any]:
    return {"type": "file", "url": url, "mediaType": media_type, **more}


def test_the_content_of_a_message_is_text_images_and_blobs() -> None:
    parts = [
        {"type": "text", "text": "hello"},
        {"type": "text", "text": ""},
        file("data:image/png;base64,AAAA"),
        file("https://a.example/b.png"),
        file("/api/blobs/b-1"),
        file("https://chat.example/api/blobs/b-2", "text/csv", filename="a.csv"),
        file("/api/blobs/b-3", "text/csv"),
    ]
    assert content_of(message(*parts)) == [
        c.SentText("hello"),
        c.SentImage("image/png", data="AAAA"),
        c.SentImage("image/png", url="https://a.example/b.png"),
        c.SentImage("image/png", blob=c.SentBlob("b-1")),
        c.SentFile("a.csv", "text/csv", blob=c.SentBlob("b-2")),
        c.SentFile("b-3", "text/csv", blob=c.SentBlob("b-3")),
    ]


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ([], "INVALID_PAYLOAD"),
        ([{"type": "tool-x"}], "INVALID_PAYLOAD"),
        ([{"type": "text", "text": 5}], "INVALID_PAYLOAD"),
        ([{"type": "file", "url": "x"}], "INVALID_PAYLOAD"),
        ([file("data:text/csv;base64,AAAA", "text/csv")], "NOT_SUPPORTED"),
    ],
)
def test_other_parts_are_refused(parts: list[dict[str, Any]], code: str) -> None:
    with pytest.raises(Refused) as refused:
        content_of(message(*parts))
    assert refused.value.code == code


def test_the_place_of_a_message_is_its_turn_and_the_entry_that_the_client_has() -> None:
    def place(metadata: Any) -> TurnPlace | None:
        return place_in(message(metadata=metadata))

    assert place({"turnwire": {"sequence": 4}}) == TurnPlace(7, 4)
    assert place({"turnwire": {"sequence": 4, "conversation": "c-1"}}) == TurnPlace(7, 4, "c-1")
    assert place({"turnwire": {"sequence": 4, "conversation": 5}}) == TurnPlace(7, 4)
    assert place({"turnwire": {"sequence": -1}}) == TurnPlace(7)
    assert place("odd") == TurnPlace(7)
    assert place_in(message(name="other")) is None


def test_answers_are_in_the_parts_of_the_message() -> None:
    def permission(name: str, decision: str, **more: Any) -> dict[str, Any]:
        return {"type": "data-permission", "id": name, "data": {"decision": decision, **more}}

    tool = {"type": "dynamic-tool", "approval": {"id": "r-1", "approved": False, "reason": "No."}}
    parts = [
        tool,
        permission("r-1", "allow"),
        permission("r-2", "allow", reason=4),
        permission("r-3", "perhaps"),
        {"type": "data-question", "id": "q-1", "data": {"answer": {"a": "Blue"}}},
        {"type": "data-question", "id": "q-2", "data": {"answer": 4}},
        {"type": "text", "text": "hello"},
    ]
    assert answers_in(message(*parts)) == [
        c.PermissionResponse(payload=c.PermissionChoice("r-1", "deny", "No.")),
        c.PermissionResponse(payload=c.PermissionChoice("r-2", "allow")),
        c.InputResponse(payload=c.QuestionAnswer("q-1", {"a": "Blue"})),
    ]
