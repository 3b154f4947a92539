"""The port Store on a PostgreSQL database, which several processes and machines may share."""

from __future__ import annotations

import asyncio
import secrets
import time
import zlib
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from msgspec import structs

from turnwire.core.partials import Partial
from turnwire.core.text import clean
from turnwire.core.times import iso
from turnwire.long_work import mapped_in_slices
from turnwire.ports import (
    Activity,
    AuditRow,
    BlobRow,
    Claim,
    Commit,
    Connection,
    ConversationRow,
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
    StorageUnavailable,
    Stored,
    StoredEntry,
    StoredTurn,
    Ticket,
    Token,
)
from turnwire.redaction.redact import RAW_LIMIT
from turnwire.stores import records
from turnwire.stores.address import Address
from turnwire.stores.commit_rows import audit_row
from turnwire.stores.conversation_list import Wanted
from turnwire.stores.opening import Opening
from turnwire.stores.postgres import (
    access,
    changes,
    connections,
    doubt,
    forking,
    nodes,
    partials,
    pieces,
    queries,
    search,
    shares,
)
from turnwire.stores.postgres.backup import back_up
from turnwire.stores.postgres.commit import CommitRows
from turnwire.stores.postgres.connection import DatabaseConnection
from turnwire.stores.postgres.epoch import Epoch, check_not_older, enter_epoch, read_origin
from turnwire.stores.postgres.jobs import Call, CommitJob, Job, SaveJob
from turnwire.stores.postgres.lane import Lane
from turnwire.stores.postgres.lane_connection import Shared
from turnwire.stores.postgres.outage import Outage
from turnwire.stores.postgres.reader import Reader
from turnwire.stores.postgres.text import readable, stored_text
from turnwire.stores.query import Query

__all__ = ["PostgresStore"]

T = TypeVar("T")

_PROBE_SECONDS = 2.0  # of a check whether the database can be written


