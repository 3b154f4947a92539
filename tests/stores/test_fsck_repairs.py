"""A repair reports the loss, invents nothing, and does not touch conversations of a live process."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import apsw
import pytest
from msgspec import structs

from tests.engine.helpers.watcher import Watcher, engine_on
from tests.helpers.privileges import like_everybody
from tests.stores.helpers.fsck_runs import (
    Place,
    entries_of,
    harm,
    kinds,
    look,
    now,
    repair,
    state,
)
from tests.stores.helpers.sample_logs import broken_rules_of_replay
from tests.stores.helpers.sql import rows_of
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
from turnwire.stores.open_store import open_store
from turnwire.stores.sqlite.connection import connect
from turnwire.stores.sqlite.schema import NEWEST, migrate
from turnwire.testing.store_samples import TRACE, at, begin


def lose(place: Place, name: str, *numbers: int) -> None:
    listed = ", ".join(map(str, numbers))
    where = f"conversation_id = '{name}' AND sequence_num IN ({listed})"
    harm(place, f"DELETE FROM messages WHERE {where}")


def epoch(place: Place) -> str:
    [(value,)] = rows_of(place, "SELECT value FROM meta WHERE name = 'epoch'")
    return str(value)


def result_of(entry: Message) -> ToolResultPart:
    [part] = entry.parts
    assert isinstance(part, ToolResultPart)
    return part


# --- the content of a repaired log --------------------------------------------------------------


def test_lost_entries_are_replaced_by_remarks(place: Place) -> None:
    before = {stored.sequence: stored.entry for stored in entries_of(place)}
    lose(place, "talk", 4, 5, 8)
    repair(place)
    after = {stored.sequence: stored.entry for stored in entries_of(place)}
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


def test_a_lost_result_is_an_error_in_its_own_turn(place: Place) -> None:
    lose(place, "talk", 7)
    repair(place)
    stored = entries_of(place)
    results = [s for s in stored if isinstance(s.entry.parts[0], ToolResultPart)]
    lost = [s for s in results if "was lost" in str(result_of(s.entry).payload.content)]
    [only] = lost
    assert result_of(only.entry).payload.is_error
    assert only.turn_id == 1
    ends = rows_of(
        place,
        "SELECT after_sequence FROM turns WHERE conversation_id = 'talk' ORDER BY turn_id",
    )
    assert ends == [(21,), (27,), (34,), (36,)], "the result stands before the end of its turn"
    assert only.sequence == 21


def test_a_lost_call_is_not_invented(place: Place) -> None:
    lose(place, "talk", 6)
    repair(place)
    [part] = entries_of(place)[5].entry.parts
    assert isinstance(part, ToolCallPart)
    assert part.payload.tool_name == "lost"
    assert list(part.payload.arguments) == ["lost"]


def test_an_end_that_was_lost_is_an_error(place: Place) -> None:
    harm(place, "DELETE FROM turns WHERE conversation_id = 'talk' AND turn_id = 4")
    repair(place)

    async def read() -> None:
        store = await open_store(place)
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


def test_a_question_whose_entry_was_lost_is_restored_and_can_be_answered(place: Place) -> None:
    [(asked,)] = rows_of(place, "SELECT request_id FROM requests WHERE outcome IS NULL")
    lose(place, "asks", 4)
    found = look(place)
    assert "gap" in kinds(found)
    repair(place)

    async def answer() -> None:
        async with engine_on(place, agent=DemoAgent(delay=0)) as engine:
            talk = await engine.open("asks")
            async with Watcher(talk) as seen:
                await talk.answer(asked, "Blue")
                await seen.until(f.AssistantComplete)

    asyncio.run(answer())
    assert not broken_rules_of_replay(place, "asks")
    assert not look(place).findings


def test_a_lost_large_content_keeps_its_beginning(place: Place) -> None:
    harm(place, "DELETE FROM blobs")
    repair(place)
    [part] = entries_of(place, "large")[0].entry.parts
    assert isinstance(part, TextPart)
    assert part.payload.text == "word word\n[The rest of this was lost.]"
    assert part.payload.blob is None


def text_of(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


PNG = b"\x89PNG\r\n\x1a\n and the rest of it"


async def _add_picture(place: Place, ref: BlobRef, mime_type: str, *, fork: bool = False) -> None:
    """Adds a conversation with a picture, whose entry has this reference."""
    store = await open_store(place)
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


def _picture(place: Place, name: str = "pictured") -> ImagePart:
    [part] = entries_of(place, name)[0].entry.parts
    assert isinstance(part, ImagePart)
    return part


@pytest.mark.parametrize(
    ("mime_type", "told", "size"),
    [("image/*", "image/*", 0), ("image/png", "image/png", 7), ("text/html", "text/html", 1 << 40)],
)
def test_a_picture_survives_a_repair_with_any_reference(
    place: Place, mime_type: str, told: str, size: int
) -> None:
    asyncio.run(_add_picture(place, BlobRef("p-1", told, size), mime_type, fork=True))
    assert kinds(look(place)) == {"blob_ref_wrong"}
    assert not repair(place).left
    for name in ("pictured", "fork"):
        shown = _picture(place, name).payload
        assert shown.mime_type == "image/png"
        assert shown.blob == BlobRef("p-1", "image/png", len(PNG))
    assert rows_of(place, "SELECT data FROM blobs WHERE blob_id = 'p-1'") == [(PNG,)]
    [(parent,)] = rows_of(
        place, "SELECT parent_id FROM conversations WHERE conversation_id = 'fork'"
    )
    assert parent == "pictured"
    assert not look(place).findings


def test_the_bytes_of_a_damaged_picture_are_kept(place: Place) -> None:
    asyncio.run(_add_picture(place, BlobRef("p-1", "image/png", len(PNG)), "image/png"))
    rows_of(place, "UPDATE blobs SET data = $1 WHERE blob_id = 'p-1'", b"\0\xff")
    assert not repair(place).left
    [part] = entries_of(place, "pictured")[0].entry.parts
    assert part == TextPart(TextPayload("[A picture was lost.]"))
    kept = rows_of(place, "SELECT data FROM blobs WHERE blob_id = 'p-1'")
    assert kept == [(b"\0\xff",)]
    harm(place, "UPDATE blobs SET created_at = '2000-01-01T00:00:00.000Z'")
    harm(place, "UPDATE conversations SET head = 0 WHERE conversation_id = 'pictured'")
    assert not repair(place).left  # another repair does not take it for unused
    assert rows_of(place, "SELECT data FROM blobs WHERE blob_id = 'p-1'") == kept


@pytest.mark.parametrize(
    ("statement", "kept_as", "content"),
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
def test_an_unreadable_row_is_moved_to_the_table_set_aside(
    place: Place, statement: str, kept_as: str, content: str
) -> None:
    harm(place, statement)
    assert not repair(place).left
    kept = rows_of(place, "SELECT conversation_id, place, content FROM set_aside")
    assert kept == [("talk", kept_as, content)]


def test_a_message_removed_from_the_queue_is_moved_to_the_table_set_aside(place: Place) -> None:
    [(text,)] = rows_of(
        place, "SELECT state_json FROM conversations WHERE conversation_id = 'asks'"
    )
    [waiting] = json.loads(text)["queue"]
    again = {**waiting, "item": {**waiting["item"], "content": [text_of("precious")]}}
    harm(place, state("asks", queue=[waiting, again]))
    assert kinds(look(place)) == {"queue_wrong"}
    assert not repair(place).left
    [(content,)] = rows_of(place, "SELECT content FROM set_aside")
    assert "precious" in content


def test_an_entry_of_another_turn_is_kept_in_a_note(place: Place) -> None:
    harm(
        place,
        "UPDATE messages SET message_json = (SELECT message_json FROM messages WHERE"
        " conversation_id = 'talk' AND sequence_num = 4) WHERE conversation_id = 'talk'"
        " AND sequence_num = 35",
    )
    moved = to_json(entries_of(place)[3].entry)
    assert not repair(place).left
    told = entries_of(place)[34].entry.meta["data"]
    assert told["subtype"] == "entry_misplaced"
    assert told["entry"] == moved


def test_an_acknowledged_message_that_was_lost_can_be_sent_again(place: Place) -> None:
    lose(place, "talk", 34, 35)
    repaired = repair(place)
    assert "receipt m-4" in [finding.place for finding in repaired.findings]

    async def send() -> None:
        async with engine_on(place, agent=DemoAgent(delay=0)) as engine:
            talk = await engine.open("talk")
            async with Watcher(talk) as seen:
                again = await talk.send("hi", user="ann", client_message_id="m-4")
                assert not again.duplicate
                known = await talk.send("question", user="ann", client_message_id="m-2")
                assert known.duplicate
                await seen.until(f.AssistantComplete)

    asyncio.run(send())


def test_the_audit_trail_lists_the_repairs(place: Place) -> None:
    lose(place, "talk", 4)
    repair(place)
    told = rows_of(
        place,
        "SELECT by, data_json FROM audit WHERE action = 'repaired' AND conversation_id = 'talk'",
    )
    [(by, data)] = told
    assert (by, json.loads(data)["kind"], json.loads(data)["place"]) == ("fsck", "gap", "entry 4")


def test_a_follower_that_has_read_a_repaired_entry_has_to_begin_again(place: Place) -> None:
    before = epoch(place)
    harm(place, "UPDATE conversations SET unsettled = false", "DELETE FROM blob_uses")
    repair(place)
    assert epoch(place) == before, "the log is as it was"
    lose(place, "talk", 4)
    repair(place)
    assert epoch(place) != before


# --- owners -------------------------------------------------------------------------------------


def test_a_repair_does_not_touch_conversations_of_a_live_process(place: Place) -> None:
    lose(place, "talk", 4)
    owned = f"owner = 'host:1:x', lease_until = {now() + 60_000}"
    harm(place, f"UPDATE conversations SET {owned} WHERE conversation_id = 'talk'")
    assert "stale_owner" not in kinds(look(place))
    repaired = look(place, repair=True)
    [gap] = [finding for finding in repaired.left if finding.kind == "gap"]
    assert gap.left == "A live process uses it: stop that process first."
    died = look(place, repair=True, has_died=lambda owner: owner == "host:1:x")
    assert not died.left
    assert kinds(died) >= {"stale_owner", "gap"}
    assert rows_of(place, "SELECT owner FROM conversations WHERE conversation_id = 'talk'") == [
        (None,)
    ]


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_running_engine_is_not_disturbed_and_nothing_is_found(
    store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = tmp_path / "log.db" if store == "sqlite" else request.getfixturevalue("postgres")

    async def scene() -> None:
        async with engine_on(place) as engine:
            talk = await engine.create("demo", options={"delay": 0.001}, user="ann")
            async with Watcher(talk) as seen:
                for done, prompt in enumerate(("think tool subagent", "long", "plan tool")):
                    await talk.send(prompt)
                    while len(seen.of(f.AssistantComplete)) == done:
                        report = await asyncio.to_thread(look, place, repair=True)
                        assert not report.findings
                    await seen.until(f.AssistantComplete)

    asyncio.run(scene())


def test_a_turn_whose_process_was_killed_is_ended_as_an_engine_would(place: Place) -> None:
    turn = {"turn_id": 5, "trace_id": TRACE, "origin": "agent", "phase": "running"}
    harm(
        place,
        state("talk", state="streaming", turns=5, turn=turn, traces={"5": TRACE}),
        "UPDATE conversations SET unsettled = true, activity = 'working', owner = 'gone',"
        " lease_until = 1 WHERE conversation_id = 'talk'",
        "INSERT INTO turns (conversation_id, turn_id, trace_id, origin) VALUES"
        f" ('talk', 5, '{TRACE}', 'agent')",
        "INSERT INTO partials (conversation_id, place, start, message_id, block_index, kind, text)"
        " VALUES ('talk', 0, 0, 'm', 0, 'text', 'Once '), ('talk', 0, 5, 'm', 0, 'text', 'upon')",
    )
    assert kinds(look(place)) == {"stale_owner"}
    repair(place)
    *_, shown, last = entries_of(place)
    assert shown.entry.parts == [TextPart(TextPayload("Once upon"))]
    assert known_meta(shown.entry).aborted
    assert rows_of(place, "SELECT * FROM partials") == []
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


def test_a_check_of_a_missing_file_fails(tmp_path: Path) -> None:
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
