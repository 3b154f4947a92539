"""`turnwire chat`: a conversation with an agent on the server."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from turnwire.cli.home import Home, data_dir_option, run_async
from turnwire.cli.remote import client_of, find_there

if TYPE_CHECKING:
    from turnwire.cli.live.session import Session
    from turnwire.cli.live.view import View

__all__ = ["command"]


@click.command("chat")
@click.option("--conversation", metavar="ID", help="Go on in this one; the first letters will do.")
@click.option("--agent", metavar="NAME", help="Whom to talk to, in a new one.")
@data_dir_option
@click.pass_context
def command(ctx: click.Context, *, home: Home, conversation: str | None, agent: str | None) -> None:
    """Talk to an agent on the server, turn after turn.

    The server goes on without you: leave with Ctrl-D, come back with --conversation. If the server
    is restarted meanwhile, the conversation goes on where it was. Ctrl-C stops a turn, twice leaves.
    Questions and permissions are asked as they come. Where standard input is no terminal, each line
    of it is a message.

    Exit code: as of `turnwire run`, for the last turn.
    """
    if conversation is not None and agent is not None:
        raise click.UsageError("A conversation keeps its agent: --agent is for a new one.")
    ctx.exit(run_async(_chat(home, conversation, agent)))


async def _chat(home: Home, conversation: str | None, agent: str | None) -> int:
    from rich.text import Text

    from turnwire.cli.live.session import Left, Session
    from turnwire.cli.live.there import There
    from turnwire.cli.live.view import open_view

    client = client_of(home)
    if conversation is not None:
        row = await find_there(client, conversation, home)
        name, head = str(row["id"]), int(row["head"])
    else:
        name, head = await client.create(agent), 0
    code = 0
    async with client.conversation(name, last_sequence=head) as talk:
        with open_view(as_json=False) as view:
            try:
                async with Session(There(talk), view) as session:
                    code = await _turns(session, view)
            except Left as left:
                code = left.code
            again = home.command("chat", "--conversation", name)
            view.note([Text.assemble(("Go on: ", "dim"), again)])
    return code


async def _turns(session: Session, view: View) -> int:
    """One after the other, until there is nothing more to say."""
    from rich.text import Text

    from turnwire.cli.live.ending import figures, next_step

    code = 0
    turn_id = session.status.turn_id
    while True:
        if turn_id is not None:
            end = await session.see(turn_id)
        else:
            words = await _words(session, view)
            if words is None:
                return code
            if not words.strip():
                continue
            end = await session.say(words)
        turn_id = None
        step = next_step(end)
        view.note([*figures(end), *([Text(step)] if step else [])])
        code = 1 if end.is_error else 130 if end.interrupted else 0


async def _words(session: Session, view: View) -> str | None:
    """What to say next; none: nothing more."""
    if view.painter is not None:
        words = await session.read_line("What do you want to say?  Ctrl-D leaves")
        if words is not None:
            view.painter.said(words)
        return words
    return sys.stdin.readline() or None
