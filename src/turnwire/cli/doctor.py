"""`turnwire doctor`: whether everything is in order, and what to do where it is not."""

from __future__ import annotations

import os
import platform
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import click

from turnwire import __version__

if TYPE_CHECKING:
    from turnwire.settings import Settings, Sourced

__all__ = ["command"]


class _Report:
    """Lines with a mark: in order, worth knowing, or to be mended."""

    def __init__(self) -> None:
        self.broken = 0

    def head(self, words: str) -> None:
        click.echo(words)

    def fine(self, words: str) -> None:
        click.echo(f"  ok    {words}")

    def note(self, words: str) -> None:
        click.echo(f"  note  {words}")

    def bad(self, words: str) -> None:
        self.broken += 1
        click.echo(f"  MEND  {words}")


@click.command("doctor")
@click.option("--data-dir", metavar="DIR", help="Where conversations are kept.")
@click.pass_context
def command(ctx: click.Context, *, data_dir: str | None) -> None:
    """Check this machine, and show every setting.

    Agents, the data directory, the server and its port; each setting with who chose it. Exit code:
    1 if something has to be mended.
    """
    from turnwire.settings import read_settings

    settings, told = read_settings({"data_dir": data_dir})
    report = _Report()
    report.head(f"Turnwire {__version__}, Python {platform.python_version()}")
    _agents(report, settings)
    _data(report, settings.data_path)
    _server(report, settings)
    _settings(told)
    ctx.exit(1 if report.broken else 0)


def _agents(report: _Report, settings: Settings) -> None:
    from turnwire.agents import registry

    report.head("Agents")
    reasons = registry.unavailable()
    for name, why in reasons.items():
        if why is None:
            report.fine(name)
        elif name == settings.agent:
            report.bad(f"{name}, which new conversations are with: {why}")
        else:
            report.note(f"{name} is not ready: {why}")


def _data(report: _Report, path: Path) -> None:
    report.head("Data")
    database = path / "turnwire.db"
    if not path.exists():
        report.note(f"{path} is not there yet; it is made when something is to be kept")
    elif not path.is_dir():
        report.bad(f"{path} is a file. Remove it, or name another place: --data-dir")
    elif not os.access(path, os.W_OK | os.X_OK):
        report.bad(f"{path} cannot be written. Give yourself the right, or use --data-dir")
    elif path.stat().st_mode & 0o077:
        report.bad(f"{path} can be read by others: chmod 700 {path}")
    elif database.exists():
        report.fine(f"{database}, {database.stat().st_size:,} bytes")
    else:
        report.fine(f"{path}, empty")


def _server(report: _Report, settings: Settings) -> None:
    from turnwire.server.place import find_server

    report.head("Server")
    place = find_server(settings.data_path)
    if place is not None:
        report.fine(f"{place.url}, process {place.pid}")
        return
    report.note("none runs on this data. Start one: turnwire serve")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            report.note(f"{settings.host}:{settings.port}: {error.strerror}. Another is taken then")
        else:
            report.fine(f"{settings.host}:{settings.port} is free")


def _settings(told: list[Sourced]) -> None:
    click.echo("Settings")
    for each in told:
        value = ", ".join(each.value) if isinstance(each.value, list) else each.value
        shown = "-" if value in (None, "") else value
        click.echo(f"  {each.name:<25} {shown!s:<20} {each.source}")
