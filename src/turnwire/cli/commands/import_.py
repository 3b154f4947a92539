"""`turnwire import`: imports conversations from `turnwire export`, or from Claude Code."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from turnwire.cli.completing import complete_directory, complete_file
from turnwire.cli.conversations import new_id
from turnwire.cli.home import Home, data_dir_option, directory, run_async
from turnwire.cli.terminal.words import counted, plain, readable, some
from turnwire.errors import TurnwireError, UnreadableInput

if TYPE_CHECKING:
    from turnwire.cli.restore import Restorer
    from turnwire.engine.export.jsonl import Line
    from turnwire.ports import AgentCapabilities, Store

__all__ = ["command"]

_SHOWN = 20  # names of settings that were reset


@click.command("import")
@click.option(
    "--from",
    "source",
    type=click.Choice(["turnwire", "claude", "codex"]),
    default="turnwire",
    help="turnwire: a file of `turnwire export`. claude, codex: the sessions of Claude Code or of Codex "
    "on this machine.",
)
@click.option(
    "--project",
    type=click.Path(path_type=Path),
    metavar="DIR",
    shell_complete=complete_directory,
    help="With claude or codex: only sessions of this directory.",
)
@click.option(
    "--cwd",
    metavar="DIR",
    shell_complete=complete_directory,
    help="With a FILE: the agent's working directory.  [default: that of a new conversation]",
)
@click.option("--leaf", metavar="UUID", help="With claude: the branch that ends with this message.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as a JSON object.")
@data_dir_option
@click.argument("file", required=False, shell_complete=complete_file)
def command(
    *,
    home: Home,
    file: str | None,
    source: str,
    project: Path | None,
    cwd: str | None,
    leaf: str | None,
    as_json: bool,
) -> None:
    """Import an exported file, or sessions of Claude Code or Codex.

    FILE is a file that `turnwire export --to jsonl` wrote. Its conversation gets a new id; its
    entries keep their numbers. Turns and requests that were open at the export are interrupted.

    A file cannot grant an agent permissions. These are reset: the directory, the permission mode, the
    model, the rules, and all options except those that restrict the agent. The command lists what
    it has reset. Choose a directory with --cwd, and the other settings in the conversation.

    With `--from claude` there is no FILE: the sessions are read from the directory of Claude Code,
    or from CLAUDE_CONFIG_DIR. A second import adds only new messages. You can continue an imported
    session. `--from codex` does the same with the threads of Codex, in CODEX_HOME.
    """
    if source != "turnwire":
        if file is not None:
            raise click.UsageError(
                f"--from {source} takes no FILE. Name a directory: --project DIR."
            )
        if cwd is not None:
            raise click.UsageError("--cwd needs a FILE: a session of an agent keeps its directory.")
    if source == "codex":
        if leaf is not None:
            raise click.UsageError("--leaf needs --from claude.")
        from turnwire.cli.commands.import_codex import import_codex

        import_codex(home, project, as_json=as_json)
        return
    if source == "claude":
        from turnwire.cli.commands.import_claude import import_claude

        import_claude(home, project, leaf, as_json=as_json)
        return
    if file is None:
        raise click.UsageError("Name a FILE that `turnwire export --to jsonl` wrote.")
    if project is not None or leaf is not None:
        raise click.UsageError("--project and --leaf are for sessions of an agent: --from claude.")
    path = Path(file)
    place = None if cwd is None else directory(cwd)
    conversation_id, entries, reset = run_async(_import(home, path, place))
    if as_json:
        import msgspec

        facts = {"conversation_id": conversation_id, "entries": entries, "file": readable(file)}
        click.echo(msgspec.json.encode({**facts, "reset": reset}))
        return
    click.echo(f"{conversation_id}  {counted(entries, 'message')} from {path.name}")
    if reset:
        names = plain(some(reset, _SHOWN))
        click.echo(f"Reset, because a file cannot grant permissions: {names}")
    click.echo(f"See it: {home.command('show', conversation_id)}")


async def _import(home: Home, path: Path, cwd: str | None) -> tuple[str, int, list[str]]:
    lines = _lines(path)
    first = next(lines, None)  # before anything is created: the file may not be an export
    async with home.store(create=True) as store:
        name = new_id()
        try:
            restored = await _add(store, name, first, lines, path, cwd)
            return name, restored.head, restored.reset
        except BaseException as stopped:  # a conversation is imported whole, or not at all
            if await store.conversation(name) is not None:
                await store.delete(name)
            if isinstance(stopped, asyncio.CancelledError):  # by Ctrl-C
                said = "turnwire: stopped. Nothing was imported. Try again: "
                again = home.command("import", readable(str(path)))
                click.echo(f"{said}{again}", err=True)
            raise


async def _add(
    store: Store,
    name: str,
    first: Line | None,
    lines: Iterator[Line],
    path: Path,
    cwd: str | None,
) -> Restorer:
    from turnwire.cli.restore import Restorer
    from turnwire.engine.export.jsonl import VERSION, HeadLine

    if not isinstance(first, HeadLine):
        raise _broken(path, 1, "the first line is not the head of a conversation")
    if first.version > VERSION:
        raise _broken(path, 1, "a newer Turnwire wrote this file: update Turnwire")
    number = 1
    try:
        restorer = await Restorer.begin(store, name, first, _able(first.agent), cwd)
        for line in lines:
            number += 1
            if await restorer.take(line):
                return restorer
    except (ValueError, OverflowError, RecursionError) as problem:
        raise _broken(path, number, str(problem)) from None
    raise _broken(path, number, "the last line is missing: the file was cut off")


def _able(agent: str) -> AgentCapabilities:
    """Returns the capabilities of the agent. Returns none if it is not installed on this machine."""
    from turnwire.agents import registry
    from turnwire.cli.live.visit import known_agent
    from turnwire.ports import AgentCapabilities

    try:
        return known_agent(agent).capabilities
    except registry.UnknownAgent:
        return AgentCapabilities()


def _lines(path: Path) -> Iterator[Line]:
    from turnwire.cli.terminal.progress import reading
    from turnwire.engine.export.jsonl import read_line

    try:
        with path.open("rb") as file, reading(path) as count:
            for number, raw in enumerate(file, 1):
                try:
                    yield read_line(raw)
                except (ValueError, RecursionError) as problem:  # also from msgspec and UTF-8
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
