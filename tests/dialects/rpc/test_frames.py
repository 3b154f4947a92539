"""Frames of the RPC socket: writing, and strict reading."""

from __future__ import annotations

import json
from typing import Any

import pytest

from turnwire.core.error_codes import ERRORS, Refused
from turnwire.core.status import OpenRequest
from turnwire.dialects.rpc import frames as r
from turnwire.dialects.rpc import methods as m

QUESTION = OpenRequest("q-1", "question", "q-1", "request_input")
PERMISSION = OpenRequest("p-1", "permission", "toolu_1", "Bash", {"command": "ls"})


def refusal(value: Any) -> tuple[str, str | None, str]:
    """The code, the id it answers, and the words."""
    with pytest.raises(Refused) as refused:
        r.read_frame(value)
    return str(refused.value.code), refused.value.data.get("id"), refused.value.message


# --- writing --------------------------------------------------------------------------------------


def test_half_a_character_is_written_as_the_log_has_it() -> None:
    assert json.loads(r.write({"path": "caf\udce9"})) == {"path": "caf\ufffd"}


# --- reading --------------------------------------------------------------------------------------


def test_a_call() -> None:
    call = r.read_frame({"id": "1", "method": "query", "params": {"prompt": "hello"}})
    assert call == r.Call("1", "query", m.Query("hello"))


@pytest.mark.parametrize("params", [{}, {"params": None}, {"params": {}}])
def test_a_call_may_have_no_parameters(params: dict[str, Any]) -> None:
    assert r.read_frame({"id": "1", "method": "getHistory", **params}) == r.Call(
        "1", "getHistory", m.GetHistory()
    )


@pytest.mark.parametrize(
    ("value", "code", "own_id", "words"),
    [
        ([], "INVALID_FORMAT", None, "not a JSON object"),
        ({}, "INVALID_FORMAT", None, "`id`"),
        ({"id": 5}, "INVALID_FORMAT", None, "`id`"),
        ({"id": "1"}, "INVALID_FORMAT", "1", "`method`"),
        ({"id": "1", "methode": "query"}, "INVALID_FORMAT", "1", "`methode` is not known"),
        ({"id": "srv-1", "method": "query"}, "INVALID_FORMAT", "srv-1", "reserved for the server"),
        ({"id": "srv-1"}, "INVALID_FORMAT", "srv-1", "`result` or an `error`"),
        ({"id": "1", "method": "fly"}, "UNKNOWN_MESSAGE_TYPE", "1", "queryWithContent"),
        (
            {"id": "1", "method": "query", "params": {}},
            "INVALID_PAYLOAD",
            "1",
            "query: `prompt` is missing: add it.",
        ),
        (
            {"id": "1", "method": "queryWithContent", "params": {"content": []}},
            "INVALID_PAYLOAD",
            "1",
            "queryWithContent: `content`",
        ),
    ],
)
def test_an_invalid_frame_is_refused_with_its_id(
    value: Any, code: str, own_id: str | None, words: str
) -> None:
    told = refusal(value)
    assert told[:2] == (code, own_id)
    assert words in told[2]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"last_sequence": 3}, "`last_sequence` is only for an existing `conversation`"),
        ({"conversation": "c", "model": "m"}, "`model` is only for a new conversation"),
    ],
)
def test_a_connection_is_to_a_new_conversation_or_to_another(
    params: dict[str, Any], words: str
) -> None:
    assert words in refusal({"id": "1", "method": "connect", "params": params})[2]


def test_a_connect_may_create_or_join_a_conversation() -> None:
    for params in ({"model": "m"}, {"conversation": "c", "last_sequence": 3, "epoch": "e"}):
        assert isinstance(r.read_frame({"id": "1", "method": "connect", "params": params}), r.Call)


# --- replies --------------------------------------------------------------------------------------


def test_a_reply_contains_the_result_of_its_method() -> None:
    reply = r.read_frame({"id": "srv-1", "result": {"answer": "Blue"}})
    assert isinstance(reply, r.Reply)
    assert r.read_reply(reply, QUESTION) == m.QuestionReply("Blue")
    reply = r.Reply("srv-2", {"decision": "allow", "updated_input": {"command": "pwd"}})
    assert r.read_reply(reply, PERMISSION) == m.PermissionReply(
        "allow", updated_input={"command": "pwd"}
    )


def test_a_reply_may_refuse_to_answer() -> None:
    assert r.read_frame({"id": "srv-1", "error": {"message": "no"}}) == r.Reply(
        "srv-1", failed=True
    )


@pytest.mark.parametrize(
    ("result", "request_", "words"),
    [
        ({"answer": 5}, QUESTION, "result: `answer`"),
        ({"decision": "maybe"}, PERMISSION, "result: `decision`"),
        ({"decision": "deny", "remember": [1]}, PERMISSION, "are not for deny"),
        ("allow", PERMISSION, "result: Expected `object`"),
    ],
)
def test_a_reply_that_does_not_fit_is_refused(
    result: Any, request_: OpenRequest, words: str
) -> None:
    with pytest.raises(Refused) as refused:
        r.read_reply(r.Reply("srv-1", result), request_)
    assert (refused.value.code, refused.value.data["id"]) == ("INVALID_PAYLOAD", "srv-1")
    assert words in refused.value.message


# --- writing --------------------------------------------------------------------------------------


def test_an_unknown_method_is_named_as_it_was_called() -> None:
    refused = Refused("NOT_SUPPORTED", id="1", type="session.set_model")
    error = r.error_of(refused, "setModel")
    assert (error.data, error.what_to_do) == ({"method": "setModel"}, r.WHAT_TO_DO["NOT_SUPPORTED"])
    assert r.error_of(refused).data == {}
    assert "session." not in "".join(r.WHAT_TO_DO.values())
    assert {*r.WHAT_TO_DO} <= {*ERRORS}


def test_an_error_has_its_code_and_advice() -> None:
    error = r.error_of(Refused("TURN_QUEUE_FULL", id="1", max_queue=16))
    assert (error.code, error.retryable, error.data) == ("TURN_QUEUE_FULL", True, {"max_queue": 16})
    assert error.what_to_do


@pytest.mark.parametrize(
    ("beside", "expected"),
    [
        ((None, None), {}),
        ((7, 2), {"sequence": 7, "turn_id": 2}),
        ((None, 2), {"turn_id": 2}),
    ],
)
def test_a_stream_frame_is_built_from_bytes_written_once(
    beside: tuple[int | None, int | None], expected: dict[str, int]
) -> None:
    raw = r.stream_head('a"1') + b'{"type":"error"}' + r.stream_tail(*beside)
    assert json.loads(raw) == {
        "id": 'a"1',
        "type": "stream",
        "data": {"type": "error"},
        **expected,
    }


def test_a_heartbeat_is_about_no_call() -> None:
    assert json.loads(r.write(r.Heartbeat())) == {"type": "heartbeat", "id": None}
