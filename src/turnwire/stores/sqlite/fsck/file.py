"""Checks of the file itself: SQLite's integrity check, and the schema version."""

from __future__ import annotations

import apsw
from msgspec import structs

from turnwire.stores.fsck.database import BACKUP
from turnwire.stores.fsck.finding import Finding
from turnwire.stores.sqlite.fsck.search import index_all
from turnwire.stores.sqlite.schema import NEWEST, check_version, migrate, transaction

__all__ = ["check_file"]

_MOST = 100  # maximum number of errors that SQLite's integrity check reports


def check_file(db: apsw.Connection, *, repair: bool) -> tuple[list[Finding], bool]:
    """Checks the file. Returns findings, and whether its tables can be checked.

    Raises StorageUnavailable for a newer schema.
    """
    findings: list[Finding] = []
    version = check_version(db)
    if version < NEWEST:
        if repair:
            migrate(db)
        what = f"The file has schema {max(version, 0)}; this version of Turnwire has {NEWEST}."
        findings.append(Finding("schema_old", what, repaired=repair))
        if not repair:
            return findings, False
    found = _damage(db)
    if found and repair:
        failed: Finding | None = None
        try:
            with transaction(db):
                db.execute("REINDEX")
                index_all(db)
        except (apsw.CorruptError, apsw.IOError, apsw.NotADBError) as failure:
            failed = Finding("file_damaged", str(failure), left=BACKUP)
        left = {finding.what for finding in _damage(db)}
        found = [
            structs.replace(each, left=BACKUP)
            if each.what in left
            else structs.replace(each, repaired=True)
            for each in found
        ]
        findings += [failed] if failed is not None else []
    return findings + found, True


def _damage(db: apsw.Connection) -> list[Finding]:
    """Returns the errors of SQLite's integrity check."""
    try:
        said = [row[0] for row in db.execute(f"PRAGMA integrity_check({_MOST})")]
    except apsw.Error as failure:
        said = [str(failure)]
    return [Finding("file_damaged", str(each)) for each in said if each != "ok"]
