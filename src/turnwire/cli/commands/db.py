"""`turnwire db`: creates and updates the tables of a PostgreSQL database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from turnwire.cli.home import Home, data_dir_option, run_async
from turnwire.errors import TurnwireError

if TYPE_CHECKING:
    from turnwire.stores.address import Address

__all__ = ["command"]


@click.group("db")
def command() -> None:
    """Create or update the tables of a PostgreSQL database.

    Name the database with --store, TURNWIRE_STORE or turnwire.toml.
    """


@command.command("migrate")
@click.option(
    "--post",
    is_flag=True,
    help="Remove what only older servers need, and fill in what they did not write. Run it when the last of them has stopped.",
)
@data_dir_option
def migrate(*, home: Home, post: bool) -> None:
    """Create the tables, or bring them up to date.

    Run it before you start a new version; servers of the last version keep running. The role needs
    no special rights, only those to create tables in its database.
    """
    address = _address(home)

    from turnwire.stores.postgres.schema import migrate as apply
    from turnwire.stores.postgres.status import read_status

    applied = run_async(apply(address, "post" if post else "pre"))
    for name in applied:
        click.echo(f"applied {name}")
    status = run_async(read_status(address))
    if status.found is not None and status.found.pre > status.known.pre:
        click.echo(
            f"The tables are of a newer Turnwire: schema {status.schema}, this version knows"
            f" {status.known.pre}.{status.known.post}. It can use them."
        )
    else:
        click.echo("The tables are up to date.")


@command.command("status")
@click.option("--json", "as_json", is_flag=True, help="Print the status as a JSON object.")
@data_dir_option
@click.pass_context
def status(ctx: click.Context, *, home: Home, as_json: bool) -> None:
    """Show the version of the tables, and how busy the server is.

    Exit code: 0 the tables fit this version, 1 they do not.
    """
    address = _address(home)

    from turnwire.stores.postgres.status import read_status, why_unfit

    found = run_async(read_status(address))
    unfit = why_unfit(found)
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(found))
    else:
        click.echo(f"{found.address}  PostgreSQL {found.server}")
        click.echo(
            f"schema {found.schema}, this version knows {found.known.pre}.{found.known.post}"
        )
        click.echo(f"{found.size:,} bytes")
        click.echo(f"{found.connections} of {found.max_connections} connections are in use")
        click.echo(unfit or "The tables fit this version.")
    ctx.exit(1 if unfit else 0)


def _address(home: Home) -> Address:
    from turnwire.stores.address import Address
    from turnwire.stores.open_store import need_postgres

    if not home.address:
        raise TurnwireError(
            "no database is named. Name one: --store postgresql://user@host/database, or"
            " TURNWIRE_STORE."
        )
    need_postgres()
    return Address(home.address)
