"""The options that name a server, and lookups of its conversations."""

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
        help=f"The server to use; also {_URL}.  [default: the server of the data directory]",
    ),
    click.option(
        "--token-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=f"With --server: a file with your token. Without it: {_TOKEN}.",
    ),
    click.option(
        "--token",
        metavar="TOKEN",
        help="The token itself; visible in the process list. Prefer --token-file.",
    ),
)


def where_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options for the data directory and the server, passed to the command as `home`."""

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
            for name in ("home", "store", "server", "token", "token_file")
            if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        }
        if not typed and isinstance(ctx.obj, Home):
            home = ctx.obj  # from the parent command
        elif server is not None and ("server" in typed or "home" not in typed):
            home = Home(home.given, _far(home, server, token_file, token))
        elif typed & {"token", "token_file"}:
            raise click.UsageError("A token needs --server. Add --server URL.")
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
        words += ["--token", "TOKEN"]  # the secret itself is not printed
    given = token or os.environ.get(_TOKEN)
    return Far(url, given.strip() if given else _owners(home, url), words)


def _owners(home: Home, url: str) -> str:
    """Returns the owner's token of the data directory, for an application on this machine.

    The token is never sent to another machine. Raises TurnwireError if there is none.
    """
    from turnwire.client.address import is_local
    from turnwire.server.access.keys import owner_file, read_owner_token

    if is_local(url) and owner_file(home.path).is_file():
        check_data_dir(home.path)
        try:
            return read_owner_token(home.path)
        except OSError as failure:
            cause = failure.strerror or str(failure)
            raise TurnwireError(
                f"cannot read the owner's token: {cause}. Check the permissions of {home.path}."
            ) from None
    raise TurnwireError(
        f"{url} needs a token. Save yours in a file and name it with --token-file, or set {_TOKEN}. "
        "The owner of that server creates one: turnwire token create --name laptop"
    )


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as failure:
        cause = getattr(failure, "strerror", None) or "it is not text"
        raise TurnwireError(
            f"cannot read the token from {file}: {cause}. Name another file with --token-file."
        ) from None


class FarConversation(NamedTuple):
    """A conversation of a server: its id, its last entry and its open requests."""

    id: str
    head: int
    requests: list[OpenRequest]


async def find_there(client: Client, given: str) -> FarConversation:
    """Returns the conversation of a server whose id is, or begins with, `given`.

    Raises TurnwireError if none or several match.
    """
    from urllib.parse import quote

    if given.strip("."):  # "." and ".." would name another path
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
        raise TurnwireError(f"several ids begin with {given}: {ids}. Type more characters.")
    raise TurnwireError(
        f"you have no conversation {plain(given)!r} at {client.url}. Check the id and the token."
    )


def _read_row(told: Any) -> FarConversation:
    import msgspec

    from turnwire.core.status import OpenRequest

    requests = msgspec.convert(told["status"]["requests"], list[OpenRequest])
    return FarConversation(told["id"], told["head"], requests)


async def items_there(client: Client) -> list[InboxItem]:
    """Returns the inbox of this user on a server."""
    import msgspec

    from turnwire.ports import InboxItem

    answer = await client.request("GET", "/api/inbox")
    return msgspec.convert(answer["items"], list[InboxItem])


async def _all(client: Client) -> list[Any]:
    """Returns all conversations that this user may see, archived ones too."""
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
