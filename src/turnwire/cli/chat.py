"""`turnwire chat`: a conversation with an agent on the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from turnwire.cli.home import Home, data_dir_option, run_async
from turnwire.cli.remote import client_of, place_of

if TYPE_CHECKING:
    from turnwire.client import Client, ClientConversation

__all__ = ["command"]

_HISTORY = 30  # entries of the log that are shown to whoever comes back


@click.command("chat")
@click.option("--conversation", metavar="ID", help="Go on in this one; the first letters will do.")
@click.option("--agent", metavar="NAME", help="Whom to talk to, in a new one.")
@data_dir_option
@click.pass_context
def command(ctx: click.Context, *, home: Home, conversation: str | None, agent: str | None) -> None:
    """Talk to an agent on the server.

    The prompt stays below while the answer grows above it. What you send meanwhile waits for its
    turn. Questions and permissions are asked as they come. Esc stops the turn. Ctrl-D leaves: the
    agent goes on without you, and --conversation brings you back. A server that is killed and
    started again is found again, and nothing is lost.

    Where this is no terminal, each line of standard input is a message, and the exit code is that
    of `turnwire run` for the last turn.
    """
    if conversation is not None and agent is not None:
        raise click.UsageError("A conversation keeps its agent: --agent is for a new one.")
    ctx.exit(run_async(_chat(home, conversation, agent)))


async def _chat(home: Home, conversation: str | None, agent: str | None) -> int:
    from turnwire.cli.live.view import can_type

    client = client_of(home)
    if conversation is None:
        name, head = await client.create(agent), 0
    else:
        name, head = await place_of(home, conversation)
    if not can_type():
        from turnwire.cli.chatting.plain import plain_chat

        async with client.conversation(name, last_sequence=head) as talk:
            return await plain_chat(talk, home, name)
    async with client.conversation(name, last_sequence=max(head - _HISTORY, 0)) as talk:
        return await _at_terminal(client, talk, home, name)


async def _at_terminal(client: Client, talk: ClientConversation, home: Home, name: str) -> int:
    import sys

    from turnwire.cli.chatting.room import Room
    from turnwire.cli.live.pen import Pen
    from turnwire.server.place import find_server

    def start() -> str | None:
        return home.command("serve") if find_server(home.path) is None else None

    room = Room(talk, Pen(sys.stdout), start)
    code = await room.stay()
    status = room.status
    if not talk.cursor and status is not None and status.turn_id is None and not status.queue:
        await client.request("DELETE", f"/api/conversations/{name}")
        click.echo("Nothing was said, so nothing is kept.")
        return code
    if status is not None and status.requests:
        click.echo(f"Something waits for an answer: {home.command('inbox')}")
    elif status is not None and status.turn_id is not None:
        click.echo("The agent goes on without you.")
    click.echo(f"Come back: {home.command('chat', '--conversation', name)}")
    return code
