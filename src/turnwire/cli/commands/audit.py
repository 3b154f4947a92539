"""`turnwire audit`: prints the audit trail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from turnwire.cli.completing import complete_id
from turnwire.cli.conversations import find
from turnwire.cli.home import Home, NothingYet, data_dir_option, run_async
from turnwire.cli.terminal.words import plain

if TYPE_CHECKING:
    from turnwire.ports import AuditRow

__all__ = ["command"]

_PAGE = 500


@click.command("audit")
@click.option(
    "--conversation",
    metavar="ID",
    shell_complete=complete_id,
    help="Only this conversation; the first characters of its id are enough.",
)
@click.option(
    "--after", type=click.IntRange(0), default=0, metavar="N", help="Only rows after number N."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per row.")
@data_dir_option
def command(*, home: Home, conversation: str | None, after: int, as_json: bool) -> None:
    """Print the audit trail: who did what, and when.

    Lists messages, answers, permissions, stops, connections, and tokens created and revoked, the
    oldest first. Rows are only added to the trail.
    """
    try:
        rows = run_async(_rows(home, conversation, after))
    except NothingYet:
        rows = []
    if as_json:
        import msgspec

        for row in rows:
            click.echo(msgspec.json.encode(row))
    elif not rows:
        click.echo("The audit trail is empty.")
    else:
        _print(rows)


async def _rows(home: Home, conversation: str | None, after: int) -> list[AuditRow]:
    async with home.store() as store:
        about = None
        if conversation is not None:
            # The trail keeps the rows of deleted conversations; those need their full id.
            row = await store.conversation(conversation)
            known = await store.audit(conversation_id=conversation, limit=1)
            if row is None and not known:
                about = (await find(store, conversation, home)).conversation_id
            else:
                about = conversation
        rows: list[AuditRow] = []
        while page := await store.audit(conversation_id=about, after=after, limit=_PAGE):
            rows += page
            after = page[-1].number
        return rows


def _print(rows: list[AuditRow]) -> None:
    from turnwire.cli.terminal.table import Page

    page = Page()
    for row in rows:
        who = plain(row.by or "-")
        about = plain(row.conversation_id or "")
        data = ", ".join(f"{key} {value}" for key, value in row.data.items() if value is not None)
        page.line(f"{row.at}  {who:<10}  {row.action:<16}  {about}  {plain(data)}".rstrip())
