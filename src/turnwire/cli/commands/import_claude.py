"""`turnwire import --from claude`: imports the sessions that Claude Code stored on this machine."""

from __future__ import annotations

import asyncio
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from turnwire.cli.ctrl_c import STOPPED, Stop
from turnwire.cli.home import Home, run_async
from turnwire.cli.terminal.words import counted, plain, some
from turnwire.errors import TurnwireError

if TYPE_CHECKING:
    from turnwire.agents.claude.sessions.history import BadRecord, Session, SessionFile
    from turnwire.agents.imports import Brought
    from turnwire.ports import Store

__all__ = ["import_claude"]

_SHOWN = 20  # bad lines


def import_claude(home: Home, project: Path | None, leaf: str | None, *, as_json: bool) -> None:
    """Imports all sessions, the sessions of a project, or the session that contains a leaf."""
    files = _find(project)
    stop = Stop()
    brought, bad = run_async(_import(home, files, leaf, stop))
    for each in bad[:_SHOWN]:
        place = f"{each.path}:{each.line}" if each.line else each.path
        click.echo(f"turnwire: {place}: {each.why}. Skipped.", err=True)
    if len(bad) > _SHOWN:
        click.echo(f"turnwire: and {counted(len(bad) - _SHOWN, 'line')} more", err=True)
    if as_json:
        _print_json(brought, bad)
    else:
        _print(home, brought)
    if stop.wanted:
        said = "turnwire: stopped. Every imported conversation is complete. Import the rest: "
        where = [] if project is None else ["--project", str(project)]
        click.echo(said + home.command("import", "--from", "claude", *where), err=True)
        raise SystemExit(STOPPED)


def _find(project: Path | None) -> list[SessionFile]:
    from turnwire.agents.claude.sessions.history import config_dir, find_sessions

    config = config_dir()
    try:
        files = find_sessions(config, project)
    except OSError as problem:
        cause = problem.strerror or str(problem)
        raise TurnwireError(
            f"cannot read {problem.filename}: {cause}. Ask its owner, or name the directory of "
            "your own Claude Code: CLAUDE_CONFIG_DIR."
        ) from None
    if files:
        return files
    where = f"{config / 'projects'}"
    if project is not None and find_sessions(config):
        raise TurnwireError(
            f"Claude Code has no session of {project} in {where}. "
            "Name the directory it was started in, or leave out --project to import every session."
        )
    raise TurnwireError(
        f"Claude Code has no sessions in {where}. If its directory is another one, name it: "
        "CLAUDE_CONFIG_DIR=DIR."
    )


async def _import(
    home: Home, files: list[SessionFile], leaf: str | None, stop: Stop
) -> tuple[list[Brought], list[BadRecord]]:
    from turnwire.agents.claude.sessions.history import BadRecord, read_session
    from turnwire.cli.conversations import every_conversation

    brought: list[Brought] = []
    bad: list[BadRecord] = []
    is_found = leaf is None
    async with home.store(create=True) as store, stop:
        rows = [*await every_conversation(store), *await every_conversation(store, archived=True)]
        known = {row.native_session_id: row.conversation_id for row in rows}
        on_screen = sys.stderr is not None and sys.stderr.isatty()  # None if it is closed
        total = sum(file.size for file in files)
        with click.progressbar(
            length=total, label="Importing", file=sys.stderr, hidden=not on_screen
        ) as bar:
            for file in files:
                await asyncio.sleep(0)  # lets the loop handle Ctrl-C: reading files never awaits
                if stop.wanted:
                    is_found = True  # unknown: the search was not finished
                    break
                try:
                    session = read_session(file, bar.update)
                except OSError as problem:
                    cause = problem.strerror or str(problem)
                    bad.append(BadRecord(str(file.path), 0, f"cannot be read: {cause}"))
                    continue
                bad += session.bad
                if leaf is not None and all(record.uuid != leaf for record in session.records):
                    continue
                is_found = True
                result = await _bring(store, session, known.get(file.session_id), leaf)
                brought += [result] if result is not None else []
    if not is_found:
        raise TurnwireError(
            f"no session has a message {leaf}. A leaf is the uuid of a message in Claude Code's own "
            "files; leave it out to import the newest branch."
        )
    return brought, bad


async def _bring(
    store: Store, session: Session, known: str | None, leaf: str | None
) -> Brought | None:
    from turnwire.agents.claude.sessions.importer import bring, conversation_of
    from turnwire.agents.imports import Brought
    from turnwire.cli.conversations import has_died
    from turnwire.engine.ownership.owners import owner_name
    from turnwire.ports import Damaged

    try:
        return await bring(
            store,
            session,
            owner=owner_name("import"),
            new_id=lambda: secrets.token_hex(16),
            has_died=has_died,
            known=known,
            leaf=leaf,
        )
    except Damaged as damage:
        name = known or conversation_of(session.session_id)
        return Brought(name, session.session_id, 0, refused=damage.message)


def _print(home: Home, brought: list[Brought]) -> None:
    for each in brought:
        if each.entries:
            title = plain(each.title or "")
            what = "" if each.is_new else "more "
            click.echo(f"{each.conversation_id}  {each.entries:,} {what}entries  {title}".rstrip())
    for each in brought:
        if each.refused is not None:
            click.echo(f"{each.conversation_id}  not changed: {each.refused}", err=True)
        if each.reset:
            why = "the name of its folder does not match the directory in its lines"
            click.echo(f"{each.conversation_id}  reset: {', '.join(each.reset)}: {why}", err=True)
    new = sum(each.is_new for each in brought)
    grown = sum(bool(each.entries) and not each.is_new for each in brought)
    same = sum(not each.entries and each.refused is None for each in brought)
    parts = [f"{counted(new, 'conversation')} imported"] if new else []
    parts += [f"{counted(grown, 'conversation')} updated"] if grown else []
    parts += [f"nothing new in {counted(same, 'conversation')}"] if same else []
    click.echo(f"{some(parts, 3) or 'No session has a message'}.".capitalize())
    if new or grown:
        click.echo(f"See them: {home.command('list')}")


def _print_json(brought: list[Brought], bad: list[BadRecord]) -> None:
    import msgspec

    conversations = [
        {
            "conversation_id": each.conversation_id,
            "session_id": each.session_id,
            "entries": each.entries,
            "new": each.is_new,
            "title": each.title,
            "refused": each.refused,
            "reset": each.reset,
        }
        for each in brought
    ]
    click.echo(msgspec.json.encode({"conversations": conversations, "bad_lines": bad}))
