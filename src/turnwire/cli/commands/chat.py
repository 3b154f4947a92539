"""`turnwire chat`: a conversation with an agent on the server."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from turnwire.cli.home import Home, run_async
from turnwire.cli.remote import client_of, place_of
from turnwire.cli.server_options import where_options
from turnwire.cli.terminal.words import plain
from turnwire.errors import TurnwireError

if TYPE_CHECKING:
    from turnwire.client import ClientConversation

__all__ = ["command"]

_HISTORY = 30  # entries of the log that are shown to whoever comes back


@click.command("chat")
@click.option("--conversation", metavar="ID", help="Go on in this one; the first letters will do.")
@click.option("--agent", metavar="NAME", help="Whom to talk to, in a new one.")
@where_options
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
    after = max(head - _HISTORY, 0)
    async with client.conversation(name, last_sequence=after) as talk:
        code, is_silent = await _at_terminal(talk, home, name, after)
    # What was there before this chat is somebody's, however empty it is.
    if conversation is None and is_silent:
        with suppress(TurnwireError):  # then it stays, empty as it is
            await client.request("DELETE", f"/api/conversations/{name}")
        click.echo("Nothing was said, so nothing is kept.")
    else:
        click.echo(f"Come back: {home.command('chat', '--conversation', name)}")
    return code


async def _at_terminal(
    talk: ClientConversation, home: Home, name: str, after: int
) -> tuple[int, bool]:
    """Until the person leaves: the exit code, and whether it is known that nothing was ever said."""
    from rich.text import Text

    from turnwire.cli.chatting.room import Room
    from turnwire.cli.live.pen import Pen
    from turnwire.server.access.keys import OWNER
    from turnwire.server.discovery import find_server

    def start() -> str | None:
        is_ours = home.far is None  # else somebody else starts it
        return home.command("serve") if is_ours and find_server(home.path) is None else None

    # Who has a token of another server may be anybody.
    room = Room(name, talk, Pen(sys.stdout), start, OWNER if home.far is None else None)
    if after:
        whole = ["show"] if home.far is None else ["tail", "--last", str(after + _HISTORY)]
        room.note([Text(f"There is more above: {home.command(*whole, name)}", "dim")])
    code = await room.stay()
    status = room.status
    click.echo()
    for words in room.unsent:
        click.echo(f"The server has not acknowledged: {plain(words)}")
    if status is None:
        return code, False  # nobody has told how things are
    if status.requests:
        click.echo(f"Something waits for an answer: {home.command('inbox')}")
    elif status.turn_id is not None:
        click.echo("The agent goes on without you.")
    is_idle = status.turn_id is None and not status.queue and not status.requests
    # Off the line, others may have said something; and what was just sent may not be told yet.
    is_known = talk.line.state == "live" and not room.has_spoken
    return code, is_known and is_idle and not talk.cursor
