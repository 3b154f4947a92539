"""`turnwire open`: opens the page of the server in a browser."""

from __future__ import annotations

from urllib.parse import quote

import click

from turnwire.cli.browser import open_link
from turnwire.cli.completing import complete_id
from turnwire.cli.home import Home, run_async
from turnwire.cli.remote import client_of, place_of, sign_in_link
from turnwire.cli.server_options import where_options
from turnwire.errors import TurnwireError

__all__ = ["command"]


@click.command("open")
@click.option("--print", "only_print", is_flag=True, help="Print the address; open no browser.")
@where_options
@click.argument("conversation", metavar="[ID]", required=False, shell_complete=complete_id)
def command(*, home: Home, conversation: str | None, only_print: bool) -> None:
    """Open the page in a browser.

    Without ID, the link signs the browser in; it works once, within 15 minutes. With the ID of a
    conversation, the page shows that conversation: its address works for everyone who may see the
    conversation and is signed in.
    """
    address = run_async(_address(home, conversation))
    if only_print:
        click.echo(address)
    elif not open_link(address):
        raise TurnwireError(f"no browser could be opened. Open this address yourself: {address}")


async def _address(home: Home, conversation: str | None) -> str:
    from turnwire.server.discovery import find_server

    client = client_of(home)
    if home.far is not None:
        page = client.url
    else:
        place = find_server(home.path)
        page = client.url if place is None else place.public_url or place.url
        if conversation is None:
            return await sign_in_link(home, page)
    if conversation is None:
        return f"{page}/"
    name, _ = await place_of(home, conversation)
    return f"{page.rstrip('/')}/c/{quote(name, safe='')}"
