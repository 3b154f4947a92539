"""Codex's own record of a thread, a file of JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

__all__ = ["has_message", "questions_in"]


def has_message(path: str | None, message_id: str) -> bool:
    """Returns whether the record has a person's message with this id, so that the thread knows it."""
    named = message_id.encode()
    return any(named in line and _is_message(line, message_id) for line in _lines(path))


def _is_message(line: bytes, message_id: str) -> bool:
    try:
        item = msgspec.json.decode(line)["payload"]["item"]
        return bool(item["type"] == "UserMessage" and item["client_id"] == message_id)
    except (msgspec.DecodeError, LookupError, TypeError):
        return False


def _lines(path: str | None) -> list[bytes]:
    if path is None:
        return []
    try:
        return Path(path).read_bytes().splitlines()
    except OSError:
        return []


def questions_in(path: str | None, call_id: str) -> list[dict[str, Any]]:
    """Returns the questions of a call in the record. Returns an empty list if it has none.

    A process that asks again after a crash needs them: the answer quotes the question.
    """
    named = call_id.encode()
    for line in reversed(_lines(path)):
        if named in line:
            questions = _questions(line, call_id)
            if questions:
                return questions
    return []


def _questions(line: bytes, call_id: str) -> list[dict[str, Any]]:
    try:
        entry = msgspec.json.decode(line)
        payload = entry["payload"]
        if payload.get("call_id") != call_id:
            return []
        asked = msgspec.json.decode(payload["arguments"])["questions"]
    except (msgspec.DecodeError, LookupError, TypeError, AttributeError):
        return []
    return [each for each in asked if isinstance(each, dict)] if isinstance(asked, list) else []
