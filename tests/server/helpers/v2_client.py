"""A client of protocol v2 on a real WebSocket, written from the page alone; it checks what it receives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import msgspec

from tests.server.helpers.socket_reader import PATIENCE, Frame, Reader
from turnwire.core.view import View
from turnwire.dialects.v2 import codec
from turnwire.dialects.v2.validator.check import SessionCheck
from turnwire.dialects.v2.view_reducer import ViewReducer

__all__ = ["PATIENCE", "Client", "Frame"]


def some_answer(request: Frame) -> str | dict[str, str]:
    """Returns an answer to one question, or to each of several."""
    names = [question["id"] for question in request.get("questions", [])]
    return "Blue" if len(names) < 2 else dict.fromkeys(names, "Blue")


class Client(Reader):
    """One person's client over any number of connections. Use `connected`, or `come` and `leave`."""

    def __init__(self, url: str, conversation_id: str, token: str) -> None:
        super().__init__(token)
        self.url = url.replace("http", "ws", 1)
        self.conversation_id = conversation_id
        self.lines: list[dict[str, Any]] = []  # the recording
        self._reducer = ViewReducer()

    # --- coming and going -------------------------------------------------------------------------

    async def come(self, *, until_ready: bool = True, **query: Any) -> Client:
        """Connects from its cursor, or from the given one."""
        given = {"protocol": "v2", **query}
        if self.cursor and not query:
            given |= {"last_sequence": self.cursor, "epoch": self.epoch}
        address = f"/ws/conversations/{self.conversation_id}?{urlencode(given)}"
        await self.open(f"{self.url}{address}")
        self.lines.append({"connect": address})
        if until_ready:
            await self.until("session.state")
        return self

    async def leave(self, code: int = 1000) -> None:
        """Say goodbye, after all that the server has said so far."""
        own_id = f"leaving-{len(self.lines)}"
        await self.send("session.heartbeat", own_id)
        await self.answer(own_id)
        await self.socket.close(code)
        self.closed(code)

    def closed(self, code: int) -> None:
        if self.code is None:
            super().closed(code)
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
        await self.socket.send(raw)

    async def say(self, text: str, own_id: str) -> None:
        await self.send("user.message", own_id, content=text)

    def heard(self, frame: Frame, raw: str | bytes) -> None:
        self.lines.append({"server": frame})
        self._reducer.apply(codec.decode(raw.encode() if isinstance(raw, str) else raw))
        self._move(frame)

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
        return await self.find(lambda frame: frame["type"] == kind and that(frame))

    async def state(self, state: str) -> Frame:
        return await self.until("session.state", lambda frame: frame["payload"]["state"] == state)

    async def end_of(self, turn_id: int) -> Frame:
        """The end of a turn, live or replayed: a follower that was late gets it from the log."""

        def is_end(frame: Frame) -> bool:
            return bool(frame["type"] == "assistant.complete" and frame["turn_id"] == turn_id)

        end = await self.find(lambda frame: is_end(frame) or is_end(_replayed(frame)))
        return end if is_end(end) else _replayed(end)

    async def answer(self, own_id: str) -> Frame:
        """The one ack or error for a frame."""
        return await self.find(
            lambda frame: (
                frame["payload"].get("client_message_id") == own_id
                and frame["type"].endswith(("ack", ".error"))
            )
        )

    # --- results ----------------------------------------------------------------------------------

    def view(self) -> View:
        return self._reducer.view()

    def numbers(self) -> list[int]:
        """Returns every received log number, in order."""
        numbers = []
        for line in self.lines:
            frame = line.get("server")
            if frame is not None and frame["payload"].get("message_sequence") is not None:
                numbers.append(frame["payload"]["message_sequence"])
        return numbers

    def check(self, *but: str) -> None:
        """Checks that no received frame and no answer breaks a rule of the page."""
        check = SessionCheck()
        for number, line in enumerate(self.lines, 1):
            check.feed(msgspec.json.encode(line), number)
        broken = [
            f"{v.code} at {v.line}: {v.message}"
            for v in check.report().violations
            if v.code not in but
        ]
        assert not broken, broken


def _replayed(frame: Frame) -> Frame:
    """Returns the frame inside of a replayed one; others as they are."""
    inner: Frame = frame["payload"]["event"] if frame["type"] == "message.replay" else frame
    return inner
