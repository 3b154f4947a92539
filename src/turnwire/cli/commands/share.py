"""`turnwire share`: makes, lists and ends links that show a conversation, read-only."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from turnwire.cli.conversations import find, id_argument
from turnwire.cli.home import Home, run_async
from turnwire.cli.remote import client_of
from turnwire.cli.server_options import find_there, where_options
from turnwire.cli.terminal.words import plain

if TYPE_CHECKING:
    from turnwire.client import Client
    from turnwire.ports import ConversationRow, Store

__all__ = ["command"]

_DAYS = 30
_MOST_DAYS = 365


@click.command("share")
@click.option(
    "--days",
    type=click.IntRange(1, _MOST_DAYS),
    metavar="N",
    help=f"Days until the link expires, at most {_MOST_DAYS}.  [default: {_DAYS}]",
)
@click.option("--list", "is_list", is_flag=True, help="List the valid links instead.")
@click.option("--json", "as_json", is_flag=True, help="With --list: one JSON object per link.")
@click.option("--end", metavar="SHARE", help="End a link instead, by its id in the list.")
@where_options
@id_argument
def command(
    *,
    home: Home,
    conversation: str,
    days: int | None,
    is_list: bool,
    as_json: bool,
    end: str | None,
) -> None:
    """Print a link that shows a conversation, read-only.

    ID is the conversation's; its first characters are enough. Everybody who has the link can read
    what was said until now, without an account. Later messages are not shown. The link is shown
    only once, and a server has to run.
    """
    if sum([days is not None, is_list, end is not None]) > 1:
        raise click.UsageError("--days, --list and --end exclude each other. Use one of them.")
    if as_json and not is_list:
        raise click.UsageError("--json needs --list. Add it.")
    if end is not None:
        run_async(_end(home, conversation, end))
        click.echo(f"Ended {plain(end)}.")
    elif is_list:
        _print(run_async(_list(home, conversation)), as_json=as_json)
    else:
        click.echo(run_async(_make(home, conversation, _DAYS if days is None else days)))


class _Sharing(ABC):
    """The links of one conversation."""

    @abstractmethod
    async def list(self) -> list[dict[str, Any]]:
        """Returns the valid links, without their secrets."""

    @abstractmethod
    async def end(self, share_id: str) -> None:
        """Ends a link. Ending it again is harmless."""

    @staticmethod
    @asynccontextmanager
    async def open(home: Home, given: str) -> AsyncIterator[_Sharing]:
        """Uses the named server, or the one of the data directory; otherwise the store."""
        from turnwire.server.discovery import find_server

        if home.far is not None:
            client = client_of(home)
            yield _There(client, (await find_there(client, given)).id)
            return
        async with home.store() as store:
            row = await find(store, given, home)
            if find_server(home.path) is not None:
                yield _There(client_of(home), row.conversation_id)
            else:
                yield _Here(store, row)


class _There(_Sharing):
    """Links of a server."""

    def __init__(self, client: Client, conversation_id: str) -> None:
        self._client = client
        self._path = _path(conversation_id)

    async def list(self) -> list[dict[str, Any]]:
        told: list[dict[str, Any]] = (await self._client.request("GET", self._path))["shares"]
        return told

    async def end(self, share_id: str) -> None:
        await self._client.request("DELETE", f"{self._path}/{quote(share_id, safe='')}")


class _Here(_Sharing):
    """Links in the store of a server that does not run."""

    def __init__(self, store: Store, row: ConversationRow) -> None:
        from turnwire.engine.clock import SystemClock
        from turnwire.server.access.keys import Keys
        from turnwire.server.access.share_links import ShareLinks

        clock = SystemClock()
        self._links = ShareLinks(store, Keys(store, clock), clock)
        self._row = row

    async def list(self) -> list[dict[str, Any]]:
        from turnwire.core.times import iso

        return [
            {
                "share_id": link.share_id,
                "through": link.through,
                "created_at": link.created_at,
                "expires_at": iso(link.expires_at),
            }
            for link in await self._links.of(self._row)
        ]

    async def end(self, share_id: str) -> None:
        from turnwire.server.access.keys import OWNER

        await self._links.end(self._row, share_id, OWNER)


async def _make(home: Home, given: str, days: int) -> str:
    client = client_of(home)  # without a server no address would show the conversation
    if home.far is not None:
        name = (await find_there(client, given)).id
    else:
        async with home.store() as store:
            name = (await find(store, given, home)).conversation_id
    made = await client.request("POST", _path(name), {"days": days})
    return str(made["link"])


async def _list(home: Home, given: str) -> list[dict[str, Any]]:
    async with _Sharing.open(home, given) as sharing:
        return await sharing.list()


async def _end(home: Home, given: str, share_id: str) -> None:
    async with _Sharing.open(home, given) as sharing:
        known = [share["share_id"] for share in await sharing.list()]
        if share_id not in known:
            raise click.ClickException(
                f"There is no valid link {plain(share_id)!r} of this conversation. It may have ended "
                "already. `turnwire share ID --list` names the valid ones."
            )
        await sharing.end(share_id)


def _print(shares: list[dict[str, Any]], *, as_json: bool) -> None:
    from turnwire.cli.terminal.table import Page, ago

    if as_json:
        import msgspec

        for share in shares:
            click.echo(msgspec.json.encode(share))
        return
    if not shares:
        click.echo("There are no links to this conversation.")
        return
    page = Page()
    for share in shares:
        until = share["expires_at"][:10]
        about = f"{plain(share['share_id'])}  up to entry {share['through']}, until {until}"
        page.line(about, ago(share["created_at"]))


def _path(conversation_id: str) -> str:
    return f"/api/conversations/{quote(conversation_id, safe='')}/shares"
