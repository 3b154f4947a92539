"""A client of the socket of the AI SDK, written from the reference alone."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.server.helpers.socket_reader import Frame, Reader

__all__ = ["ChatClient"]


class ChatClient(Reader):
    """One connection with any number of requests."""

    def __init__(self, url: str, token: str, path: str = "/ws/chat") -> None:
        super().__init__(token)
        self.address = url.replace("http", "ws", 1) + path

    async def __aenter__(self) -> ChatClient:
        await self.open(self.address)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.socket.close()

    async def put(self, kind: str, request_id: str, **more: Any) -> None:
        frame = {"type": kind, "requestId": request_id, **more}
        await self.socket.send(msgspec.json.encode(frame).decode())

    async def send(self, request_id: str, message: Any, chat: str = "chat-1", **more: Any) -> None:
        """Sends a message as the transport does."""
        options = {"delay": 0, **more.pop("options", {})}
        rest = {"trigger": "submit-message", "headers": {}, "metadata": None, **more}
        body = {"agent": "demo", "options": options}
        await self.put("send", request_id, id=chat, messages=[message], body=body, **rest)

    async def until(self, request_id: str, *kinds: str) -> Frame:
        """Returns the next frame of a request that is of one of these kinds."""
        return await self.find(lambda f: f["requestId"] == request_id and f["type"] in kinds)

    async def chunk(self, request_id: str, kind: str) -> Frame:
        """Returns the next chunk of this kind."""
        return await self.find(
            lambda f: f["requestId"] == request_id and f.get("chunk", {}).get("type") == kind
        )

    def chunks(self, request_id: str) -> list[Any]:
        """Returns the chunks of a request. Their numbers have no gaps."""
        told = [f for f in self.frames if f["requestId"] == request_id and f["type"] == "chunk"]
        assert [frame["sequence"] for frame in told] == [*range(len(told))]
        return [frame["chunk"] for frame in told]
