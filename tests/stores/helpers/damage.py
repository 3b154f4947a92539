"""Every kind of damage, made by hand: for every store, and for one of them."""

from __future__ import annotations

import hashlib
from typing import TypeAlias

from tests.stores.helpers.fsck_runs import Harm, Place, changed, state
from tests.stores.helpers.sql import rows_of
from turnwire.testing.store_samples import TRACE

__all__ = ["DAMAGE", "IMPOSSIBLE", "IN_OTHER_TESTS", "OF_STORE"]

Damages: TypeAlias = dict[str, tuple[list[Harm], set[str]]]
"""Harms, and the kinds of damage that are found then, by what has happened."""

RULE = {
    "rule_id": "r9",
    "agent": "demo",
    "tool_name": "Bash",
    "rule": {"rules": [{"toolName": "Bash"}]},
    "given_at": "2026-01-01T00:00:00.000Z",
}
_TURN = "conversation_id = 'talk' AND turn_id = {}"


def receipt(client_message_id: str, ack: str) -> Harm:
    def add(place: Place) -> None:
        named = ("talk", "ann", client_message_id)
        rows_of(place, "INSERT INTO receipts VALUES ($1, $2, $3, $4, $5, '')", *named, b"", ack)

    return add


def blob(data: bytes, *, is_honest: bool = False) -> Harm:
    """Other bytes of a blob; if they are honest, with their digest."""

    def change(place: Place) -> None:
        rows_of(place, "UPDATE blobs SET data = $1", data)
        if is_honest:
            rows_of(place, "UPDATE blobs SET sha256 = $1", hashlib.sha256(data).digest())

    return change


