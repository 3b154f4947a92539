"""A repair says what was lost, invents nothing, and leaves alone what a live process works on."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import apsw
import pytest
from msgspec import structs

from tests.engine.watching import Watcher, engine_on
from tests.rights import like_everybody
from tests.stores.files import rows_of
from tests.stores.logs import broken_rules_of_replay, make_log
from tests.stores.test_fsck import entries_of, harm, kinds, look, now, repair
from turnwire.agents.demo import DemoAgent
from turnwire.core.conversation.effects import AddEntry, EndTurn, Write
from turnwire.core.conversation.state import Conversation
from turnwire.core.message import (
    BlobRef,
    ImagePart,
    ImagePayload,
    Message,
    TextPart,
    TextPayload,
    ToolCallPart,
    ToolResultPart,
    known_meta,
    meta_of,
    to_json,
)
from turnwire.core.status import TurnEnd
from turnwire.dialects.v2 import frames as f
from turnwire.ports import NewConversation, StorageUnavailable
from turnwire.stores.sqlite import SqliteStore
from turnwire.stores.sqlite.connection import connect
from turnwire.stores.sqlite.fsck import check
from turnwire.stores.sqlite.schema import NEWEST, migrate
from turnwire.testing.store_samples import TRACE, at, begin


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "log.db"
    make_log(path)
    return path


@pytest.fixture
def path(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(sound, tmp_path / "log.db"))


def lose(path: Path, name: str, *numbers: int) -> None:
    listed = ", ".join(map(str, numbers))
    where = f"conversation_id = '{name}' AND sequence_num IN ({listed})"
    harm(path, f"DELETE FROM messages WHERE {where}")


def epoch(path: Path) -> str:
    [(value,)] = rows_of(path, "SELECT value FROM meta WHERE name = 'epoch'")
    return str(value)


def result_of(entry: Message) -> ToolResultPart:
    [part] = entry.parts
    assert isinstance(part, ToolResultPart)
    return part


# --- what a repaired log says -------------------------------------------------------------------


def test_lost_entries_say_so_in_their_place(path: Path) -> None:
    before = {stored.sequence: stored.entry for stored in entries_of(path)}
    lose(path, "talk", 4, 5, 8)
    repair(path)
    after = {stored.sequence: stored.entry for stored in entries_of(path)}
    assert {n: after[n] for n in after if n not in (4, 5, 8)} == {
        n: before[n] for n in before if n not in (4, 5, 8)
    }, "nothing else has changed"
    for number, told in ((4, (4, 5)), (5, (4, 5)), (8, (8, 8))):
        meta = known_meta(after[number])
        assert (meta.message_type, meta.data["subtype"]) == ("system", "entries_lost")
        assert (meta.data["first"], meta.data["last"]) == told
    [part] = after[8].parts
    assert isinstance(part, TextPart)
    assert part.payload.text == "Entry 8 was lost."


def test_a_lost_result_is_an_error_in_its_own_turn(path: Path) -> None:
    lose(path, "talk", 7)
    repair(path)
    stored = entries_of(path)
    results = [s for s in stored if isinstance(s.entry.parts[0], ToolResultPart)]
    lost = [s for s in results if "was lost" in str(result_of(s.entry).payload.content)]
    [only] = lost
    assert result_of(only.entry).payload.is_error
    assert only.turn_id == 1
    ends = rows_of(path, "SELECT after_sequence FROM turns WHERE conversation_id = 'talk'")
    assert ends == [(21,), (27,), (34,), (36,)], "the result stands before the end of its turn"
    assert only.sequence == 21


def test_a_lost_call_is_not_made_up(path: Path) -> None:
    lose(path, "talk", 6)
    repair(path)
    [part] = entries_of(path)[5].entry.parts
    assert isinstance(part, ToolCallPart)
    assert part.payload.tool_name == "lost"
    assert list(part.payload.arguments) == ["lost"]


def test_an_end_that_was_lost_is_an_error(path: Path) -> None:
    harm(path, "DELETE FROM turns WHERE conversation_id = 'talk' AND turn_id = 4")
    repair(path)

    async def read() -> None:
        store = await SqliteStore.open(path)
        last = (await store.turns("talk"))[-1]
        row = await store.conversation("talk")
        await store.close()
        assert last.end.error is not None
        assert (last.end.is_error, last.end.interrupted, last.end.error.code) == (
            True,
            False,
            "end_lost",
        )
        assert row is not None
        assert (row.state.state, row.state.last_turn) == ("error", last.end)

    asyncio.run(read())


def test_a_question_whose_entry_was_lost_is_put_back_and_can_be_answered(path: Path) -> None:
    [(asked,)] = rows_of(path, "SELECT request_id FROM requests WHERE outcome IS NULL")
    lose(path, "asks", 4)
    found = look(path)
    assert "gap" in kinds(found)
    repair(path)

    async def answer() -> None:
        async with engine_on(path, agent=DemoAgent(delay=0)) as engine:
            talk = await engine.open("asks")
            async with Watcher(talk) as seen:
                await talk.answer(asked, "Blue")
                await seen.until(f.AssistantComplete)

    asyncio.run(answer())
    assert not broken_rules_of_replay(path, "asks")
    assert not look(path).findings


def test_what_was_large_keeps_its_beginning(path: Path) -> None:
    harm(path, "DELETE FROM blobs")
    repair(path)
    [part] = entries_of(path, "large")[0].entry.parts
    assert isinstance(part, TextPart)
    assert part.payload.text == "word word\n[The rest of this was lost.]"
    assert part.payload.blob is None


PNG = b"\x89PNG\r\n\x1a\n and the rest of it"


async def _add_picture(path: Path, ref: BlobRef, mime_type: str, *, fork: bool = False) -> None:
    """A conversation with a picture, whose entry says this of it."""
    store = await SqliteStore.open(path)
    talk = await begin(store, "pictured")
    await store.put_blob(ref.blob_id, PNG, "image/png", at=at())
    entry = Message(
        "pictured:1",
        "user",
        [ImagePart(ImagePayload(mime_type, None, None, ref))],
        at(),
        meta_of("pictured:1"),
    )
    end = TurnEnd(False, False, after_sequence=1)
    writes: list[Write] = [AddEntry(1, entry, 1, TRACE), EndTurn(1, TRACE, end)]
    state = structs.replace(talk.state, turns=1, last_turn=end, last_turn_id=1)
    await talk.commit(talk.prepare(*writes, state=state))
    await store.release(talk.claim)
    if fork:
        state = Conversation("fork", head=1, turns=1, last_turn=end, last_turn_id=1)
        new = NewConversation("fork", "demo", at(), state=state, parent_id="pictured", forked_at=1)
        await store.fork(new)
    await store.close()


def _picture(path: Path, name: str = "pictured") -> ImagePart:
    [part] = entries_of(path, name)[0].entry.parts
    assert isinstance(part, ImagePart)
    return part


@pytest.mark.parametrize(
    ("mime_type", "told", "size"),
    [("image/*", "image/*", 0), ("image/png", "image/png", 7), ("text/html", "text/html", 1 << 40)],
)
def test_a_picture_survives_a_repair_whatever_its_reference_says(
    path: Path, mime_type: str, told: str, size: int
) -> None:
    asyncio.run(_add_picture(path, BlobRef("p-1", told, size), mime_type, fork=True))
    assert kinds(look(path)) == {"blob_ref_wrong"}
    assert not repair(path).left
    for name in ("pictured", "fork"):
        shown = _picture(path, name).payload
        assert shown.mime_type == "image/png"
        assert shown.blob == BlobRef("p-1", "image/png", len(PNG))
    assert rows_of(path, "SELECT data FROM blobs WHERE blob_id = 'p-1'") == [(PNG,)]
    [(parent,)] = rows_of(
        path, "SELECT parent_id FROM conversations WHERE conversation_id = 'fork'"
    )
    assert parent == "pictured"
    assert not look(path).findings


def test_the_bytes_of_a_damaged_picture_are_kept(path: Path) -> None:
    asyncio.run(_add_picture(path, BlobRef("p-1", "image/png", len(PNG)), "image/png"))
    harm(path, "UPDATE blobs SET data = x'00ff' WHERE blob_id = 'p-1'")
    assert not repair(path).left
    [part] = entries_of(path, "pictured")[0].entry.parts
    assert part == TextPart(TextPayload("[A picture was lost.]"))
    kept = rows_of(path, "SELECT data FROM blobs WHERE blob_id = 'p-1'")
    assert kept == [(b"\0\xff",)]
    harm(path, "UPDATE blobs SET created_at = '2000-01-01T00:00:00.000Z'")
    harm(path, "UPDATE conversations SET head = 0 WHERE conversation_id = 'pictured'")
    assert not repair(path).left  # another repair does not take it for unused
    assert rows_of(path, "SELECT data FROM blobs WHERE blob_id = 'p-1'") == kept


@pytest.mark.parametrize(
    ("statement", "place", "content"),
    [
        (
            "UPDATE messages SET message_json = '{\"half' WHERE conversation_id = 'talk'"
            " AND sequence_num = 4",
            "entry 4",
            '{"half',
        ),
        (
            "UPDATE conversations SET state_json = '{\"queue\": [precious' WHERE"
            " conversation_id = 'talk'",
            "state",
            '{"queue": [precious',
        ),
        (
            "UPDATE turns SET end_json = '{precious' WHERE conversation_id = 'talk'"
            " AND turn_id = 2",
            "turn 2",
            "{precious",
        ),
    ],
    ids=["entry", "state", "turn"],
)
def test_what_cannot_be_read_is_set_aside(
    path: Path, statement: str, place: str, content: str
) -> None:
    harm(path, statement)
    assert not repair(path).left
    kept = rows_of(path, "SELECT conversation_id, place, content FROM set_aside")
    assert kept == [("talk", place, content)]


def test_what_leaves_the_queue_is_set_aside(path: Path) -> None:
    harm(
        path,
        "UPDATE conversations SET state_json = json_insert(state_json, '$.queue[#]',"
        " json_set(state_json -> '$.queue[0]', '$.item.content[0].text', 'precious'))"
        " WHERE conversation_id = 'asks'",
    )
    assert kinds(look(path)) == {"queue_wrong"}
    assert not repair(path).left
    [(content,)] = rows_of(path, "SELECT content FROM set_aside")
    assert "precious" in content


def test_an_entry_of_another_turn_is_kept_in_a_note(path: Path) -> None:
    harm(
        path,
        "UPDATE messages SET message_json = (SELECT message_json FROM messages WHERE"
        " conversation_id = 'talk' AND sequence_num = 4) WHERE conversation_id = 'talk'"
        " AND sequence_num = 35",
    )
    moved = to_json(entries_of(path)[3].entry)
    assert not repair(path).left
    told = entries_of(path)[34].entry.meta["data"]
    assert told["subtype"] == "entry_misplaced"
    assert told["entry"] == moved


def test_an_acknowledged_message_that_was_lost_can_be_sent_again(path: Path) -> None:
    lose(path, "talk", 34, 35)
    repaired = repair(path)
    assert "receipt m-4" in [finding.place for finding in repaired.findings]

    async def send() -> None:
        async with engine_on(path, agent=DemoAgent(delay=0)) as engine:
            talk = await engine.open("talk")
            async with Watcher(talk) as seen:
                again = await talk.send("hi", user="ann", client_message_id="m-4")
                assert not again.duplicate
                known = await talk.send("question", user="ann", client_message_id="m-2")
                assert known.duplicate
                await seen.until(f.AssistantComplete)

    asyncio.run(send())


def test_the_audit_trail_tells_what_was_repaired(path: Path) -> None:
    lose(path, "talk", 4)
    repair(path)
    told = rows_of(
        path,
        "SELECT by, json_extract(data_json, '$.kind'), json_extract(data_json, '$.place')"
        " FROM audit WHERE action = 'repaired' AND conversation_id = 'talk'",
    )
    assert told == [("fsck", "gap", "entry 4")]


def test_who_has_read_what_was_changed_has_to_begin_again(path: Path) -> None:
    before = epoch(path)
    harm(path, "UPDATE conversations SET unsettled = 0", "DELETE FROM blob_uses")
    repair(path)
    assert epoch(path) == before, "the log is as it was"
    lose(path, "talk", 4)
    repair(path)
    assert epoch(path) != before


# --- owners -------------------------------------------------------------------------------------


def test_what_a_live_process_works_on_is_left_alone(path: Path) -> None:
    lose(path, "talk", 4)
    owned = f"owner = 'host:1:x', lease_until = {now() + 60_000}"
    harm(path, f"UPDATE conversations SET {owned} WHERE conversation_id = 'talk'")
    assert "stale_owner" not in kinds(look(path))
    repaired = look(path, repair=True)
    [gap] = [finding for finding in repaired.left if finding.kind == "gap"]
    assert gap.left == "A live process uses it: stop that process first."
    died = look(path, repair=True, has_died=lambda owner: owner == "host:1:x")
    assert not died.left
    assert kinds(died) >= {"stale_owner", "gap"}
    assert rows_of(path, "SELECT owner FROM conversations WHERE conversation_id = 'talk'") == [
        (None,)
    ]


def test_a_running_engine_is_not_disturbed_and_nothing_is_found(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def scene() -> None:
        async with engine_on(path) as engine:
            talk = await engine.create("demo", options={"delay": 0.001})
            async with Watcher(talk) as seen:
                for done, prompt in enumerate(("think tool subagent", "long", "plan tool")):
                    await talk.send(prompt)
                    while len(seen.of(f.AssistantComplete)) == done:
                        report = await asyncio.to_thread(check, path, now=now(), repair=True)
                        assert not report.findings
                    await seen.until(f.AssistantComplete)

    asyncio.run(scene())


def test_a_turn_whose_process_was_killed_is_ended_as_an_engine_would(path: Path) -> None:
    state = (
        "'$.state', 'streaming', '$.turns', 5, '$.turn', json('{\"turn_id\":5,\"trace_id\":"
        '"0af7651916cd43dd8448eb211c80319c","origin":"agent","phase":"running"}\'),'
        " '$.traces', json('{\"5\":\"0af7651916cd43dd8448eb211c80319c\"}')"
    )
    harm(
        path,
        f"UPDATE conversations SET state_json = json_set(state_json, {state}), unsettled = 1,"
        " owner = 'gone', lease_until = 1 WHERE conversation_id = 'talk'",
        "INSERT INTO turns (conversation_id, turn_id, trace_id, origin) VALUES"
        " ('talk', 5, '0af7651916cd43dd8448eb211c80319c', 'agent')",
        "INSERT INTO partials (conversation_id, place, start, message_id, block_index, kind, text)"
        " VALUES ('talk', 0, 0, 'm', 0, 'text', 'Once '), ('talk', 0, 5, 'm', 0, 'text', 'upon')",
    )
    assert kinds(look(path)) == {"stale_owner"}
    repair(path)
    *_, shown, last = entries_of(path)
    assert shown.entry.parts == [TextPart(TextPayload("Once upon"))]
    assert known_meta(shown.entry).aborted
    assert rows_of(path, "SELECT * FROM partials") == []
    assert known_meta(last.entry).message_type == "interrupted"
    assert last.turn_id == 5


# --- the file -----------------------------------------------------------------------------------


def test_an_index_that_lacks_a_row_is_built_again(path: Path) -> None:
    name = "audit_of_conversation"
    [saved] = rows_of(path, "SELECT * FROM sqlite_schema WHERE name = ?", name)
    _write_schema(path, "DELETE FROM sqlite_schema WHERE name = ?", name)
    harm(path, "INSERT INTO audit (at, action, data_json) VALUES ('', 'x', '{}')")
    _write_schema(path, "INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", *saved)
    found = look(path)
    assert kinds(found) == {"file_damaged"}
    assert name in found.findings[0].what
    repair(path)


def _write_schema(path: Path, statement: str, *values: object) -> None:
    db = apsw.Connection(str(path))
    db.pragma("writable_schema", True)
    db.execute(statement, values)
    db.close()


def test_a_damaged_search_index_is_built_again(path: Path) -> None:
    harm(path, "UPDATE search_data SET block = zeroblob(length(block)) WHERE id > 10")
    assert "file_damaged" in kinds(look(path))
    repair(path)


def test_a_file_that_is_no_database_cannot_be_repaired(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    path.write_bytes(b"something else entirely" * 1000)
    found = look(path)
    assert kinds(found) == {"file_damaged"}
    [finding] = look(path, repair=True).left
    assert finding.left == "It cannot be repaired. Restore a backup."
    assert path.read_bytes() == b"something else entirely" * 1000


def test_a_file_that_was_cut_short_is_found_out(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)
    report = look(path)
    assert "file_damaged" in kinds(report)
    assert any(finding.left for finding in look(path, repair=True).left)


def test_there_must_be_a_file(tmp_path: Path) -> None:
    with pytest.raises(StorageUnavailable, match="does not exist"):
        look(tmp_path / "log.db")
    assert not list(tmp_path.iterdir())


def test_an_older_file_is_brought_up_to_date_by_a_repair(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    old = connect(str(path), busy_ms=0, writes=True)
    migrate(old, to=NEWEST - 1)
    old.close()
    assert kinds(look(path)) == {"schema_old"}
    assert kinds(look(path)) == {"schema_old"}
    assert not look(path, repair=True).left
    assert not look(path).findings


def test_a_newer_file_is_refused(path: Path) -> None:
    harm(path, f"UPDATE meta SET value = {NEWEST + 1} WHERE name = 'schema_version'")
    with pytest.raises(StorageUnavailable, match="Update Turnwire"):
        look(path)


def test_a_file_that_may_not_be_read_is_no_damage(path: Path) -> None:
    path.chmod(0)
    with like_everybody(), pytest.raises(StorageUnavailable, match="unable to open"):
        look(path)
