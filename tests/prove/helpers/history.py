"""A history: everything that is visible of a store and its servers from outside.

The log is read with SQL, without any of our code for it; the rest is what people, clients, agents and the sweep wrote into the journal.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from tests.prove.helpers import journal as j
from tests.prove.helpers.day_store import DatabaseRows, Rows, address_in
from tests.prove.helpers.writers import Writers
from turnwire.core.conversation.state import Conversation
from turnwire.core.message import Message, TextPart, ThinkingPart, known_meta
from turnwire.core.message_codec import decode_message
from turnwire.core.partials import BlockName
from turnwire.core.status import TurnEnd
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.codec import decode
from turnwire.stores.address import is_database

L = TypeVar("L", bound=j.Line)


class Entry(Struct):
    """A row of the log."""

    sequence: int
    message: Message
    turn_id: int | None
    trace_id: str | None


class Turn(Struct):
    """A row of the turns; `end` is none while it waits."""

    turn_id: int
    end: TurnEnd | None


class Request(Struct):
    """A question or a permission, and whether its item in the inbox is open."""

    request_id: str
    kind: str
    outcome: str | None
    in_inbox: bool


class TalkLog(Struct):
    """One conversation as the file has it."""

    name: str
    head: int
    state: Conversation
    entries: list[Entry]
    turns: list[Turn]
    requests: list[Request]
    receipts: dict[str, dict[str, Any]]  # by client_message_id: the ack
    removed: set[str]  # queue_ids
    partials: list[BlockName] = []  # blocks of which something is saved

    def texts(self) -> dict[BlockName, list[str]]:
        """Returns the texts and the thinking of the agent by block; two texts are a repeat."""
        found: dict[BlockName, list[str]] = defaultdict(list)
        for entry in self.entries:
            meta = known_meta(entry.message)
            if entry.message.role == "assistant" and meta.message_id and meta.index is not None:
                for part in entry.message.parts:
                    if isinstance(part, TextPart | ThinkingPart):
                        found[meta.message_id, meta.index].append(part.payload.text)
        return found

    def events(self, name: str) -> list[dict[str, Any]]:
        """The particulars of every event of a name."""
        metas = [known_meta(entry.message) for entry in self.entries]
        return [meta.data for meta in metas if meta.message_type == name]

    def said_by_people(self) -> list[tuple[str, int | None]]:
        """Returns the messages of people by their id, with the turn that ran each."""
        said = [(known_meta(e.message).client_message_id, e.turn_id) for e in self.entries]
        return [(name, turn_id) for name, turn_id in said if name is not None]

    @property
    def ends(self) -> dict[int, TurnEnd]:
        """Returns the end of each finished turn."""
        return {turn.turn_id: turn.end for turn in self.turns if turn.end is not None}


class Received(Struct):
    """A frame that a client received."""

    frame: Any  # a frame of protocol v2
    raw: bytes
    at: float
    on_disk: bool | None


class Connection(Struct):
    """One connection of a client."""

    came: j.Came
    received: list[Received]

    @property
    def frames(self) -> list[f.Frame]:
        return [each.frame for each in self.received]


class History:
    """The lines of a journal, and the file."""

    def __init__(self, lines: list[j.Lines], logs: dict[str, TalkLog], epoch: str) -> None:
        self.lines = lines
        self.logs = logs
        self.epoch = epoch

    @classmethod
    def read(cls, folder: Path) -> History:
        logs, epoch = read_store(address_in(folder))
        return cls(j.read(folder / "journal"), logs, epoch)

    def of(self, kind: type[L]) -> list[L]:
        """Returns all lines of a kind."""
        return [line for line in self.lines if isinstance(line, kind)]

    @cached_property
    def clients(self) -> dict[str, list[Connection]]:
        """Returns the connections of each client, in order."""
        found: dict[str, list[Connection]] = defaultdict(list)
        for line in self.lines:
            if isinstance(line, j.Came):
                found[line.client].append(Connection(line, []))
            elif isinstance(line, j.Got):
                raw = bytes(line.frame)
                found[line.client][-1].received.append(
                    Received(decode(raw), raw, line.at, line.on_disk)
                )
        return dict(found)

    @cached_property
    def servers(self) -> dict[int, int]:
        """Returns the number of each server by its pid."""
        return {line.pid: number for number, line in enumerate(self.of(j.Began))}

    @cached_property
    def has_nodes(self) -> bool:
        """Returns whether several servers ran at once."""
        return any(line.node for line in self.of(j.Began))

    @cached_property
    def sessions(self) -> dict[str, j.Opened]:
        """The agents' sessions, by name."""
        return {line.session: line for line in self.of(j.Opened)}

    @cached_property
    def writers(self) -> Writers:
        """Returns which server has written to each conversation, and when."""
        return Writers(self.lines)

    @cached_property
    def speakers(self) -> dict[str, set[str]]:
        """Returns the agent sessions that sent each message."""
        found: dict[str, set[str]] = defaultdict(set)
        for line in self.of(j.Said):
            for message in line.messages:
                found[message].add(line.session)
        return dict(found)

    @property
    def is_over(self) -> bool:
        """Returns whether the last server had nothing left to do."""
        servers = [line for line in self.lines if isinstance(line, j.Began | j.Ended)]
        return bool(servers) and isinstance(servers[-1], j.Ended)


