"""Every kind of damage is made by hand, found, and repaired truthfully."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from tests.stores.files import rows_of
from tests.stores.logs import broken_rules_of_replay, make_log
from turnwire.ports import StoredEntry
from turnwire.stores.sqlite import SqliteStore
from turnwire.stores.sqlite.fsck import KINDS, Report, check

NAMES = ("talk", "asks", "large")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file in which all is well."""
    path = tmp_path_factory.mktemp("log") / "log.db"
    make_log(path)
    return path


@pytest.fixture
def path(sound: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    return Path(shutil.copy(sound, tmp_path / "log.db"))


def now() -> int:
    return time.time_ns() // 1_000_000


def look(path: Path, **options: Any) -> Report:
    return check(path, now=now(), **options)


def kinds(report: Report) -> set[str]:
    return {finding.kind for finding in report.findings}


def harm(path: Path, *statements: str) -> None:
    """Change the file behind everybody's back."""
    for statement in statements:
        rows_of(path, statement)


def entries_of(path: Path, name: str = "talk") -> list[StoredEntry]:
    async def read() -> list[StoredEntry]:
        store = await SqliteStore.open(path)
        try:
            return await store.entries(name, limit=10_000)
        finally:
            await store.close()

    return asyncio.run(read())


def repair(path: Path) -> Report:
    """Repair it; afterwards all is well, by our own check and by that of protocol v2."""
    repaired = look(path, repair=True)
    assert repaired.findings
    assert not repaired.left, repaired.left
    assert not look(path).findings, look(path).findings
    assert rows_of(path, "PRAGMA integrity_check") == [("ok",)]
    assert rows_of(path, "PRAGMA foreign_key_check") == []
    for (name,) in rows_of(path, "SELECT conversation_id FROM conversations"):
        broken = broken_rules_of_replay(path, name)
        assert not broken, (name, broken)
        numbers = [stored.sequence for stored in entries_of(path, name)]
        assert numbers == list(range(1, len(numbers) + 1))
    assert not look(path).findings
    return repaired


def test_a_sound_log_is_clean(path: Path) -> None:
    report = look(path)
    assert (report.findings, report.conversations, report.entries) == ([], 3, 40)
    assert not look(path, repair=True).findings
    assert all(not broken_rules_of_replay(path, name) for name in NAMES)


# --- every kind ---------------------------------------------------------------------------------

_STATE = (
    "UPDATE conversations SET state_json = json_set(state_json, {}) WHERE conversation_id = '{}'"
)
_CALL = "(SELECT sequence_num FROM messages WHERE conversation_id = 'talk' AND message_type = '{}')"

DAMAGE: dict[str, tuple[list[str], set[str]]] = {
    "a gap": (
        ["DELETE FROM messages WHERE conversation_id = 'talk' AND sequence_num IN (4, 5, 8)"],
        {"gap", "search_wrong"},
    ),
    "the end of the log": (
        ["DELETE FROM messages WHERE conversation_id = 'talk' AND sequence_num >= 34"],
        {"gap", "search_wrong", "receipt_without_effect"},
    ),
    "an entry that is no JSON": (
        [
            "UPDATE messages SET message_json = '{' WHERE conversation_id = 'talk' AND sequence_num = 4"
        ],
        {"entry_unreadable", "search_wrong"},
    ),
    "a head too low": (
        ["UPDATE conversations SET head = 30 WHERE conversation_id = 'talk'"],
        {"head_wrong"},
    ),
    "a head far beyond the log": (
        ["UPDATE conversations SET head = 1000000000000 WHERE conversation_id = 'talk'"],
        {"head_wrong"},
    ),
    "turns that never were": (
        [_STATE.format("'$.turns', 1000000000000", "talk")],
        {"state_wrong"},
    ),
    "a state that is no JSON": (
        ["UPDATE conversations SET state_json = 'x' WHERE conversation_id = 'talk'"],
        {"state_unreadable"},
    ),
    "a state that is no JSON, of one that waits": (
        ["UPDATE conversations SET state_json = 'x' WHERE conversation_id = 'asks'"],
        {
            "state_unreadable",
            "row_without_request",
            "end_missing",
            "result_missing",
            "receipt_without_effect",
            "inbox_wrong",
        },
    ),
    "a state of another conversation": (
        [
            "UPDATE conversations SET state_json = (SELECT state_json FROM conversations"
            " WHERE conversation_id = 'large') WHERE conversation_id = 'talk'"
        ],
        {"state_unreadable"},
    ),
    "a tool call without a result": (
        ["DELETE FROM messages WHERE conversation_id = 'talk' AND sequence_num = 7"],
        {"gap", "result_missing", "search_wrong"},
    ),
    "a result without its call": (
        ["DELETE FROM messages WHERE conversation_id = 'talk' AND sequence_num = 6"],
        {"gap", "call_missing"},
    ),
    "a question that is gone from the log": (
        ["DELETE FROM messages WHERE conversation_id = 'talk' AND sequence_num = 23"],
        {"gap", "call_missing", "search_wrong"},
    ),
    "a permission that is gone from the log": (
        ["DELETE FROM messages WHERE conversation_id = 'talk' AND sequence_num = 30"],
        {"gap", "call_missing"},
    ),
    "a permission that is gone altogether": (
        [
            "DELETE FROM messages WHERE conversation_id = 'talk' AND sequence_num = 30",
            "DELETE FROM inbox_items WHERE source_id LIKE '%permission%'",
            "DELETE FROM requests WHERE kind = 'permission'",
        ],
        {"gap", "call_missing"},
    ),
    "a result that is there twice": (
        [
            "UPDATE messages SET message_json = (SELECT message_json FROM messages"
            " WHERE conversation_id = 'talk' AND sequence_num = 7), role = 'tool',"
            " message_type = 'tool_result' WHERE conversation_id = 'talk' AND sequence_num = 8"
        ],
        {"result_twice", "search_wrong"},
    ),
    "a block that is there twice": (
        [
            "UPDATE messages SET message_json = (SELECT message_json FROM messages"
            " WHERE conversation_id = 'talk' AND sequence_num = 4)"
            " WHERE conversation_id = 'talk' AND sequence_num = 5"
        ],
        {"entry_twice", "search_wrong"},
    ),
    "an entry of another turn": (
        [
            "UPDATE messages SET message_json = (SELECT message_json FROM messages"
            " WHERE conversation_id = 'talk' AND sequence_num = 4)"
            " WHERE conversation_id = 'talk' AND sequence_num = 35"
        ],
        {"entry_unreadable", "search_wrong"},
    ),
    "a turn that was interrupted, of which the log does not tell": (
        [
            "UPDATE turns SET end_json = json_set(end_json, '$.interrupted', json('true'))"
            " WHERE conversation_id = 'talk' AND turn_id = 3"
        ],
        {"stop_missing"},
    ),
    "a turn without an end": (
        [
            "UPDATE turns SET ended_at = NULL, end_json = NULL, after_sequence = NULL WHERE turn_id = 3"
        ],
        {"end_missing"},
    ),
    "a turn without a row": (
        ["DELETE FROM turns WHERE conversation_id = 'talk' AND turn_id = 2"],
        {"end_missing"},
    ),
    "a turn that waits, without a row": (
        ["DELETE FROM turns WHERE conversation_id = 'asks'"],
        {"turn_wrong"},
    ),
    "an end that is no JSON": (
        ["UPDATE turns SET end_json = '{' WHERE conversation_id = 'talk' AND turn_id = 1"],
        {"turn_wrong"},
    ),
    "an end beyond the log": (
        [
            "UPDATE turns SET after_sequence = 99, end_json = json_set(end_json,"
            " '$.after_sequence', 99) WHERE conversation_id = 'talk' AND turn_id = 4"
        ],
        {"turn_wrong"},
    ),
    "a turn that has ended and seems to wait": (
        [
            "UPDATE turns SET ended_at = '2026-01-01T00:00:00.000Z', after_sequence = 4, end_json ="
            """ '{"is_error":false,"interrupted":false,"after_sequence":4}'"""
            " WHERE conversation_id = 'asks'"
        ],
        {"state_wrong", "row_without_request", "result_missing", "inbox_wrong"},
    ),
    "a question without a row": (
        ["DELETE FROM inbox_items", "DELETE FROM requests WHERE outcome IS NULL"],
        {"request_without_row", "inbox_wrong"},
    ),
    "a question whose row has ended": (
        ["UPDATE requests SET outcome = 'answered' WHERE outcome IS NULL"],
        {"request_without_row"},
    ),
    "a row that is open, of a question that is not": (
        ["UPDATE requests SET outcome = NULL WHERE kind = 'question' AND conversation_id = 'talk'"],
        {"row_without_request"},
    ),
    "a question that nobody remembers": (
        [_STATE.format("'$.requests', json('[]')", "asks")],
        {"row_without_request", "inbox_wrong", "state_wrong", "stale_owner"},
    ),
    "the end of a permission that is gone": (
        ["DELETE FROM messages WHERE conversation_id = 'talk' AND sequence_num = 31"],
        {"gap", "request_left_open"},
    ),
    "a call that seems to be open": (
        [_STATE.format("""'$.tools', json('{"t":{"tool_use_id":"t","turn_id":1}}')""", "talk")],
        {"state_wrong", "unsettled_wrong"},
    ),
    "an inbox without its item": (
        ["DELETE FROM inbox_items WHERE conversation_id = 'asks'"],
        {"inbox_wrong"},
    ),
    "an inbox with an item that is over": (
        ["UPDATE inbox_items SET closed_at = NULL WHERE conversation_id = 'talk'"],
        {"inbox_wrong"},
    ),
    "an item without its request": (
        ["UPDATE inbox_items SET request_id = 'gone' WHERE source_id LIKE '%permission%'"],
        {"inbox_wrong"},
    ),
    "an owner that is gone": (
        [
            "UPDATE conversations SET owner = 'nobody', lease_until = 5 WHERE conversation_id = 'talk'"
        ],
        {"stale_owner"},
    ),
    "a turn that seems to run": (
        [
            "DELETE FROM turns WHERE conversation_id = 'talk' AND turn_id = 4",
            _STATE.format(
                "'$.state', 'streaming', '$.turn', json('{\"turn_id\":4,\"trace_id\":\"0af7651916cd"
                '43dd8448eb211c80319c","origin":"user","phase":"running"}\')',
                "talk",
            ),
        ],
        {"turn_wrong", "unsettled_wrong", "stale_owner"},
    ),
    "saved text of a turn that is over": (
        [
            "INSERT INTO partials (conversation_id, place, start, message_id, block_index, kind, text)"
            " VALUES ('talk', 0, 0, 'm', 0, 'text', 'left over')"
        ],
        {"partials_left"},
    ),
    "a conversation that nobody would look after": (
        ["UPDATE conversations SET unsettled = 0 WHERE conversation_id = 'asks'"],
        {"unsettled_wrong"},
    ),
    "a message that waits although it has run": (
        [
            _STATE.format(
                """'$.queue', json('[{"item":{"queue_id":"q","content":[],"client_message_id":"m-1"},"""
                """"trace_id":"0af7651916cd43dd8448eb211c80319c"}]'), '$.held', json('true')""",
                "talk",
            )
        ],
        {"queue_wrong", "unsettled_wrong"},
    ),
    "a receipt for a message that is not there": (
        [
            "INSERT INTO receipts VALUES ('talk', 'ann', 'm-9', x'00', '{\"turn_id\":3}', '')",
            "INSERT INTO receipts VALUES ('talk', 'ann', 'm-10', x'00', '{\"queue_id\":\"q\"}', '')",
            "INSERT INTO audit (at, action, conversation_id, data_json)"
            " VALUES ('', 'said', 'talk', '{\"queue_id\":\"q\"}')",
            "INSERT INTO receipts VALUES ('talk', 'ann', 'm-11', x'00', '{\"request_id\":\"r\"}', '')",
            "INSERT INTO receipts VALUES ('talk', 'ann', 'm-12', x'00', 'x', '')",
        ],
        {"receipt_without_effect"},
    ),
    "what waited is gone from the queue": (
        [_STATE.format("'$.queue', json('[]')", "asks")],
        {"receipt_without_effect"},
    ),
    "a blob that is gone": (["DELETE FROM blobs"], {"blob_missing"}),
    "a blob of other bytes": (
        ["UPDATE blobs SET data = zeroblob(100000)"],
        {"blob_damaged", "blob_missing"},
    ),
    "a blob of another size": (
        ["UPDATE blobs SET data = x'61', sha256 = NULL"],
        {"blob_ref_wrong"},
    ),
    "a blob that nobody needs": (
        [
            "INSERT INTO blobs (blob_id, mime_type, data, created_at)"
            " VALUES ('b-2', 'text/plain', x'61', '2020-01-01T00:00:00.000Z')"
        ],
        {"blob_unused"},
    ),
    "a blob whose need is not noted": (
        ["DELETE FROM blob_uses"],
        {"blob_uses_wrong"},
    ),
    "words that are not indexed": (["DELETE FROM search WHERE rowid < 9"], {"search_wrong"}),
    "words that nobody said": (
        ["INSERT INTO search (rowid, words) VALUES (4711, 'ghost')"],
        {"search_wrong"},
    ),
    "other words": (
        [
            "DELETE FROM search WHERE rowid = 4",
            "INSERT INTO search (rowid, words) VALUES (4, 'ghost')",
        ],
        {"search_wrong"},
    ),
    "a fork of something else": (
        [
            "UPDATE conversations SET parent_id = 'asks', forked_at = 3"
            " WHERE conversation_id = 'talk'"
        ],
        {"fork_wrong"},
    ),
    "a log without its conversation": (
        ["DELETE FROM conversations WHERE conversation_id = 'talk'"],
        {"conversation_missing"},
    ),
    "rows of a conversation that is gone": (
        [
            "DELETE FROM conversations WHERE conversation_id = 'asks'",
            "DELETE FROM search WHERE rowid IN"
            " (SELECT number FROM messages WHERE conversation_id = 'asks')",
            "DELETE FROM messages WHERE conversation_id = 'asks'",
        ],
        {"rows_left_over"},
    ),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_found_and_repaired(what: str, path: Path) -> None:
    statements, expected = DAMAGE[what]
    harm(path, *statements)
    size = path.stat().st_size
    found = look(path)
    assert kinds(found) == expected, found.findings
    assert not any(finding.repaired for finding in found.findings)
    assert kinds(look(path)) == expected, "looking changes nothing"
    assert path.stat().st_size == size
    repair(path)


def test_every_kind_is_made_here() -> None:
    made = {kind for _, expected in DAMAGE.values() for kind in expected}
    assert made | {"file_damaged", "schema_old"} == set(KINDS)


@pytest.mark.parametrize("number", range(1, 36))
def test_any_entry_may_be_lost(number: int, path: Path) -> None:
    harm(path, f"DELETE FROM messages WHERE conversation_id = 'talk' AND sequence_num = {number}")
    assert "gap" in kinds(repair(path))
    before = rows_of(path, "SELECT count(*) FROM messages WHERE conversation_id = 'talk'")
    assert before[0][0] >= 35


@pytest.mark.parametrize("seed", range(12))
def test_many_entries_may_be_lost(seed: int, path: Path) -> None:
    harm(
        path,
        "DELETE FROM messages WHERE conversation_id = 'talk'"
        f" AND (sequence_num * 7919 + {seed} * 104729) % 5 < 2",
        f"DELETE FROM turns WHERE conversation_id = 'talk' AND turn_id % 3 = {seed % 3}",
        f"UPDATE requests SET outcome = NULL WHERE {seed} % 2",
    )
    repair(path)
