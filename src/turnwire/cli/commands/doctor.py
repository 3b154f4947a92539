"""`turnwire doctor`: checks the installation and shows every setting."""

from __future__ import annotations

import errno
import os
import platform
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from turnwire import __version__
from turnwire.cli.commands.serve import cannot_listen, settings_of
from turnwire.cli.completing import complete_directory
from turnwire.cli.home import STORE_HELP, Home, run_async
from turnwire.cli.terminal.words import counted

if TYPE_CHECKING:
    from turnwire.ports import Agent
    from turnwire.server.discovery import ServerPlace
    from turnwire.settings import Settings, Sourced

__all__ = ["command"]

_WIDTH = 90


class _Report:
    """Prints lines with a mark: ok, note, or MEND for a problem. Counts the problems."""

    def __init__(self) -> None:
        self.broken = 0

    def head(self, words: str) -> None:
        click.echo(words)

    def fine(self, words: str) -> None:
        self._line("ok", words)

    def note(self, words: str) -> None:
        self._line("note", words)

    def bad(self, words: str) -> None:
        self.broken += 1
        self._line("MEND", words)

    def _line(self, mark: str, words: str) -> None:
        from textwrap import fill

        margin = f"  {mark:<4}  "
        click.echo(
            fill(
                words,
                _WIDTH,
                initial_indent=margin,
                subsequent_indent=" " * len(margin),
                break_long_words=False,
                break_on_hyphens=False,
            )
        )


@click.command("doctor")
@click.option(
    "--data-dir", metavar="DIR", shell_complete=complete_directory, help="The data directory."
)
@click.option("--store", metavar="URL", help=STORE_HELP)
@click.pass_context
def command(ctx: click.Context, *, data_dir: str | None, store: str | None) -> None:
    """Check this machine, and show every setting.

    Checks the agents, the data directory, its isolation from agents, the server and its port. Says
    how to fix each problem. Then lists every setting that `turnwire serve` would use here, and where
    its value comes from.

    Exit code: 0 no problem, 1 there is a problem.
    """
    settings, told = settings_of(data_dir=data_dir, store=store)
    home = Home(Path(data_dir) if data_dir else None, store=store)
    report = _Report()
    report.head(f"Turnwire {__version__}, Python {platform.python_version()}")
    agents = _agents(report, settings)
    _data(report, settings.data_path)
    if settings.store:
        _database(report, settings)
    _isolation(report, settings, home, agents)
    place = _server(report, settings, home)
    _settings(report, told, settings, place)
    if report.broken:
        click.echo(f"{counted(report.broken, 'thing')} to mend: see MEND above.")
    else:
        click.echo("No problem was found.")
    ctx.exit(1 if report.broken else 0)


def _agents(report: _Report, settings: Settings) -> dict[str, Agent]:
    from turnwire.agents import registry

    report.head("Agents")
    try:
        agents, usual = registry.chosen(settings.agents, settings.agent, settings.agent_options)
    except registry.UnknownAgent as unknown:
        report.bad(unknown.message)
        return {}
    for name, agent in agents.items():
        why = agent.unavailable()
        if why is None:
            report.fine(f"{name}, the agent of new conversations" if name == usual else name)
        elif name == usual:
            report.bad(f"{name}, the agent of new conversations: {why}")
        else:
            report.note(f"{name} is not ready. {why}")
    if usual not in agents:
        known = ", ".join(sorted(agents))
        report.bad(
            f"{usual}, the agent of new conversations, does not exist. "
            f"Choose another (see `agent` below): {known}"
        )
    return agents


def _isolation(
    report: _Report, settings: Settings, home: Home, agents: Mapping[str, Agent]
) -> None:
    """Reports how agents are isolated from the data, and whether that protects the owner from users."""
    from turnwire.errors import TurnwireError
    from turnwire.server.access.isolation import describe, exposed, isolate, risks

    if not settings.data_path.is_dir():
        return  # there is no data to protect yet
    report.head("Isolation")
    try:
        chosen = run_async(isolate(settings, agents))
        others = run_async(_has_other_users(settings, home))
    except TurnwireError as problem:
        report.bad(problem.message)
        return
    (report.fine if chosen.is_enforced else report.note)(describe(chosen))
    for risk in risks(settings, agents, chosen) if others else []:
        report.bad(risk)
    for fact in [] if others else exposed(agents):
        report.note(fact)


