"""Finding conversations by a part of their id, and taking them over from processes that are gone."""

from __future__ import annotations

import difflib
import secrets
import time
from typing import TYPE_CHECKING

import click

from turnwire.cli.home import Home
from turnwire.cli.terminal.words import plain, some
from turnwire.errors import TurnwireError

if TYPE_CHECKING:
    from turnwire.core.status import Status
    from turnwire.engine import Talk
    from turnwire.ports import ConversationRow, Owned, Store

__all__ = [
    "every_conversation",
    "find",
    "has_died",
    "id_argument",
    "new_id",
    "take_over",
    "true_row",
]

_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # none that looks like another
_PAGE = 500

id_argument = click.argument("conversation", metavar="ID")


def new_id() -> str:
    """Short enough to be typed: ten letters, of which a few are enough to find it again."""
    return "".join(secrets.choice(_LETTERS) for _ in range(10))


async def every_conversation(store: Store, *, archived: bool = False) -> list[ConversationRow]:
    """All of them, the newest first."""
    rows: list[ConversationRow] = []
    while page := await store.conversations(archived=archived, limit=_PAGE, offset=len(rows)):
        rows += page
    return rows


async def find(store: Store, given: str, home: Home) -> ConversationRow:
    """The one conversation whose id is this, or begins with it."""
    exact = await store.conversation(given)
    if exact is not None:
        return exact
    rows = [*await every_conversation(store), *await every_conversation(store, archived=True)]
    found = [row for row in rows if given and row.conversation_id.startswith(given)]
    if len(found) == 1:
        return found[0]
    if found:
        ids = some([row.conversation_id for row in found], 5)
        raise TurnwireError(f"{given} begins several ids: {ids}. Type more of the one you mean.")
    raise TurnwireError(_unknown(given, rows, home))


def _unknown(given: str, rows: list[ConversationRow], home: Home) -> str:
    said = f"there is no conversation {plain(given)!r}."
    if not rows:
        return f"{said} There is none at all yet. Start one: {home.command('run', 'hello')}"
    near = difflib.get_close_matches(given, [row.conversation_id for row in rows], 1, 0.5)
    if near:
        return f"{said} Did you mean {near[0]}?"
    return f"{said} See which there are: {home.command('list')}"


def true_row(row: ConversationRow) -> ConversationRow:
    """A conversation as it is: one whose process was killed seems to run, and does not."""
    from msgspec import structs

    from turnwire.engine.ownership.stored_state import as_it_is

    return structs.replace(row, state=as_it_is(row, time.time_ns() // 1_000_000, has_died))


# --- whose it is --------------------------------------------------------------------------------


def has_died(owner: str) -> bool:
    """Returns whether the process of an owner has surely ended."""
    from turnwire.engine.ownership import owners

    return owners.has_died(owner)


async def take_over(talk: Talk, home: Home) -> Status:
    """Make it ours. A process of this machine that has died is not waited for."""
    from turnwire.ports import Owned

    try:
        return await talk.wake()
    except Owned as owned:
        raise TurnwireError(_taken(owned, talk.id, home)) from None


def _taken(owned: Owned, conversation_id: str, home: Home) -> str:
    from turnwire.engine.ownership.owners import process_of
    from turnwire.server.discovery import find_server

    process = process_of(owned.data.get("owner"))
    server = find_server(home.path)
    if process and server is not None and server.pid == process.pid:
        there = home.command("chat", "--conversation", conversation_id)
        return f"the server works on this conversation. Talk in it there: {there}"
    who = f"process {process.pid} on {process.host}" if process else "another process"
    there = home.command("chat", "--server", "URL", "--conversation", conversation_id)
    return (
        f"{who} works on this conversation. Wait until it has ended, or stop it there with Ctrl-C. "
        f"If it is an application with Turnwire in it, come in there: {there}"
    )
