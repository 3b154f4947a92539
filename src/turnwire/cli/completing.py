"""Values that a shell completes: files, directories, agents, and ids of conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from turnwire.errors import TurnwireError

if TYPE_CHECKING:
    from turnwire.ports import ConversationRow

__all__ = ["complete_agent", "complete_directory", "complete_file", "complete_id"]

_MOST = 200  # ids that are offered, the newest


def complete_id(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Returns the ids of this data directory that begin so, with their titles.

    A server that the command names is not asked: a Tab must not send a token.
    """
    from turnwire.cli.home import Home, run_async
    from turnwire.cli.terminal.words import plain

    home = ctx.params.get("home")
    is_archived = bool(ctx.params.get("undo"))  # only an archived one can be taken out
    try:
        rows = run_async(_newest(home if isinstance(home, Home) else Home(), is_archived))
    except (TurnwireError, OSError):
        return []  # nothing to offer; the command itself says why
    return [
        CompletionItem(row.conversation_id, help=plain(row.title or ""))
        for row in rows
        if row.conversation_id.startswith(incomplete)
        and (ctx.info_name != "answer" or row.state.requests)
    ]


async def _newest(home: Any, archived: bool) -> list[ConversationRow]:
    async with home.store() as store:
        rows: list[ConversationRow] = await store.conversations(
            archived=archived, limit=_MOST, offset=0
        )
        return rows


def complete_agent(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Returns the names of agents that begin so."""
    from turnwire.agents import registry

    return [CompletionItem(name) for name in registry.names() if name.startswith(incomplete)]


def complete_file(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Lets the shell complete the name of a file."""
    return [CompletionItem(incomplete, type="file")]


def complete_directory(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Lets the shell complete the name of a directory."""
    return [CompletionItem(incomplete, type="dir")]
