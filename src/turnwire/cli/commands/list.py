"""`turnwire list`: lists the conversations of the data directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from turnwire.cli.conversations import every_conversation, true_row
from turnwire.cli.home import Home, NothingYet, data_dir_option, run_async
from turnwire.cli.terminal.words import counted, money, plain

if TYPE_CHECKING:
    from turnwire.ports import ConversationRow

__all__ = ["command", "facts"]

_STATES = {
    "active": ("ready", "green"),
    "streaming": ("working", "yellow"),
    "waiting_input": ("waits for you", "magenta"),
    "interrupted": ("interrupted", "yellow"),
    "error": ("failed", "red"),
}


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per conversation.")
@click.option("--archived", is_flag=True, help="List the archived conversations instead.")
@data_dir_option
def command(*, home: Home, as_json: bool, archived: bool) -> None:
    """List the conversations, the newest first."""
    try:
        rows = run_async(_rows(home, archived=archived))
    except NothingYet:
        rows = []
    if as_json:
        import msgspec

        for row in rows:
            click.echo(msgspec.json.encode(facts(row)))
    elif not rows and archived:
        click.echo("No conversation is archived.")
    elif not rows:
        start = home.command("run", "hello")
        click.echo(f"There are no conversations in {home.place} yet. Start one: {start}")
    else:
        _print(rows)
        damaged = sum(row.damage is not None for row in rows)
        if damaged:
            said = counted(damaged, "conversation")
            click.echo(f"{said} cannot be read. See why: {home.command('fsck')}", err=True)


async def _rows(home: Home, *, archived: bool) -> list[ConversationRow]:
    async with home.store() as store:
        return [true_row(row) for row in await every_conversation(store, archived=archived)]


def facts(row: ConversationRow) -> dict[str, Any]:
    """Returns a conversation as the fields of its JSON line."""
    state = row.state
    return {
        "conversation_id": row.conversation_id,
        "title": row.title,
        "agent": row.agent,
        "state": state.state,
        "turns": state.turns,
        "entries": row.head,
        "open_requests": [request.request_id for request in state.requests],
        "totals": state.totals,
        "cwd": row.cwd,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        **({"forked_from": origin} if (origin := _origin(row)) is not None else {}),
        **({"damage": row.damage} if row.damage is not None else {}),
    }


def _origin(row: ConversationRow) -> dict[str, Any] | None:
    if row.parent_id is None or row.forked_at is None:
        return None
    return {"id": row.parent_id, "at_sequence": row.forked_at}


def _print(rows: list[ConversationRow]) -> None:
    from rich.text import Text

    from turnwire.cli.terminal.table import Page, ago

    page = Page()
    width = max(len(row.conversation_id) for row in rows)
    for row in rows:
        word, style = _STATES[row.state.state] if row.damage is None else ("damaged", "red")
        title = plain(row.title or "(nothing was said)")
        left = Text.assemble(
            (f"{row.conversation_id:<{width}}", "bold"), "  ", (f"{word:<13}", style)
        )
        cost = row.state.totals.cost_usd
        turns = counted(row.state.turns, "turn") + (f", {money(cost)}" if cost else "")
        if row.parent_id is not None:
            title = f"{title} (fork of {row.parent_id})"
        page.line(Text.assemble(left, "  ", title), f"{row.agent}, {turns}, {ago(row.updated_at)}")
