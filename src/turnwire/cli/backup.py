"""`turnwire backup`: a copy of everything, while it is in use."""

from __future__ import annotations

from pathlib import Path

import click

from turnwire.cli.home import Home, data_dir_option, run_async
from turnwire.errors import TurnwireError

__all__ = ["command"]


@click.command("backup")
@data_dir_option
@click.argument("file", type=click.Path(path_type=Path))
def command(*, home: Home, file: Path) -> None:
    """Copy all conversations into one file.

    They may be in use. The copy is a database of its own. To use it, put it as turnwire.db into a directory and name
    that with --data-dir.
    """
    if file.exists():
        raise TurnwireError(f"{file} is there already. Name a file that is not.")
    if not file.absolute().parent.is_dir():
        raise TurnwireError(f"{file.parent} is no directory. Make it, or name another place.")
    run_async(_backup(home, file))
    click.echo(f"{file}  {file.stat().st_size:,} bytes")


async def _backup(home: Home, file: Path) -> None:
    from turnwire.cli.bars import copying

    async with home.store() as store:
        with copying(home.database, file):
            await store.backup(str(file))
