"""The headers of a page in a browser."""

from __future__ import annotations

from tests.server.helpers.raw_http import Headers
from tests.server.helpers.servers import Serving


def host_of(server: Serving) -> str:
    return server.url.removeprefix("http://")


async def page_of(server: Serving, protocol: str = "turnwire.v2") -> Headers:
    """Returns the headers of a page that used a one-time link: for requests and for WebSockets."""
    link = await server.service.keys.link(server.owner)
    async with server.http() as http:
        entered = await http.post("/enter", json={"link": link})
    assert entered.status_code == 201
    told, key = entered.headers["set-cookie"], entered.json()["page_key"]
    assert "HttpOnly" in told
    assert "SameSite=strict" in told
    return [
        ("Cookie", told.partition(";")[0]),
        ("X-Turnwire-Page", key),
        ("Sec-WebSocket-Protocol", f"{protocol}, page.{key}"),
    ]
