"""`turnwire delete`: deletes a conversation for good."""

from __future__ import annotations

import sys

import click

from turnwire.cli.changes import Changing
from turnwire.cli.conversations import id_argument
from turnwire.cli.home import Home, run_async
from turnwire.cli.server_options import where_options
from turnwire.cli.terminal.words import plain
from turnwire.errors import TurnwireError

__all__ = ["command"]


@click.command("delete")
@click.option("--yes", "-y", "is_sure", is_flag=True, help="Do not ask.")
@where_options
@id_argument
@click.pass_context
def command(ctx: click.Context, *, home: Home, conversation: str, is_sure: bool) -> None:
    """Delete a conversation for good.

    ID is the conversation's; its first characters are enough. The log, its pictures and the agent's
    own record of the session are deleted. To keep it, use `turnwire archive`.
    """
    if not is_sure and not sys.stdin.isatty():
        raise TurnwireError("a delete cannot be undone. Confirm it with --yes.")
    if not run_async(_delete(home, conversation, is_sure=is_sure)):
        click.echo("Nothing was deleted.")
        ctx.exit(1)


async def _delete(home: Home, conversation: str, *, is_sure: bool) -> bool:
    async with Changing.open(home, conversation) as changing:
        named = f"{changing.id} ({plain(changing.title)})" if changing.title else changing.id
        if not is_sure and not click.confirm(f"Delete {named} for good?"):
            return False
        left = await changing.delete()
    click.echo(f"Deleted {named}.")
    if left is not None:
        click.echo(f"turnwire: {plain(left)}", err=True)
    return True
