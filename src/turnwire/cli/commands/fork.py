"""`turnwire fork`: creates a conversation from the first entries of another one."""

from __future__ import annotations

import click

from turnwire.cli.conversations import find, id_argument, new_id
from turnwire.cli.home import Home, data_dir_option, run_async
from turnwire.cli.terminal.words import plain

__all__ = ["command"]


@click.command("fork")
@click.option(
    "--at",
    type=click.IntRange(min=0),
    metavar="N",
    help="The last entry to copy; 0 copies none.  [default: the last one that can be forked at]",
)
@click.option("--title", help="The title of the fork.  [default: the title of ID]")
@data_dir_option
@id_argument
def command(*, home: Home, conversation: str, at: int | None, title: str | None) -> None:
    """Create a conversation from the first entries of another one.

    ID is the conversation's; its first characters are enough. The two conversations are independent
    of each other. A fork can begin after a turn or before a message; `turnwire show ID --json` prints
    the numbers of the entries.
    """
    name, place = run_async(_fork(home, conversation, at, title))
    go_on = home.command("run", "--conversation", name)
    click.echo(f"{name} begins with the first {place} entries. Go on: {go_on}")


async def _fork(
    home: Home, conversation: str, at: int | None, title: str | None
) -> tuple[str, int]:
    from turnwire.cli.live.visit import known_agent, open_engine
    from turnwire.cli.remote import client_of
    from turnwire.server.discovery import find_server

    wanted = None if title is None else plain(title).strip() or None
    async with home.store() as store:
        row = await find(store, conversation, home)
        if find_server(home.path) is not None:  # the server then shows the fork to its clients
            name = await client_of(home).fork(row.conversation_id, at, title=wanted)
        else:
            async with open_engine(store, row.agent, known_agent(row.agent)) as engine:
                talk = await engine.fork(
                    row.conversation_id, at, new_conversation_id=new_id(), title=wanted
                )
                name = talk.id
        made = await store.conversation(name)
    return name, 0 if made is None else made.head
