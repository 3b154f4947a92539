"""The port Store on one SQLite file, which several processes may share."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import apsw

from turnwire.core.partials import Partial
from turnwire.core.text import clean
from turnwire.core.times import iso
from turnwire.ports import (
    Activity,
    AuditRow,
    BlobRow,
    Claim,
    Commit,
    Connection,
    ConversationRow,
    Fenced,
    ForkPlace,
    GivenRule,
    Hit,
    InboxItem,
    NewConversation,
    NodeRow,
    Receipt,
    RequestRow,
    Reserved,
    SessionPiece,
    Stored,
    StoredEntry,
    StoredTurn,
    Ticket,
    Token,
)
from turnwire.redaction.redact import RAW_LIMIT
from turnwire.stores import records
from turnwire.stores.commit_rows import audit_row
from turnwire.stores.conversation_list import Wanted
from turnwire.stores.opening import Opening
from turnwire.stores.query import Query
from turnwire.stores.sqlite import (
    access,
    changes,
    connections,
    forking,
    nodes,
    partials,
    pieces,
    rows,
    shares,
)
from turnwire.stores.sqlite.backup import copy_to
from turnwire.stores.sqlite.ballast import BALLAST, Ballast
from turnwire.stores.sqlite.commit import ADD_AUDIT, CommitJob
from turnwire.stores.sqlite.connection import close_quietly, connect, storage_errors
from turnwire.stores.sqlite.prepare import prepare
from turnwire.stores.sqlite.reader import Reader
from turnwire.stores.sqlite.schema import shared_secret
from turnwire.stores.sqlite.watch import WatchedFile
from turnwire.stores.sqlite.writer import Writer

__all__ = ["SqliteStore"]


class SqliteStore:
    """The store of one SQLite file; see `turnwire.ports.Store`.

    Open it with `async with SqliteStore.open(path) as store`, or await `open` and call `close`
    yourself.
    """

    def __init__(self, writer: Writer, reader: Reader, file: WatchedFile, raw_limit: int) -> None:
        self._writer = writer
        self._reader = reader
        self._file = file
        self._raw_limit = raw_limit

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        raw_limit: int = RAW_LIMIT,
        busy_seconds: float = 5.0,
        readers: int = 4,
        max_bytes: int | None = None,
        ballast: int = BALLAST,
        vfs: str | None = None,
    ) -> Opening[SqliteStore]:
        """Opens or creates the file, and migrates its tables.

        - `raw_limit`: bytes of an agent's raw message that are stored with an entry.
        - `busy_seconds`: how long a write waits for another process.
        - `max_bytes`: maximum size of the file; None means no limit except the disk.
        - `ballast`: size of the file that is released on a full disk; 0 means no ballast.
        - `vfs`: the name of an apsw VFS.
        """
        busy_ms = round(busy_seconds * 1000)
        name = os.fspath(path)

        def open_file(file: WatchedFile | None = None) -> tuple[apsw.Connection, str]:
            connection = connect(name, busy_ms=busy_ms, writes=True, vfs=vfs)
            try:
                with storage_errors():
                    epoch = prepare(connection, file.epoch if file else None)
                    if max_bytes is not None:
                        pages = max(1, max_bytes // connection.pragma("page_size"))
                        connection.pragma("max_page_count", pages)
            except BaseException:
                close_quietly(connection)
                raise
            return connection, epoch

        def opened() -> SqliteStore:
            first = open_file()
            file = WatchedFile(name)
            file.is_open(first[1])

            def again() -> apsw.Connection:
                connection, epoch = open_file(file)
                file.is_open(epoch)
                return connection

            writer = Writer(file, first[0], again, Ballast(name, ballast))
            reader = Reader(file, threads=readers, busy_ms=busy_ms, vfs=vfs, replaced=writer.look)
            return cls(writer, reader, file, raw_limit)

        return Opening(lambda: asyncio.to_thread(opened))

    async def close(self) -> None:
        """Writes all queued jobs, and closes the file."""
        self._writer.hand_over()
        await asyncio.to_thread(self._writer.close)
        await asyncio.to_thread(self._reader.close)

    @property
    def epoch(self) -> str:
        """The id of this incarnation of the log. It changes if the file is replaced."""
        return self._file.epoch

    # --- conversations --------------------------------------------------------------------------

    async def create(self, conversation: NewConversation) -> ConversationRow:
        await self._writer.call(lambda db: changes.add_conversation(db, conversation))
        row = await self.conversation(conversation.conversation_id)
        assert row is not None
        return row

    async def conversation(self, conversation_id: str) -> ConversationRow | None:
        return await self._reader.read(lambda db: rows.find_conversation(db, conversation_id))

    async def versions(self, conversation_ids: Sequence[str]) -> dict[str, int]:
        return await self._reader.read(lambda db: rows.find_versions(db, conversation_ids))

    async def conversations(
        self,
        *,
        user: str | None = None,
        archived: bool = False,
        pinned: bool = False,
        label: str | None = None,
        agent: str | None = None,
        activity: Activity | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[ConversationRow]:
        wanted = Wanted(user, archived, pinned, label, agent, activity, limit, offset)
        return await self._reader.read_rows(
            lambda db: rows.find_conversations(db, wanted),
            records.CONVERSATION,
            records.conversation_of,
        )

    async def fork_place(self, conversation_id: str, at: int | None = None) -> ForkPlace:
        return await self._reader.read(lambda db: forking.find_fork_place(db, conversation_id, at))

    async def fork(self, new: NewConversation, *, by: str | None = None) -> ConversationRow:
        await self._writer.call(lambda db: forking.fork_conversation(db, new, by))
        row = await self.conversation(new.conversation_id)
        assert row is not None
        return row

    async def users_of_session(self, native_session_id: str) -> list[str]:
        return await self._reader.read(lambda db: rows.find_session_users(db, native_session_id))

    async def unsettled(self) -> list[str]:
        return await self._reader.read(rows.find_unsettled)

    async def change(
        self,
        conversation_id: str,
        *,
        archived: bool | None = None,
        pinned: bool | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        await self._writer.call(
            lambda db: changes.change_conversation(db, conversation_id, archived, pinned, labels)
        )

    async def delete(
        self, conversation_id: str, *, at: str | None = None, by: str | None = None
    ) -> None:
        when = at or iso(round(datetime.now(UTC).timestamp() * 1000))

        def delete(db: apsw.Cursor) -> None:
            changes.delete_conversation(db, conversation_id, when, by)
            self._writer.erase_deleted()

        await self._writer.call(delete, must=True)

    # --- owners ---------------------------------------------------------------------------------

    async def claim(self, conversation_id: str, owner: str, *, now: int, lease: int) -> Claim:
        return await self._writer.call(
            lambda db: changes.claim_conversation(db, conversation_id, owner, now, lease),
            must=True,
        )

    async def release(self, claim: Claim) -> None:
        await self._writer.call(lambda db: changes.release_claim(db, claim), must=True)

    async def owned(self, owner: str) -> dict[str, bool]:
        return await self._reader.read(lambda db: nodes.find_owned(db, owner))

    async def join(self, node: NodeRow, *, now: int, lease: int) -> None:
        await self._writer.call(lambda db: nodes.add_node(db, node, now, lease), must=True)

    async def renew_node(
        self, owner: str, *, now: int, lease: int, load: dict[str, int] | None = None
    ) -> bool:
        return await self._writer.call(
            lambda db: nodes.renew_node(db, owner, now, lease, load), must=True
        )

    async def leave(self, owner: str) -> None:
        await self._writer.call(lambda db: nodes.remove_node(db, owner), must=True)

    async def nodes(self) -> list[NodeRow]:
        return await self._reader.read(nodes.find_nodes)

    async def abandoned(
        self, *, now: int, except_agents: Sequence[str] = (), after: str = "", limit: int = 1000
    ) -> list[str]:
        return await self._reader.read(
            lambda db: nodes.find_abandoned(db, now, except_agents, after, limit)
        )

    async def overdue(
        self, *, now: int, agents: Sequence[str], after: str = "", limit: int = 1000
    ) -> list[tuple[str, str]]:
        return await self._reader.read(
            lambda db: nodes.find_overdue(db, iso(now), now, agents, after, limit)
        )

    async def deadlines_done(self, requests: Sequence[tuple[str, str]]) -> None:
        await self._writer.call(lambda db: nodes.mark_deadlines(db, requests))

    # --- the log --------------------------------------------------------------------------------

    async def commit(self, commit: Commit) -> None:
        await self._writer.write(CommitJob(commit, raw_limit=self._raw_limit))

    async def save_partials(self, claim: Claim, some: Sequence[Partial]) -> None:
        if not await self._writer.call(lambda db: partials.save_partials(db, claim, some)):
            raise Fenced("Another owner has taken the conversation over, or it was deleted.")

    async def partials(self, conversation_id: str) -> list[Partial]:
        return await self._reader.read(lambda db: partials.find_partials(db, conversation_id))

    async def session_pieces(self, conversation_id: str, session_id: str) -> list[SessionPiece]:
        return await self._reader.read(
            lambda db: pieces.find_pieces(db, conversation_id, session_id)
        )

    async def forget_pieces(self, claim: Claim, *, keep: str) -> None:
        await self._writer.call(lambda db: pieces.forget_pieces(db, claim, keep))

    async def pin(self, claim: Claim, node: str) -> None:
        await self._writer.call(lambda db: pieces.pin(db, claim, node))

    async def entries(
        self,
        conversation_id: str,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int = 500,
        newest: bool = False,
        size: int | None = None,
    ) -> list[StoredEntry]:
        return await self._reader.read_rows(
            lambda db: rows.find_entries(db, conversation_id, after, before, limit, newest, size),
            records.ENTRY,
            records.entry_of,
        )

    async def raw_event(self, conversation_id: str, sequence: int) -> str | None:
        return await self._reader.read(lambda db: rows.find_raw(db, conversation_id, sequence))

    async def turns(
        self, conversation_id: str, *, since: int = 0, before: int | None = None
    ) -> list[StoredTurn]:
        return await self._reader.read_rows(
            lambda db: rows.find_turns(db, conversation_id, since, before),
            records.TURN,
            records.turn_of,
        )

    async def spent(self, user: str | None, *, since: str | None = None) -> float:
        return await self._reader.read(lambda db: rows.find_spent(db, user, since))

    async def reserve(
        self,
        claim: Claim,
        choose: Callable[[float, float], float],
        *,
        since: str | None = None,
        now: int,
    ) -> Reserved:
        return await self._writer.call(lambda db: shares.reserve(db, claim, choose, since, now))

    async def stored(self, user: str) -> Stored:
        return await self._reader.read(lambda db: shares.find_stored(db, user))

    async def receipt(
        self, conversation_id: str, user: str, client_message_id: str
    ) -> Receipt | None:
        return await self._reader.read(
            lambda db: rows.find_receipt(db, conversation_id, user, client_message_id)
        )

    async def request(self, conversation_id: str, request_id: str) -> RequestRow | None:
        return await self._reader.read(
            lambda db: rows.find_request(db, conversation_id, request_id)
        )

    async def inbox(self, *, user: str | None = None, open_only: bool = True) -> list[InboxItem]:
        return await self._reader.read_rows(
            lambda db: rows.find_inbox(db, user, open_only),
            records.INBOX_ITEM,
            records.inbox_item_of,
        )

    async def inbox_item(self, inbox_item_id: str, *, user: str | None = None) -> InboxItem | None:
        return await self._reader.read(lambda db: rows.find_inbox_item(db, inbox_item_id, user))

    async def rules(
        self, *, user: str | None = None, limit: int = 100, offset: int = 0
    ) -> list[GivenRule]:
        return await self._reader.read_rows(
            lambda db: rows.find_rules(db, user, limit, offset), records.RULE, records.rule_of
        )

    async def search(
        self,
        words: str,
        *,
        user: str | None = None,
        conversation_id: str | None = None,
        limit: int = 50,
    ) -> list[Hit]:
        query = Query(words)
        return await self._reader.read_rows(
            lambda db: rows.find_words(db, query, user, conversation_id, limit),
            records.HIT,
            lambda row: records.hit_of(row, query),
        )

    # --- audit, connections and blobs -----------------------------------------------------------

    async def audit(
        self, *, conversation_id: str | None = None, after: int = 0, limit: int = 500
    ) -> list[AuditRow]:
        return await self._reader.read_rows(
            lambda db: rows.find_audit(db, conversation_id, after, limit),
            records.AUDIT,
            records.audit_of,
        )

    async def note(
        self,
        action: str,
        *,
        at: str,
        by: str | None = None,
        conversation_id: str | None = None,
        data: dict[str, Any] | None = None,
    ) -> None:
        row = audit_row(at, action, clean(conversation_id), by, None, data)

        def add(db: apsw.Cursor) -> None:
            db.execute(ADD_AUDIT, row)

        await self._writer.call(add)

    async def connected(self, those: Sequence[Connection]) -> None:
        await self._writer.call(lambda db: connections.add_connections(db, those))

    async def disconnected(self, connection_ids: Sequence[str]) -> None:
        await self._writer.call(lambda db: connections.remove_connections(db, connection_ids))

    async def connections(self, conversation_id: str | None = None) -> list[Connection]:
        return await self._reader.read(lambda db: connections.find_connections(db, conversation_id))

    async def put_blob(
        self,
        blob_id: str,
        data: bytes,
        mime_type: str,
        *,
        at: str,
        user: str | None = None,
        conversation_id: str | None = None,
        quota: int | None = None,
    ) -> None:
        row = (blob_id, data, mime_type, at, user, conversation_id, quota)
        await self._writer.call(lambda db: changes.put_blob(db, *row))

    async def get_blob(self, blob_id: str) -> tuple[bytes, str] | None:
        return await self._reader.read(lambda db: rows.find_blob(db, blob_id))

    async def blob(self, blob_id: str) -> BlobRow | None:
        return await self._reader.read(lambda db: rows.find_blob_row(db, blob_id))

    # --- access ---------------------------------------------------------------------------------

    async def add_token(self, token: Token, digest: bytes) -> None:
        await self._writer.call(lambda db: access.add_token(db, token, digest))

    async def token(self, digest: bytes) -> Token | None:
        return await self._reader.read(lambda db: access.find_token(db, digest))

    async def tokens(self) -> list[Token]:
        return await self._reader.read(access.find_tokens)

    async def revoke_token(self, token_id: str, *, at: str) -> bool:
        return await self._writer.call(lambda db: access.revoke_token(db, token_id, at))

    async def forget_tokens(self, *, before: int) -> None:
        await self._writer.call(lambda db: access.forget_tokens(db, before))

    async def add_ticket(
        self, ticket: Ticket, digest: bytes, *, now: int, most: int | None = None
    ) -> bool:
        return await self._writer.call(lambda db: access.add_ticket(db, ticket, digest, now, most))

    async def take_ticket(self, digest: bytes, kind: str, *, now: int) -> Ticket | None:
        return await self._writer.call(lambda db: access.take_ticket(db, digest, kind, now))

    async def void_tickets(self, user: str) -> None:
        await self._writer.call(lambda db: access.void_tickets(db, user))

    async def shared_secret(self) -> bytes:
        return bytes.fromhex(await self._writer.call(shared_secret))

    async def check_writable(self) -> None:
        await self._writer.call(self._writer.probe)

    async def backup(self, path: str) -> str:
        return await self._reader.read(lambda db: copy_to(db, path))
