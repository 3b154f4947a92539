"""`turnwire token`: creates, lists and revokes the tokens of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from turnwire.cli.home import Home, NothingYet, data_dir_option, run_async
from turnwire.cli.remote import sign_in_link
from turnwire.cli.terminal.words import plain
from turnwire.errors import TurnwireError

if TYPE_CHECKING:
    from turnwire.ports import Token

__all__ = ["command"]


@click.group("token")
def command() -> None:
    """Create, list and revoke tokens for the server."""


@command.command("create")
@click.option("--name", required=True, metavar="NAME", help="A name to recognize the token by.")
@click.option("--user", metavar="USER", help="The user of the token.  [default: the owner]")
@data_dir_option
def create(*, home: Home, name: str, user: str | None) -> None:
    """Create a token and print it. It is shown only once.

    A user sees only the conversations that the user began. The owner sees all. Without --user the
    token is the owner's.
    """
    from turnwire.server.access.keys import OWNER

    if user is not None and (not user.strip() or user == OWNER):
        raise TurnwireError(f"a user cannot be called {user!r}. For the owner leave out --user.")
    if not name.strip():
        raise TurnwireError("the name is empty. Name what the token is for.")
    click.echo(run_async(_create(home, name, user)))
    if user is not None:
        for risk in _risks(home):
            click.echo(f"turnwire: {risk}", err=True)


def _risks(home: Home) -> list[str]:
    """Returns how another user could harm the owner, on a server that is started here."""
    from turnwire.agents import registry
    from turnwire.cli.commands.serve import settings_of
    from turnwire.server.access.isolation import isolate, risks

    try:
        settings, _ = settings_of(data_dir=str(home.path))
        agents, _ = registry.chosen(settings.agents, settings.agent, settings.agent_options)
        return risks(settings, agents, run_async(isolate(settings, agents)))
    except TurnwireError:
        return []  # the token was created; `turnwire serve` and `doctor` report the problem


async def _create(home: Home, name: str, user: str | None) -> str:
    from turnwire.engine.clock import SystemClock
    from turnwire.server.access.keys import OWNER, Keys

    async with home.store(create=True) as store:
        secret, token = await Keys(store, SystemClock()).make(name, user)
        data = {"token_id": token.token_id, "name": name, "user": user}
        await store.note("token_created", at=token.created_at, by=OWNER, data=data)
        return secret


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per token.")
@data_dir_option
def list_(*, home: Home, as_json: bool) -> None:
    """List the tokens, the oldest first. The secrets are not stored and cannot be shown."""
    try:
        tokens = run_async(_tokens(home))
    except NothingYet:
        tokens = []
    if as_json:
        import msgspec

        for token in tokens:
            click.echo(msgspec.json.encode(token))
    elif not tokens:
        click.echo("There are no tokens yet. The first start of the server creates the owner's.")
    else:
        _print(tokens)


async def _tokens(home: Home) -> list[Token]:
    async with home.store() as store:
        return await store.tokens()


_KINDS = {"page": "browser", "share": "share link"}


def _print(tokens: list[Token]) -> None:
    from turnwire.cli.terminal.table import Page, ago

    page = Page()
    for token in tokens:
        whose = "owner" if token.user is None else plain(token.user)
        kind = _KINDS.get(token.kind, plain(token.name))
        state = "revoked " + ago(token.revoked_at) if token.revoked_at else ago(token.created_at)
        page.line(f"{token.token_id}  {whose:<12}  {kind}", state)


@command.command("revoke")
@click.argument("token_id", metavar="ID")
@data_dir_option
def revoke(*, home: Home, token_id: str) -> None:
    """Revoke a token. Its connections are closed within seconds."""
    if not run_async(_revoke(home, token_id)):
        known = home.command("token", "list")
        raise TurnwireError(f"there is no token {plain(token_id)!r} to revoke. List them: {known}")
    click.echo(f"Revoked {token_id}.")


async def _revoke(home: Home, token_id: str) -> bool:
    from turnwire.engine.clock import SystemClock
    from turnwire.server.access.keys import OWNER, Keys

    async with home.store() as store:
        return await Keys(store, SystemClock()).revoke(token_id, OWNER)


@command.command("link")
@click.option(
    "--url", metavar="URL", help="The address of the page, if your own application serves it."
)
@data_dir_option
def link(*, url: str | None, home: Home) -> None:
    """Print a link that signs a browser in. It works once, within 15 minutes."""
    from turnwire.server.discovery import find_server

    if url is None:
        place = find_server(home.path)
        if place is None:
            raise TurnwireError(
                f"no server runs on {home.path}. Start one: {home.command('serve')}."
                " If your own application serves the page, add --url and its address"
            )
        # Asks the server: a turnwire.toml in the current directory may come from anyone.
        url = place.public_url or place.url
    click.echo(run_async(sign_in_link(home, url)))
