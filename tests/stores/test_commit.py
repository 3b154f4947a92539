"""A commit in the tables: the content of each row, and no row of a refused commit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from tests.stores.helpers.sql import rows_of
from turnwire.core.content import Blob, ImageContent, TextContent
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
from turnwire.core.message import meta_of
from turnwire.core.message_codec import decode_message
from turnwire.core.status import QueueItem, TurnEnd
from turnwire.core.usage import Usage
from turnwire.ports import Commit, Conflict, Fenced, Receipt
from turnwire.stores.entry_row import json_of_entry
from turnwire.stores.sqlite import SqliteStore
from turnwire.stores.sqlite.commit import CommitJob
from turnwire.testing.store_samples import (
    TRACE,
    Writing,
    a_large_message,
    a_message,
    a_request,
    at,
    begin,
)


class Scene:
    """A conversation of ann in a file with an older one of bob."""

    def __init__(self, path: Path, store: SqliteStore, talk: Writing) -> None:
        self.store = store
        self.talk = talk
        self._path = path

    async def write(self, *writes: Write, **more: Any) -> None:
        await self.talk.commit(self.talk.prepare(*writes, **more))

    def rows(self, statement: str) -> list[Any]:
        return rows_of(self._path, statement)

    def tables(self) -> dict[str, list[Any]]:
        """Returns the content of all tables."""
        names = self.rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        return {name: self.rows(f"SELECT * FROM {name}") for (name,) in names}


def with_talk(path: Path, test: Callable[[Scene], Awaitable[None]]) -> None:
    async def run() -> None:
        store = await SqliteStore.open(path)
        try:
            await begin(store, "b", user="bob")
            await test(Scene(path, store, await begin(store, user="ann")))
        finally:
            await store.close()

    asyncio.run(run())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


# --- the fence and the numbers --------------------------------------------------------------------


def refused(talk: Writing) -> list[tuple[Commit, type[Exception]]]:
    """Commits that each have one thing wrong with them."""
    entry = talk.entries("lost")
    good = talk.prepare(*entry, Audit("asked", "ann", {}), Spend(1, 1.0), state=talk.state)

    def claimed(**wrong: Any) -> Commit:
        return structs.replace(good, claim=structs.replace(talk.claim, **wrong))

    def numbered(head: int, *numbers: int) -> Commit:
        writes: list[Write] = [AddEntry(n, a_message("x"), 1, TRACE) for n in numbers]
        return structs.replace(good, state=structs.replace(talk.state, head=head), writes=writes)

    return [
        (claimed(fence=talk.claim.fence - 1), Fenced),
        (claimed(fence=talk.claim.fence + 1), Fenced),
        (claimed(conversation_id="unknown"), Fenced),
        (numbered(talk.state.head + 2, talk.state.head + 2), Conflict),
        (numbered(talk.state.head, talk.state.head), Conflict),
        (numbered(talk.state.head + 1), Conflict),
        (numbered(talk.state.head - 1), Conflict),
        (talk.prepare(*entry, EndRequest("toolu_1", "answered", "ann")), Conflict),
        (talk.prepare(*entry, receipt=Receipt("ann", "m-1", b"other", b"{}")), Conflict),
    ]


def test_a_refused_commit_changes_no_table(path: Path) -> None:
    async def test(scene: Scene) -> None:
        talk = scene.talk
        receipt = Receipt("ann", "m-1", b"digest", b"{}")
        await scene.write(*talk.entries("one", "two"), receipt=receipt)
        before = scene.tables()
        for commit, error in refused(talk):
            with pytest.raises(error):
                await scene.store.commit(commit)
            assert scene.tables() == before
        await talk.say("three")
        assert scene.tables() != before

    with_talk(path, test)


def test_a_fenced_commit_names_the_valid_fence(path: Path) -> None:
    async def test(scene: Scene) -> None:
        old, talk = scene.talk.claim, scene.talk
        new = await scene.store.claim("c", "two", now=10**15, lease=1)
        with pytest.raises(Fenced) as late:
            await talk.say("late")
        assert late.value.data == {"fence": old.fence, "newest": new.fence}
        await scene.store.delete("c")
        with pytest.raises(Fenced) as gone:
            await talk.say("late")
        assert gone.value.data == {"fence": old.fence, "newest": None}

    with_talk(path, test)


def test_a_refused_commit_with_wrong_numbers_names_the_head_of_the_log(path: Path) -> None:
    async def test(scene: Scene) -> None:
        await scene.talk.say("one", "two", "three")
        behind = Writing(scene.store, scene.talk.claim, structs.replace(scene.talk.state, head=1))
        with pytest.raises(Conflict) as wrong:
            await behind.say("again")
        assert wrong.value.data == {"head": 3}

    with_talk(path, test)


def test_facts_must_be_written_and_new_input_may_be_refused(path: Path) -> None:
    async def test(scene: Scene) -> None:
        commit = scene.talk.prepare()
        assert CommitJob(commit, raw_limit=0).must is False
        assert CommitJob(structs.replace(commit, happened=True), raw_limit=0).must is True

    with_talk(path, test)


# --- entries --------------------------------------------------------------------------------------


def test_an_entry_has_its_columns(path: Path) -> None:
    async def test(scene: Scene) -> None:
        known = structs.replace(a_message("one"), meta=meta_of("c:1", uuid="u-1"))
        odd = structs.replace(a_message("two"), meta={**known.meta, "uuid": 7})
        await scene.write(AddEntry(1, known, 1, TRACE), AddEntry(2, odd, None, None), seconds=3)
        columns = "conversation_id, sequence_num, role, uuid, turn_id, trace_id, created_at"
        assert scene.rows(f"SELECT {columns} FROM messages") == [
            ("c", 1, "assistant", "u-1", 1, TRACE, at(3)),
            ("c", 2, "assistant", None, None, None, at(3)),
        ]

    with_talk(path, test)


def test_only_an_entry_with_text_is_in_the_index_under_its_own_number(path: Path) -> None:
    async def test(scene: Scene) -> None:
        empty = structs.replace(a_message(""), parts=[])
        await scene.write(
            AddEntry(1, empty, 1, TRACE),
            AddEntry(2, a_message("word"), 1, TRACE),
            AddEntry(3, empty, 1, TRACE),
        )
        assert scene.rows("SELECT rowid FROM search_docsize") == [(2,)]
        assert [hit.sequence for hit in await scene.store.search("word")] == [2]

    with_talk(path, test)


@pytest.mark.parametrize("text", ["a" * 400_000, "会" * 200_000, "lone \ud83d " * 60_000])
def test_a_long_entry_is_stored_as_a_short_one_and_not_kept(path: Path, text: str) -> None:
    async def test(scene: Scene) -> None:
        [add] = scene.talk.entries(text)
        assert isinstance(add, AddEntry)
        job = CommitJob(scene.talk.prepare(add), raw_limit=0)
        [long] = job._long_entries
        await scene.store._writer.write(job)
        assert scene.rows("SELECT typeof(message_json) FROM messages") == [("text",)]
        [stored] = await scene.store.entries("c")
        assert stored.entry == decode_message(json_of_entry(add.entry))
        assert long.entry is None, "the statement keeps what is bound until it is used again"

    with_talk(path, test)


def test_a_long_entry_is_written_again_where_a_first_attempt_was_rolled_back(path: Path) -> None:
    async def test(scene: Scene) -> None:
        other = await begin(scene.store, "d", user="bob")
        wrong = structs.replace(other.prepare(*other.entries("x")), claim=scene.talk.claim)
        good = scene.store.commit(scene.talk.prepare(*scene.talk.entries("a" * 400_000)))
        done = await asyncio.gather(good, scene.store.commit(wrong), return_exceptions=True)
        assert [type(each) for each in done] == [type(None), Conflict]
        assert scene.rows("SELECT length(message_json) > 400000 FROM messages") == [(1,)]

    with_talk(path, test)


def test_blobs_that_entries_and_waiting_messages_name_are_used_once_each(path: Path) -> None:
    async def test(scene: Scene) -> None:
        talk = scene.talk
        item = QueueItem("q", [ImageContent(blob=Blob("picture")), TextContent('"blobId"')])
        queued = structs.replace(talk.state, queue=[Waiting(item, TRACE)])
        await scene.write(
            AddEntry(1, a_large_message("text"), 1, TRACE),
            AddEntry(2, a_message('no "blobId"'), 1, TRACE),
            AddEntry(3, a_large_message("text"), 1, TRACE),
            state=queued,
        )
        await scene.write()  # the same message waits on
        found = scene.rows("SELECT conversation_id, blob_id FROM blob_uses ORDER BY blob_id")
        assert found == [("c", "picture"), ("c", "text")]

    with_talk(path, test)


# --- turns ----------------------------------------------------------------------------------------


def test_a_turn_names_its_message_and_began_when_it_first_began(path: Path) -> None:
    async def test(scene: Scene) -> None:
        item = QueueItem("q-1", [], "m-1")
        turn = Turn(1, TRACE, "user", "starting", item)
        await scene.write(BeginTurn(turn), seconds=1)
        again = structs.replace(turn, origin="resume", item=None)
        await scene.write(BeginTurn(again), seconds=2)
        await scene.write(BeginTurn(Turn(2, TRACE, "agent", "running")), seconds=3)
        columns = "turn_id, trace_id, origin, queue_id, client_message_id, started_at, ended_at"
        assert scene.rows(f"SELECT {columns} FROM turns") == [
            (1, TRACE, "user", "q-1", "m-1", at(1), None),
            (2, TRACE, "agent", None, None, at(3), None),
        ]

    with_talk(path, test)


def test_the_figures_of_a_turn_are_columns_and_unknown_ones_are_null(path: Path) -> None:
    async def test(scene: Scene) -> None:
        usage = Usage(1, 2, 3, 4)
        full = TurnEnd(False, False, usage=usage, cost_usd=0.5, duration_ms=9, after_sequence=1)
        await scene.write(BeginTurn(Turn(1, TRACE, "user", "starting")), seconds=1)
        await scene.write(*scene.talk.entries("x"), EndTurn(1, TRACE, full), seconds=2)
        await scene.write(EndTurn(2, TRACE, TurnEnd(True, False, origin="agent")), seconds=3)
        columns = (
            "turn_id, origin, started_at, ended_at, after_sequence, input_tokens, output_tokens,"
            "cache_creation_input_tokens, cache_read_input_tokens, cost_usd, duration_ms"
        )
        tokens = (
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_creation_input_tokens,
            usage.cache_read_input_tokens,
        )
        assert scene.rows(f"SELECT {columns} FROM turns") == [
            (1, "user", at(1), at(2), 1, *tokens, 0.5, 9),
            (2, "agent", None, at(3), 0, None, None, None, None, None, None),
        ]
        assert None not in tokens

    with_talk(path, test)


# --- requests, receipts, money, and the trail -----------------------------------------------------


def test_a_request_is_a_row_whose_inbox_item_closes_with_it(path: Path) -> None:
    async def test(scene: Scene) -> None:
        asked = structs.replace(a_request(), deadline_at=at(60))
        await scene.write(OpenRequestRow(asked), seconds=1)
        unnamed = structs.replace(a_request("p-1", "permission"), inbox_item_id=None)
        await scene.write(OpenRequestRow(unnamed), seconds=2)
        await scene.write(EndRequest("toolu_1", "answered", "ann"), seconds=3)
        columns = "request_id, kind, opened_at, deadline_at, outcome, ended_at, ended_by"
        assert scene.rows(f"SELECT {columns} FROM requests ORDER BY opened_at") == [
            ("toolu_1", "question", at(1), at(60), "answered", at(3), "ann"),
            ("p-1", "permission", at(2), None, None, None, None),
        ]
        source = "conversation:c:permission:p-1"  # also its name, where it has none
        columns = "source_id, inbox_item_id, request_id, created_at, closed_at"
        assert scene.rows(f"SELECT {columns} FROM inbox_items ORDER BY created_at") == [
            ("conversation:c:question:toolu_1", "inbox-1", "toolu_1", at(1), at(3)),
            (source, source, "p-1", at(2), None),
        ]

    with_talk(path, test)


def test_a_receipt_is_kept_with_its_time(path: Path) -> None:
    async def test(scene: Scene) -> None:
        await scene.write(receipt=Receipt("ann", "m-1", b"digest", b"{}"), seconds=4)
        assert scene.rows("SELECT * FROM receipts") == [("c", "ann", "m-1", b"digest", "{}", at(4))]

    with_talk(path, test)


def test_the_ledger_names_the_user_of_the_conversation(path: Path) -> None:
    async def test(scene: Scene) -> None:
        await scene.write(Spend(1, 0.25), Spend(None, 0.5), seconds=5)
        columns = "at, conversation_id, user, turn_id, cost_usd"
        assert scene.rows(f"SELECT {columns} FROM ledger") == [
            (at(5), "c", "ann", 1, 0.25),
            (at(5), "c", "ann", None, 0.5),
        ]

    with_talk(path, test)


def test_only_a_commit_that_settles_gives_back_its_own_reservation(path: Path) -> None:
    async def test(scene: Scene) -> None:
        talk, other = scene.talk, await begin(scene.store, "d", user="ann")
        for each in (talk, other):
            await scene.store.reserve(each.claim, lambda *_: 0.5, now=0)
        await scene.write()
        assert len(scene.rows("SELECT * FROM reservations")) == 2
        await talk.commit(structs.replace(talk.prepare(), settles=True))
        assert scene.rows("SELECT conversation_id FROM reservations") == [("d",)]

    with_talk(path, test)


def test_the_trail_has_the_trace_of_the_turn_that_runs_or_ends(path: Path) -> None:
    async def test(scene: Scene) -> None:
        talk = scene.talk
        running = structs.replace(talk.state, turn=Turn(2, "b" * 32, "user", "running"))
        end = EndTurn(1, TRACE, TurnEnd(False, False))
        await scene.write(Audit("nothing runs", None, {}), seconds=1)
        await scene.write(Audit("one ends", "ann", {"a": 1}), end, seconds=2)
        await scene.write(Audit("the next runs", "ann", {}), end, state=running, seconds=3)
        assert scene.rows(
            "SELECT at, action, conversation_id, by, trace_id, data_json FROM audit"
        ) == [
            (at(1), "nothing runs", "c", None, None, "{}"),
            (at(2), "one ends", "c", "ann", TRACE, '{"a":1}'),
            (at(3), "the next runs", "c", "ann", "b" * 32, "{}"),
        ]

    with_talk(path, test)
