"""`turnwire chat`: talks to an agent on a server, at the terminal."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from turnwire.cli.completing import complete_agent, complete_id
from turnwire.cli.home import Home, run_async
from turnwire.cli.remote import client_of, place_of
from turnwire.cli.server_options import where_options
from turnwire.cli.terminal.words import plain
from turnwire.errors import TurnwireError

if TYPE_CHECKING:
    from turnwire.client import ClientConversation

__all__ = ["command"]

_HISTORY = 30  # entries of the log that are shown when a conversation is continued


@click.command("chat")
@click.option(
    "--conversation",
    metavar="ID",
    shell_complete=complete_id,
    help="Continue this conversation; the first characters of its id are enough.",
)
@click.option(
    "--agent",
    metavar="NAME",
    shell_complete=complete_agent,
    help="The agent of a new conversation, or the one that takes over in --conversation.",
)
@where_options
@click.pass_context
def command(ctx: click.Context, *, home: Home, conversation: str | None, agent: str | None) -> None:
    """Talk to an agent on the server.

    You can type while the agent answers: messages are queued. Questions and permissions are asked
    as they come. Esc stops the turn. Ctrl-D leaves the chat, and the turn goes on; come back with
    --conversation. If the server restarts, the chat reconnects and nothing is lost.

    /agent NAME lets another agent speak from the next turn on. It is told what was said before.

    Without a terminal, each line of standard input is a message. The exit code is that of
    `turnwire run` for the last turn.
    """
    ctx.exit(run_async(_chat(home, conversation, agent)))


async def _chat(home: Home, conversation: str | None, agent: str | None) -> int:
    from turnwire.cli.live.view import can_type

    client = client_of(home)
    if conversation is None:
        name, head = await client.create(agent), 0
    else:
        name, head = await place_of(home, conversation)
        if agent is not None:
            await client.request("PATCH", f"/api/conversations/{name}", {"agent": agent})
    if not can_type():
        from turnwire.cli.chatting.plain import plain_chat

        async with client.conversation(name, last_sequence=head) as talk:
            return await plain_chat(talk, home, name)
    after = max(head - _HISTORY, 0)
    async with client.conversation(name, last_sequence=after) as talk:
        code, is_silent = await _at_terminal(talk, home, name, after)
    # Only a conversation that this chat created is deleted; an older one is kept, even if empty.
    if conversation is None and is_silent:
        with suppress(TurnwireError):  # an empty conversation that stays does no harm
            await client.request("DELETE", f"/api/conversations/{name}")
        click.echo("You sent no message, so the conversation is not kept.")
    else:
        click.echo(f"Come back: {home.command('chat', '--conversation', name)}")
    return code


async def _at_terminal(
    talk: ClientConversation, home: Home, name: str, after: int
) -> tuple[int, bool]:
    """Chats until the person leaves. Returns the exit code, and whether the log is surely empty."""
    from rich.text import Text

    from turnwire.cli.chatting.room import Room
    from turnwire.cli.live.pen import Pen
    from turnwire.server.access.keys import OWNER
    from turnwire.server.discovery import find_server

    def start() -> str | None:
        is_ours = home.far is None  # a named server is not started from here
        return home.command("serve") if is_ours and find_server(home.path) is None else None

    # The token of a named server may belong to any user, so the user is not known yet.
    room = Room(name, talk, Pen(sys.stdout), start, OWNER if home.far is None else None)
    if after:
        whole = ["show"] if home.far is None else ["tail", "--last", str(after + _HISTORY)]
        room.note([Text(f"See earlier messages: {home.command(*whole, name)}", "dim")])
    code = await room.stay()
    status = room.status
    click.echo()
    for words in room.unsent:
        click.echo(f"The server has not acknowledged: {plain(words)}")
    if status is None:
        return code, False  # the server has sent no state
    if status.requests:
        click.echo(f"A request waits for an answer: {home.command('inbox')}")
    elif status.turn_id is not None:
        click.echo("The turn goes on without you.")
    is_idle = status.turn_id is None and not status.queue and not status.requests
    # While disconnected, this client may have missed messages, and its own may not be confirmed yet.
    is_known = talk.line.state == "live" and not room.has_spoken
    return code, is_known and is_idle and not talk.cursor
