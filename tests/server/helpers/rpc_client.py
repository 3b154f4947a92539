"""A client of the RPC protocol on a real WebSocket, written from the page alone."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import msgspec

from tests.server.helpers.socket_reader import Frame, Reader
from turnwire.core.error_codes import ERRORS
from turnwire.core.view import View
from turnwire.dialects import rpc
from turnwire.dialects.rpc.frames import WHAT_TO_DO

__all__ = ["Frame", "RpcClient", "check_error"]


class RpcClient(Reader):
    """One front end, over any number of connections."""

    def __init__(self, url: str, token: str, path: str = "/ws/rpc") -> None:
        super().__init__(token)
        self.address = url.replace("http", "ws", 1) + path
        self.conversation: str | None = None
        self.transcript = rpc.Transcript()
        self._numbers = count(1)

    # --- coming and going -------------------------------------------------------------------------

    async def come(self) -> RpcClient:
        await self.open(self.address)
        return self

    async def __aenter__(self) -> RpcClient:
        return await self.come()

    async def __aexit__(self, *_: object) -> None:
        await self.leave()

    async def leave(self) -> None:
        """Say goodbye."""
        await self.socket.close()

    async def join(self, conversation: str | None = None, **params: Any) -> Frame:
        """Connect to a conversation, from where it was; the result."""
        if conversation is not None:
            params["conversation"] = conversation
        if conversation is not None and self.cursor and "last_sequence" not in params:
            params |= {"last_sequence": self.cursor, "epoch": self.epoch}
        result: Frame = await self.result("connect", **params)
        self.epoch, self.conversation = result["epoch"], result["conversation"]
        return result

    # --- frames -----------------------------------------------------------------------------------

    async def send(self, frame: Any) -> None:
        await self.socket.send(frame if isinstance(frame, str | bytes) else _text(frame))

    async def call(self, method: str, **params: Any) -> str:
        """Send a call; its id."""
        call_id = f"req-{next(self._numbers)}"
        await self.send({"id": call_id, "method": method, "params": params})
        return call_id

    async def answer(self, call_id: str | None) -> Frame:
        """The one answer to a call."""
        return await self.find(lambda f: f["id"] == call_id and "result" in f)

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
        """Returns all frames of a stream after its end."""
        await self.find(lambda f: f["id"] == call_id and f.get("type") == "complete")
        return [f for f in self.frames if f["id"] == call_id and f.get("type") == "stream"]

    def heard(self, frame: Frame, raw: str | bytes) -> None:
        if frame.get("type") == "stream":
            message = rpc.decode(msgspec.json.encode(frame["data"]))
            self.transcript.apply(message, frame.get("sequence"), frame.get("turn_id"))
            self.cursor = max(self.cursor, frame.get("sequence", 0))
        elif isinstance(frame.get("result"), dict) and "connection_id" in frame["result"]:
            reset = frame["result"].get("reset") is not None
            self.transcript.connected(reset=reset)
            if reset:
                self.cursor = frame["result"]["first"] - 1

    async def said(self, kind: str, that: Callable[[Frame], bool] = lambda data: True) -> Frame:
        """The next streamed message of a type."""
        return await self.find(
            lambda f: f.get("type") == "stream" and f["data"]["type"] == kind and that(f["data"])
        )

    async def called(self, method: str | None = None) -> Frame:
        """The next call of the server."""
        return await self.find(lambda f: "method" in f and method in (None, f["method"]))

    # --- results ----------------------------------------------------------------------------------

    def view(self) -> View:
        return self.transcript.view()

    def streamed(self, kind: str | None = None) -> list[Frame]:
        """Returns every received message, or those of a type."""
        data = [f["data"] for f in self.frames if f.get("type") == "stream"]
        return [each for each in data if kind in (None, each["type"])]

    def numbers(self) -> list[int]:
        """Returns every log number received on this connection, in order."""
        return [f["sequence"] for f in self.frames if f.get("sequence") is not None]


def check_error(error: Frame, code: str) -> None:
    """Checks that an error of RPC has the documented fields."""
    assert error["code"] == code, error
    assert error["message"]
    assert error["what_to_do"] == WHAT_TO_DO.get(code, ERRORS[code].what_to_do)
    assert error["retryable"] is ERRORS[code].retryable


def _text(frame: Any) -> str:
    return msgspec.json.encode(frame).decode()