DAMAGE: Damages = {
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
    "a remembered rule of no state": (
        ["INSERT INTO rules VALUES ('talk', 'r1', '{}', '2026-01-01T00:00:00.000Z')"],
        {"rules_wrong"},
    ),
    "a remembered rule without its row": (
        [state("talk", rules=[RULE])],
        {"rules_wrong"},
    ),
    "turns that never were": (
        [state("talk", turns=1_000_000_000_000)],
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
        [changed("turns", "end_json", _TURN.format(3), interrupted=True)],
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
            f"UPDATE turns SET after_sequence = 99 WHERE {_TURN.format(4)}",
            changed("turns", "end_json", _TURN.format(4), after_sequence=99),
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
    "a question without its request": (
        [state("asks", requests=[])],
        {"row_without_request", "inbox_wrong", "state_wrong", "stale_owner"},
    ),
    "the end of a permission that is gone": (
        ["DELETE FROM messages WHERE conversation_id = 'talk' AND sequence_num = 31"],
        {"gap", "request_left_open"},
    ),
    "a call that seems to be open": (
        [state("talk", tools={"t": {"tool_use_id": "t", "turn_id": 1}})],
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
            "UPDATE conversations SET owner = 'unknown', lease_until = 5 WHERE conversation_id = 'talk'"
        ],
        {"stale_owner"},
    ),
    "a turn that seems to run": (
        [
            "DELETE FROM turns WHERE conversation_id = 'talk' AND turn_id = 4",
            state(
                "talk",
                state="streaming",
                turn={"turn_id": 4, "trace_id": TRACE, "origin": "user", "phase": "running"},
            ),
        ],
        {"turn_wrong", "unsettled_wrong", "activity_wrong", "stale_owner"},
    ),
    "saved text of a turn that is over": (
        [
            "INSERT INTO partials (conversation_id, place, start, message_id, block_index, kind, text)"
            " VALUES ('talk', 0, 0, 'm', 0, 'text', 'left over')"
        ],
        {"partials_left"},
    ),
    "a conversation that no recovery would find": (
        ["UPDATE conversations SET unsettled = false WHERE conversation_id = 'asks'"],
        {"unsettled_wrong"},
    ),
    "a conversation in the list of another group": (
        ["UPDATE conversations SET activity = 'idle' WHERE conversation_id = 'asks'"],
        {"activity_wrong"},
    ),
    "a message that waits although it has run": (
        [
            state(
                "talk",
                queue=[
                    {
                        "item": {"queue_id": "q", "content": [], "client_message_id": "m-1"},
                        "trace_id": TRACE,
                    }
                ],
                held=True,
            )
        ],
        {"queue_wrong", "unsettled_wrong"},
    ),
    "a receipt for a message that is not there": (
        [
            receipt("m-9", '{"turn_id":3}'),
            receipt("m-10", '{"queue_id":"q"}'),
            "INSERT INTO audit (number, at, action, conversation_id, data_json)"
            " VALUES (1, '', 'said', 'talk', '{\"queue_id\":\"q\"}') ON CONFLICT DO NOTHING",
            receipt("m-11", '{"request_id":"r"}'),
            receipt("m-12", "x"),
        ],
        {"receipt_without_effect"},
    ),
    "what waited is gone from the queue": (
        [state("asks", queue=[])],
        {"receipt_without_effect"},
    ),
    "a blob that is gone": (["DELETE FROM blobs"], {"blob_missing"}),
    "a blob of other bytes": (
        [blob(bytes(100_000))],
        {"blob_damaged", "blob_missing"},
    ),
    "a blob of another size": (
        [blob(b"a", is_honest=True)],
        {"blob_ref_wrong"},
    ),
    "a blob that is not needed": (
        [
            "INSERT INTO blobs (blob_id, mime_type, data, created_at, sha256)"
            " SELECT 'b-2', mime_type, data, '2020-01-01T00:00:00.000Z', sha256 FROM blobs"
        ],
        {"blob_unused"},
    ),
    "a blob whose need is not noted": (
        ["DELETE FROM blob_uses"],
        {"blob_uses_wrong"},
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
}


_WITHOUT_ASKS = [
    "DELETE FROM conversations WHERE conversation_id = 'asks'",
    "DELETE FROM messages WHERE conversation_id = 'asks'",
]

OF_STORE: dict[str, Damages] = {
    "sqlite": {
        "words that are not indexed": (["DELETE FROM search WHERE rowid < 9"], {"search_wrong"}),
        "words that are in no entry": (
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
        "rows of a conversation that is gone": (
            [
                "DELETE FROM search WHERE rowid IN"
                " (SELECT number FROM messages WHERE conversation_id = 'asks')",
                *_WITHOUT_ASKS,
            ],
            {"rows_left_over"},
        ),
        "a wrong counter of stored bytes": (
            ["INSERT INTO stored VALUES ('ann', 5, 1)"],
            {"counter_wrong"},
        ),
        "a blob of another size, without a digest": (
            [blob(b"a"), "UPDATE blobs SET sha256 = NULL"],
            {"blob_ref_wrong"},
        ),
    },
    "postgres": {
        "words that are not indexed": (["DELETE FROM search WHERE number < 9"], {"search_wrong"}),
        "words that are in no entry": (
            ["INSERT INTO search VALUES (4711, 'talk', 1, '', 'ghost')"],
            {"search_wrong"},
        ),
        "words in parts that are in no entry": (
            ["INSERT INTO search_long VALUES (4711, 0, 'talk', 1, '', 'ghost')"],
            {"search_wrong"},
        ),
        "other words": (
            ["UPDATE search SET words = 'ghost' WHERE sequence_num = 4"],
            {"search_wrong"},
        ),
        "words at another place": (
            ["UPDATE search SET words = words || 'ghost:9' WHERE sequence_num = 4"],
            {"search_wrong"},
        ),
        "words of another entry": (
            ["UPDATE search SET sequence_num = 99 WHERE sequence_num = 4"],
            {"search_wrong"},
        ),
        "words of another conversation": (
            [
                "UPDATE search SET conversation_id = 'asks'"
                " WHERE conversation_id = 'talk' AND sequence_num = 4"
            ],
            {"search_wrong"},
        ),
        "words of another time": (
            ["UPDATE search SET timestamp = '' WHERE sequence_num = 4"],
            {"search_wrong"},
        ),
        "words in parts of a text that is whole": (
            [
                "INSERT INTO search_long SELECT number, 0, conversation_id, sequence_num, timestamp,"
                " words FROM search WHERE sequence_num = 4"
            ],
            {"search_wrong"},
        ),
        "an index that claims more than the log": (
            ["UPDATE search_progress SET indexed = 99"],
            {"search_wrong"},
        ),
        "rows of a conversation that is gone": (
            ["DELETE FROM search WHERE conversation_id = 'asks'", *_WITHOUT_ASKS],
            {"rows_left_over"},
        ),
        "a wrong counter of stored bytes": (
            [
                "INSERT INTO stored VALUES ('ann', -1, 5, 1), ('ann', 2, 7, 0)",
                "INSERT INTO stored VALUES ('bob', 2, -7, 0)",
            ],
            {"counter_wrong"},
        ),
        "a wrong counter of costs": (
            [
                "INSERT INTO spent VALUES (NULL, '2026-01-01', -1, 5), ('ann', '2026-01-01', 3, -1)",
                'INSERT INTO ledger (at, conversation_id, "user", cost_usd)'
                " VALUES ('2026-01-02T00:00:00.000Z', 'talk', NULL, 0.25)",
            ],
            {"counter_wrong"},
        ),
    },
}

IN_OTHER_TESTS = {"file_damaged", "schema_old"}
"""Kinds of damage that statements cannot make; both stores have tests of their own for them."""

IMPOSSIBLE = {
    "a blob of another size, without a digest": "the column blobs.sha256 is NOT NULL",
}
"""Damage of a SQLite file that PostgreSQL refuses, and why."""
