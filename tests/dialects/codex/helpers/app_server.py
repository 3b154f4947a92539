"""Lines of an app-server, and the events that follow from them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from turnwire.core.events import NormalizedStreamEvent
from turnwire.dialects.codex import CodexStreamAdapter, decode

FIXTURES = Path(__file__).parents[4] / "fixtures" / "codex"
RECORDED = sorted(FIXTURES.glob("*.jsonl"))
THREAD, TURN = "thread-1", "turn-1"


def told(method: str, **params: Any) -> dict[str, Any]:
    """Returns a notification of the main thread."""
    return {"method": method, "params": {"threadId": THREAD, "turnId": TURN, **params}}


def asked(request_id: int | str, method: str, **params: Any) -> dict[str, Any]:
    """Returns a request to the host."""
    return {"id": request_id, **told(method, **params)}


def item(event: str, kind: str, item_id: str, /, **fields: Any) -> dict[str, Any]:
    """Returns the beginning or the end of an item."""
    return told(f"item/{event}", item={"type": kind, "id": item_id, **fields})


def turn_ends(status: str = "completed", **fields: Any) -> dict[str, Any]:
    """Returns the end of the turn."""
    return told("turn/completed", turn={"id": TURN, "status": status, "items": [], **fields})


BEGUN = told("turn/started", turn={"id": TURN, "status": "inProgress", "items": []})


class Server:
    """An adapter with the thread and a turn begun, unless `begun` is false."""

    def __init__(self, *, begun: bool = True) -> None:
        self.adapter = CodexStreamAdapter()
        if begun:
            self.says(BEGUN)

    def says(self, *messages: dict[str, Any]) -> list[Any]:
        """Returns the events of these messages."""
        lines = [decode(msgspec.json.encode(each)) for each in messages]
        return list(self.adapter.feed_all(lines))

    def gets(self, message: dict[str, Any]) -> None:
        """Notes a message of the host."""
        assert self.adapter.sent(decode(msgspec.json.encode(message))) == []


def recorded_messages(path: Path) -> Iterator[tuple[bool, bytes]]:
    """Yields each line of a recording: whether the host wrote it, and its bytes."""
    for line in path.read_bytes().splitlines():
        envelope = msgspec.json.decode(line, type=dict[str, Any])
        yield envelope["dir"] == "in", msgspec.json.encode(envelope["msg"])


def recorded_events(path: Path) -> list[NormalizedStreamEvent]:
    """Returns all events of a recording."""
    adapter, events = CodexStreamAdapter(), list[NormalizedStreamEvent]()
    for number, (from_host, raw) in enumerate(recorded_messages(path), 1):
        line = decode(raw, number)
        events += adapter.sent(line) if from_host else adapter.feed(line)
    return [*events, *adapter.finish()]
