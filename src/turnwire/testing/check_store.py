"""Checks that a store implements the store port correctly."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from turnwire.ports import Store
from turnwire.testing.expect import Broken
from turnwire.testing.store_checks.access import ACCESS_CHECKS
from turnwire.testing.store_checks.audit import AUDIT_CHECKS
from turnwire.testing.store_checks.backup import a_backup_is_a_log_of_its_own
from turnwire.testing.store_checks.blobs import BLOB_CHECKS
from turnwire.testing.store_checks.commits import COMMIT_CHECKS
from turnwire.testing.store_checks.conversations import CONVERSATION_CHECKS
from turnwire.testing.store_checks.fork import FORK_CHECKS
from turnwire.testing.store_checks.log import LOG_CHECKS
from turnwire.testing.store_checks.nodes import NODE_CHECKS
from turnwire.testing.store_checks.partials import PARTIAL_CHECKS
from turnwire.testing.store_checks.pieces import PIECE_CHECKS
from turnwire.testing.store_checks.recovery import RECOVERY_CHECKS
from turnwire.testing.store_checks.requests import REQUEST_CHECKS
from turnwire.testing.store_checks.rules import RULE_CHECKS
from turnwire.testing.store_checks.search import SEARCH_CHECKS
from turnwire.testing.store_checks.usage import USAGE_CHECKS

__all__ = ["STORE_CHECKS", "MakeStore", "OpenCopy", "StoreBroken", "StoreCheck", "check_store"]

MakeStore: TypeAlias = Callable[[], Awaitable[Store]]
OpenCopy: TypeAlias = Callable[[str], Awaitable[Store]]
StoreCheck: TypeAlias = Callable[[Store], Awaitable[None]]

STORE_CHECKS: tuple[StoreCheck, ...] = (
    *LOG_CHECKS,
    *COMMIT_CHECKS,
    *REQUEST_CHECKS,
    *RULE_CHECKS,
    *RECOVERY_CHECKS,
    *NODE_CHECKS,
    *AUDIT_CHECKS,
    *CONVERSATION_CHECKS,
    *SEARCH_CHECKS,
    *BLOB_CHECKS,
    *USAGE_CHECKS,
    *FORK_CHECKS,
    *PARTIAL_CHECKS,
    *PIECE_CHECKS,
    *ACCESS_CHECKS,
)


class StoreBroken(AssertionError):
    """Raised if checks fail. The message names each failed check."""


async def check_store(make_store: MakeStore, *, open_copy: OpenCopy | None = None) -> None:
    """Runs every check on a new store. Raises StoreBroken if a check fails.

    `make_store` returns an empty store, which is closed after its check. `open_copy` opens a backup
    by its path; without it backups are not checked.
    """
    checks = [*STORE_CHECKS]
    if open_copy is not None:
        checks.append(_backup_check(open_copy))
    failures = []
    for check in checks:
        store = await make_store()
        try:
            await check(store)
        except Broken as broken:
            failures.append(f"{_name(check)}: {broken}")
        except Exception as error:
            failures.append(f"{_name(check)}: raised {error!r}")
        finally:
            await store.close()
    if failures:
        raise StoreBroken(
            f"{len(failures)} of {len(checks)} checks failed:\n" + "\n".join(failures)
        )


def _backup_check(open_copy: OpenCopy) -> StoreCheck:
    async def a_backup(store: Store) -> None:
        await a_backup_is_a_log_of_its_own(store, open_copy)

    a_backup.__name__ = a_backup_is_a_log_of_its_own.__name__
    return a_backup


def _name(check: StoreCheck) -> str:
    return getattr(check, "__name__", str(check)).replace("_", " ")
