"""Codex's own record of a thread, a file of JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

__all__ = ["questions_in"]


def questions_in(path: str | None, call_id: str) -> list[dict[str, Any]]:
    """Returns the questions of a call in the record. Returns an empty list if it has none.

    A process that asks again after a crash needs them: the answer quotes the question.
    """
    if path is None:
        return []
    try:
        lines = Path(path).read_bytes().splitlines()
    except OSError:
        return []
    named = call_id.encode()
    for line in reversed(lines):
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
