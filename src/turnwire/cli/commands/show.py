"""`turnwire show`: prints a conversation from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from turnwire.cli.conversations import find, id_argument, true_row
from turnwire.cli.home import Home, data_dir_option, run_async
from turnwire.cli.terminal.words import plain

if TYPE_CHECKING:
    from turnwire.ports import ConversationRow, Store

__all__ = ["command"]


@click.command("show")
@click.option("--tail", type=click.IntRange(min=1), metavar="N", help="Only the last N entries.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON lines, as `turnwire export --to jsonl`."
)
@data_dir_option
@id_argument
def command(*, home: Home, conversation: str, tail: int | None, as_json: bool) -> None:
    """Print a conversation.

    ID is the conversation's; its first characters are enough.
    """
    run_async(_show(home, conversation, tail, as_json))


async def _show(home: Home, conversation: str, tail: int | None, as_json: bool) -> None:
    async with home.store() as store:
        row = true_row(await find(store, conversation, home))
        if as_json:
            await _print_json(store, row, tail)
        else:
            await _print(store, row, tail, home)


async def _print_json(store: Store, row: ConversationRow, tail: int | None) -> None:
    import msgspec

    from turnwire.engine.export.jsonl import as_line, head_of, told

    click.echo(msgspec.json.encode(head_of(row)))
    async for item in told(store, row, tail):
        click.echo(msgspec.json.encode(as_line(item)))


async def _print(store: Store, row: ConversationRow, tail: int | None, home: Home) -> None:
    from rich.text import Text

    from turnwire.cli.live.view import StoryView
    from turnwire.engine.export.jsonl import as_frame, told

    view = StoryView(past=True)
    try:
        title = plain(row.title or "(nothing was said)")
        where = f", in {plain(row.cwd)}" if row.cwd else ""
        about = f"{row.conversation_id} with {row.agent}{where}"
        view.note([Text(title, "bold"), Text(about, "dim")])
        if tail is not None and tail < row.head:
            view.note([Text(f"… {row.head - tail:,} earlier entries", "dim italic")])
        async for item in told(store, row, tail):
            view.frame(as_frame(item, row.conversation_id))
        if row.state.requests:
            word, command = "Answer it: ", home.command("answer", row.conversation_id)
        else:
            word, command = "Go on: ", home.command("run", "--conversation", row.conversation_id)
        view.note([Text.assemble((word, "dim"), command)])
    finally:
        view.stop()
