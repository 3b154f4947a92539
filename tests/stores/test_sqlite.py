"""The SQLite store keeps a few promises of its own; test_promises.py checks those of the port."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, get_args

import apsw
import pytest
from msgspec import Raw, structs

from tests.stores.helpers.sql import rows_of
from turnwire.core.conversation.effects import AddEntry
from turnwire.core.conversation.state import Waiting
from turnwire.core.message import (
    Message,
    MessagePart,
    ThinkingPart,
    ThinkingPayload,
    ToolCallPart,
    ToolCallPayload,
    ToolResultPart,
    ToolResultPayload,
    meta_of,
)
from turnwire.core.status import QueueItem
from turnwire.ports import (
    Activity,
    Commit,
    Damaged,
    Fenced,
    NewConversation,
    StorageUnavailable,
    Store,
)
from turnwire.stores.conversation_list import Wanted
from turnwire.stores.sqlite import SqliteStore
from turnwire.stores.sqlite.commit import CommitJob
from turnwire.stores.sqlite.connection import connect
from turnwire.stores.sqlite.nodes import ABANDONED, OVERDUE
from turnwire.stores.sqlite.rows import find_conversations, find_inbox_item
from turnwire.stores.sqlite.schema import migrate
from turnwire.testing import StoreBroken, check_store
from turnwire.testing.store_samples import TRACE, a_message, at, begin


def in_store(path: Path, work: Callable[[SqliteStore], Awaitable[None]], **options: Any) -> None:
    """Run this with an open store."""

    async def run() -> None:
        store = await SqliteStore.open(path, **options)
        try:
            await work(store)
        finally:
            await store.close()

    asyncio.run(run())


# --- the promises of the port -------------------------------------------------------------------


def test_the_checks_can_be_run_together(tmp_path: Path) -> None:
    numbers = iter(range(100))

    async def make() -> Store:
        return await SqliteStore.open(tmp_path / f"{next(numbers)}.db")

    asyncio.run(check_store(make, open_copy=SqliteStore.open))


class _Forgetful(SqliteStore):
    async def audit(self, **where: Any) -> list[Any]:
        return []

    async def put_blob(self, *blob: Any, **more: Any) -> None:
        raise OSError("no blobs here")


def test_a_broken_store_gets_the_name_of_the_failed_check(tmp_path: Path) -> None:
    numbers = iter(range(100))

    async def make() -> Store:
        return await _Forgetful.open(tmp_path / f"{next(numbers)}.db")

    with pytest.raises(StoreBroken) as broken:
        asyncio.run(check_store(make))
    missing = "the audit trail only grows: broken promise: the audit trail has all actions in order"
    assert missing in str(broken.value)
    assert "blobs are kept: raised OSError('no blobs here')" in str(broken.value)


# --- the file -----------------------------------------------------------------------------------


def test_only_its_owner_may_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def look(store: SqliteStore) -> None:
        await begin(store)
        check()

    def check() -> None:
        files = list(tmp_path.iterdir())
        assert len(files) == 4, "the database, what is written ahead, and the ballast"
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}

    in_store(path, look)
    assert [file.name for file in tmp_path.iterdir()] == ["log.db"]


def test_a_store_that_is_opened_again_has_its_entries(tmp_path: Path) -> None:
    epochs = []

    async def write(store: SqliteStore) -> None:
        epochs.append(store.epoch)
        await (await begin(store)).say("hello")

    async def read(store: SqliteStore) -> None:
        epochs.append(store.epoch)
        assert [e.entry for e in await store.entries("c")] == [a_message("hello")]

    in_store(tmp_path / "log.db", write)
    in_store(tmp_path / "log.db", read)
    assert epochs[0] == epochs[1]


def test_a_missing_folder_is_named_in_the_error(tmp_path: Path) -> None:
    async def nothing(store: SqliteStore) -> None: ...

    with pytest.raises(StorageUnavailable, match="cannot be opened"):
        in_store(tmp_path / "missing" / "log.db", nothing)


def test_a_file_that_is_no_database_is_said(tmp_path: Path) -> None:
    (tmp_path / "log.db").write_text("Dear diary, today I was not a database. " * 100)

    async def nothing(store: SqliteStore) -> None: ...

    with pytest.raises(StorageUnavailable, match="cannot be used"):
        in_store(tmp_path / "log.db", nothing)


def test_a_closed_store_refuses_calls(tmp_path: Path) -> None:
    async def run() -> None:
        store = await SqliteStore.open(tmp_path / "log.db")
        talk = await begin(store)
        await store.close()
        await store.close()
        with pytest.raises(StorageUnavailable, match="closed"):
            await talk.say("late")
        with pytest.raises(StorageUnavailable, match="closed"):
            await store.conversation("c")

    asyncio.run(run())


def test_closing_completes_pending_commits(tmp_path: Path) -> None:
    async def write(store: SqliteStore) -> None:
        talk = await begin(store)
        late = asyncio.ensure_future(talk.say("just in time"))
        await asyncio.sleep(0)  # it has begun, and waits for the disk
        await store.close()
        await late

    in_store(tmp_path / "log.db", write)
    assert rows_of(tmp_path / "log.db", "SELECT count(*) FROM messages") == [(1,)]


def test_a_backup_does_not_replace_a_file(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")

    async def copy(store: SqliteStore) -> None:
        with pytest.raises(FileExistsError):
            await store.backup(str(tmp_path / "precious"))
        await store.backup(str(tmp_path / "copy.db"))

    in_store(tmp_path / "log.db", copy)
    assert (tmp_path / "precious").read_text() == "mine"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["copy.db", "log.db", "precious"]


# --- the rows -----------------------------------------------------------------------------------


def _entry(role: Any, *parts: MessagePart, **known: Any) -> Message:
    return Message("c:1", role, [*parts], at(), meta_of("c:1", **known))


def _call(name: str) -> ToolCallPart:
    return ToolCallPart(ToolCallPayload("t", name, {}))


@pytest.mark.parametrize(
    ("entry", "role", "kind"),
    [
        (a_message("hi", "user"), "user", "text"),
        (a_message("hi"), "assistant", "text"),
        (_entry("assistant", ThinkingPart(ThinkingPayload("hm"))), "assistant", "text"),
        (_entry("assistant", _call("Bash")), "assistant", "tool_call"),
        (_entry("assistant", _call("AskUserQuestion")), "assistant", "input_request"),
        (_entry("assistant", _call("mcp__x__request_input")), "assistant", "input_request"),
        (
            _entry("tool", ToolResultPart(ToolResultPayload("t", False, "ok"))),
            "tool",
            "tool_result",
        ),
        (_entry("system", message_type="permission_request"), "system", "permission_request"),
        (_entry("system", message_type="request_resolved"), "system", "request_resolved"),
        (_entry("system", message_type="interrupted"), "system", "interrupted"),
        (_entry("system", message_type="rewind"), "system", "rewind"),
        (_entry("system", message_type="system"), "system", "text"),
        (_entry("assistant"), "assistant", "text"),
    ],
)
def test_a_row_names_the_kind_of_its_entry(
    tmp_path: Path, entry: Message, role: str, kind: str
) -> None:
    async def write(store: SqliteStore) -> None:
        talk = await begin(store)
        await talk.commit(talk.prepare(AddEntry(1, entry, 1, TRACE)))

    in_store(tmp_path / "log.db", write)
    found = rows_of(tmp_path / "log.db", "SELECT role, message_type FROM messages")
    assert found == [(role, kind)]


def test_a_row_keeps_the_agents_own_message_and_its_uuid(tmp_path: Path) -> None:
    thought = _entry("assistant", ThinkingPart(ThinkingPayload("hm")), uuid="u-1")

    async def write(store: SqliteStore) -> None:
        talk = await begin(store)
        raw = Raw(b'{"type":"assistant","api_key":"hunter2"}')
        long = Raw(b'{"type":"user","text":"' + b"x" * 200 + b'"}')
        await talk.commit(
            talk.prepare(
                AddEntry(1, thought, 1, TRACE, raw),
                AddEntry(2, a_message("hi"), 1, TRACE, long),
                AddEntry(3, a_message("hi"), 1, TRACE),
                AddEntry(4, thought, 1, TRACE),
            )
        )

    in_store(tmp_path / "log.db", write, raw_limit=100)
    columns = "metadata_json ->> 'thinking', metadata_json -> 'raw_event', uuid"
    found = rows_of(tmp_path / "log.db", f"SELECT {columns} FROM messages ORDER BY sequence_num")
    assert found[0] == (1, '{"type":"assistant","api_key":"[redacted]"}', "u-1")
    assert found[1][1].startswith('{"payload_preview":"{\\"type\\":\\"user\\"')
    assert found[1][1].endswith(',"raw_size":225}')
    assert found[2] == (None, None, None)
    assert found[3] == (1, None, "u-1")


def test_the_audit_trail_cannot_be_changed_by_hand(tmp_path: Path) -> None:
    async def write(store: SqliteStore) -> None:
        await store.note("connected", at=at())

    in_store(tmp_path / "log.db", write)
    for statement in ("UPDATE audit SET by = 'other'", "DELETE FROM audit"):
        with pytest.raises(apsw.ConstraintError, match="append-only"):
            rows_of(tmp_path / "log.db", statement)


def test_the_queue_lives_in_the_state(tmp_path: Path) -> None:
    async def write(store: SqliteStore) -> None:
        talk = await begin(store)
        queued = structs.replace(talk.state, queue=[Waiting(QueueItem("q-1", []), TRACE)])
        await talk.commit(talk.prepare(state=queued))

    in_store(tmp_path / "log.db", write)
    path = "state_json ->> '$.queue[0].item.queue_id'"
    assert rows_of(tmp_path / "log.db", f"SELECT {path} FROM conversations") == [("q-1",)]


def test_a_commit_that_has_to_be_written_again_is_indexed_once(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    commits: list[Commit] = []

    async def prepare(store: SqliteStore) -> None:
        for name in ("a", "b"):
            talk = await begin(store, name)
            commits.append(talk.prepare(*talk.entries("word")))

    in_store(path, prepare)
    connection = connect(str(path), busy_ms=0, writes=True)
    db = connection.cursor()
    first, second = (CommitJob(commit, raw_limit=0) for commit in commits)
    db.execute("BEGIN")
    first.run(db)
    second.run(db)
    db.execute("ROLLBACK")
    second.run(db)  # now it has the number that the other one had
    second.settle(db)
    assert list(db.execute("SELECT rowid FROM search")) == [(1,)]
    connection.close()


# --- many at once -------------------------------------------------------------------------------


def test_a_cancelled_commit_is_written_as_a_whole_or_not_at_all(
    tmp_path: Path,
) -> None:
    async def work(store: SqliteStore) -> None:
        talk = await begin(store)
        task = asyncio.ensure_future(store.commit(talk.prepare(*talk.entries("a", "b"))))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await begin(store, "d")  # is written after it
        row = await store.conversation("c")
        assert row is not None
        assert row.head == len(await store.entries("c")) == 2

    in_store(tmp_path / "log.db", work)


def test_reads_do_not_wait_for_a_writer(tmp_path: Path) -> None:
    async def work(store: SqliteStore) -> None:
        talk = await begin(store)
        await talk.say("before")
        other = apsw.Connection(str(tmp_path / "log.db"))
        other.execute("BEGIN IMMEDIATE")  # no other process can write now
        late = asyncio.ensure_future(talk.say("after"))
        assert len(await store.entries("c")) == 1
        assert len(await store.conversations()) == 1
        other.execute("ROLLBACK")
        other.close()
        await late
        assert len(await store.entries("c")) == 2

    in_store(tmp_path / "log.db", work)


def test_a_writer_that_waits_too_long_says_so_and_can_try_again(tmp_path: Path) -> None:
    async def work(store: SqliteStore) -> None:
        talks = [await begin(store, name) for name in "abc"]
        other = apsw.Connection(str(tmp_path / "log.db"))
        other.execute("BEGIN IMMEDIATE")
        late = [store.commit(talk.prepare(*talk.entries("x"))) for talk in talks]
        for failed in await asyncio.gather(*late, return_exceptions=True):
            assert isinstance(failed, StorageUnavailable)
            assert failed.retryable
        other.execute("ROLLBACK")
        other.close()
        for talk in talks:
            await talk.say("y")

    in_store(tmp_path / "log.db", work, busy_seconds=0.01)


def test_two_stores_on_one_file_have_one_owner(tmp_path: Path) -> None:
    async def work(one: SqliteStore) -> None:
        two = await SqliteStore.open(tmp_path / "log.db")
        try:
            talk = await begin(one)
            claim = await two.claim("c", "two", now=10**15, lease=1)
            with pytest.raises(Fenced):
                await talk.say("late")
            assert claim.fence == talk.claim.fence + 1
            assert two.epoch == one.epoch
        finally:
            await two.close()

    in_store(tmp_path / "log.db", work)


def test_commits_come_from_several_event_loops(tmp_path: Path) -> None:
    async def work(store: SqliteStore) -> None:
        def elsewhere(name: str) -> None:
            async def speak() -> None:
                talk = await begin(store, name)
                for number in range(20):
                    await talk.say(str(number))

            asyncio.run(speak())

        await asyncio.gather(*(asyncio.to_thread(elsewhere, f"c{n}") for n in range(4)))
        for number in range(4):
            assert len(await store.entries(f"c{number}")) == 20

    in_store(tmp_path / "log.db", work)


def test_a_reader_that_met_damage_sees_later_entries(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def work(store: SqliteStore) -> None:
        await store.create(NewConversation("broken", "demo", at(1)))
        db = apsw.Connection(str(path))
        db.execute("UPDATE conversations SET state_json = '{'")
        db.close()
        with pytest.raises(Damaged) as damage:
            await store.conversation("broken")
        await store.create(NewConversation("whole", "demo", at(2)))
        assert await store.conversation("whole") is not None
        assert damage.value.message  # the error keeps its cause

    in_store(path, work, readers=1)


def test_an_item_of_the_inbox_is_looked_up_and_not_looked_for(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def make(store: SqliteStore) -> None:
        await begin(store)

    in_store(path, make)
    db = connect(str(path), busy_ms=0, writes=False)
    asked: list[str] = []
    db.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: asked.append(event["sql"]))
    assert find_inbox_item(db, "inbox-1", "ann") is None
    db.trace_v2(0, None)
    [sql] = asked
    plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", ("inbox-1", "ann"))]
    db.close()
    assert plan[0].startswith("SEARCH i USING INDEX inbox_items_by_id")
    assert all(step.startswith("SEARCH") for step in plan), plan


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("activity", [None, "waiting_input"])
@pytest.mark.parametrize("others", [None, "a"])
def test_a_list_of_one_group_reads_no_other_conversations(
    tmp_path: Path, others: str | None, activity: Activity | None, pinned: bool
) -> None:
    db = apsw.Connection(str(tmp_path / "log.db"))
    migrate(db)
    asked: list[str] = []
    db.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: asked.append(event["sql"]))
    find_conversations(db, Wanted(others, False, pinned, others, others, activity, 50, 50))
    db.trace_v2(0, None)
    values = (False, others, others, others, activity, 50, 50)
    plan = [str(row[3]) for row in db.execute(f"EXPLAIN QUERY PLAN {asked[0]}", values)]
    db.close()
    found = [line for line in plan if line.startswith(("SCAN c", "SEARCH c"))]
    index = "conversations_pinned (archived=?)"
    if not pinned:
        index = "conversations_by_activity (archived=? AND activity=?)"
    groups = 1 if pinned or activity else len(get_args(Activity))
    assert found == [f"SEARCH c USING INDEX {index}"] * groups, plan
    sorts = [line for line in plan if "ORDER BY" in line]
    assert sorts == ["USE TEMP B-TREE FOR group_concat(ORDER BY)"], "only of the rows of the page"


def test_a_search_reads_no_more_than_a_bounded_amount_for_its_snippets(tmp_path: Path) -> None:
    text = "needle " + "x" * 60_000

    async def look(store: SqliteStore) -> None:
        talk = await begin(store)
        for _ in range(4):
            await talk.say(*[text] * 20)
        hits = await store.search("needle", limit=100)
        assert [hit.sequence for hit in hits] == list(range(80, 0, -1))
        shown = [bool(hit.snippet) for hit in hits]
        assert shown == sorted(shown, reverse=True)  # the newest ones
        assert 4_000_000 < sum(shown) * len(text) < 4_400_000
        assert all(hit.timestamp for hit in hits)

    in_store(tmp_path / "log.db", look)


def test_an_index_finds_what_dead_nodes_have_left(tmp_path: Path) -> None:
    db = apsw.Connection(str(tmp_path / "log.db"))
    migrate(db)
    for sql, values, index in [
        (ABANDONED, (0, "", "[]", 8), "conversations_of_owner"),
        (OVERDUE, ("2026", 0, "", "[]", 8), "requests_by_deadline"),
    ]:
        plan = [str(row[3]) for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
        assert any(index in line for line in plan), plan
        assert not [line for line in plan if line.startswith(("SCAN c", "SCAN r"))], plan
    db.close()
