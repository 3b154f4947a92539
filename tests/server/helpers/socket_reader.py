"""The part that all socket clients share: opens a WebSocket, reads frames, searches in them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

Frame = dict[str, Any]

PATIENCE = 120.0  # seconds; only a broken test waits that long


class Reader:
    """One front end, over any number of connections."""

    patience = PATIENCE
    ahead: int | None = None  # messages that it takes without reading them; none: all

    def __init__(self, token: str) -> None:
        self.token = token
        self.frames: list[Frame] = []  # of this connection
        self.code: int | None = None  # how it ended
        self.cursor = 0
        self.epoch: str | None = None
        self._socket: ClientConnection | None = None
        self._read = 0  # frames that a search has passed

    def heard(self, frame: Frame, raw: str | bytes) -> None:
        """A frame came."""

    def closed(self, code: int) -> None:
        """The connection is over."""
        self.code = code

    @property
    def socket(self) -> ClientConnection:
        assert self._socket is not None
        return self._socket

    async def open(self, address: str) -> None:
        self._socket = await connect(
            address,
            additional_headers={"Authorization": f"Bearer {self.token}"},
            max_size=None,
            max_queue=self.ahead,
            open_timeout=PATIENCE,
            ping_timeout=PATIENCE,
            proxy=None,
            compression=None,
        )
        self.frames, self._read, self.code = [], 0, None

    def drop(self) -> None:
        """The line breaks: no goodbye."""
        self.socket.transport.abort()
        self.closed(1006)

    async def next(self) -> Frame:
        """The next frame. Raises ConnectionClosed."""
        try:
            async with asyncio.timeout(self.patience):
                raw = await self.socket.recv()
        except ConnectionClosed as closed:
            self.closed(closed.rcvd.code if closed.rcvd else 1006)
            raise
        frame: Frame = msgspec.json.decode(raw)
        self.frames.append(frame)
        self.heard(frame, raw)
        return frame

    async def find(self, that: Callable[[Frame], bool]) -> Frame:
        """The next frame that fits, from where the last search ended."""
        async with asyncio.timeout(self.patience):
            while True:
                while self._read < len(self.frames):
                    frame = self.frames[self._read]
                    self._read += 1
                    if that(frame):
                        return frame
                await self.next()

    async def until_closed(self) -> int:
        """Reads to the end of the connection. Returns the close code."""
        try:
            while True:
                await self.next()
        except ConnectionClosed:
            assert self.code is not None
            return self.code
