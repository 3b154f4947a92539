"""What is right and wrong with a database, in words, each with what to do next."""

from __future__ import annotations

from typing import Literal, TypeAlias

from turnwire.stores.postgres.connection import OLDEST_SERVER, READER
from turnwire.stores.postgres.status import DatabaseStatus, why_unfit

__all__ = ["Finding", "Level", "findings"]

Level: TypeAlias = Literal["ok", "note", "bad"]
Finding: TypeAlias = tuple[Level, str]

# Connections of one server: 4 write, 4 read, one indexes, one is the bus, one is for a command.
_NEEDED = 11
_CLOCK_MS = 2000


def findings(status: DatabaseStatus, *, is_synchronous: bool) -> list[Finding]:
    """Returns one line for each subject. `is_synchronous`: the setting synchronous_replication."""
    return [
        *_server(status),
        *_connections(status),
        *_time_limits(status),
        *_replication(status, is_synchronous),
        *_slow(status),
        *_clock(status),
    ]


def _server(status: DatabaseStatus) -> list[Finding]:
    found: list[Finding] = [
        (
            "ok",
            f"{status.address}, PostgreSQL {status.server} ({OLDEST_SERVER} and newer are"
            f" supported), answers in {status.answer_ms:.1f} ms",
        )
    ]
    unfit = why_unfit(status)
    if unfit is not None:
        return [*found, ("bad", unfit)]
    return [*found, ("ok", f"schema {status.schema}, {status.size:,} bytes")]


def _connections(status: DatabaseStatus) -> list[Finding]:
    free = status.max_connections - status.connections
    used = (
        f"{status.connections} of {status.max_connections} connections are in use,"
        f" {status.own_connections} by Turnwire. A server uses up to {_NEEDED}"
    )
    found: list[Finding] = []
    if free >= (1 if status.own_connections else _NEEDED):
        found.append(("ok", used))
    else:
        found.append(
            ("bad", f"{used}. Raise max_connections, or close connections of other programs")
        )
    if 0 <= status.role_limit < _NEEDED:
        found.append(
            (
                "bad",
                f"the role {status.role} may have only {status.role_limit} connections:"
                f" ALTER ROLE {status.role} CONNECTION LIMIT -1",
            )
        )
    if 0 <= status.database_limit < _NEEDED:
        found.append(
            (
                "bad",
                f"the database takes only {status.database_limit} connections:"
                " ALTER DATABASE name CONNECTION LIMIT -1",
            )
        )
    return found


def _time_limits(status: DatabaseStatus) -> list[Finding]:
    found: list[Finding] = []
    wanted = READER["statement_timeout"]
    if _seconds(status.statement_timeout) == _seconds(wanted):
        found.append(
            ("ok", f"a statement ends after {wanted}, one that waits for a lock after 10s")
        )
    else:
        found.append(
            (
                "bad",
                f"statement_timeout is {status.statement_timeout}, although Turnwire asks for"
                f" {wanted}: a pooler drops the settings of connections. Connect without it",
            )
        )
    if status.idle_session_timeout not in ("0", ""):
        found.append(
            (
                "note",
                f"the server ends connections that are idle for {status.idle_session_timeout};"
                f" Turnwire connects again. Avoid it: ALTER ROLE {status.role} SET"
                " idle_session_timeout = 0",
            )
        )
    return found


def _seconds(setting: str) -> float:
    """Returns a time of the server's settings, such as `1min`, in seconds."""
    units = {"ms": 0.001, "s": 1, "min": 60, "h": 3600, "d": 86400}
    digits = setting.rstrip("abcdefghijklmnopqrstuvwxyz")
    return float(digits) * units.get(setting[len(digits) :], 0.001)


def _replication(status: DatabaseStatus, is_synchronous: bool) -> list[Finding]:
    found: list[Finding] = []
    if status.is_standby:
        found.append(("bad", "the server is a standby, which only reads. Name the primary server"))
    if status.synchronous_commit == "off":
        found.append(
            (
                "bad",
                "synchronous_commit is off: a crash of the server loses what was acknowledged."
                f" ALTER ROLE {status.role} SET synchronous_commit = on",
            )
        )
    elif is_synchronous and (
        not status.synchronous_standbys or status.synchronous_commit == "local"
    ):
        found.append(
            (
                "bad",
                "synchronous_replication is set, but the server waits for no standby. Set"
                " synchronous_standby_names, or take synchronous_replication out of the settings",
            )
        )
    else:
        waits = (
            f"waits for {status.synchronous_standbys}"
            if status.synchronous_standbys
            else "does not wait for a standby: one that is promoted begins a new epoch"
        )
        standbys = "1 standby" if status.standbys == 1 else f"{status.standbys} standbys"
        found.append(
            (
                "ok",
                f"synchronous_commit is {status.synchronous_commit}, {standbys}; a commit {waits}",
            )
        )
    if not status.waits_for_disk:
        found.append(
            (
                "note",
                "fsync is off: a crash of the machine may destroy the database. For tests only",
            )
        )
    return found


def _slow(status: DatabaseStatus) -> list[Finding]:
    found: list[Finding] = [
        (
            "note",
            f"slow: {query.ms / 1000:.1f} s, {query.where}"
            + (f", {query.calls} calls" if query.calls > 1 else "")
            + f": {query.words}",
        )
        for query in status.slow
    ]
    if status.waiting:
        found.append(
            (
                "note",
                f"{status.waiting} statements wait for a lock. Look again; if they"
                " still wait, end the transaction that holds it: SELECT pg_blocking_pids(pid)",
            )
        )
    if not found:
        seen = "now or on average" if status.has_statistics else "now"
        how = "" if status.has_statistics else ". pg_stat_statements would show the past"
        found.append(("ok", f"no statement takes longer than a second {seen}{how}"))
    return found


def _clock(status: DatabaseStatus) -> list[Finding]:
    ahead = status.clock_ms / 1000
    if abs(status.clock_ms) <= _CLOCK_MS:
        return [("ok", f"its clock differs by {abs(ahead):.2f} s")]
    return [
        (
            "note",
            f"its clock is {abs(ahead):,.0f} s {'ahead of' if ahead > 0 else 'behind'} this"
            " machine's. Leases are safe; the times in the log are this machine's. Synchronize both"
            " clocks (NTP)",
        )
    ]
