"""`turnwire rename`: changes the title of a conversation."""

from __future__ import annotations

import click

from turnwire.cli.changes import Changing
from turnwire.cli.conversations import id_argument
from turnwire.cli.home import Home, run_async
from turnwire.cli.options import typed
from turnwire.cli.server_options import where_options
from turnwire.cli.terminal.words import plain

__all__ = ["command"]


@click.command("rename")
@where_options
@id_argument
@click.argument("title", callback=typed)
def command(*, home: Home, conversation: str, title: str) -> None:
    """Change the title of a conversation.

    ID is the conversation's; its first characters are enough.
    """
    name, written = run_async(_rename(home, conversation, plain(title).strip()))
    click.echo(f"{name} is now called: {written}")


async def _rename(home: Home, conversation: str, title: str) -> tuple[str, str]:
    async with Changing.open(home, conversation) as changing:
        await changing.rename(title)
        return changing.id, title
