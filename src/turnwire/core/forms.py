"""Converts a form, described by a JSON schema, into questions to a person, and answers into values.

Each field of the form is a question. MCP servers and agents ask with such forms.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeAlias

from turnwire.core.questions import ONLY

__all__ = ["Fields", "accepts", "asked_with", "fields_of", "required_of", "values_of"]

Fields: TypeAlias = dict[str, dict[str, Any]]  # the JSON schema of each field, by its name

_YES = ("yes", "true", "y", "1")
_NO = ("no", "false", "n", "0")
_ACCEPT, _DECLINE = "Accept", "Decline"


def fields_of(schema: Any, order: Sequence[str] = ()) -> Fields:
    """Returns the fields of a form. Those in `order` come first."""
    given = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(given, dict):
        return {}
    places = {name: place for place, name in enumerate(order)}
    names = sorted(given, key=lambda name: places.get(name, len(places)))
    return {name: given[name] if isinstance(given[name], dict) else {} for name in names}


def required_of(schema: Any) -> list[str]:
    """Returns the names of the fields without which a form is not complete."""
    given = schema.get("required") if isinstance(schema, dict) else None
    return [name for name in given if isinstance(name, str)] if isinstance(given, list) else []


def asked_with(words: str, fields: Fields, required: Collection[str] = ()) -> dict[str, Any]:
    """Returns the input of a `request_input` that asks for the fields, some of them `required`.

    A form without fields asks whether the person accepts.
    """
    if not fields:
        return {"question": words, "options": [_ACCEPT, _DECLINE]}
    if len(fields) > 1:
        must = {"required": True}
        questions = [
            _question(words, name, field) | (must if name in required else {})
            for name, field in fields.items()
        ]
        return {"questions": questions}
    [(name, field)] = fields.items()
    asked = {"question": words, "header": _title(name, field), "options": _options(field)}
    return {**asked, "multiSelect": field.get("type") == "array"}


def accepts(answer: Any) -> bool:
    """Returns whether an answer accepts a form without fields."""
    said = answer.get(ONLY) if isinstance(answer, dict) else answer
    return isinstance(said, str) and said.strip().lower() in (_ACCEPT.lower(), *_YES)


def values_of(words: str, fields: Fields, answer: Any) -> dict[str, Any]:
    """Returns the values of the fields that were answered. Empty answers are left out."""
    values: dict[str, Any] = {}
    for name, field in fields.items():
        key = ONLY if len(fields) == 1 else _text(words, name, field)
        given = answer.get(key) if isinstance(answer, dict) else answer
        if given not in (None, "", []):
            values[name] = _value(given, field)
    return values


# --- the questions --------------------------------------------------------------------------------


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
    """Yields each choice: the label for people, and the value for the form."""
    items = field.get("items")
    of = items if isinstance(items, dict) else field
    for each in of.get("oneOf") or of.get("anyOf") or []:
        if isinstance(each, dict) and "const" in each:
            yield str(each.get("title") or each["const"]), each["const"]
    names = of.get("enumNames") or []
    for place, value in enumerate(of.get("enum") or []):
        yield str(names[place] if place < len(names) else value), value


# --- the values -----------------------------------------------------------------------------------


def _value(given: Any, field: dict[str, Any]) -> Any:
    """Converts an answer to the type of the field. Leaves an invalid answer unchanged."""
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
