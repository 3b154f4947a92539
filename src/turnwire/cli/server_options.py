"""A server that is named: the options for it, and its conversations."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from turnwire.cli.home import Far, Home, data_dir_option
from turnwire.cli.terminal.words import plain, some
from turnwire.data_dir import check_data_dir
from turnwire.errors import TurnwireError

if TYPE_CHECKING:
    from turnwire.client import Client
    from turnwire.core.status import OpenRequest
    from turnwire.ports import InboxItem

__all__ = ["FarConversation", "find_there", "items_there", "where_options"]

_URL, _TOKEN = "TURNWIRE_URL", "TURNWIRE_TOKEN"
_PAGE = 500

_OPTIONS = (
    data_dir_option,
    click.option(
        "--server",
        envvar=_URL,
        metavar="URL",
        help=f"The server to talk to; also {_URL}. Otherwise that of the data directory.",
    ),
    click.option(
        "--token-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=f"With --server: where your token is. Otherwise {_TOKEN}.",
    ),
    click.option("--token", metavar="TOKEN", help="The same, for all on this machine to see."),
)


def where_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say which server is meant, as the `home` of a command."""

    @wraps(command)
    def with_home(
        *args: Any,
        home: Home,
        server: str | None,
        token_file: Path | None,
        token: str | None,
        **given: Any,
    ) -> Any:
        ctx = click.get_current_context()
        typed = {
            name
            for name in ("home", "server", "token", "token_file")
            if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        }
        if not typed and isinstance(ctx.obj, Home):
            home = ctx.obj  # of the command that this one is a part of
        elif server is not None and ("server" in typed or "home" not in typed):
            home = Home(home.given, _far(home, server, token_file, token))
        elif typed & {"token", "token_file"}:
            raise click.UsageError("A token goes with --server.")
        return command(*args, home=home, **given)

    wrapped: Callable[..., Any] = with_home
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def _far(home: Home, url: str, file: Path | None, token: str | None) -> Far:
    words = [] if os.environ.get(_URL) == url else ["--server", url]
    if file is not None:
        words += ["--token-file", str(file.absolute())]
        return Far(url, _read(file), words)
    if token is not None:
        words += ["--token", "TOKEN"]  # a secret is not shown again
    given = token or os.environ.get(_TOKEN)
    return Far(url, given.strip() if given else _owners(home, url), words)


def _owners(home: Home, url: str) -> str:
    """An application on this machine that has Turnwire in it keeps its owner's token here.

    No other machine is shown it.
    """
    from turnwire.client.address import is_local
    from turnwire.server.access.keys import owner_file, read_owner_token

    if is_local(url) and owner_file(home.path).is_file():
        check_data_dir(home.path)
        try:
            return read_owner_token(home.path)
        except OSError as failure:
            cause = failure.strerror or str(failure)
            raise TurnwireError(f"the owner's token cannot be read: {cause}.") from None
    raise TurnwireError(
        f"{url} wants a token. Put yours into a file of your own and name it with --token-file, or "
        f"set {_TOKEN}. Whoever runs that server makes one: turnwire token create --name laptop"
    )


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as failure:
        cause = getattr(failure, "strerror", None) or "it is no text"
        raise TurnwireError(f"the token cannot be read from {file}: {cause}.") from None


class FarConversation(NamedTuple):
    """What a server tells of a conversation, as far as it matters here."""

    id: str
    head: int
    requests: list[OpenRequest]  # that wait for an answer


async def find_there(client: Client, given: str) -> FarConversation:
    """The one conversation of a server whose id is this, or begins with it. Raises TurnwireError."""
    from urllib.parse import quote

    if given.strip("."):  # else it would lead elsewhere
        try:
            found = await client.request("GET", f"/api/conversations/{quote(given, safe='')}")
            return _read_row(found)
        except TurnwireError as refused:
            if refused.code not in ("CONVERSATION_NOT_FOUND", "NOT_FOUND"):
                raise
    fitting = [each for each in await _all(client) if given and each["id"].startswith(given)]
    if len(fitting) == 1:
        return _read_row(fitting[0])
    if fitting:
        ids = some([each["id"] for each in fitting], 5)
        raise TurnwireError(f"{given} begins several ids: {ids}. Type more of the one you mean.")
    raise TurnwireError(f"there is no conversation {plain(given)!r} for you at {client.url}.")


def _read_row(told: Any) -> FarConversation:
    import msgspec

    from turnwire.core.status import OpenRequest

    requests = msgspec.convert(told["status"]["requests"], list[OpenRequest])
    return FarConversation(told["id"], told["head"], requests)


async def items_there(client: Client) -> list[InboxItem]:
    """What waits there for this user."""
    import msgspec

    from turnwire.ports import InboxItem

    answer = await client.request("GET", "/api/inbox")
    return msgspec.convert(answer["items"], list[InboxItem])


async def _all(client: Client) -> list[Any]:
    """Everything that this user may see, archived or not."""
    rows: list[Any] = []
    for archived in ("false", "true"):
        offset = 0
        while True:
            query = {"limit": _PAGE, "offset": offset, "archived": archived}
            answer = await client.request("GET", "/api/conversations", **query)
            page = answer["conversations"]
            rows += page
            offset += len(page)
            if len(page) < _PAGE:
                break
    return rows
