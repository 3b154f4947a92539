"""Connects a command to a conversation: through a server, or in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import click

from turnwire.cli.conversations import find, take_over, true_row
from turnwire.cli.home import Home
from turnwire.cli.server_options import find_there
from turnwire.cli.terminal.words import plain
from turnwire.data_dir import check_data_dir
from turnwire.errors import TurnwireError

if TYPE_CHECKING:
    from turnwire.cli.live.conversing import Conversing
    from turnwire.client import Client, ClientConversation
    from turnwire.core.status import OpenRequest
    from turnwire.ports import ConversationRow, Store

__all__ = ["agents_there", "client_of", "come_in", "place_of", "sign_in_link", "tell_when_gone"]


def client_of(home: Home) -> Client:
    """Returns a client of the named server, or of the one that runs on the data directory.

    Raises TurnwireError if no server runs.
    """
    from turnwire.client import Client
    from turnwire.server.discovery import find_server

    if home.far is not None:
        return Client(home.far.url, home.far.token)
    check_data_dir(home.path)  # or another user could name a server there, and receive the token
    place = find_server(home.path)
    if place is None:
        raise TurnwireError(f"no server runs on {home.path}. Start one: {home.command('serve')}")
    try:
        token = _token(home)
    except OSError as failure:
        cause = failure.strerror or str(failure)
        raise TurnwireError(
            f"cannot read the owner's token: {cause}. Check the permissions of {home.path}."
        ) from None

    def find() -> tuple[str, str] | None:
        """Returns the address and token of the server, which may restart at another port."""
        with suppress(OSError):
            now = find_server(home.path)
            return None if now is None else (now.url, _token(home))
        return None

    return Client(place.url, token, find=find)


async def agents_there(home: Home) -> dict[str, bool] | None:
    """Returns the agents of the server that runs on the data directory, and whether they are ready.

    Returns None if the server does not answer.
    """
    with suppress(TurnwireError):
        told = await client_of(home).request("GET", "/api/agents")
        return {each["name"]: each["ready"] for each in told["agents"]}
    return None


def _no_agent(home: Home, agent: str, agents: Mapping[str, bool]) -> str:
    ready = [name for name, is_ready in agents.items() if is_ready]
    every = ",".join(["module:attribute", *ready])
    return (
        f"the server on {home.path} has no agent {plain(agent)!r}; "
        f"it has: {', '.join(ready) or 'none'}. "
        "Put TURNWIRE_AGENT=module:attribute, the place of the agent, before this command. Or stop that server, and start it with the agent: "
        f"TURNWIRE_AGENTS={every} {home.command('serve')}"
    )


async def place_of(home: Home, given: str) -> tuple[str, int]:
    """Returns the full id of a conversation, and the number of its last entry."""
    if home.far is not None:
        there = await find_there(client_of(home), given)
        return there.id, there.head
    async with home.store() as store:
        row = await find(store, given, home)
        return row.conversation_id, row.head


async def sign_in_link(home: Home, page: str) -> str:
    """Returns a link to the page that signs a browser in, once."""
    from turnwire.engine.clock import SystemClock
    from turnwire.server.access.keys import Keys

    async with home.store() as store:
        keys = Keys(store, SystemClock())
        link = await keys.link(await keys.owner(home.path))
    return f"{page.rstrip('/')}/enter?link={link}"


def _token(home: Home) -> str:
    from turnwire.server.access.keys import read_owner_token

    return read_owner_token(home.path)


def tell_when_gone(talk: ClientConversation) -> None:
    """Says on standard error when the connection is lost; standard output stays clean."""
    was_live = False

    def tell() -> None:
        nonlocal was_live
        if talk.line.state == "offline" and was_live:
            click.echo("turnwire: the connection is lost. Waiting for the server.", err=True)
        if talk.line.state in ("offline", "live"):
            was_live = talk.line.state == "live"

    talk.on_line = tell


@asynccontextmanager
async def come_in(
    home: Home, store: Store, row: ConversationRow
) -> AsyncIterator[tuple[Conversing, list[OpenRequest]]]:
    """Opens a conversation. Yields it with its open requests.

    Uses the server of the data directory if one runs; otherwise this process becomes the owner. This
    process also does if the server does not have the agent, and this process knows where it is.
    """
    from turnwire.agents.registry import UnknownAgent
    from turnwire.cli.live.conversing import Here
    from turnwire.cli.live.there import There
    from turnwire.cli.live.visit import known_agent, open_engine
    from turnwire.server.discovery import find_server

    name, agent = row.conversation_id, None
    server = find_server(home.path)
    agents = None if server is None else await agents_there(home)
    is_missing = agents is not None and row.agent not in agents
    # In a shared database another server may have the agent: this one passes the answer on.
    if server is None or (is_missing and not home.address):
        try:
            agent = known_agent(row.agent)
        except UnknownAgent:
            if server is None:
                raise
    if agent is None:
        try:
            async with client_of(home).conversation(name, last_sequence=row.head) as there:
                yield There(name, there), true_row(row).state.requests
        except TurnwireError as refused:
            if refused.code != "AGENT_UNAVAILABLE" or not is_missing:
                raise
            raise TurnwireError(_no_agent(home, row.agent, agents or {})) from refused
        return
    async with open_engine(store, row.agent, agent) as engine:
        talk = await engine.open(name)
        status = await take_over(talk, home)
        yield Here(engine, talk), status.requests
