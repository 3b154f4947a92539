"""`turnwire backup`: a copy of everything, while it is in use."""

from __future__ import annotations

from pathlib import Path

import click

from turnwire.cli.home import Home, data_dir_option, run_async
from turnwire.cli.terminal.words import readable
from turnwire.errors import TurnwireError

__all__ = ["command"]


@click.command("backup")
@click.option("--json", "as_json", is_flag=True, help="What was written, as a JSON object.")
@data_dir_option
@click.argument("file", type=click.Path(path_type=Path))
def command(*, home: Home, file: Path, as_json: bool) -> None:
    """Copy all conversations into one file.

    They may be in use. The copy is a database of its own. To use it, put it as turnwire.db into a directory and name
    that with --data-dir.
    """
    if file.exists():
        raise TurnwireError(f"{file} is there already. Name a file that is not.")
    if not file.absolute().parent.is_dir():
        raise TurnwireError(f"{file.parent} is no directory. Make it, or name another place.")
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
        with copying(home.database, file):
            return await store.backup(str(file))
