"""A PostgreSQL server for all days of a sweep, with a database for each day.

The server, the databases and the folders of the days are removed at the end, also if the sweep
is killed: other processes wait for its end.
"""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from tests.prove.helpers.journal import Away
from tests.stores.postgres.server import HowToStop, TestServer
from turnwire.stores.address import Address
from turnwire.stores.postgres import migrate

__all__ = ["Databases"]

# `read` returns when the pipe is closed. A day that ends at the same time may still write.
_REMOVES = 'read -r _; until rm -rf "$0" 2>/dev/null; do sleep 0.1; done'


class Databases:
    """Databases from one template, and a folder for the folders of their days."""

    def __enter__(self) -> Databases:
        self.folder = Path(tempfile.mkdtemp(prefix="turnwire-prove-"))
        self._remover = subprocess.Popen(
            ["sh", "-c", _REMOVES, str(self.folder)],
            stdin=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the sweep
        )
        self.away: list[Away] = []  # each restart
        self._is_changing = threading.Lock()  # no database is made or dropped during a restart
        self._server = TestServer()
        asyncio.run(self._server.add_role())
        self._template = asyncio.run(self._server.create())
        asyncio.run(migrate(Address(self._server.store_address(self._template))))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.stop()
        assert self._remover.stdin is not None
        self._remover.stdin.close()
        self._remover.wait()

    @contextmanager
    def new_database(self) -> Iterator[str]:
        """Yields the address of an empty database with all tables."""
        with self._is_changing:
            name = asyncio.run(self._server.create(self._template))
        try:
            yield self._server.store_address(name)
        finally:
            with self._is_changing:
                asyncio.run(self._server.drop(name))

    def restart(self, how: HowToStop) -> None:
        """Restarts the server under the days that run."""
        with self._is_changing:
            began = time.monotonic()
            self._server.restart(how)
            self.away.append(Away(at=began, until=time.monotonic()))
