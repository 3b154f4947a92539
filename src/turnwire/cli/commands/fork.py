"""`turnwire fork`: another conversation with the beginning of one."""

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
    help="The last entry that both have; 0: none. Without it: as far as the conversation is whole.",
)
@click.option("--title", help="What the new one is called. Without it: as the other one.")
@data_dir_option
@id_argument
def command(*, home: Home, conversation: str, at: int | None, title: str | None) -> None:
    """Begin another conversation with the beginning of one.

    ID is the conversation's; its first letters will do. Both go on by themselves. A conversation can
    be forked after a turn, or before a message; `turnwire show ID --json` has the numbers.
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
        if find_server(home.path) is not None:  # whoever looks at its list sees the new one
            name = await client_of(home).fork(row.conversation_id, at, title=wanted)
        else:
            async with open_engine(store, row.agent, known_agent(row.agent)) as engine:
                talk = await engine.fork(
                    row.conversation_id, at, new_conversation_id=new_id(), title=wanted
                )
                name = talk.id
        made = await store.conversation(name)
    return name, 0 if made is None else made.head
