"""`turnwire backup`: copies the database while it is in use."""

from __future__ import annotations

from pathlib import Path

import click

from turnwire.cli.home import Home, data_dir_option, run_async
from turnwire.cli.terminal.words import readable
from turnwire.errors import TurnwireError

__all__ = ["command"]


@click.command("backup")
@click.option("--json", "as_json", is_flag=True, help="Print the result as a JSON object.")
@data_dir_option
@click.argument("file", type=click.Path(path_type=Path))
def command(*, home: Home, file: Path, as_json: bool) -> None:
    """Copy all conversations into one file.

    The conversations may be in use meanwhile. The copy is a complete database. To use it, save it
    as turnwire.db in a directory, and name that directory with --data-dir. A PostgreSQL database is
    copied into such a file, too; `turnwire copy` brings it back.
    """
    if file.exists():
        raise TurnwireError(f"{file} exists already. Name a new file.")
    if not file.absolute().parent.is_dir():
        raise TurnwireError(f"{file.parent} is not a directory. Create it, or name another one.")
    epoch = run_async(_backup(home, file))
    size = file.stat().st_size
    if as_json:
        import msgspec

        facts = {"file": readable(str(file)), "bytes": size, "epoch": epoch}
        click.echo(msgspec.json.encode(facts))
    else:
        click.echo(f"{file}  {size:,} bytes")


async def _backup(home: Home, file: Path) -> str:
    from turnwire.cli.terminal.progress import copying

    async with home.store() as store:
        if home.address:
            return await store.backup(str(file))
        with copying(home.database, file):
            return await store.backup(str(file))
