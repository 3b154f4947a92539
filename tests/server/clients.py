"""A client of protocol v2 that only knows the page, on a real WebSocket; what it saw can be checked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from turnwire.core.view import View
from turnwire.dialects.v2 import codec
from turnwire.dialects.v2.check import SessionCheck
from turnwire.dialects.v2.fold import ViewReducer

Frame = dict[str, Any]

PATIENCE = 30.0  # seconds; only a broken test waits that long


class Client:
    """One person's client over any number of connections. Use `connected`, or `come` and `leave`."""

    def __init__(self, url: str, conversation_id: str, token: str) -> None:
        self.url = url.replace("http", "ws", 1)
        self.conversation_id = conversation_id
        self.token = token
        self.lines: list[dict[str, Any]] = []  # the recording
        self.frames: list[Frame] = []  # of this connection
        self.code: int | None = None  # how it ended
        self.cursor = 0
        self.epoch: str | None = None
        self._socket: ClientConnection | None = None
        self._read = 0  # frames that a search has passed
        self._reducer = ViewReducer()

    # --- coming and going -------------------------------------------------------------------------

    async def come(self, *, until_ready: bool = True, **query: Any) -> Client:
        """Connect, from where it was unless told otherwise."""
        given = {"protocol": "v2", **query}
        if self.cursor and not query:
            given |= {"last_sequence": self.cursor, "epoch": self.epoch}
        address = f"/ws/conversations/{self.conversation_id}?{urlencode(given)}"
        self._socket = await connect(
            f"{self.url}{address}",
            additional_headers={"Authorization": f"Bearer {self.token}"},
            max_size=None,
            max_queue=None,  # a client that does not read for a while still answers pings
            proxy=None,
            compression=None,
        )
        self.lines.append({"connect": address})
        self.frames = []
        self._read = 0
        self.code = None
        if until_ready:
            await self.until("session.state")
        return self

    async def leave(self, code: int = 1000) -> None:
        """Say goodbye, after all that the server has said so far."""
        assert self._socket is not None
        own_id = f"leaving-{len(self.lines)}"
        await self.send("session.heartbeat", own_id)
        await self.answer(own_id)
        await self._socket.close(code)
        self.closed(code)

    def drop(self) -> None:
        """The line breaks: no goodbye."""
        assert self._socket is not None
        self._socket.transport.abort()
        self.closed(1006)

    def closed(self, code: int) -> None:
        if self.code is None:
            self.code = code
            self.lines.append({"close": code})

    async def __aenter__(self) -> Client:
        return await self.come()

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.code is None:
            await self.leave()
        if kind is None:
            self.check()

    # --- frames ---------------------------------------------------------------------------------

    async def send(self, kind: str, own_id: str | None = None, **payload: Any) -> None:
        frame: Frame = {"type": kind, "payload": payload}
        if own_id is not None:
            frame["client_message_id"] = own_id
        await self.send_raw(msgspec.json.encode(frame).decode())
        self.lines.append({"client": frame})

    async def send_raw(self, raw: str | bytes) -> None:
        assert self._socket is not None
        await self._socket.send(raw)

    async def say(self, text: str, own_id: str) -> None:
        await self.send("user.message", own_id, content=text)

    async def next(self) -> Frame:
        """The next frame. Raises ConnectionClosed."""
        assert self._socket is not None
        try:
            async with asyncio.timeout(PATIENCE):
                raw = await self._socket.recv()
        except ConnectionClosed as closed:
            self.closed(closed.rcvd.code if closed.rcvd else 1006)
            raise
        frame: Frame = msgspec.json.decode(raw)
        self.lines.append({"server": frame})
        self.frames.append(frame)
        self._reducer.apply(codec.decode(raw))
        self._move(frame)
        return frame

    def _move(self, frame: Frame) -> None:
        payload = frame["payload"]
        if frame["type"] in ("session.connected", "session.resumed"):
            self.epoch = payload["epoch"]
        elif frame["type"] == "session.reset":
            self.cursor = payload["first"] - 1
        number = payload.get("message_sequence")
        if number is not None:
            self.cursor = max(self.cursor, number)

    async def until(self, kind: str, that: Callable[[Frame], bool] = lambda frame: True) -> Frame:
        """The next frame of this kind, from where the last search ended."""
        return await self._find(lambda frame: frame["type"] == kind and that(frame))

    async def _find(self, that: Callable[[Frame], bool]) -> Frame:
        async with asyncio.timeout(PATIENCE):
            while True:
                while self._read < len(self.frames):
                    frame = self.frames[self._read]
                    self._read += 1
                    if that(frame):
                        return frame
                await self.next()

    async def state(self, state: str) -> Frame:
        return await self.until("session.state", lambda frame: frame["payload"]["state"] == state)

    async def end_of(self, turn_id: int) -> Frame:
        return await self.until("assistant.complete", lambda frame: frame["turn_id"] == turn_id)

    async def answer(self, own_id: str) -> Frame:
        """The one ack or error for a frame."""
        return await self._find(
            lambda frame: (
                frame["payload"].get("client_message_id") == own_id
                and frame["type"].endswith(("ack", ".error"))
            )
        )

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
        return self._reducer.view()

    def numbers(self) -> list[int]:
        """Every number of the log that came, in order."""
        numbers = []
        for line in self.lines:
            frame = line.get("server")
            if frame is not None and frame["payload"].get("message_sequence") is not None:
                numbers.append(frame["payload"]["message_sequence"])
        return numbers

    def check(self, *but: str) -> None:
        """Nothing that came, and nothing that was answered, breaks a rule of the page."""
        check = SessionCheck()
        for number, line in enumerate(self.lines, 1):
            check.feed(msgspec.json.encode(line), number)
        broken = [
            f"{v.code} at {v.line}: {v.message}"
            for v in check.report().violations
            if v.code not in but
        ]
        assert not broken, broken