async def _has_other_users(settings: Settings, home: Home) -> bool:
    from turnwire.cli.home import NothingYet
    from turnwire.engine.clock import SystemClock
    from turnwire.server.access.isolation import has_other_users

    try:
        async with home.store() as store:
            return await has_other_users(settings, store, SystemClock().now())
    except NothingYet:
        return False


def _data(report: _Report, path: Path) -> None:
    from turnwire.data_dir import exposure_of
    from turnwire.server.access.keys import owner_file

    report.head("Data")
    database = path / "turnwire.db"
    token = owner_file(path)
    quoted = shlex.quote(str(path))
    if not path.exists():
        report.note(f"{path} does not exist yet; the first conversation creates it")
    elif not path.is_dir():
        report.bad(f"{path} is a file. Remove it, or name a directory: --data-dir DIR")
    elif not os.access(path, os.W_OK | os.X_OK):
        report.bad(f"{path} cannot be written: chmod u+rwx {quoted}, or use --data-dir DIR")
    elif (exposure := exposure_of(path)) is not None:
        report.bad(exposure)
    elif path.stat().st_mode & 0o077:
        report.bad(f"{path} can be read by other users: chmod 700 {quoted}")
    elif token.exists() and token.stat().st_mode & 0o077:
        chmod = f"chmod 600 {shlex.quote(str(token))}"
        report.bad(f"the owner's token can be read by other users: {chmod}")
    elif database.exists():
        report.fine(f"{database}, {database.stat().st_size:,} bytes")
    else:
        report.fine(f"{path}, empty")


def _database(report: _Report, settings: Settings) -> None:
    """Reports whether the database answers, whether its tables fit, its limits and its load."""
    from turnwire.errors import TurnwireError
    from turnwire.stores.address import Address
    from turnwire.stores.open_store import need_postgres

    report.head("Database")
    try:
        need_postgres()
        from turnwire.stores.postgres.health import findings
        from turnwire.stores.postgres.status import read_status

        status = run_async(read_status(Address(settings.store)))
    except TurnwireError as problem:
        report.bad(problem.message)
        return
    marks = {"ok": report.fine, "note": report.note, "bad": report.bad}
    for level, words in findings(status, is_synchronous=settings.synchronous_replication):
        marks[level](words)


def _server(report: _Report, settings: Settings, home: Home) -> ServerPlace | None:
    from turnwire.server.discovery import find_server
    from turnwire.server.tcp.listen import bind

    report.head("Server")
    place = find_server(settings.data_path)
    if place is not None:
        report.fine(f"{place.url}, process {place.pid}. Talk to it: {home.command('chat')}")
        return place
    report.note(f"no server runs on this data directory. Start one: {home.command('serve')}")
    _files(report, settings)
    where = f"{settings.host}:{settings.port}"
    try:
        bind(settings, any_port=False).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            report.note(f"{where} is taken. `serve` uses another port, unless you name one")
        else:
            report.bad(cannot_listen(settings, error))
    else:
        report.fine(f"{where} is free")
    return None


def _files(report: _Report, settings: Settings) -> None:
    from turnwire.server.tcp.open_files import fit_connections, raise_file_limit

    files = raise_file_limit(settings)
    _, too_few = fit_connections(settings, files)
    if too_few is not None:
        report.note(too_few)
    else:
        report.fine(
            f"{files:,} files may be open: enough for {settings.max_connections:,} connections"
        )


def _settings(
    report: _Report, told: list[Sourced], settings: Settings, running: ServerPlace | None
) -> None:
    from turnwire.settings import BadSetting
    from turnwire.settings_check import check_settings

    report.head("Settings")
    if running is not None:  # its settings may differ
        report.note(
            f"those of a server that you would start here; the one at {running.url} may differ"
        )
    try:
        check_settings(settings, told)
    except BadSetting as wrong:
        report.bad(wrong.message)
    rows: list[tuple[str, str, str]] = []
    for each in told:
        # Shows only the names of agents that have options: the options may contain secrets.
        value = ", ".join(each.value) if isinstance(each.value, list | dict) else each.value
        if each.name == "data_dir":
            value = settings.data_path
        if isinstance(value, bool):
            value = "on" if value else "off"
        rows.append((each.name, "-" if value in (None, "") else str(value), each.source))
    names = max(len(name) for name, _, _ in rows)
    for name, shown, source in rows:
        click.echo(f"  {name:<{names}}  {shown:<20}  {source}")
