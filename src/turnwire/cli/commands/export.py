"""`turnwire export`: writes a conversation as Markdown or JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from turnwire.cli.conversations import find, id_argument, true_row
from turnwire.cli.home import Home, data_dir_option, run_async
from turnwire.errors import TurnwireError

if TYPE_CHECKING:
    from turnwire.ports import ConversationRow, Store

__all__ = ["command"]


@click.command("export")
@click.option(
    "--to",
    "form",
    type=click.Choice(["markdown", "jsonl"]),
    required=True,
    help="markdown: for reading. jsonl: the whole log, for `turnwire import`.",
)
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="The file to write.")
@data_dir_option
@id_argument
def command(*, home: Home, conversation: str, form: str, out: Path | None) -> None:
    """Write a conversation to a file, or print it.

    ID is the conversation's; its first characters are enough.
    """
    if out is not None and not out.absolute().parent.is_dir():
        raise TurnwireError(f"{out.parent} is not a directory. Create it, or name another one.")
    if out is not None and out.is_dir():
        raise TurnwireError(f"{out} is a directory. Name a file in it.")
    run_async(_export(home, conversation, form, out))
    if out is not None:
        click.echo(out)


async def _export(home: Home, conversation: str, form: str, out: Path | None) -> None:
    async with home.store() as store:
        row = true_row(await find(store, conversation, home))
        with _opened(out) as file:
            if form == "jsonl":
                await _write_lines(store, row, file, on_screen=out is None)
            else:
                await _write_markdown(store, row, file, on_screen=out is None)


@contextmanager
def _opened(out: Path | None) -> Iterator[BinaryIO]:
    """Opens the output. A file gets its final name only when complete, so that none is half written."""
    if out is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    unfinished = out.with_name(f".{out.name}.unfinished")
    try:
        with unfinished.open("wb") as file:
            yield file
        unfinished.replace(out)
    finally:
        unfinished.unlink(missing_ok=True)


async def _write_lines(
    store: Store, row: ConversationRow, file: BinaryIO, *, on_screen: bool
) -> None:
    import msgspec

    from turnwire.cli.terminal.progress import counting
    from turnwire.engine.export.jsonl import EntryLine, lines_of

    with counting("exporting", row.head, hidden=on_screen) as count:
        async for line in lines_of(store, row):
            file.write(msgspec.json.encode(line) + b"\n")
            if isinstance(line, EntryLine):
                count(line.sequence)


async def _write_markdown(
    store: Store, row: ConversationRow, file: BinaryIO, *, on_screen: bool
) -> None:
    from turnwire.cli.terminal.progress import counting
    from turnwire.cli.terminal.visible import printed
    from turnwire.engine.export.markdown import markdown_of

    with counting("exporting", row.head, hidden=on_screen) as count:
        async for text in markdown_of(store, row, count):
            file.write(printed(text).encode(errors="replace"))
