"""Finds conversations by the start of their id, and takes them over from ended processes."""

from __future__ import annotations

import difflib
import secrets
import time
from typing import TYPE_CHECKING

import click

from turnwire.cli.completing import complete_id
from turnwire.cli.home import Home
from turnwire.cli.terminal.words import plain, some
from turnwire.errors import TurnwireError

if TYPE_CHECKING:
    from turnwire.core.status import Status
    from turnwire.engine import Talk
    from turnwire.ports import ConversationRow, Store

__all__ = [
    "check_free",
    "every_conversation",
    "find",
    "has_died",
    "id_argument",
    "new_id",
    "take_over",
    "true_row",
]

_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # without characters that look alike
_PAGE = 500

id_argument = click.argument("conversation", metavar="ID", shell_complete=complete_id)


def new_id() -> str:
    """Returns a random id of ten characters, short enough to type."""
    return "".join(secrets.choice(_LETTERS) for _ in range(10))


async def every_conversation(store: Store, *, archived: bool = False) -> list[ConversationRow]:
    """Returns all conversations, the newest first."""
    rows: list[ConversationRow] = []
    while page := await store.conversations(archived=archived, limit=_PAGE, offset=len(rows)):
        rows += page
    return rows


async def find(store: Store, given: str, home: Home) -> ConversationRow:
    """Returns the conversation whose id is, or begins with, `given`.

    Raises TurnwireError if none or several match.
    """
    exact = await store.conversation(given)
    if exact is not None:
        return exact
    rows = [*await every_conversation(store), *await every_conversation(store, archived=True)]
    found = [row for row in rows if given and row.conversation_id.startswith(given)]
    if len(found) == 1:
        return found[0]
    if found:
        ids = some([row.conversation_id for row in found], 5)
        raise TurnwireError(f"several ids begin with {given}: {ids}. Type more characters.")
    raise TurnwireError(_unknown(given, rows, home))


def _unknown(given: str, rows: list[ConversationRow], home: Home) -> str:
    said = f"there is no conversation {plain(given)!r}."
    if not rows:
        return f"{said} There are no conversations yet. Start one: {home.command('run', 'hello')}"
    near = difflib.get_close_matches(given, [row.conversation_id for row in rows], 1, 0.5)
    if near:
        return f"{said} Did you mean {near[0]}?"
    return f"{said} List the conversations: {home.command('list')}"


def true_row(row: ConversationRow) -> ConversationRow:
    """Returns the row with its true state. If its process was killed, the row still says running."""
    from msgspec import structs

    from turnwire.engine.ownership.stored_state import as_it_is

    return structs.replace(row, state=as_it_is(row, time.time_ns() // 1_000_000, has_died))


# --- ownership ----------------------------------------------------------------------------------


def has_died(owner: str) -> bool:
    """Returns whether the process of an owner has surely ended."""
    from turnwire.engine.ownership import owners

    return owners.has_died(owner)


async def take_over(talk: Talk, home: Home) -> Status:
    """Makes this process the owner. Raises TurnwireError if another live process is the owner.

    Does not wait for the lease of a process of this machine that has died.
    """
    from turnwire.ports import Owned

    try:
        return await talk.wake()
    except Owned as owned:
        raise TurnwireError(_taken(owned.data.get("owner"), talk.id, home)) from None


def check_free(row: ConversationRow, home: Home) -> None:
    """Raises TurnwireError if a live process owns the conversation."""
    from turnwire.engine.ownership.stored_state import is_held

    if is_held(row, time.time_ns() // 1_000_000, has_died):
        raise TurnwireError(_taken(row.owner, row.conversation_id, home))


def _taken(owner: str | None, conversation_id: str, home: Home) -> str:
    from turnwire.engine.ownership.owners import process_of
    from turnwire.server.discovery import find_server

    process = process_of(owner)
    server = find_server(home.path)
    if process and server is not None and server.pid == process.pid:
        there = home.command("chat", "--conversation", conversation_id)
        return f"the server owns this conversation. Talk to the agent through it: {there}"
    who = f"process {process.pid} on {process.host}" if process else "another process"
    there = home.command("chat", "--server", "URL", "--conversation", conversation_id)
    return (
        f"{who} owns this conversation. Wait until that process has ended, or stop it with Ctrl-C. "
        f"If that process is your own application, connect to it: {there}"
    )