def read_store(address: str) -> tuple[dict[str, TalkLog], str]:
    """Returns every conversation in the store, and the store's epoch."""
    rows: Rows = DatabaseRows(address) if is_database(address) else OtherFileRows(address)
    try:
        ((epoch,),) = rows.read("SELECT value FROM meta WHERE name = 'epoch'")
        found = rows.read("SELECT conversation_id, head, state_json FROM conversations")
        return {name: _read_log(rows, name, head, state) for name, head, state in found}, epoch
    finally:
        rows.close()


class OtherFileRows:
    """The rows of a file, read with Python's own driver."""

    def __init__(self, path: str) -> None:
        self._file = sqlite3.connect(f"file:{path}?mode=ro", uri=True)

    def read(self, sql: str, *values: Any) -> Sequence[Sequence[Any]]:
        return self._file.execute(sql, values).fetchall()

    def close(self) -> None:
        self._file.close()


def _read_log(rows: Rows, name: str, head: int, state: str) -> TalkLog:
    return TalkLog(
        name,
        head,
        msgspec.json.decode(state, type=Conversation),
        [
            Entry(number, decode_message(message), turn_id, trace_id)
            for number, message, turn_id, trace_id in rows.read(
                "SELECT sequence_num, message_json, turn_id, trace_id FROM messages"
                " WHERE conversation_id = ? ORDER BY number",
                name,
            )
        ],
        [
            Turn(turn_id, msgspec.json.decode(end, type=TurnEnd) if end else None)
            for turn_id, end in rows.read(
                "SELECT turn_id, end_json FROM turns WHERE conversation_id = ?", name
            )
        ],
        [
            Request(request_id, kind, outcome, bool(items))
            for request_id, kind, outcome, items in rows.read(
                "SELECT r.request_id, r.kind, r.outcome, count(i.source_id) FROM requests r"
                " LEFT JOIN inbox_items i ON i.conversation_id = r.conversation_id"
                " AND i.request_id = r.request_id AND i.closed_at IS NULL"
                " WHERE r.conversation_id = ? GROUP BY r.request_id, r.kind, r.outcome",
                name,
            )
        ],
        {
            client_message_id: msgspec.json.decode(ack)
            for client_message_id, ack in rows.read(
                "SELECT client_message_id, ack_json FROM receipts WHERE conversation_id = ?", name
            )
        },
        {
            msgspec.json.decode(data)["queue_id"]
            for (data,) in rows.read(
                "SELECT data_json FROM audit WHERE conversation_id = ? AND action = 'queue_remove'",
                name,
            )
        },
        [
            (message_id, index)
            for message_id, index in rows.read(
                "SELECT DISTINCT message_id, block_index FROM partials WHERE conversation_id = ?",
                name,
            )
        ],
    )
