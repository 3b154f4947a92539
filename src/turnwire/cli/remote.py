"""Finding the server of a data directory, and a conversation on it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from turnwire.cli.home import Home
from turnwire.cli.words import plain, some
from turnwire.errors import TurnwireError

if TYPE_CHECKING:
    from turnwire.client import Client

__all__ = ["client_of", "find_there"]

_PAGE = 500


def client_of(home: Home) -> Client:
    """A client of the server that runs here, as the owner. Raises TurnwireError if none does."""
    from turnwire.client import Client
    from turnwire.server.place import find_server

    place = find_server(home.path)
    if place is None:
        raise TurnwireError(f"no server runs on {home.path}. Start one: {home.command('serve')}")
    try:
        token = _token(home)
    except OSError as failure:
        cause = failure.strerror or str(failure)
        raise TurnwireError(f"the owner's token cannot be read: {cause}.") from None

    def find() -> tuple[str, str] | None:
        """It may come back at another port."""
        with suppress(OSError):
            now = find_server(home.path)
            return None if now is None else (now.url, _token(home))
        return None

    return Client(place.url, token, find=find)


def _token(home: Home) -> str:
    from turnwire.server.keys import owner_file

    return owner_file(home.path).read_text(encoding="ascii").strip()


async def find_there(client: Client, given: str, home: Home) -> dict[str, Any]:
    """The one conversation whose id is this, or begins with it."""
    rows: list[dict[str, Any]] = []
    while True:
        page = await client.request("GET", "/api/conversations", limit=_PAGE, offset=len(rows))
        rows += page["conversations"]
        if len(page["conversations"]) < _PAGE:
            break
    found = [row for row in rows if row["id"] == given]
    found = found or [row for row in rows if given and row["id"].startswith(given)]
    if len(found) == 1:
        return found[0]
    if found:
        ids = some([row["id"] for row in found], 5)
        raise TurnwireError(f"{given} begins several ids: {ids}. Type more of the one you mean.")
    known = home.command("list")
    raise TurnwireError(f"there is no conversation {plain(given)!r}. See which there are: {known}")
