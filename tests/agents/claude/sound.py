"""Whether a log is sound, and whether it shows what somebody saw who looked on."""

from __future__ import annotations

from collections import Counter

from tests.engine.watching import Watcher
from turnwire.core.message import ToolCallPart, ToolResultPart, known_meta
from turnwire.dialects.v2.fold import ViewReducer
from turnwire.engine import Engine
from turnwire.stores.sqlite import SqliteStore


async def check_log(store: SqliteStore, conversation_id: str) -> None:
    """Dense; every turn has one end, every call one result, every request one outcome."""
    row = await store.conversation(conversation_id)
    assert row is not None
    stored = await store.entries(conversation_id, limit=100_000)
    assert [each.sequence for each in stored] == list(range(1, row.head + 1))
    ended = [turn.turn_id for turn in await store.turns(conversation_id)]
    begun = [row.state.turn.turn_id] if row.state.turn else []
    assert ended + begun == list(range(1, row.state.turns + 1))
    calls: Counter[str] = Counter()
    results: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    for each in stored:
        for part in each.entry.parts:
            if isinstance(part, ToolCallPart):
                calls[part.payload.tool_call_id] += 1
            elif isinstance(part, ToolResultPart):
                results[part.payload.tool_call_id] += 1
        meta = known_meta(each.entry)
        if meta.message_type == "request_resolved":
            outcomes[meta.data["request_id"]] += 1
    assert set(calls.values()) <= {1}
    assert set(outcomes.values()) <= {1}
    waiting = {request.tool_use_id for request in row.state.requests}
    assert results == calls - Counter(waiting), "every call has one result"
    assert not row.state.requests or row.state.turn is not None


async def check_view(store: SqliteStore, conversation_id: str, seen: Watcher) -> None:
    """Whoever comes later sees what they saw who were there, and what came when they had left."""
    async with Engine(store, {}) as engine:
        talk = await engine.open(conversation_id)
        async with Watcher(talk) as later:
            pass
    there = seen.view()
    reducer = ViewReducer()
    for frame in later.frames:
        reducer.apply(frame)  # type: ignore[arg-type]  # every frame of a server is one
    afterwards = reducer.view()
    assert there.messages == afterwards.messages[: len(there.messages)]
