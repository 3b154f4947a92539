"""`turnwire archive`: closes a conversation and moves it to the archive, or takes it out again."""

from __future__ import annotations

import click

from turnwire.cli.changes import Changing
from turnwire.cli.conversations import id_argument
from turnwire.cli.home import Home, run_async
from turnwire.cli.server_options import where_options

__all__ = ["command"]


@click.command("archive")
@click.option("--undo", is_flag=True, help="Take the conversation out of the archive.")
@where_options
@id_argument
def command(*, home: Home, conversation: str, undo: bool) -> None:
    """Move a conversation to the archive.

    ID is the conversation's; its first characters are enough. A turn that runs is stopped. An archived
    conversation can still be read, exported and forked, but nothing can be said in it.
    """
    name = run_async(_archive(home, conversation, archived=not undo))
    if undo:
        click.echo(f"{name} is out of the archive.")
    else:
        back = home.command("archive", "--undo", name)
        click.echo(f"{name} is in the archive. Take it out: {back}")


async def _archive(home: Home, conversation: str, *, archived: bool) -> str:
    async with Changing.open(home, conversation) as changing:
        await changing.archive(archived=archived)
        return changing.id
