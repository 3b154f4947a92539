"""The same calls give the same results on PostgreSQL as on SQLite."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec import Raw, structs

from turnwire.core.content import Blob, ImageContent
from turnwire.core.conversation.effects import (
    AddEntry,
    Audit,
    BeginTurn,
    EndRequest,
    EndTurn,
    OpenRequestRow,
    Spend,
    Write,
)
from turnwire.core.conversation.state import Turn, Waiting
from turnwire.core.partials import Partial
from turnwire.core.status import QueueItem, TurnEnd
from turnwire.core.usage import Usage
from turnwire.errors import TurnwireError
from turnwire.ports import NewConversation, Receipt, Store
from turnwire.stores.postgres import PostgresStore
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.store_samples import (
    LEASE,
    NOW,
    TRACE,
    Writing,
    a_large_message,
    a_message,
    a_request,
    at,
    begin,
)

NAMES = ("c", "d", "nul \0 in it")
REQUESTS = ("toolu_1", "toolu_2")
TEXTS = ("hello world", "会议室 tomorrow", "nul \0 \ud83d", "x" * 3000, "")


class Both:
    """Does everything twice, and compares what came of it."""

    def __init__(self, sqlite: Store, postgres: Store) -> None:
        self.stores = (sqlite, postgres)
        self.talks: dict[str, tuple[Writing, Writing]] = {}

    async def begin(self, name: str, user: str | None) -> None:
        one, two = [
            await begin(store, name, user=user, title=f"of {name}") for store in self.stores
        ]
        self.talks[name] = (one, two)

    async def commit(self, name: str, *writes: Write, **more: Any) -> None:
        ends = more.pop("ended_blocks", [])
        settles = more.pop("settles", False)
        answers = []
        for talk in self.talks[name]:
            commit = talk.prepare(*writes, **more)
            commit = structs.replace(commit, ended_blocks=ends, settles=settles)
            answers.append(await _answer(talk.commit(commit)))
        assert answers[0] == answers[1], writes

    async def call(self, what: str, *args: Any, **more: Any) -> None:
        answers = [await _answer(getattr(store, what)(*args, **more)) for store in self.stores]
        assert answers[0] == answers[1], what

    async def compare(self) -> None:
        for name in (*NAMES, "f"):
            for what in ("conversation", "entries", "turns", "partials", "fork_place"):
                await self.call(what, name)
            for request_id in REQUESTS:
                await self.call("request", name, request_id)
            await self.call("receipt", name, "ann", "m-1")
            await self.call("raw_event", name, 1)
        for user in (None, "ann", "ben"):
            await self.call("conversations", user=user)
            await self.call("inbox", user=user)
            await self.call("inbox", user=user, open_only=False)
            await self.call("spent", user)
            await self.call("spent", user, since=at(0))
            for words in ("hello", "会议", "world hello", "nul", "tomorrow 议室"):
                await self.call("search", words, user=user)
        for user in ("ann", "ben"):
            await self.call("stored", user)
        for blob_id in ("b-1", "b-2"):
            await self.call("get_blob", blob_id)
        open_ones = [sorted(await store.unsettled()) for store in self.stores]
        assert open_ones[0] == open_ones[1]
        trails = [
            [structs.replace(row, number=0) for row in await store.audit()] for store in self.stores
        ]
        assert trails[0] == trails[1]


async def _answer(asked: Any) -> Any:
    try:
        return await asked
    except TurnwireError as refused:
        return type(refused), refused.code


async def step(both: Both, kind: str, name: str, number: int) -> None:
    """Does one thing; `number` chooses what is left to choose."""
    talk = both.talks[name][0]
    request_id, text = REQUESTS[number % 2], TEXTS[number % len(TEXTS)]
    head, turn_id = talk.state.head, 1 + number % 3
    entry = AddEntry(head + 1, a_message(text, run=f"{name}:{turn_id}"), turn_id, TRACE)
    asked = structs.replace(a_request(request_id), inbox_item_id=f"{name}-{request_id}")
    end = TurnEnd(
        False, False, "end_turn", usage=Usage(3, 4), cost_usd=0.5, after_sequence=head + 1
    )
    match kind:
        case "say":
            await both.commit(name, entry, native_session_id=f"s-{number % 2}", seconds=number)
        case "raw":
            await both.commit(name, structs.replace(entry, raw=Raw(b'{"type":"x","n":[1,2]}')))
        case "begin turn":
            await both.commit(name, BeginTurn(Turn(turn_id, TRACE, "user", "running")))
        case "end turn":
            await both.commit(name, entry, EndTurn(turn_id, TRACE, end), settles=True)
        case "whole turn":
            begun = BeginTurn(Turn(turn_id, TRACE, "user", "running"))
            await both.commit(name, begun, entry, EndTurn(turn_id, TRACE, end))
        case "ask":
            await both.commit(name, OpenRequestRow(asked), Audit("asked", "ann", {"n": number}))
        case "answer":
            await both.commit(name, entry, EndRequest(request_id, "answered", "ann"))
        case "ask and answer":
            ended = EndRequest(request_id, "cancelled", None)
            await both.commit(name, OpenRequestRow(asked), ended)
        case "ask again":
            ended = EndRequest(request_id, "cancelled", "agent_lost")
            await both.commit(name, ended, OpenRequestRow(asked))
        case "receipt":
            receipt = Receipt("ann", f"m-{number % 3}", b"\x00\xff", b'{"a":"\\u0000"}')
            await both.commit(name, entry, receipt=receipt)
        case "spend":
            await both.commit(name, Spend(turn_id, 0.25), seconds=number * 40_000)
        case "queue":
            item = QueueItem("q", [ImageContent(blob=Blob("b-1"))])
            queued = structs.replace(talk.state, queue=[Waiting(item, TRACE)])
            await both.commit(name, state=queued)
        case "large":
            await both.commit(name, AddEntry(head + 1, a_large_message("b-2"), turn_id, TRACE))
        case "wrong number":
            await both.commit(name, AddEntry(head + 2, a_message("x"), 1, TRACE))
        case "save":
            pieces = [Partial("m", number % 2, "text", text, 0, number % 2)]
            for one in both.talks[name]:
                await one.store.save_partials(one.claim, pieces)
        case "end block":
            await both.commit(name, entry, ended_blocks=[("m", 0), ("m", 1)])
        case "archive":
            await both.call("change", name, archived=bool(number % 2))
        case "claim again":
            claims = [await store.claim(name, "one", now=NOW, lease=LEASE) for store in both.stores]
            assert claims[0] == claims[1]
            one, two = both.talks[name]
            both.talks[name] = (
                Writing(one.store, claims[0], one.state),
                Writing(two.store, claims[1], two.state),
            )
        case "reserve":
            for one in both.talks[name]:
                one.reserved = await one.store.reserve(  # type: ignore[attr-defined]
                    one.claim, lambda spent, held: 10.0 - spent - held, now=NOW
                )
            first, second = both.talks[name]
            assert first.reserved == second.reserved  # type: ignore[attr-defined]
        case "blob":
            data = bytes([number % 2]) * 10
            blob_id = f"b-{1 + number % 2}"
            await both.call("put_blob", blob_id, data, "text/plain", at=at(), user="ann", quota=900)
        case "fork":
            place = (await both.stores[0].fork_place(name)).sequence
            state = structs.replace(talk.state, conversation_id="f", head=place)
            new = NewConversation(
                "f", "demo", at(9), both_user(name), state=state, parent_id=name, forked_at=place
            )
            await both.call("fork", new, by="ann")
        case "delete":
            await both.call("delete", name, at=at(5), by="ann")
            await both.begin(name, both_user(name))
        case _:
            raise AssertionError(kind)


def both_user(name: str) -> str | None:
    return {"c": "ann", "d": None}.get(name, "ben")


KINDS = (
    *("say", "raw", "begin turn", "end turn", "whole turn", "ask", "answer", "ask and answer"),
    *("ask again", "receipt", "spend", "queue", "large", "wrong number", "save", "end block"),
    *("archive", "claim again", "reserve", "blob", "delete", "fork"),
)


async def live(path: Path, address: str, steps: list[tuple[str, str, int]]) -> None:
    async with (
        SqliteStore.open(path) as sqlite,
        PostgresStore.open(address, uses_callers_time=True) as postgres,
    ):
        both = Both(sqlite, postgres)
        for name in NAMES:
            await both.begin(name, both_user(name))
        for kind, name, number in steps:
            await step(both, kind, name, number)
        await both.compare()


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_write_twice(kind: str, postgres: str, tmp_path: Path) -> None:
    steps = [("say", "c", 1), (kind, "c", 2), (kind, "c", 3), (kind, NAMES[2], 4), (kind, "c", 2)]
    asyncio.run(live(tmp_path / "log.db", postgres, steps))


_STEPS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.sampled_from(NAMES), st.integers(0, 11)),
    min_size=10,
    max_size=40,
)


@settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a failure is short enough to be read
    max_examples=8,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=_STEPS)
def test_any_writes_in_any_order(
    steps: list[tuple[str, str, int]], postgres_server: Any, postgres_template: str, tmp_path: Path
) -> None:
    name = asyncio.run(postgres_server.create(postgres_template))
    file = tmp_path / f"{name}.db"
    try:
        asyncio.run(live(file, postgres_server.store_address(name), steps))
    finally:
        asyncio.run(postgres_server.drop(name))
        file.unlink(missing_ok=True)
