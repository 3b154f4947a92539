"""`turnwire tail`: what happens in a conversation on the server, as it happens."""

from __future__ import annotations

import click

from turnwire.cli.conversations import id_argument
from turnwire.cli.home import Home, run_async
from turnwire.cli.remote import client_of, place_of, tell_when_gone
from turnwire.cli.server_options import where_options

__all__ = ["command"]


@click.command("tail")
@click.option("--json", "as_json", is_flag=True, help="Every frame of protocol v2 as a JSON line.")
@click.option(
    "--last", type=click.IntRange(0), default=10, metavar="N", help="Begin so many entries earlier."
)
@where_options
@id_argument
def command(*, home: Home, conversation: str, as_json: bool, last: int) -> None:
    """Show what happens in a conversation on the server, as it happens.

    ID is the conversation's; its first letters will do. Ctrl-C ends it, and nothing else: the
    conversation goes on. A server that is started again is found again.
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
