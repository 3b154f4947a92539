"""`turnwire import --from codex`: imports the threads that Codex stored on this machine."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import click

from turnwire.cli.home import Home, run_async
from turnwire.cli.terminal.words import counted, plain, some
from turnwire.errors import TurnwireError

if TYPE_CHECKING:
    from turnwire.agents.imports import Brought

__all__ = ["import_codex"]


def import_codex(home: Home, project: Path | None, *, as_json: bool) -> None:
    """Imports all threads, or those of a directory."""
    brought = run_async(_import(home, None if project is None else project.resolve()))
    if as_json:
        import msgspec

        conversations = [{**msgspec.to_builtins(each), "new": each.is_new} for each in brought]
        click.echo(msgspec.json.encode({"conversations": conversations}))
        return
    for each in brought:
        if each.refused is not None:
            click.echo(f"{each.conversation_id}  not changed: {each.refused}", err=True)
        elif each.entries:
            what = "" if each.is_new else "more "
            title = plain(each.title or "")
            click.echo(f"{each.conversation_id}  {each.entries:,} {what}entries  {title}".rstrip())
    new = sum(each.is_new for each in brought)
    grown = sum(bool(each.entries) and not each.is_new for each in brought)
    same = sum(not each.entries and each.refused is None for each in brought)
    parts = [f"{counted(new, 'conversation')} imported"] if new else []
    parts += [f"{counted(grown, 'conversation')} updated"] if grown else []
    parts += [f"nothing new in {counted(same, 'conversation')}"] if same else []
    click.echo(f"{some(parts, 3) or 'No thread has a message'}.".capitalize())
    if new or grown:
        click.echo(f"See them: {home.command('list')}")


async def _import(home: Home, project: Path | None) -> list[Brought]:
    from turnwire.agents.codex.importer import bring, conversation_of, thread_reader
    from turnwire.cli.conversations import every_conversation, has_died
    from turnwire.engine.ownership.owners import owner_name

    brought: list[Brought] = []
    async with thread_reader() as reader:
        threads = await reader.threads(project)
        if not threads:
            where = "" if project is None else f" of {project}"
            raise TurnwireError(
                f"Codex has no threads{where}. If its directory is another one, name it: "
                "CODEX_HOME=DIR."
            )
        async with home.store(create=True) as store:
            rows = [
                *await every_conversation(store),
                *await every_conversation(store, archived=True),
            ]
            known = {row.native_session_id: row.conversation_id for row in rows}
            for thread in threads:
                name = conversation_of(thread["id"])
                if known.get(thread["id"], name) != name:
                    continue  # a conversation of Turnwire, whose log has the turns
                result = await bring(
                    store,
                    thread,
                    await reader.turns(thread["id"]),
                    owner=owner_name("import"),
                    new_id=lambda: secrets.token_hex(16),
                    has_died=has_died,
                )
                brought += [result] if result is not None else []
    return brought
