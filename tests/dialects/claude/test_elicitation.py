"""The form of an MCP server as a question, and the answer as the server expects it."""

from __future__ import annotations

from typing import Any

import pytest

from turnwire.core.questions import questions_of
from turnwire.dialects.claude.answers import ElicitationAnswer
from turnwire.dialects.claude.control import Elicitation
from turnwire.dialects.claude.elicitation import answer_of, asked_with


def form(*order: str, **fields: Any) -> Elicitation:
    schema = {"type": "object", "properties": fields}
    return Elicitation("colours", "Please:", schema, property_order=list(order) or None)


def asked(request: Elicitation) -> list[Any]:
    return questions_of(asked_with(request))


def test_each_field_is_a_question_with_its_name_as_header() -> None:
    request = form(colour={"type": "string", "title": "Colour", "enum": ["red", "blue"]})
    [question] = asked(request)
    assert (question.id, question.question, question.header) == ("answer", "Please:", "Colour")
    assert [option.label for option in question.options] == ["red", "blue"]
    told = asked_with(request)
    assert told["required"] is False, "an empty answer declines"
    assert told["metadata"]["elicitation"]["mcp_server"] == "colours"
    for answer in ("blue", {"answer": "blue"}, ["blue"]):
        assert answer_of(request, answer) == ElicitationAnswer("accept", {"colour": "blue"})
    empty: list[Any] = ["", {"answer": ""}, {}, None, []]
    for nothing in empty:
        assert answer_of(request, nothing) == ElicitationAnswer("decline")


def test_several_fields_are_several_questions_in_their_order() -> None:
    request = form("b", "a", a={"description": "the first"}, b={"type": "boolean"}, c="nonsense")
    questions = asked(request)
    assert [q.question for q in questions] == ["Please: b", "Please: a: the first", "Please: c"]
    assert [option.label for option in questions[0].options] == ["Yes", "No"]
    answer = {"Please: b": "no", "Please: a: the first": "x", "Please: c": ""}
    assert answer_of(request, answer).content == {"b": False, "a": "x"}


@pytest.mark.parametrize(
    ("field", "given", "value"),
    [
        ({"type": "integer"}, "3", 3),
        ({"type": "number"}, " 2.5 ", 2.5),
        ({"type": "number"}, "many", "many"),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "boolean"}, "perhaps", "perhaps"),
        ({"enum": ["r", "b"], "enumNames": ["Red"]}, "Red", "r"),
        ({"enum": ["r", "b"], "enumNames": ["Red"]}, "b", "b"),
        ({"oneOf": [{"const": "r", "title": "Red"}, {"const": "b"}, "x"]}, "Red", "r"),
        ({"type": "array", "items": {"enum": ["r", "b"]}}, ["r", "other"], ["r", "other"]),
        ({"type": "array", "items": {"anyOf": [{"const": 1, "title": "One"}]}}, "One", [1]),
        ({"type": "string", "items": "none"}, "as it is", "as it is"),
    ],
)
def test_an_answer_gets_the_type_of_its_field(field: Any, given: Any, value: Any) -> None:
    assert answer_of(form(it=field), given).content == {"it": value}


@pytest.mark.parametrize(
    "request_",
    [
        Elicitation("s", "Open this", mode="url", url="https://example.org"),
        Elicitation("s", None, {"type": "object"}),
        Elicitation("s", None, "nonsense"),
    ],
)
def test_without_a_form_a_person_accepts_or_declines(request_: Elicitation) -> None:
    [question] = asked(request_)
    assert [option.label for option in question.options] == ["Accept", "Decline"]
    assert (request_.url or "An MCP server asks something.") in question.question
    assert answer_of(request_, "Accept") == ElicitationAnswer("accept", {})
    assert answer_of(request_, {"answer": "yes"}).action == "accept"
    for no in ("Decline", "", None, 3):
        assert answer_of(request_, no) == ElicitationAnswer("decline")
