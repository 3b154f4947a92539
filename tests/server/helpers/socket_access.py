"""Opens a WebSocket with given headers, and returns whether it was refused."""

from __future__ import annotations

from tests.server.helpers.raw_http import Headers, upgrade
from tests.server.helpers.servers import Serving
from turnwire.dialects.v2.close_codes import CLOSES_WITH


async def connect(server: Serving, name: str, headers: Headers) -> str:
    """Returns the result of a WebSocket with these headers: `in`, or the code of the refusal."""
    path = f"/ws/conversations/{name}?protocol=v2"
    frames, code, _ = await upgrade(server.url, path, headers)
    if not code:
        return "in"
    [error] = frames
    assert error["type"] == "session.error"
    assert error["sequence"] == 1
    assert code == CLOSES_WITH[error["payload"]["code"]]
    return str(error["payload"]["code"])
