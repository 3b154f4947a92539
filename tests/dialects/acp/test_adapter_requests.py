"""Requests of an ACP agent: permissions with its own options, questions as forms."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dialects.acp.helpers.stream import Stream, prompted
from turnwire.core import events as ev
from turnwire.dialects.acp import messages as rpc
from turnwire.dialects.acp.updates import ToolCallFields

OPTIONS = [
    {"optionId": "once", "kind": "allow_once", "name": "Allow once"},
    {"optionId": "always", "kind": "allow_always", "name": "Always"},
    {"optionId": "no", "kind": "reject_once", "name": "Reject"},
]
SIZES = {"type": "string", "title": "Size", "enum": ["small", "large"]}


def asks_permission(stream: Stream, number: Any = 0, **call: Any) -> Any:
    call = {"toolCallId": "t", "title": "Run ls", "rawInput": {"command": "ls"}, **call}
    params = {"sessionId": "s", "toolCall": call, "options": OPTIONS}
    return stream.agent({"id": number, "method": "session/request_permission", "params": params})


def asks(stream: Stream, number: Any = 0, **params: Any) -> ev.QuestionAsked:
    params = {"sessionId": "s", "message": "Which soup?", "mode": "form", **params}
    events = stream.agent({"id": number, "method": "elicitation/create", "params": params})
    asked = events[-1]
    assert isinstance(asked, ev.QuestionAsked)
    return asked


def test_a_permission_names_the_call_and_offers_to_remember() -> None:
    stream = prompted()
    stream.tool("t", title="bash", kind="execute")
    asks_permission(stream)
    asked = stream.only(ev.PermissionRequested)
    assert (asked.request_id, asked.tool_use_id, asked.tool_name) == ("k-0", "t", "bash")
    assert (asked.input, asked.title) == ({"command": "ls"}, "Run ls")
    assert asked.suggestions == [{"optionId": "always", "name": "Always", "kind": "allow_always"}]
    assert len(stream.all(ev.AssistantMessage)) == 1


def test_the_fields_of_the_call_that_needs_a_permission_are_known_to_the_host() -> None:
    stream = prompted()
    stream.tool("t", title="bash", kind="execute", locations=[{"path": "/a"}])
    asks_permission(stream)
    params = rpc.PermissionParams("s", ToolCallFields("t"))
    fields = stream.adapter.call_of(params)
    assert (fields["kind"], fields["rawInput"]) == ("execute", {"command": "ls"})
    assert fields["locations"] == [{"path": "/a"}]
    stream.ends()
    assert stream.adapter.call_of(params) == {}


def test_a_permission_may_come_before_its_call() -> None:
    stream = prompted()
    asks_permission(stream)
    stream.host({"id": 0, "result": {"outcome": {"outcome": "selected", "optionId": "once"}}})
    stream.tool("t", title="bash", status="completed")
    assert len(stream.all(ev.AssistantMessage)) == 1
    assert len(stream.results()) == 1
    stream.ends()
    assert stream.all(ev.RequestWithdrawn) == []


def test_a_request_that_is_open_at_the_end_of_the_turn_is_withdrawn() -> None:
    stream = prompted()
    asks_permission(stream)
    asks(stream, 1)
    stream.ends("cancelled")
    gone = [event.request_id for event in stream.all(ev.RequestWithdrawn)]
    assert gone == ["k-0", "k-question-1"]
    assert stream.host({"id": 1, "result": {"action": "cancel"}}) == []


def test_a_request_outside_of_a_turn_is_unknown() -> None:
    stream = prompted()
    stream.ends()
    (late,) = asks_permission(stream)
    assert isinstance(late, ev.UnknownEvent)
    params = {"message": "?", "mode": "form"}
    (late,) = stream.agent({"id": 5, "method": "elicitation/create", "params": params})
    assert isinstance(late, ev.UnknownEvent)


def test_the_agent_may_take_a_request_back() -> None:
    stream = prompted()
    asks_permission(stream, 3)
    asks(stream, "q")
    for number in (3, "q", "unknown"):
        stream.agent({"method": "$/cancel_request", "params": {"requestId": number}})
    stream.agent({"method": "$/cancel_request", "params": None})
    gone = [event.request_id for event in stream.all(ev.RequestWithdrawn)]
    assert gone == ["k-3", "k-question-q"]


def test_a_form_is_a_question_for_each_field() -> None:
    stream = prompted()
    schema = {"type": "object", "properties": {"size": SIZES, "spoon": {"type": "boolean"}}}
    asked = asks(stream, requestedSchema=schema)
    assert [each.question for each in asked.questions] == ["Which soup? Size", "Which soup? spoon"]
    answer = {"action": "accept", "content": {"size": "large", "spoon": True}}
    stream.host({"id": 0, "result": answer})
    (result,) = stream.results()
    assert (result.tool_use_id, result.is_error) == (asked.tool_use_id, False)
    assert result.content == '{"size":"large","spoon":true}'


@pytest.mark.parametrize(
    ("answer", "said", "failed"),
    [
        ({"action": "accept", "content": {"size": "large"}}, "large", False),
        ({"action": "accept", "content": {"size": 3}}, "3", False),
        ({"action": "accept"}, "Accepted.", False),
        ({"action": "decline"}, "Declined.", True),
        ({"action": "cancel"}, "Cancelled.", True),
        (None, "Cancelled.", True),
    ],
)
def test_an_answer_is_the_result_of_its_question(answer: Any, said: str, failed: bool) -> None:
    stream = prompted()
    asks(stream, requestedSchema={"properties": {"size": SIZES}})
    stream.host({"id": 0, "result": answer})
    (result,) = stream.results()
    assert (result.content, result.is_error) == (said, failed)


def test_an_error_as_the_answer_ends_the_question() -> None:
    stream = prompted()
    asks(stream)
    stream.host({"id": 0, "error": {"code": 1, "message": "no"}})
    assert stream.results()[0].content == "Cancelled."


def test_a_web_page_is_named_in_the_question() -> None:
    stream = prompted()
    asked = asks(stream, mode="url", url="https://example.org/login", message="")
    (question,) = asked.questions
    assert question.question == "The agent asks something.\nhttps://example.org/login"
    assert [option.label for option in question.options] == ["Accept", "Decline"]


def test_the_host_asks_and_reports_what_it_does_for_the_agent() -> None:
    stream = prompted()
    stream.text("I write")
    given = {"path": "/a"}
    stream.take(stream.adapter.ask("w", "write_text_file", given, "Always allow files"))
    asked = stream.only(ev.PermissionRequested)
    assert (asked.request_id, asked.tool_name, asked.input) == ("w", "write_text_file", given)
    assert asked.suggestions[0]["kind"] == "allow_always"
    stream.take(stream.adapter.did("w", "written", is_error=False))
    stream.ends()
    assert [(each.tool_use_id, each.content) for each in stream.results()] == [("w", "written")]
