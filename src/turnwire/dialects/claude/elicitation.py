"""Converts the form of an MCP server into questions to a person, and the answers into its fields.

Each field of the form is a question. If all answers are empty, the request is declined.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from turnwire.core.questions import ONLY
from turnwire.dialects.claude.answers import ElicitationAnswer
from turnwire.dialects.claude.control import Elicitation

__all__ = ["answer_of", "asked_with"]

_YES = ("yes", "true", "y", "1")
_NO = ("no", "false", "n", "0")
_ACCEPT, _DECLINE = "Accept", "Decline"


def asked_with(request: Elicitation) -> dict[str, Any]:
    """Returns the input of a `request_input` that asks for the same form."""
    words, fields = _words(request), _fields(request)
    asked: dict[str, Any] = {"question": words, "options": [_ACCEPT, _DECLINE]}
    if len(fields) == 1:
        [(name, field)] = fields.items()
        asked = {"question": words, "header": _title(name, field), "options": _options(field)}
        asked["multiSelect"] = field.get("type") == "array"
    elif fields:
        asked = {"questions": [_question(words, *each) for each in fields.items()]}
    about = {"mcp_server": request.mcp_server_name, "schema": request.requested_schema}
    return {**asked, "required": False, "metadata": {"elicitation": about}}


def answer_of(request: Elicitation, answer: Any) -> ElicitationAnswer:
    """Returns the answer to the MCP server."""
    fields = _fields(request)
    if not fields:
        said = answer.get(ONLY) if isinstance(answer, dict) else answer
        accepts = isinstance(said, str) and said.strip().lower() in (_ACCEPT.lower(), *_YES)
        return ElicitationAnswer("accept" if accepts else "decline", {} if accepts else None)
    words, content = _words(request), dict[str, Any]()
    for name, field in fields.items():
        key = ONLY if len(fields) == 1 else _text(words, name, field)
        given = answer.get(key) if isinstance(answer, dict) else answer
        if given not in (None, "", []):
            content[name] = _value(given, field)
    return ElicitationAnswer("accept", content) if content else ElicitationAnswer("decline")


def _words(request: Elicitation) -> str:
    words = request.message or "An MCP server asks something."
    return words if request.url is None else f"{words}\n{request.url}"


# --- the form -----------------------------------------------------------------------------------


def _fields(request: Elicitation) -> dict[str, dict[str, Any]]:
    """Returns the fields in the order of the form."""
    schema = request.requested_schema
    given = schema.get("properties") if isinstance(schema, dict) else None
    if request.url is not None or not isinstance(given, dict):
        return {}
    order = {name: place for place, name in enumerate(request.property_order or [])}
    names = sorted(given, key=lambda name: order.get(name, len(order)))
    return {name: given[name] if isinstance(given[name], dict) else {} for name in names}


def _question(words: str, name: str, field: dict[str, Any]) -> dict[str, Any]:
    return {
        "question": _text(words, name, field),
        "header": _title(name, field),
        "options": _options(field),
        "multiSelect": field.get("type") == "array",
    }


def _title(name: str, field: dict[str, Any]) -> str:
    return str(field.get("title") or name)


def _text(words: str, name: str, field: dict[str, Any]) -> str:
    about = f": {field['description']}" if field.get("description") else ""
    return f"{words} {_title(name, field)}{about}".strip()


def _options(field: dict[str, Any]) -> list[str]:
    if field.get("type") == "boolean":
        return ["Yes", "No"]
    return [label for label, _ in _choices(field)]


def _choices(field: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    """Yields each choice: the label for people, and the value for the server."""
    items = field.get("items")
    of = items if isinstance(items, dict) else field
    for each in of.get("oneOf") or of.get("anyOf") or []:
        if isinstance(each, dict) and "const" in each:
            yield str(each.get("title") or each["const"]), each["const"]
    names = of.get("enumNames") or []
    for place, value in enumerate(of.get("enum") or []):
        yield str(names[place] if place < len(names) else value), value


# --- the answer ---------------------------------------------------------------------------------


def _value(given: Any, field: dict[str, Any]) -> Any:
    """Converts an answer to the type of the field. Leaves an invalid answer for the server."""
    choices = dict(_choices(field))
    if field.get("type") == "array":
        several = given if isinstance(given, list) else [given]
        return [choices.get(str(each), each) for each in several]
    one = given[0] if isinstance(given, list) else given
    word = str(one).strip()
    match field.get("type"):
        case "boolean" if word.lower() in (*_YES, *_NO):
            return word.lower() in _YES
        case "integer" | "number" if (number := _number(word)) is not None:
            return number
        case _:
            return choices.get(word, one)


def _number(word: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            pass
    return None
