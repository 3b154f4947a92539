"""Codex's own record of a thread, a file of JSON lines."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import msgspec

__all__ = ["call_in", "has_message", "questions_in"]


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
    for call in _calls(path, call_id):
        try:
            asked = msgspec.json.decode(call["arguments"])["questions"]
        except (msgspec.DecodeError, LookupError, TypeError):
            continue
        questions = asked if isinstance(asked, list) else []
        if found := [each for each in questions if isinstance(each, dict)]:
            return found
    return []


def call_in(path: str | None, call_id: str, names: Collection[str]) -> str | None:
    """Returns a call of one of these tools, as text. Returns None if the record has none."""
    calls = [call for call in _calls(path, call_id) if call.get("name") in names]
    return f"{calls[0]['name']} {calls[0].get('arguments', '')}" if calls else None


def _calls(path: str | None, call_id: str) -> Iterator[dict[str, Any]]:
    """Yields what the record has about a call, the newest first."""
    named = call_id.encode()
    for line in reversed(_lines(path)):
        if named not in line:
            continue
        try:
            payload = msgspec.json.decode(line)["payload"]
            if payload.get("call_id") == call_id:
                yield payload
        except (msgspec.DecodeError, LookupError, TypeError, AttributeError):
            pass
