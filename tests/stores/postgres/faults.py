"""A load of commits, a proxy that loses bytes, and what must be true after any fault."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Literal
from urllib.parse import parse_qsl, urlsplit

from turnwire.core.conversation.effects import Audit
from turnwire.core.message import TextPart
from turnwire.ports import Receipt, StorageUnavailable, Store
from turnwire.stores.postgres import PostgresStore
from turnwire.testing.store_samples import Writing, begin

__all__ = ["Load", "Proxy", "run_with_faults", "until_writable"]

Lost = Literal["request", "answer"]


class Load:
    """Conversations that speak as fast as they can; each commit is repeated until it is taken."""

    def __init__(self, store: Store, conversations: int) -> None:
        self._store = store
        self._count = conversations
        self.acknowledged: dict[str, int] = {}
        self.refused = 0
        self._is_over = False
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Load:
        for number in range(self._count):
            talk = await begin(self._store, f"c{number}", user="ann")
            self.acknowledged[talk.id] = 0
            self._tasks.append(asyncio.create_task(self._speak(talk)))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_over = True
        await asyncio.gather(*self._tasks)

    async def _speak(self, talk: Writing) -> None:
        number = 0
        while not self._is_over:
            number += 1
            receipt = Receipt("ann", f"m-{number}", b"", b"{}")
            audit = Audit("said", "ann", {"number": number})
            commit = talk.prepare(*talk.entries(str(number)), audit, receipt=receipt)
            while True:
                try:
                    # A commit that was written although it raised is refused here: a conflict.
                    await talk.commit(commit)
                    break
                except StorageUnavailable:
                    self.refused += 1
                    await asyncio.sleep(0.01)
            self.acknowledged[talk.id] = number

    async def progress(self, more: int = 50) -> None:
        """Waits until this many further commits are acknowledged."""
        wanted = sum(self.acknowledged.values()) + more
        await self.until(lambda: sum(self.acknowledged.values()) >= wanted)

    async def until(self, happened: Callable[[], bool]) -> None:
        """Waits for something while all speak."""
        while not happened():
            for task in self._tasks:
                if task.done():
                    task.result()
            await asyncio.sleep(0.002)

    async def check(self, store: Store) -> None:
        """Nothing acknowledged is lost, and nothing is doubled."""
        said = 0
        for name, number in self.acknowledged.items():
            assert await _texts_of(store, name) == [str(n) for n in range(1, number + 1)]
            said += number
        assert await _audit_of(store) == said
        assert (await store.stored("ann")).conversations == len(self.acknowledged)


async def _texts_of(store: Store, name: str) -> list[str]:
    found: list[str] = []
    while rows := await store.entries(name, after=len(found)):
        for row in rows:
            (part,) = row.entry.parts
            assert isinstance(part, TextPart)
            found.append(part.payload.text)
    return found


async def _audit_of(store: Store) -> int:
    found, after = 0, 0
    while rows := await store.audit(after=after):
        found += len(rows)
        after = rows[-1].number
    return found


class _Link:
    """One connection through the proxy, in both directions."""

    def __init__(self, near: asyncio.StreamWriter, far: asyncio.StreamWriter) -> None:
        self.writers = (near, far)
        self.swallows: set[Lost] = set()

    def cut(self) -> None:
        for writer in self.writers:
            writer.transport.abort()


class Proxy:
    """Stands between a store and its server, and loses what it is told to lose."""

    def __init__(self, target: str, port: int = 0) -> None:
        parts = urlsplit(target)
        self._user, self._database = parts.netloc.rpartition("@")[0], parts.path
        self._links: set[_Link] = set()
        self._losing: Lost | None = None
        self._losing_from: bytes | None = None
        self._swallows: set[Lost] = set()  # of new connections
        self._is_away = False
        self._port = port
        self.cuts = 0
        self.was_cut = asyncio.Event()
        self.lead_to(target)

    def lead_to(self, target: str) -> None:
        """Has new connections lead to this server; open ones stay as they are."""
        parts = urlsplit(target)
        folder = dict(parse_qsl(parts.query)).get("host")  # of a Unix socket
        self._server_socket = f"{folder}/.s.PGSQL.5432" if folder else None
        self._host, self._server_port = parts.hostname, parts.port or 5432

    async def __aenter__(self) -> Proxy:
        # Not a Unix socket: its path would be too long in a test's folder.
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port)
        port = self._server.sockets[0].getsockname()[1]
        self.address = f"postgresql://{self._user}@127.0.0.1:{port}{self._database}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.cut_all()

    def cut(self, what: Lost, *, with_bytes: bytes | None = None) -> None:
        """Loses the next bytes in one direction, then cuts every connection.

        `with_bytes`: the next bytes that contain these.
        """
        self._losing, self._losing_from = what, with_bytes

    def cut_all(self) -> None:
        """Cuts every connection."""
        for link in list(self._links):
            link.cut()

    def go_away(self) -> None:
        """Cuts every connection, and refuses new ones until `come_back`."""
        self._is_away = True
        self.cut_all()

    def come_back(self) -> None:
        self._is_away = False

    def fall_silent(self, *lost: Lost, also_new: bool = False) -> None:
        """Swallows all bytes of the open connections, and cuts none of them."""
        for link in self._links:
            link.swallows.update(lost)
        if also_new:
            self._swallows.update(lost)

    def speak_again(self) -> None:
        """Carries the bytes of new connections. Those that fell silent stay so."""
        self._swallows.clear()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self._is_away:
                raise ConnectionRefusedError
            if self._server_socket is None:
                there = asyncio.open_connection(self._host, self._server_port)
                far_reader, far_writer = await there
            else:
                far_reader, far_writer = await asyncio.open_unix_connection(self._server_socket)
        except OSError:
            writer.transport.abort()
            return
        link = _Link(writer, far_writer)
        link.swallows.update(self._swallows)
        self._links.add(link)
        try:
            await asyncio.gather(
                self._carry(link, reader, far_writer, "request"),
                self._carry(link, far_reader, writer, "answer"),
            )
        except (OSError, ConnectionError):
            pass
        finally:
            self._links.discard(link)
            link.cut()

    async def _carry(
        self,
        link: _Link,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        direction: Lost,
    ) -> None:
        while data := await reader.read(65536):
            if self._is_lost(data, direction):
                self._losing = None
                self.cuts += 1
                self.was_cut.set()
                self.cut_all()
                raise ConnectionResetError
            if direction in link.swallows:
                continue
            writer.write(data)
            await writer.drain()
        writer.close()

    def _is_lost(self, data: bytes, direction: Lost) -> bool:
        wanted = self._losing_from
        return self._losing == direction and (wanted is None or wanted in data)


async def until_writable(store: PostgresStore) -> None:
    """Waits for the store: an attempt that began during the fault may still fail after it."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await store.check_writable()
            except StorageUnavailable:
                await asyncio.sleep(0.01)


async def run_with_faults(
    address: str,
    fault: Callable[[Load], Awaitable[None]],
    *,
    times: int,
    conversations: int = 24,
    patience: float = 20,
    check_address: str | None = None,
) -> Load:
    """Runs a load, and does a fault many times; then checks what is stored."""
    async with (
        PostgresStore.open(address, uses_callers_time=True, patience=patience) as store,
        Load(store, conversations) as load,
    ):
        for _ in range(times):
            await load.progress(random.randint(5, 60))
            await fault(load)
        await load.progress()
    async with PostgresStore.open(check_address or address, uses_callers_time=True) as store:
        await load.check(store)
        assert await store.search("1"), "what was indexed before the fault, and after it"
    return load
