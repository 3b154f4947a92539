"""`turnwire copy`: copies all conversations into another store, and compares both."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from turnwire.cli.completing import complete_file
from turnwire.cli.home import run_async
from turnwire.errors import TurnwireError

if TYPE_CHECKING:
    from turnwire.stores.copying import Copied, Progress

__all__ = ["command"]

_FILE = "turnwire.db"


@click.command("copy")
@click.option(
    "--from",
    "source",
    required=True,
    metavar="STORE",
    shell_complete=complete_file,
    help="The store that is copied.",
)
@click.option(
    "--to",
    "target",
    required=True,
    metavar="STORE",
    shell_complete=complete_file,
    help="A new, empty store.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as a JSON object.")
def command(*, source: str, target: str, as_json: bool) -> None:
    """Copy all conversations into another store.

    A STORE is a data directory, a file, or a database: postgresql://user@host/database. The tables of
    a database must exist: turnwire db migrate.

    Stop the server of the store that is copied; what is written meanwhile is not copied. A copy that
    was interrupted goes on where it ended: run the same command again. At the end both stores are
    read and compared.

    Exit code: 0 the copy is equal, 2 it is not, or it could not be made.
    """
    from turnwire.settings import check_flag

    for address in (source, target):
        check_flag(address)
    copied = run_async(_copy(source, target, hidden=as_json))
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(copied))
        return
    again = f", {copied.skipped} were there already" if copied.skipped else ""
    click.echo(f"{copied.conversations} conversations, {copied.messages} messages{again}. Equal.")


async def _copy(source: str, target: str, *, hidden: bool) -> Copied:
    from turnwire.cli.terminal.progress import steps
    from turnwire.stores.copying import copy_store

    read = await _open(source, writes=False)
    try:
        write = await _open(target, writes=True)
        try:
            with steps(hidden=hidden) as show:

                def report(progress: Progress) -> None:
                    show(progress.step, progress.done, progress.total)

                return await copy_store(read, write, report)
        finally:
            await write.close()
    finally:
        await read.close()


async def _open(address: str, *, writes: bool) -> Any:
    from turnwire.stores.address import is_database
    from turnwire.stores.open_store import need_postgres

    if is_database(address):
        need_postgres()
        from turnwire.stores.postgres.tables import PostgresTables

        return await PostgresTables.open(address, writes=writes)
    from turnwire.stores.sqlite.tables import SqliteTables

    return await SqliteTables.open(str(_file(address, writes)), writes=writes)


def _file(address: str, writes: bool) -> Path:
    """Returns the file of a store that is a file or a data directory."""
    from turnwire.data_dir import make_data_dir

    path = Path(address).expanduser()
    if path.is_dir() or (writes and path.suffix != ".db"):
        if writes:
            make_data_dir(path, "--to")
        path /= _FILE
    if not writes and not path.is_file():
        raise TurnwireError(
            f"there are no conversations in {path}. Name another store with --from."
        )
    return path
