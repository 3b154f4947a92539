"""`turnwire import`: conversations from a file that `turnwire export` wrote, or from Claude Code."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from turnwire.cli.conversations import new_id
from turnwire.cli.home import Home, data_dir_option, run_async
from turnwire.cli.words import counted, readable
from turnwire.errors import TurnwireError, UnreadableInput

if TYPE_CHECKING:
    from turnwire.engine.record import Line
    from turnwire.ports import Store

__all__ = ["command"]


@click.command("import")
@click.option(
    "--from",
    "source",
    type=click.Choice(["turnwire", "claude"]),
    default="turnwire",
    help="Whose: a file of `turnwire export`, or the sessions of Claude Code on this machine.",
)
@click.option(
    "--project",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="With claude: only what was said in this directory.",
)
@click.option("--leaf", metavar="UUID", help="With claude: the branch that ends with this message.")
@click.option("--json", "as_json", is_flag=True, help="What was made, as a JSON object.")
@data_dir_option
@click.argument("file", required=False)
def command(
    *,
    home: Home,
    file: str | None,
    source: str,
    project: Path | None,
    leaf: str | None,
    as_json: bool,
) -> None:
    """Take over an exported file, or Claude Code's own sessions.

    FILE is what `turnwire export --to jsonl` wrote. Its conversation gets a new id; its entries and
    their numbers stay the same. What was open when it was exported has ended in it, as interrupted.

    With `--from claude` there is no FILE: the sessions are where Claude Code keeps them, also if
    CLAUDE_CONFIG_DIR says where. Importing them again adds only what is new. They can be gone on with.
    """
    if source == "claude":
        if file is not None:
            raise click.UsageError("--from claude takes no FILE. Name a directory: --project DIR.")
        from turnwire.cli.import_claude import import_claude

        import_claude(home, project, leaf, as_json=as_json)
        return
    if file is None:
        raise click.UsageError("Name a FILE that `turnwire export --to jsonl` wrote.")
    if project is not None or leaf is not None:
        raise click.UsageError("--project and --leaf go with --from claude.")
    path = Path(file)
    conversation_id, entries = run_async(_import(home, path))
    if as_json:
        import msgspec

        facts = {"conversation_id": conversation_id, "entries": entries, "file": readable(file)}
        click.echo(msgspec.json.encode(facts))
        return
    click.echo(f"{conversation_id}  {counted(entries, 'message')} from {path.name}")
    click.echo(f"See it: {home.command('show', conversation_id)}")


async def _import(home: Home, path: Path) -> tuple[str, int]:
    lines = _lines(path)
    first = next(lines, None)  # before anything is made: it may be no export at all
    async with home.store(create=True) as store:
        name = new_id()
        try:
            return name, await _add(store, name, first, lines, path)
        except BaseException as stopped:  # half a conversation must not stay
            if await store.conversation(name) is not None:
                await store.delete(name)
            if isinstance(stopped, asyncio.CancelledError):  # by Ctrl-C
                said = "turnwire: stopped. Nothing was imported. Try again: "
                again = home.command("import", readable(str(path)))
                click.echo(f"{said}{again}", err=True)
            raise


async def _add(
    store: Store, name: str, first: Line | None, lines: Iterator[Line], path: Path
) -> int:
    from turnwire.cli.restore import Restorer
    from turnwire.engine.record import VERSION, HeadLine

    if not isinstance(first, HeadLine):
        raise _broken(path, 1, "it does not begin with a conversation")
    if first.version > VERSION:
        raise _broken(path, 1, "a newer Turnwire wrote it: update this one")
    number = 1
    try:
        restorer = await Restorer.begin(store, name, first)
        for line in lines:
            number += 1
            if await restorer.take(line):
                return restorer.head
    except (ValueError, OverflowError, RecursionError) as problem:
        raise _broken(path, number, str(problem)) from None
    raise _broken(path, number, "the end is missing: the file was cut off")


def _lines(path: Path) -> Iterator[Line]:
    from turnwire.cli.bars import reading
    from turnwire.engine.record import read_line

    try:
        with path.open("rb") as file, reading(path) as count:
            for number, raw in enumerate(file, 1):
                try:
                    yield read_line(raw)
                except (ValueError, RecursionError) as problem:  # also of msgspec, and of UTF-8
                    raise _broken(path, number, str(problem)) from None
                count(len(raw))
    except OSError as problem:
        cause = problem.strerror or str(problem)
        raise UnreadableInput(
            f"cannot read {path}: {cause}. Name a file that `turnwire export --to jsonl` wrote."
        ) from None


def _broken(path: Path, number: int, cause: str) -> TurnwireError:
    return TurnwireError(
        f"{path}:{number}: {cause}. Nothing was imported. "
        "Name a file that `turnwire export --to jsonl` wrote."
    )
