"""A client of the RPC door that only knows the page, on a real WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.server.clients import PATIENCE
from turnwire.core.view import View
from turnwire.dialects import rpc

Frame = dict[str, Any]


class RpcClient:
    """One front end, over any number of connections."""

    def __init__(self, url: str, token: str, path: str = "/ws/rpc") -> None:
        self.address = url.replace("http", "ws", 1) + path
        self.token = token
        self.frames: list[Frame] = []  # of this connection
        self.code: int | None = None
        self.cursor = 0
        self.epoch: str | None = None
        self.conversation: str | None = None
        self.transcript = rpc.Transcript()
        self._numbers = count(1)
        self._socket: ClientConnection | None = None
        self._read = 0  # frames that a search has passed

    # --- coming and going -------------------------------------------------------------------------

    async def come(self) -> RpcClient:
        self._socket = await connect(
            self.address,
            additional_headers={"Authorization": f"Bearer {self.token}"},
            max_size=None,
            max_queue=None,  # a client that does not read for a while still answers pings
            proxy=None,
            compression=None,
        )
        self.frames, self._read, self.code = [], 0, None
        return self

    async def __aenter__(self) -> RpcClient:
        return await self.come()

    async def __aexit__(self, *_: object) -> None:
        await self.leave()

    async def leave(self) -> None:
        """Say goodbye."""
        assert self._socket is not None
        await self._socket.close()

    async def join(self, conversation: str | None = None, **params: Any) -> Frame:
        """Connect to a conversation, from where it was; the result."""
        if conversation is not None:
            params["conversation"] = conversation
        if conversation is not None and self.cursor and "last_sequence" not in params:
            params |= {"last_sequence": self.cursor, "epoch": self.epoch}
        result: Frame = await self.result("connect", **params)
        self.epoch, self.conversation = result["epoch"], result["conversation"]
        return result

    def drop(self) -> None:
        """The line breaks: no goodbye."""
        assert self._socket is not None
        self._socket.transport.abort()

    # --- frames -----------------------------------------------------------------------------------

    async def send(self, frame: Any) -> None:
        assert self._socket is not None
        await self._socket.send(frame if isinstance(frame, str | bytes) else _text(frame))

    async def call(self, method: str, **params: Any) -> str:
        """Send a call; its id."""
        call_id = f"req-{next(self._numbers)}"
        await self.send({"id": call_id, "method": method, "params": params})
        return call_id

    async def answer(self, call_id: str | None) -> Frame:
        """The one answer to a call."""
        return await self.until(lambda f: f["id"] == call_id and "result" in f)

    async def result(self, method: str, **params: Any) -> Any:
        answer = await self.answer(await self.call(method, **params))
        assert answer["error"] is None, answer
        return answer["result"]

    async def refused(self, method: str, **params: Any) -> Frame:
        """The error that a call is answered with."""
        answer = await self.answer(await self.call(method, **params))
        assert answer["result"] is None, answer
        error: Frame = answer["error"]
        return error

    async def query(self, prompt: str, **params: Any) -> list[Frame]:
        """Say something; the frames of its stream."""
        call_id = await self.call("query", prompt=prompt, **params)
        return await self.stream(call_id)

    async def stream(self, call_id: str) -> list[Frame]:
        """All frames of a stream, when it has ended."""
        await self.until(lambda f: f["id"] == call_id and f.get("type") == "complete")
        return [f for f in self.frames if f["id"] == call_id and f.get("type") == "stream"]

    async def next(self) -> Frame:
        """The next frame. Raises ConnectionClosed."""
        assert self._socket is not None
        try:
            async with asyncio.timeout(PATIENCE):
                raw = await self._socket.recv()
        except ConnectionClosed as closed:
            self.code = closed.rcvd.code if closed.rcvd else 1006
            raise
        frame: Frame = msgspec.json.decode(raw)
        self.frames.append(frame)
        self._apply(frame)
        return frame

    def _apply(self, frame: Frame) -> None:
        if frame.get("type") == "stream":
            message = rpc.decode(msgspec.json.encode(frame["data"]))
            self.transcript.apply(message, frame.get("sequence"), frame.get("turn_id"))
            self.cursor = max(self.cursor, frame.get("sequence", 0))
        elif isinstance(frame.get("result"), dict) and "connection_id" in frame["result"]:
            reset = frame["result"].get("reset") is not None
            self.transcript.connected(reset=reset)
            if reset:
                self.cursor = frame["result"]["first"] - 1

    async def until(self, that: Callable[[Frame], bool]) -> Frame:
        """The next frame that fits, from where the last search ended."""
        while True:
            while self._read < len(self.frames):
                frame = self.frames[self._read]
                self._read += 1
                if that(frame):
                    return frame
            await self.next()

    async def said(self, kind: str, that: Callable[[Frame], bool] = lambda data: True) -> Frame:
        """The next streamed message of a type."""
        return await self.until(
            lambda f: f.get("type") == "stream" and f["data"]["type"] == kind and that(f["data"])
        )

    async def called(self, method: str | None = None) -> Frame:
        """The next call of the server."""
        return await self.until(lambda f: "method" in f and method in (None, f["method"]))

    async def until_closed(self) -> int:
        """All that still comes; how it ended."""
        try:
            while True:
                await self.next()
        except ConnectionClosed:
            assert self.code is not None
            return self.code

    # --- what it made of them ---------------------------------------------------------------------

    def view(self) -> View:
        return self.transcript.view()

    def streamed(self, kind: str | None = None) -> list[Frame]:
        """Every message that came, or those of a type."""
        data = [f["data"] for f in self.frames if f.get("type") == "stream"]
        return [each for each in data if kind in (None, each["type"])]

    def numbers(self) -> list[int]:
        """Every number of the log that came on this connection, in order."""
        return [f["sequence"] for f in self.frames if f.get("sequence") is not None]


def _text(frame: Any) -> str:
    return msgspec.json.encode(frame).decode()
