"""Converts normalized events into log entries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Raw, structs

from turnwire.core.blocks import ContentBlock
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.finished import Finished, FinishedStream, said
from turnwire.core.message import (
    SCHEMA_VERSION,
    EventName,
    Message,
    Meta,
    Role,
    TextPart,
    TextPayload,
    meta_of,
    split_run_id,
    to_json,
)

__all__ = ["EntryStream", "entry_of", "event_entry", "written"]


def written(finished: Finished, *, run_id: str, timestamp: str) -> Message:
    """Returns a finished item as a log entry: plain JSON, with a run and a time."""
    known, data = finished.meta, finished.meta.data
    if data is not None:
        known = structs.replace(known, data=None)  # may be long, and is plain JSON except for a Raw
    meta: dict[str, Any] = msgspec.to_builtins(known)
    _, turn_id = split_run_id(run_id)
    if turn_id is not None:
        meta["turnId"] = turn_id
    if isinstance(data, dict) and isinstance(data.get("data"), Raw):
        data = {**data, "data": _json_of(data["data"])}
    if data is not None:
        meta["data"] = data
    return Message(run_id, finished.role, finished.parts, timestamp, meta)


def entry_of(
    role: Role, content: Iterable[ContentBlock], *, run_id: str, timestamp: str, **known: Any
) -> Message:
    """Returns blocks as a log entry. Blocks that are no part, or not allowed here, go into meta."""
    finished = said(role, content, Meta(SCHEMA_VERSION, **known))
    return written(finished, run_id=run_id, timestamp=timestamp)


def event_entry(
    name: EventName, text: str, *, run_id: str, timestamp: str, data: Any = None, **known: Any
) -> Message:
    """Returns an event as a log entry, with a text for a person and its data."""
    meta = meta_of(run_id, **known, message_type=name, data=to_json(data))
    return Message(run_id, "system", [TextPart(TextPayload(text))], timestamp, meta)


class EntryStream:
    """Converts finished items into log entries, each once."""

    def __init__(self) -> None:
        self._finished = FinishedStream()

    def feed(self, event: NormalizedStreamEvent, *, run_id: str, now: str) -> list[Message]:
        """Returns the entries of one event, in order; often none."""
        return [written(each, run_id=run_id, timestamp=now) for each in self._finished.feed(event)]


def _json_of(raw: Raw) -> Any:
    """Returns the agent's own message, as text if a number in it is too large, as `1e999`."""
    try:
        return msgspec.json.decode(raw)
    except (ValueError, RecursionError):
        return bytes(raw).decode()