class PostgresStore:
    """The store of one database; see `turnwire.ports.Store`.

    Open it with `async with PostgresStore.open(url) as store`, or await `open` and call `close`
    yourself. It belongs to the event loop in which it was opened.
    """

    def __init__(
        self,
        address: Address,
        *,
        raw_limit: int,
        writers: int,
        readers: int,
        patience: float,
        is_synchronous: bool | None,
        uses_callers_time: bool,
    ) -> None:
        self._address = address
        self._raw_limit = raw_limit
        self._is_synchronous = is_synchronous
        self._uses_callers_time = uses_callers_time
        self._epoch = Epoch("", 0, "")
        self._indexer = search.Indexer(address, self._check_origin)
        self._outage = Outage(patience)
        self._shared = Shared(
            address, outage=self._outage, prepare=self._prepare, written=self._indexer.add
        )
        self._lanes = [Lane(self._shared, part) for part in range(writers)]
        self._reader = Reader(
            address, connections=readers, outage=self._outage, check=self._check_origin
        )

    @classmethod
    def open(
        cls,
        url: str,
        *,
        raw_limit: int = RAW_LIMIT,
        writers: int = 4,
        readers: int = 4,
        patience: float = 5.0,
        is_synchronous: bool | None = None,
        uses_callers_time: bool = False,
    ) -> Opening[PostgresStore]:
        """Opens a database whose tables were made by `turnwire db migrate`.

        - `raw_limit`: bytes of an agent's raw message that are stored with an entry.
        - `writers`, `readers`: maximum number of connections that write and that read.
        - `patience`: seconds of an outage after which calls raise StorageUnavailable.
        - `is_synchronous`: a standby that is promoted has everything that was acknowledged. None: as
          the last server of this database has declared.
        - `uses_callers_time`: leases, tickets and connections use the caller's time, not the
          server's. For tests with a clock of their own.
        """
        address = Address(url)

        async def opened() -> PostgresStore:
            store = cls(
                address,
                raw_limit=raw_limit,
                writers=writers,
                readers=readers,
                patience=patience,
                is_synchronous=is_synchronous,
                uses_callers_time=uses_callers_time,
            )
            try:
                await store._open()
            except BaseException:
                await store.close()
                raise
            return store

        return Opening(opened)

    async def _open(self) -> None:
        await self._reader.open()
        await self._call("", doubt.forget_lanes, repeats=True)  # connects, and reads the epoch
        await self._reader.read(self._indexer.repair)

    async def _prepare(self, connection: DatabaseConnection) -> Epoch:
        """Checks each new connection that writes: the database may have been replaced.

        If it was, no other connection is used any more: it may lead to the old one.
        """
        found = await enter_epoch(connection, is_synchronous=self._is_synchronous)
        check_not_older(found.origin, self._shared.origin)
        known = self._epoch.origin
        self._epoch = found
        self._shared.origin = found.origin
        if known and known != found.origin:
            self._indexer.reconnect()
            await self._reader.reconnect()
        return found

    async def _check_origin(self, connection: DatabaseConnection) -> None:
        """Checks each other new connection; a lane enters the epoch of another database first."""
        origin = await read_origin(connection)
        if origin == self._epoch.origin:
            return
        check_not_older(origin, self._shared.origin)
        self._shared.origin = origin  # no lane uses a connection to another one any more
        await self._call("", _nothing, repeats=True)
        if origin != self._epoch.origin:
            raise StorageUnavailable("The address of the database leads to several servers.")

    async def close(self) -> None:
        """Writes everything that was asked for, and closes all connections."""
        await asyncio.gather(*(lane.close() for lane in self._lanes))
        await self._indexer.close()
        await self._reader.close()

    @property
    def epoch(self) -> str:
        """The id of this incarnation of the log. It changes if the database is replaced."""
        return self._epoch.epoch

    # --- how it is written and read -------------------------------------------------------------

    def _submit(self, job: Job[T]) -> asyncio.Future[T]:
        number = zlib.crc32(job.key.encode()) % len(self._lanes)
        return self._lanes[number].submit(job)

    def _call(
        self,
        key: str,
        run: Callable[[DatabaseConnection], Awaitable[T]],
        *,
        repeats: bool = False,
    ) -> asyncio.Future[T]:
        """Writes in the lane of a key, in a transaction unless the statement may be repeated."""
        return self._submit(Call(stored_text(key), run, repeats=repeats))

    async def _rows(
        self,
        query: Callable[[DatabaseConnection], Awaitable[list[Any]]],
        decode: Callable[[list[Any]], T],
    ) -> list[T]:
        """Runs a query, and decodes its rows in slices."""
        rows = await self._reader.read(query)
        return await mapped_in_slices(lambda row: decode(readable(row)), iter(rows))

    def _now(self, now: int) -> int | None:
        return now if self._uses_callers_time else None

    def _clock(self) -> int | None:
        """Returns the time here, to which the server's times are converted."""
        return None if self._uses_callers_time else time.time_ns() // 1_000_000

    # --- conversations --------------------------------------------------------------------------

    async def create(self, conversation: NewConversation) -> ConversationRow:
        await self._call(
            conversation.conversation_id, lambda db: changes.add_conversation(db, conversation)
        )
        return await self._created(conversation.conversation_id)

    async def _created(self, conversation_id: str) -> ConversationRow:
        row = await self.conversation(conversation_id)
        if row is None:
            raise StorageUnavailable("The conversation was created, and deleted at once.")
        return row

    async def conversation(self, conversation_id: str) -> ConversationRow | None:
        found = await self._reader.read(
            lambda db: queries.find_conversation(db, conversation_id, self._clock())
        )
        if found is None:
            return None
        row, epoch = found
        self._read_epoch(epoch)
        return row

    async def versions(self, conversation_ids: Sequence[str]) -> dict[str, int]:
        versions, epoch = await self._reader.read(
            lambda db: queries.find_versions(db, conversation_ids)
        )
        if epoch is not None:
            self._read_epoch(epoch)
        return versions

    def _read_epoch(self, epoch: str) -> None:
        if epoch != self._epoch.epoch:  # `turnwire fsck --repair` has changed a log
            self._epoch = structs.replace(self._epoch, epoch=epoch)

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
        return await self._rows(
            lambda db: queries.find_conversations(db, wanted, self._clock()),
            records.conversation_of,
        )

    async def fork_place(self, conversation_id: str, at: int | None = None) -> ForkPlace:
        return await self._reader.read(
            lambda db: forking.find_fork_place(db, conversation_id, at), snapshot=True
        )

    async def fork(self, new: NewConversation, *, by: str | None = None) -> ConversationRow:
        await self._call(
            new.conversation_id,
            lambda db: forking.fork_conversation(db, new, by, self._epoch.audit_base),
        )
        self._indexer.catch_up([stored_text(new.conversation_id)])
        return await self._created(new.conversation_id)

    async def users_of_session(self, native_session_id: str) -> list[str]:
        return await self._reader.read(lambda db: queries.find_session_users(db, native_session_id))

    async def unsettled(self) -> list[str]:
        return await self._reader.read(queries.find_unsettled)

    async def change(
        self,
        conversation_id: str,
        *,
        archived: bool | None = None,
        pinned: bool | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        await self._call(
            conversation_id,
            lambda db: changes.change_conversation(db, conversation_id, archived, pinned, labels),
            repeats=True,
        )

    async def delete(
        self, conversation_id: str, *, at: str | None = None, by: str | None = None
    ) -> None:
        when = at or iso(round(datetime.now(UTC).timestamp() * 1000))
        await self._call(
            conversation_id,
            lambda db: changes.delete_conversation(
                db, conversation_id, when, by, self._epoch.audit_base
            ),
        )
        self._shared.versions.forget(stored_text(conversation_id))

    # --- owners ---------------------------------------------------------------------------------

    async def claim(self, conversation_id: str, owner: str, *, now: int, lease: int) -> Claim:
        versions = self._shared.versions
        return await self._call(
            conversation_id,
            lambda db: changes.claim_conversation(
                db, versions, conversation_id, owner, self._now(now), lease, self._clock()
            ),
            repeats=True,
        )

    async def release(self, claim: Claim) -> None:
        await self._call(
            claim.conversation_id, lambda db: changes.release_claim(db, claim), repeats=True
        )
        self._shared.versions.forget(stored_text(claim.conversation_id))

    async def owned(self, owner: str) -> dict[str, bool]:
        return await self._reader.read(lambda db: nodes.find_owned(db, owner))

    async def join(self, node: NodeRow, *, now: int, lease: int) -> None:
        await self._call(
            "", lambda db: nodes.add_node(db, node, self._now(now), lease), repeats=True
        )

    async def renew_node(
        self, owner: str, *, now: int, lease: int, load: dict[str, int] | None = None
    ) -> bool:
        return await self._call(
            "", lambda db: nodes.renew_node(db, owner, self._now(now), lease, load), repeats=True
        )

    async def leave(self, owner: str) -> None:
        await self._call("", lambda db: nodes.remove_node(db, owner), repeats=True)

    async def nodes(self) -> list[NodeRow]:
        return await self._reader.read(lambda db: nodes.find_nodes(db, self._clock()))

    async def abandoned(
        self, *, now: int, except_agents: Sequence[str] = (), after: str = "", limit: int = 1000
    ) -> list[str]:
        return await self._reader.read(
            lambda db: nodes.find_abandoned(db, self._now(now), except_agents, after, limit)
        )

    async def overdue(
        self, *, now: int, agents: Sequence[str], after: str = "", limit: int = 1000
    ) -> list[tuple[str, str]]:
        own = self._now(now)
        at = None if own is None else iso(own)
        return await self._reader.read(
            lambda db: nodes.find_overdue(db, at, own, agents, after, limit)
        )

    async def deadlines_done(self, requests: Sequence[tuple[str, str]]) -> None:
        await self._call("", lambda db: nodes.mark_deadlines(db, requests), repeats=True)

    # --- the log --------------------------------------------------------------------------------

    async def commit(self, commit: Commit) -> None:
        await self._submit(CommitJob(CommitRows(commit, raw_limit=self._raw_limit)))

    async def save_partials(self, claim: Claim, some: Sequence[Partial]) -> None:
        await self._submit(SaveJob(claim, some))

    async def partials(self, conversation_id: str) -> list[Partial]:
        return await self._reader.read(lambda db: partials.find_partials(db, conversation_id))

    async def session_pieces(self, conversation_id: str, session_id: str) -> list[SessionPiece]:
        return await self._reader.read(
            lambda db: pieces.find_pieces(db, conversation_id, session_id)
        )

    async def forget_pieces(self, claim: Claim, *, keep: str) -> None:
        await self._call(claim.conversation_id, lambda db: pieces.forget_pieces(db, claim, keep))

    async def pin(self, claim: Claim, node: str) -> None:
        await self._call(claim.conversation_id, lambda db: pieces.pin(db, claim, node))

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
        return await self._rows(
            lambda db: queries.find_entries(
                db, conversation_id, after, before, limit, newest, size
            ),
            records.entry_of,
        )

    async def raw_event(self, conversation_id: str, sequence: int) -> str | None:
        return await self._reader.read(lambda db: queries.find_raw(db, conversation_id, sequence))

    async def turns(
        self, conversation_id: str, *, since: int = 0, before: int | None = None
    ) -> list[StoredTurn]:
        return await self._rows(
            lambda db: queries.find_turns(db, conversation_id, since, before), records.turn_of
        )

    async def spent(self, user: str | None, *, since: str | None = None) -> float:
        return await self._reader.read(lambda db: shares.find_spent(db, stored_text(user), since))

    async def reserve(
        self,
        claim: Claim,
        choose: Callable[[float, float], float],
        *,
        since: str | None = None,
        now: int,
    ) -> Reserved:
        # All in one lane: they wait for each other anyway, and are answered in order.
        return await self._call(
            "", lambda db: shares.reserve(db, claim, choose, since, self._now(now))
        )

    async def stored(self, user: str) -> Stored:
        return await self._reader.read(lambda db: shares.find_stored(db, user))

    async def receipt(
        self, conversation_id: str, user: str, client_message_id: str
    ) -> Receipt | None:
        return await self._reader.read(
            lambda db: queries.find_receipt(db, conversation_id, user, client_message_id)
        )

    async def request(self, conversation_id: str, request_id: str) -> RequestRow | None:
        return await self._reader.read(
            lambda db: queries.find_request(db, conversation_id, request_id)
        )

    async def inbox(self, *, user: str | None = None, open_only: bool = True) -> list[InboxItem]:
        return await self._rows(
            lambda db: queries.find_inbox(db, user, open_only), records.inbox_item_of
        )

    async def inbox_item(self, inbox_item_id: str, *, user: str | None = None) -> InboxItem | None:
        return await self._reader.read(lambda db: queries.find_inbox_item(db, inbox_item_id, user))

    async def rules(
        self, *, user: str | None = None, limit: int = 100, offset: int = 0
    ) -> list[GivenRule]:
        return await self._rows(
            lambda db: queries.find_rules(db, user, limit, offset), records.rule_of
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
        await self._indexer.settled()
        return await self._rows(
            lambda db: search.find_words(db, query, user, conversation_id, limit),
            lambda row: records.hit_of(row, query),
        )

    # --- audit, connections and blobs -----------------------------------------------------------

    async def audit(
        self, *, conversation_id: str | None = None, after: int = 0, limit: int = 500
    ) -> list[AuditRow]:
        base = self._epoch.audit_base
        return await self._rows(
            lambda db: queries.find_audit(db, conversation_id, after, limit, base), records.audit_of
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
        await self._call(
            conversation_id or "", lambda db: changes.add_audit(db, self._epoch.audit_base, row)
        )

    async def connected(self, those: Sequence[Connection]) -> None:
        by_caller = self._uses_callers_time
        await self._call(
            "",
            lambda db: connections.add_connections(db, those, uses_callers_time=by_caller),
            repeats=True,
        )

    async def disconnected(self, connection_ids: Sequence[str]) -> None:
        await self._call(
            "", lambda db: connections.remove_connections(db, connection_ids), repeats=True
        )

    async def connections(self, conversation_id: str | None = None) -> list[Connection]:
        by_caller = self._uses_callers_time
        return await self._reader.read(
            lambda db: connections.find_connections(
                db, conversation_id, uses_callers_time=by_caller
            )
        )

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
        await self._call(blob_id, lambda db: changes.put_blob(db, *row))

    async def get_blob(self, blob_id: str) -> tuple[bytes, str] | None:
        return await self._reader.read(lambda db: queries.find_blob(db, blob_id))

    async def blob(self, blob_id: str) -> BlobRow | None:
        return await self._reader.read(lambda db: queries.find_blob_row(db, blob_id))

    # --- access ---------------------------------------------------------------------------------

    async def add_token(self, token: Token, digest: bytes) -> None:
        await self._call(token.token_id, lambda db: access.add_token(db, token, digest))

    async def token(self, digest: bytes) -> Token | None:
        return await self._reader.read(lambda db: access.find_token(db, digest))

    async def tokens(self) -> list[Token]:
        return await self._reader.read(access.find_tokens)

    async def revoke_token(self, token_id: str, *, at: str) -> bool:
        return await self._call(token_id, lambda db: access.revoke_token(db, token_id, at))

    async def forget_tokens(self, *, before: int) -> None:
        await self._call("", lambda db: access.forget_tokens(db, before, self._now(before)))

    async def add_ticket(
        self, ticket: Ticket, digest: bytes, *, now: int, most: int | None = None
    ) -> bool:
        return await self._call(
            ticket.token_id,
            lambda db: access.add_ticket(db, ticket, digest, now, most, self._now(now)),
        )

    async def take_ticket(self, digest: bytes, kind: str, *, now: int) -> Ticket | None:
        return await self._call(
            digest.hex(), lambda db: access.take_ticket(db, digest, kind, now, self._now(now))
        )

    async def void_tickets(self, user: str) -> None:
        await self._call(user, lambda db: access.void_tickets(db, user), repeats=True)

    async def shared_secret(self) -> bytes:
        return bytes.fromhex(await self._call("", _shared_secret, repeats=True))

    async def check_writable(self) -> None:
        probe = self._call("", _probe, repeats=True)
        failure = asyncio.ensure_future(self._outage.next_failure())
        either: set[asyncio.Future[Any]] = {probe, failure}
        try:  # without patience: the caller wants to know how it is now
            await asyncio.wait(either, timeout=_PROBE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if failure.done() and not probe.done():
                raise failure.result()
            if not probe.done():
                said = f"The database has not answered within {_PROBE_SECONDS:g} seconds."
                raise StorageUnavailable(said)
            probe.result()
        finally:
            probe.cancel()
            failure.cancel()

    async def backup(self, path: str) -> str:
        return await back_up(self._address.url, path)


async def _nothing(db: DatabaseConnection) -> None:
    """Only needs the connection."""


async def _shared_secret(db: DatabaseConnection) -> str:
    await db.execute(
        "INSERT INTO meta VALUES ('shared_secret', $1) ON CONFLICT (name) DO NOTHING",
        secrets.token_hex(32),
    )
    return str(await db.fetchval("SELECT value FROM meta WHERE name = 'shared_secret'"))


async def _probe(db: DatabaseConnection) -> None:
    await db.execute(
        "INSERT INTO meta VALUES ('probe', '0')"
        " ON CONFLICT (name) DO UPDATE SET value = (1 - meta.value::int)::text"
    )
