"""`turnwire tail`: follows a conversation on a server."""

from __future__ import annotations

import click

from turnwire.cli.conversations import id_argument
from turnwire.cli.home import Home, run_async
from turnwire.cli.remote import client_of, place_of, tell_when_gone
from turnwire.cli.server_options import where_options

__all__ = ["command"]


@click.command("tail")
@click.option(
    "--json", "as_json", is_flag=True, help="Print every frame of protocol v2 as a JSON line."
)
@click.option(
    "--last",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    metavar="N",
    help="Begin with the last N entries.",
)
@where_options
@id_argument
def command(*, home: Home, conversation: str, as_json: bool, last: int) -> None:
    """Follow a conversation on the server.

    ID is the conversation's; its first characters are enough. Ctrl-C ends only this command: the
    conversation goes on. If the server restarts, the command reconnects.
    """
    run_async(_tail(home, conversation, as_json, last))


async def _tail(home: Home, conversation: str, as_json: bool, last: int) -> None:
    from turnwire.cli.live.view import JsonView, StoryView
    from turnwire.dialects.v2.frames import Frame

    client = client_of(home)
    name, head = await place_of(home, conversation)
    async with client.conversation(name, last_sequence=max(head - last, 0)) as talk:
        tell_when_gone(talk)
        if as_json:
            talk.on_frame = JsonView().frame
        view = StoryView(past=True)
        try:
            async for frame in talk:
                if isinstance(frame, Frame) and not as_json:
                    view.frame(frame)
        finally:
            view.stop()
