"""`turnwire serve`: runs the server."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from turnwire.cli.browser import has_browser, open_link
from turnwire.cli.completing import complete_agent, complete_directory
from turnwire.cli.home import STORE_HELP, Home
from turnwire.cli.options import named_agent
from turnwire.errors import TurnwireError

if TYPE_CHECKING:
    from turnwire.settings import Settings, Sourced

__all__ = ["cannot_listen", "command", "settings_of"]

_LAST_START = "the last start"  # the source of a port that the data directory remembers


@click.command("serve")
@click.option("--host", metavar="ADDRESS", help="The address to listen on.  [default: 127.0.0.1]")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="The port to listen on; 0: any free port.  [default: that of the last start, or 7410]",
)
@click.option(
    "--public-url", metavar="URL", help="The address that people open, if you use a proxy."
)
@click.option(
    "--data-dir", metavar="DIR", shell_complete=complete_directory, help="The data directory."
)
@click.option("--store", metavar="URL", help=STORE_HELP)
@click.option(
    "--bus",
    metavar="URL",
    help="How servers that share the store reach each other: nats://, valkey://, redis://,"
    " postgresql://, unix://, or off.  [default: the database, or sockets in the data directory]",
)
@click.option(
    "--node", metavar="NAME", help="The name of this server among those that share the store."
)
@click.option(
    "--agent",
    metavar="NAME",
    shell_complete=complete_agent,
    callback=named_agent,
    help="The agent of new conversations.  [default: claude if it is ready, else demo]",
)
@click.option(
    "--open/--no-open",
    "open_it",
    default=None,
    help="Open the link in a browser.  [default: at a terminal with a display]",
)
def command(
    *,
    host: str | None,
    port: int | None,
    public_url: str | None,
    data_dir: str | None,
    store: str | None,
    bus: str | None,
    node: str | None,
    agent: str | None,
    open_it: bool | None,
) -> None:
    """Serve conversations over HTTP and WebSockets.

    By default only this machine can reach the server; choose another address with --host. Every
    client needs a token. The owner's token is in the data directory; `turnwire token create` creates
    tokens for others.

    Without --port the server uses the port of its last start, so that open pages reconnect, or 7410.
    If that port is taken, the server uses another one and says so.

    Other settings are in turnwire.toml or the environment: see docs/reference/settings.md.
    """
    from turnwire.settings_check import check_settings

    settings, told = settings_of(
        host=host,
        port=port,
        public_url=public_url,
        data_dir=data_dir,
        store=store,
        bus=bus,
        node=node,
        agent=agent,
    )
    check_settings(settings, told)
    source = next(each.source for each in told if each.name == "port")
    home = Home(Path(data_dir) if data_dir else None, store=store)
    _serve(settings, home, port_source=source, open_it=open_it)


def settings_of(**flags: Any) -> tuple[Settings, list[Sourced]]:
    """Returns the settings of a server that is started here, and the source of each."""
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
        "sharing": True,
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
        said = f"another server uses this data directory, at {other.url} (process {other.pid})"
        click.echo(f"turnwire: {said}. Both serve every conversation.", err=True)
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
        # Keeps the remembered port if another server runs, or if that port is only taken for now:
        # open pages will look for a server there.
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
        if (open_it or (open_it is None and has_browser())) and not open_link(link):
            click.echo("No browser could be opened. Open the link yourself.", err=True)

    with ExitStack() as told, listener:
        _run(Server(app, settings, listener, announce))
    if sys.stdout.isatty():
        click.echo()  # the terminal has printed ^C in this line
    click.echo(f"Stopped. The conversations are kept in {settings.kept_in}")


def cannot_listen(settings: Settings, error: OSError) -> str:
    """Returns why the server cannot listen on its address, and what to do."""
    import errno
    import socket

    place = f"{settings.host}:{settings.port}"
    step = "Try --port 0."
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        place = settings.host
        step = (
            "Name an address of this machine with --host: 127.0.0.1 accepts only this machine, 0.0.0.0 "
            "accepts all. A public host name goes into the setting `hosts`."
        )
    elif error.errno == errno.EACCES:
        step = "Choose a port from 1024 on, and use a proxy: see docs/how-to/nginx-and-systemd.md."
    return f"cannot listen on {place}: {error.strerror or error}. {step}"


def _check_agent(name: str, there: list[str]) -> None:
    """Raises TurnwireError if the agent does not exist: every new conversation would be refused."""
    if name not in there:
        known = ", ".join(there)
        raise TurnwireError(f"there is no agent {name!r}. Choose with --agent: {known}")


def _run(server: Any) -> None:
    try:
        server.run()
    except SystemExit:  # uvicorn has logged why
        raise TurnwireError("the server could not start. The log above says why.") from None
    if server.failure is not None:
        raise server.failure
