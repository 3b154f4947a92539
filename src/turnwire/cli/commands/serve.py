"""`turnwire serve`: conversations over HTTP and WebSockets."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from turnwire.cli.home import Home
from turnwire.errors import TurnwireError

if TYPE_CHECKING:
    from turnwire.settings import Settings, Sourced

__all__ = ["cannot_listen", "command", "settings_of"]

_LAST_START = "the last start"  # who chose a port that the data directory remembers


@click.command("serve")
@click.option("--host", metavar="ADDRESS", help="The address to listen on.  [default: 127.0.0.1]")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="The port; 0: any.  [default: that of the last start, or 7410]",
)
@click.option(
    "--public-url", metavar="URL", help="Where people open it, if a proxy stands before it."
)
@click.option("--data-dir", metavar="DIR", help="Where conversations are kept.")
@click.option(
    "--agent",
    metavar="NAME",
    help="Whom new conversations are with.  [default: claude where it can be used, else demo]",
)
@click.option(
    "--open/--no-open",
    "open_it",
    default=None,
    help="Open the link in a browser.  [default: if there is one]",
)
def command(
    *,
    host: str | None,
    port: int | None,
    public_url: str | None,
    data_dir: str | None,
    agent: str | None,
    open_it: bool | None,
) -> None:
    """Serve conversations over HTTP and WebSockets.

    Only this machine can reach it unless --host says otherwise, and only with a token: the owner's
    is in the data directory, `turnwire token create` makes others.

    Without --port it takes the port that this data was served at last, so that open pages find it
    again, or 7410. If that port is taken, it takes another and says so.

    Everything else can be set in turnwire.toml or the environment: see docs/server.md.
    """
    from turnwire.settings_check import check_settings

    settings, told = settings_of(
        host=host, port=port, public_url=public_url, data_dir=data_dir, agent=agent
    )
    check_settings(settings, told)
    source = next(each.source for each in told if each.name == "port")
    home = Home(Path(data_dir) if data_dir else None)
    _serve(settings, home, port_source=source, open_it=open_it)


def settings_of(**flags: Any) -> tuple[Settings, list[Sourced]]:
    """What a server that is started here would do, and who chose it."""
    from msgspec import structs

    from turnwire.agents import registry
    from turnwire.server.discovery import find_last_port
    from turnwire.settings import Sourced, read_settings

    told = read_settings(flags)[0]
    usual = {
        "agent": told.agents[0] if told.agents else registry.default(told.agent_options)[0],
        "on_disconnect": "continue",
        "protocol_v2": True,
        "roots": [str(Path.cwd())],
    }
    settings, sourced = read_settings(flags, defaults=usual)
    last = find_last_port(settings.data_path)
    place = next(i for i, each in enumerate(sourced) if each.name == "port")
    if last is not None and sourced[place].source == "default":
        sourced[place] = Sourced("port", last, _LAST_START)
        settings = structs.replace(settings, port=last)
    return settings, sourced


def _serve(settings: Settings, home: Home, *, port_source: str, open_it: bool | None) -> None:
    from turnwire.agents.confine import close_to_others
    from turnwire.server.app import create_app
    from turnwire.server.banner import banner
    from turnwire.server.discovery import find_server, remember_port, told_server
    from turnwire.server.tcp.listen import Server, address_of, bind
    from turnwire.server.tcp.open_files import fit_connections, raise_file_limit

    any_port = port_source in ("default", _LAST_START)
    close_to_others()
    other = find_server(settings.data_path)
    if other is not None:
        said = f"another server runs on this data already, at {other.url} (process {other.pid})"
        click.echo(f"turnwire: {said}. What it has begun is only there.", err=True)
    settings, too_few = fit_connections(settings, raise_file_limit(settings))
    if too_few is not None:
        click.echo(f"turnwire: {too_few}.", err=True)
    try:
        listener = bind(settings, any_port=any_port)
    except OSError as error:
        raise TurnwireError(cannot_listen(settings, error)) from None
    url = address_of(listener)
    app = create_app(settings)

    async def announce() -> None:
        service = await app.start()
        assert service.owner is not None
        agents = service.engine.agents
        _check_agent(service.usual_agent, [*agents])
        place = service.public.url or url
        link = f"{place}/enter?link={await service.keys.link(service.owner)}"
        port: int = listener.getsockname()[1]
        told.enter_context(told_server(settings.data_path, url, service.public.url))
        # Pages that are open belong to the other server, or to the port of the last start, which is taken only now.
        was_taken = port_source == _LAST_START and settings.port != port
        if other is None and not was_taken:
            remember_port(settings.data_path, port)
        said = banner(
            settings,
            url,
            link,
            agents,
            usual_agent=service.usual_agent,
            other_port=any_port and settings.port != port,
            was_served=port_source == _LAST_START and other is None,
            risks=service.risks,
            command=home.command,
        )
        click.echo(said)
        if open_it or (open_it is None and _has_browser()):
            _open(link)

    with ExitStack() as told, listener:
        _run(Server(app, settings, listener, announce))
    if sys.stdout.isatty():
        click.echo()  # Ctrl-C has left its mark in this line
    click.echo(f"Stopped. What was said is kept in {settings.data_path}")


def cannot_listen(settings: Settings, error: OSError) -> str:
    """Why nothing can listen there, and what to do."""
    import errno
    import socket

    place = f"{settings.host}:{settings.port}"
    step = "Try --port 0."
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        place = settings.host
        step = (
            "Name an address of this machine with --host: 127.0.0.1 for this machine alone, 0.0.0.0 "
            "for all. A name that people know it by goes into the setting `hosts`."
        )
    elif error.errno == errno.EACCES:
        step = "Choose a port from 1024 on, and put a proxy before it: see docs/server.md."
    return f"cannot listen on {place}: {error.strerror or error}. {step}"


def _check_agent(name: str, there: list[str]) -> None:
    """New conversations would all be refused."""
    if name not in there:
        known = ", ".join(there)
        raise TurnwireError(f"there is no agent {name!r}. Choose with --agent: {known}")


def _run(server: Any) -> None:
    try:
        server.run()
    except SystemExit:  # uvicorn has logged why
        raise TurnwireError("the server could not start.") from None
    if server.failure is not None:
        raise server.failure


def _has_browser() -> bool:
    """Whether somebody sits here who could see one."""
    if not sys.stdout.isatty():
        return False
    if sys.platform == "darwin":
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open(link: str) -> None:
    import webbrowser

    if not webbrowser.open(link):
        click.echo("No browser could be opened; open the link yourself.", err=True)
