"""What the PostgreSQL store promises beyond the port."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from msgspec import structs

from tests.stores.postgres.server import Server
from turnwire.core.conversation.effects import AddEntry, Audit, Spend
from turnwire.core.partials import Partial
from turnwire.ports import (
    Conflict,
    Fenced,
    NewConversation,
    NodeRow,
    Owned,
    Receipt,
    StorageUnavailable,
    Store,
)
from turnwire.stores.address import Address
from turnwire.stores.conversation_list import Wanted
from turnwire.stores.copying import Copied, CopyFailed, copy_store
from turnwire.stores.open_store import open_store
from turnwire.stores.postgres import PostgresStore
from turnwire.stores.postgres.audit import MOST_ROWS
from turnwire.stores.postgres.batch import statement_for
from turnwire.stores.postgres.connection import READER, DatabaseConnection, connect
from turnwire.stores.postgres.nodes import ABANDONED, OVERDUE
from turnwire.stores.postgres.queries import find_conversations
from turnwire.stores.postgres.tables import PostgresTables
from turnwire.stores.sqlite import SqliteStore
from turnwire.stores.sqlite.tables import SqliteTables
from turnwire.testing.store_checks.log import texts
from turnwire.testing.store_samples import (
    LEASE,
    NOW,
    TRACE,
    Writing,
    a_message,
    at,
    begin,
)

HOURS = 2 * 3600_000


# --- leases ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [-HOURS, HOURS])
async def test_leases_use_the_time_of_the_server_whatever_the_callers_clock_says(
    wrong: int, postgres: str
) -> None:
    async with PostgresStore.open(postgres) as store:
        await store.create(NewConversation("c", "demo", at()))
        claim = await store.claim("c", "one", now=NOW, lease=0)
        await store.join(NodeRow("one", "a node", "inbox"), now=NOW, lease=LEASE)
        with pytest.raises(Owned) as owned:
            await store.claim("c", "two", now=NOW + wrong, lease=LEASE)
        assert await store.abandoned(now=NOW + wrong) == []
        here = time.time_ns() // 1_000_000
        row, [node] = await store.conversation("c"), await store.nodes()
        assert row is not None
        for until in (row.lease_until, node.lease_until, owned.value.data["lease_until"]):
            assert abs(until - here) <= LEASE, "in the time of the process that reads it"
        assert await store.renew_node("one", now=NOW + wrong, lease=0)
        assert await store.abandoned(now=NOW - HOURS) == ["c"]
        taken = await store.claim("c", "two", now=NOW + wrong, lease=LEASE)
        assert taken.fence > claim.fence


async def test_an_index_finds_what_dead_nodes_have_left(
    postgres: str, postgres_server: Server
) -> None:
    async with PostgresStore.open(postgres) as store:
        await store.create(NewConversation("c", "demo", at()))
        await store.claim("c", "one", now=NOW, lease=0)
    for statement in (
        "INSERT INTO conversations (conversation_id, agent, options, created_at, updated_at, head,"
        " owner, unsettled, state_json) SELECT 'c' || n, 'demo', '{}', '', '', 0,"
        " CASE WHEN n % 3 = 0 THEN 'owner ' || n % 5 END, true, '{}'"
        " FROM generate_series(1, 20000) AS n",
        "INSERT INTO requests (conversation_id, request_id, kind, request_json, opened_at,"
        " deadline_at) SELECT 'c' || n, 'q', 'question', '{}', '', '2999' || n"
        " FROM generate_series(1, 20000) AS n",
        "ANALYZE",
    ):
        await postgres_server.run_in(postgres, statement)
    connection = await connect(Address(postgres), READER)
    try:
        plans: list[tuple[str, str, list[Any]]] = [
            (ABANDONED, "conversations_of_owner", [None, "", [], 8]),
            (OVERDUE, "requests_by_deadline", [None, None, "", ["demo"], 8]),
        ]
        for sql, index, values in plans:
            rows = await connection.fetch(f"EXPLAIN {sql}", *values)
            plan = "\n".join(row[0] for row in rows)
            assert index in plan
            assert "Seq Scan on conversations" not in plan
            assert "Seq Scan on requests" not in plan
    finally:
        await connection.close()


class Plans:
    """Notes the plans of the queries that run on a connection, with the rows that they read."""

    def __init__(self, connection: DatabaseConnection) -> None:
        self._connection = connection
        self.noted: list[str] = []

    async def fetch(self, sql: str, *values: Any) -> list[Any]:
        rows = await self._connection.fetch(f"EXPLAIN (ANALYZE) {sql}", *values)
        self.noted.append("\n".join(row[0] for row in rows))
        return []


async def test_a_list_of_one_group_reads_no_other_conversations(
    postgres: str, postgres_server: Server
) -> None:
    for statement in (
        'INSERT INTO conversations (conversation_id, agent, "user", options, created_at,'
        " updated_at, head, unsettled, activity, state_json)"
        " SELECT 'c' || n, 'demo', 'user ' || n % 2, '{}', '', '2026-01-' || n % 28 + 1, 0, false,"
        " CASE n % 5000 WHEN 0 THEN 'waiting_input' WHEN 1 THEN 'waiting_input' ELSE 'idle' END,"
        " '{}' FROM generate_series(1, 20000) AS n",
        "ANALYZE",
    ):
        await postgres_server.run_in(postgres, statement)
    connection = await connect(Address(postgres), READER)
    plans: Any = Plans(connection)
    try:
        for user in (None, "user 1"):
            for group in ("waiting_input", "error"):
                wanted = Wanted(user, False, False, None, None, group, 3, 1)
                await find_conversations(plans, wanted, None)
    finally:
        await connection.close()
    for plan in plans.noted:
        assert "conversations_by_activity" in plan or "conversations_of_user_by_activity" in plan
        assert "Rows Removed by Filter" not in plan, plan


# --- one statement for many commits ---------------------------------------------------------------


async def until_one_waits(db: DatabaseConnection) -> None:
    waits = "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted)"
    while not await db.fetchval(waits):
        pass  # each look gives the event loop to the others


async def test_a_stale_commit_waits_for_an_open_claim_and_spoils_nothing(postgres: str) -> None:
    async with PostgresStore.open(postgres, uses_callers_time=True, writers=1) as store:
        talks = [await begin(store, f"c{number}") for number in range(5)]
        other = await connect(Address(postgres), {})
        claiming = other.transaction()
        await claiming.start()
        await other.execute(
            "UPDATE conversations SET fence = 9, owner = 'x' WHERE conversation_id = 'c2'"
        )
        commits = [store.commit(talk.prepare(*talk.entries("x"))) for talk in talks]
        waiting = asyncio.gather(*commits, return_exceptions=True)
        await until_one_waits(other)
        await claiming.commit()
        await other.close()
        answers = await waiting
        assert [type(each) for each in answers] == [type(None)] * 2 + [Fenced] + [type(None)] * 2
        assert [await texts(store, talk.id) for talk in talks] == [["x"], ["x"], [], ["x"], ["x"]]


async def test_commits_that_come_together_share_a_transaction(
    postgres: str, postgres_server: Server
) -> None:
    async with PostgresStore.open(postgres, uses_callers_time=True, writers=1) as store:
        talks = [await begin(store, f"c{number}") for number in range(50)]
        await asyncio.gather(*(talk.say("x") for talk in talks))
    rows = await postgres_server.run_in(postgres, "SELECT count(DISTINCT xmin::text) FROM messages")
    assert rows[0][0] <= 2


async def test_a_batch_finds_conversations_by_their_keys(postgres: str) -> None:
    """A plan for a table that was small must not read a large one from end to end."""
    async with PostgresStore.open(postgres, uses_callers_time=True, writers=1) as store:

        async def disabled(db: DatabaseConnection) -> set[str]:
            rows = await db.fetch(
                "SELECT name FROM pg_settings WHERE name LIKE 'enable_%' AND setting = 'off'"
            )
            return {row[0] for row in rows}

        off = await store._call("", disabled, repeats=True)
    assert {"enable_seqscan", "enable_nestloop", "enable_mergejoin"} <= off
    assert "c.conversation_id = ANY($3::text[])" in statement_for(("entries",))


async def test_a_claim_of_another_store_may_be_used(postgres: str) -> None:
    async with (
        PostgresStore.open(postgres, uses_callers_time=True) as one,
        PostgresStore.open(postgres, uses_callers_time=True) as two,
    ):
        talk = await begin(one)
        await talk.say("by one")
        same = Writing(two, talk.claim, talk.state)
        await same.say("by two")
        talk.state = same.state
        await talk.say("by one again")
        assert await texts(one, "c") == ["by one", "by two", "by one again"]


async def test_two_processes_write_at_once_and_each_user_is_counted(postgres: str) -> None:
    async with (
        PostgresStore.open(postgres, uses_callers_time=True) as one,
        PostgresStore.open(postgres, uses_callers_time=True) as two,
    ):
        talks = [
            await begin(store, f"{name}{number}", user=f"user {number % 3}")
            for name, store in (("a", one), ("b", two))
            for number in range(12)
        ]

        async def speak(talk: Writing) -> None:
            for number in range(20):
                await talk.say(f"x {number}")

        await asyncio.gather(*map(speak, talks))
        for number in range(3):
            stored = await one.stored(f"user {number}")
            assert stored.conversations == 8
        for talk in talks:
            await one.delete(talk.id)
        assert [(await one.stored(f"user {number}")).bytes for number in range(3)] == [0, 0, 0]


async def test_a_turn_that_ends_while_another_reserves_is_either_reserved_or_spent(
    postgres: str,
) -> None:
    budget = 1.0
    async with PostgresStore.open(postgres, uses_callers_time=True) as store:
        talks = [await begin(store, f"c{number}", user="ann") for number in range(12)]

        def half(spent: float, held: float) -> float:
            return max(budget - spent - held, 0.0) / 2

        async def spend(talk: Writing) -> None:
            for _ in range(10):
                reserved = await store.reserve(talk.claim, half, now=NOW)
                assert reserved.spent + reserved.held + reserved.amount <= budget + 1e-9
                commit = talk.prepare(Spend(1, reserved.amount))
                await talk.commit(structs.replace(commit, settles=True))

        await asyncio.gather(*map(spend, talks))
        assert await store.spent("ann") <= budget + 1e-9


# --- the audit trail ------------------------------------------------------------------------------


async def test_a_reader_of_the_audit_trail_misses_nothing(postgres: str) -> None:
    async with PostgresStore.open(postgres, uses_callers_time=True) as store:
        talks = [await begin(store, f"c{number}") for number in range(16)]
        is_over = False
        seen: list[int] = []

        async def read() -> None:
            while True:
                last = is_over
                rows = await store.audit(after=seen[-1] if seen else 0)
                seen.extend(row.number for row in rows)
                if last and not rows:
                    return

        async def act(talk: Writing) -> None:
            for number in range(15):
                await talk.commit(talk.prepare(Audit("acted", "ann", {"n": number})))
                await store.note("noted", at=at(), conversation_id=talk.id)

        reading = asyncio.create_task(read())
        await asyncio.gather(*map(act, talks))
        is_over = True
        await reading
        assert seen == sorted(set(seen))
        assert len(seen) == 16 * 15 * 2


async def test_a_transaction_that_runs_hides_what_is_newer(postgres: str) -> None:
    async with PostgresStore.open(postgres) as store:
        await store.note("before", at=at())
        other = await connect(Address(postgres), {})
        running = other.transaction()
        await running.start()
        await other.fetchval("SELECT pg_current_xact_id()")
        await store.note("after", at=at())
        assert [row.action for row in await store.audit()] == ["before"]
        await running.rollback()
        await other.close()
        assert [row.action for row in await store.audit()] == ["before", "after"]


async def test_many_rows_of_the_audit_trail_keep_their_numbers(postgres: str) -> None:
    async with PostgresStore.open(postgres, uses_callers_time=True, writers=1) as store:
        talks = [await begin(store, f"c{number}") for number in range(4)]
        many = [Audit("acted", "ann", {}) for _ in range(MOST_ROWS // 2 + 1)]
        await asyncio.gather(*(talk.commit(talk.prepare(*many)) for talk in talks))
        await store.note("last", at=at())
        found, after = [], 0
        while rows := await store.audit(after=after, limit=5000):
            found += [row.action for row in rows]
            after = rows[-1].number
        assert found == ["acted"] * len(many) * len(talks) + ["last"]
        too_many = [Audit("acted", "ann", {}) for _ in range(MOST_ROWS + 1)]
        with pytest.raises(Conflict, match="audit trail"):
            await talks[0].commit(talks[0].prepare(*too_many))


# --- text -----------------------------------------------------------------------------------------


async def test_every_character_is_read_as_it_was_written(postgres: str) -> None:
    odd = "\0 \U0010ffff \U0010ffff0 \U0010ffff1 \\u0000 \x01"
    async with PostgresStore.open(postgres, uses_callers_time=True) as store:
        talk = await begin(store, f"c {odd}", user=odd, title=odd)
        await talk.say(odd)
        await store.save_partials(talk.claim, [Partial("m", 0, "text", odd)])
        row = await store.conversation(talk.id)
        assert row is not None
        assert (row.user, row.title, row.conversation_id) == (odd, odd, talk.id)
        assert await texts(store, talk.id) == [odd]
        assert [each.text for each in await store.partials(talk.id)] == [odd]
        assert (await store.stored(odd)).conversations == 1
        await store.delete(talk.id)
        assert (await store.stored(odd)).bytes == 0


# --- a database that is another one ---------------------------------------------------------------


async def test_a_copy_within_the_same_server_is_a_new_epoch(
    postgres: str, postgres_server: Server
) -> None:
    async with PostgresStore.open(postgres) as store:
        epoch = store.epoch
    name = await postgres_server.create(template=urlsplit(postgres).path.removeprefix("/"))
    try:
        async with PostgresStore.open(postgres_server.store_address(name)) as copied:
            assert copied.epoch != epoch
    finally:
        await postgres_server.drop(name)


@pytest.mark.parametrize("known", ["1/00000001", "{id}/000000AA"])
async def test_a_replaced_database_is_a_new_epoch_and_owns_nothing(
    known: str, postgres: str, postgres_server: Server
) -> None:
    async with PostgresStore.open(postgres, uses_callers_time=True) as store:
        talk = await begin(store)
        await talk.say("x")
        await store.note("before", at=at())
        epoch = store.epoch
    (row,) = await postgres_server.run_in(postgres, "SELECT value FROM meta WHERE name = 'origin'")
    before = known.format(id=row[0].partition("/")[0])
    await postgres_server.run_in(
        postgres, f"UPDATE meta SET value = '{before}' WHERE name = 'origin'"
    )
    is_synchronous = "{id}" in known
    async with PostgresStore.open(
        postgres, uses_callers_time=True, is_synchronous=is_synchronous
    ) as store:
        if is_synchronous:  # only the timeline is another one: a standby that lacks nothing
            assert store.epoch == epoch
            await Writing(store, talk.claim, talk.state).say("y")
            return
        assert store.epoch != epoch
        with pytest.raises(Fenced):
            await Writing(store, talk.claim, talk.state).say("y")
        await store.note("after", at=at())
        assert [each.action for each in await store.audit()] == ["before", "after"]
    async with PostgresStore.open(postgres) as again:
        assert again.epoch == store.epoch


# --- outages --------------------------------------------------------------------------------------


async def test_a_server_that_is_away_is_said_and_the_store_is_closed_all_the_same(
    postgres: str,
) -> None:
    with pytest.raises(StorageUnavailable):
        await PostgresStore.open("postgresql://x@127.0.0.1:1/x", patience=0)
    store = await PostgresStore.open(postgres)
    await store.close()
    with pytest.raises(StorageUnavailable, match="closed"):
        await store.conversation("c")
    with pytest.raises(StorageUnavailable, match="closed"):
        await store.check_writable()


async def test_a_refused_receipt_is_a_conflict_of_its_own_commit_only(postgres: str) -> None:
    async with PostgresStore.open(postgres, uses_callers_time=True, writers=1) as store:
        talks = [await begin(store, f"c{number}") for number in range(3)]
        receipt = Receipt("ann", "m-1", b"", b"{}")
        await talks[1].commit(talks[1].prepare(receipt=receipt))
        commits = [
            store.commit(talk.prepare(*talk.entries("x"), receipt=receipt)) for talk in talks
        ]
        answers = await asyncio.gather(*commits, return_exceptions=True)
        assert [type(each) for each in answers] == [type(None), Conflict, type(None)]


async def test_a_commit_that_the_database_cannot_hold_fails_alone(postgres: str) -> None:
    async with PostgresStore.open(postgres, uses_callers_time=True, writers=1) as store:
        talks = [await begin(store, f"c{number}") for number in range(4)]
        commits = [talk.prepare(*talk.entries("x")) for talk in talks]
        too_large = AddEntry(1, a_message("x"), 2**70, TRACE)
        commits[2] = talks[2].prepare(too_large)
        answers = await asyncio.gather(*map(store.commit, commits), return_exceptions=True)
        assert [type(each) for each in answers] == [*[type(None)] * 2, Conflict, type(None)]
        assert [len(await store.entries(talk.id)) for talk in talks] == [1, 1, 0, 1]


async def test_a_connection_that_is_lost_before_anything_was_sent_leaves_no_doubt(
    postgres: str, postgres_server: Server
) -> None:
    async with (
        PostgresStore.open(postgres, uses_callers_time=True) as one,
        PostgresStore.open(postgres, uses_callers_time=True) as two,
    ):
        talk = await begin(one)
        await two.check_writable()
        await postgres_server.run_in(
            postgres,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        await Writing(two, talk.claim, talk.state).say("x")  # its version has to be read first
        assert await texts(two, "c") == ["x"]


@pytest.mark.parametrize(
    ("configured", "is_synchronous", "used"),
    [
        ("off", False, "on"),
        ("local", True, "on"),
        ("local", False, "local"),
        ("remote_apply", True, "remote_apply"),
    ],
)
async def test_a_commit_waits_for_the_disk_whatever_the_database_does_for_others(
    configured: str, is_synchronous: bool, used: str, postgres: str, postgres_server: Server
) -> None:
    database = urlsplit(postgres).path.removeprefix("/")
    await postgres_server.run(f"ALTER DATABASE {database} SET synchronous_commit = {configured}")
    async with PostgresStore.open(postgres, is_synchronous=is_synchronous) as store:

        async def read(db: DatabaseConnection) -> str:
            return str(await db.fetchval("SHOW synchronous_commit"))

        assert await store._call("", read, repeats=True) == used


# --- copies ---------------------------------------------------------------------------------------


async def fill(store: SqliteStore, conversations: int, messages: int) -> None:
    await store.put_blob("b-1", b"\0\1\2", "image/png", at=at(), user="ann")
    for number in range(conversations):
        talk = await begin(store, f"c{number} \0", user="ann" if number % 2 else None)
        await talk.say(*(f"{number} said {n} \0 会议" for n in range(messages)))
        await store.save_partials(talk.claim, [Partial("m", 0, "text", "half \0")])
        await store.note("noted", at=at(), conversation_id=talk.id)


async def test_a_copy_to_postgresql_and_back_is_equal(postgres: str, tmp_path: Path) -> None:
    async with SqliteStore.open(tmp_path / "one.db") as store:
        await fill(store, 20, 50)
        expected = [
            structs.replace(row, owner=None, lease_until=0) for row in await store.conversations()
        ]
        entries = await store.entries("c7 \0")
        stored = await store.stored("ann")
    source = await SqliteTables.open(str(tmp_path / "one.db"), writes=False)
    middle = await PostgresTables.open(postgres, writes=True)
    copied = await copy_store(source, middle)
    assert (copied.conversations, copied.messages) == (20, 1000)
    await source.close()
    await middle.close()
    back = await PostgresTables.open(postgres, writes=False)
    target = await SqliteTables.open(str(tmp_path / "two.db"), writes=True)
    await copy_store(back, target)
    await back.close()
    await target.close()
    async with (
        SqliteStore.open(tmp_path / "two.db") as two,
        PostgresStore.open(postgres, uses_callers_time=True) as database,
    ):
        copies: list[Store] = [two, database]
        for copy in copies:
            assert await copy.conversations() == expected
            assert await copy.entries("c7 \0") == entries
            assert await copy.stored("ann") == stored
            assert len(await copy.search("会议", limit=2000)) == 1000
            assert len(await copy.audit()) == 20
            claim = await copy.claim("c7 \0", "new", now=NOW, lease=LEASE)
            await Writing(copy, claim, expected[-8].state).say("and on it goes")
            await copy.note("later", at=at())
            assert (await copy.audit())[-1].action == "later"


async def test_a_copy_that_was_interrupted_goes_on(postgres: str, tmp_path: Path) -> None:
    async with SqliteStore.open(tmp_path / "one.db") as store:
        await fill(store, 6, 3)
    source = await SqliteTables.open(str(tmp_path / "one.db"), writes=False)
    target = await PostgresTables.open(postgres, writes=True)

    class Interrupted(Exception):
        pass

    def interrupt(progress: object) -> None:
        if getattr(progress, "step", "") == "conversations" and getattr(progress, "done", 0) == 4:
            raise Interrupted

    with pytest.raises(Interrupted):
        await copy_store(source, target, interrupt)
    copied = await copy_store(source, target)
    assert (copied.conversations, copied.skipped) == (2, 4)
    await source.close()
    await target.close()


@pytest.mark.parametrize("into", ["file", "database"])
async def test_a_copy_that_was_killed_at_its_very_end_is_run_again_and_compared(
    into: str, postgres: str, tmp_path: Path
) -> None:
    async with SqliteStore.open(tmp_path / "one.db") as store:
        await fill(store, 6, 3)

    async def copy(source: str = "one.db") -> Copied:
        read = await SqliteTables.open(str(tmp_path / source), writes=False)
        file = str(tmp_path / "two.db")
        opening = PostgresTables.open(postgres, writes=True) if into == "database" else None
        write = await (opening or SqliteTables.open(file, writes=True))
        try:
            return await copy_store(read, write)
        finally:
            await read.close()
            await write.close()

    first = await copy()  # its command is killed before it says so
    again = await copy()
    assert (again.conversations, again.skipped, again.epoch) == (0, 6, first.epoch)
    async with open_store(postgres if into == "database" else tmp_path / "two.db") as changed:
        await changed.change("c3 \0", archived=True)
    with pytest.raises(CopyFailed, match="changed since"):
        await copy()
    async with SqliteStore.open(tmp_path / "other.db") as store:
        await fill(store, 1, 1)
    with pytest.raises(CopyFailed, match="has conversations already"):
        await copy("other.db")
