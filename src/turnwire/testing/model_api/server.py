"""The HTTP server of the scripted model: records requests and replies from the script."""

from __future__ import annotations

import asyncio
import itertools
import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

import msgspec
from msgspec import Struct

from turnwire.testing.model_api import http
from turnwire.testing.model_api import script as s
from turnwire.testing.model_api.chat import ChatCompletions
from turnwire.testing.model_api.messages import Messages
from turnwire.testing.model_api.protocol import Ids, Protocol
from turnwire.testing.model_api.request import Request, decode
from turnwire.testing.model_api.responses import Responses

__all__ = ["Answer", "ModelApi", "Said"]

_log = logging.getLogger("turnwire.testing")
_LIMIT = 64 << 20  # bytes of a request's head; its body is not limited
_MESSAGES = Messages()
_PROTOCOLS: dict[str, Protocol] = {
    each.path: each for each in (_MESSAGES, Responses(), ChatCompletions())
}
_COUNT = "/v1/messages/count_tokens"


class Said(Struct):
    """A message that the model has begun to send."""

    lane: str
    message: s.Say
    whole: bool = False  # True if it was sent completely


Answer: TypeAlias = s.Reply | Callable[[Request], s.Reply]


class ModelApi:
    """A scripted model on a local port, served inside of `async with`."""

    def __init__(
        self,
        *replies: Answer,
        lanes: Mapping[str, Sequence[Answer]] | None = None,
        aside: Answer | None = "aside",
        log: Path | str | None = None,
    ) -> None:
        self._replies: dict[str, list[Answer]] = {}
        self.say_next(*replies)
        for name, answers in (lanes or {}).items():
            self.say_next(*answers, lane=name)
        self._aside = aside
        self._log = None if log is None else Path(log)
        self._numbers = 0
        # Part of every id, so that ids stay unique if the server restarts during a session.
        self._run = secrets.token_hex(4)
        self._news = asyncio.Condition()
        self._gates: dict[str, asyncio.Event] = {}
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.requests: list[Request] = []  # requests for messages, in the order of arrival
        self.said: dict[str, Said] = {}  # by message id
        self.holding: list[str] = []  # names of the holds that a stream has reached

    @classmethod
    def of(cls, script: s.Script, *, log: Path | str | None = None) -> Self:
        """Makes a server for a script that was read from a file."""
        return cls(*script.replies, lanes=script.lanes, aside=script.aside, log=log)

    async def start(self, port: int = 0) -> None:
        """Starts to accept requests."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port, limit=_LIMIT)

    async def stop(self) -> None:
        """Stops accepting requests and aborts open responses."""
        if self._server is not None:
            self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    @property
    def url(self) -> str:
        """Returns the address of the server: the value for ANTHROPIC_BASE_URL."""
        assert self._server is not None, "the server is not started"
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    # --- for tests ------------------------------------------------------------------------------

    def say_next(self, *replies: Answer, lane: str = "") -> None:
        """Appends replies to the script."""
        _check(*(reply for reply in replies if not callable(reply)))
        self._replies.setdefault(lane, []).extend(replies)

    def release(self, name: str = "") -> None:
        """Continues the streams that wait at holds of this name. Later holds do not wait either."""
        self._gate(name).set()

    async def until(self, done: Callable[[ModelApi], object], seconds: float = 20.0) -> None:
        """Waits until `done` returns true; checks it after each request. Raises TimeoutError."""
        async with asyncio.timeout(seconds), self._news:
            await self._news.wait_for(lambda: done(self))

    # --- connections ----------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            asked = await http.read_request(reader)
            while await self._answer(asked, reader, writer) and not asked.is_last:
                asked = await http.read_request(reader)
        except http.BadRequest as bad:  # the start of the next request is unknown
            with suppress(OSError):
                await _refuse(writer, _MESSAGES, s.Fail(400, str(bad)))
        except (asyncio.IncompleteReadError, OSError, asyncio.CancelledError):
            pass  # the client has disconnected, or the server stops
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer(
        self, asked: http.Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answers a request. Returns False if the connection was aborted."""
        match asked.method, asked.path:
            case "POST", path if path in _PROTOCOLS:
                return await self._message(_PROTOCOLS[path], asked, reader, writer)
            case "POST", path if path == _COUNT:
                await http.send_json(writer, 200, {"input_tokens": max(1, len(asked.body) // 4)})
            case "HEAD", _:
                await http.send_json(writer, 200, None)
            case _:
                missing = s.Fail(404, f"There is no {asked.method} {asked.path} here.")
                await _refuse(writer, _MESSAGES, missing)
        return True

    async def _message(
        self,
        protocol: Protocol,
        asked: http.Asked,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        request = self._read(protocol, asked)
        await self._tell(lambda: self.requests.append(request))
        reply = self._next(request)
        if not isinstance(reply, s.Say):
            await asyncio.sleep(reply.delay)
            await _refuse(writer, protocol, reply)
            return True
        self._numbers += 1
        message_id = f"msg_scripted_{self._run}_{self._numbers}"
        said = self.said[message_id] = Said(request.lane, reply)
        new_call = partial(self._call_id, protocol.call_prefix)
        ids = Ids(message_id, str(request.body.get("model")), new_call)
        streams = bool(request.body.get("stream"))
        if streams:
            http.start_stream(writer, reply.headers)
        sent = 0
        for beat in itertools.chain(
            protocol.events(reply, ids), [None]
        ):  # None: abort after the last
            if sent == reply.cut_after:
                await writer.drain()
                writer.transport.abort()
                return False
            if sent == reply.error_after:
                await _send_error(writer, protocol, reply, ids, streams=streams)
                return True
            if beat is None:
                break
            if beat.event is None:
                if not await self._hold(beat.hold, reader):
                    return False
                continue
            await asyncio.sleep(beat.delay)
            if streams:
                await http.send_chunk(writer, protocol.encode(beat.event))
            sent += 1
        if streams:
            await _end_stream(writer, protocol)
        else:
            await http.send_json(writer, 200, protocol.whole(reply, ids), reply.headers)
        said.whole = True
        return True

    async def _hold(self, name: str, reader: asyncio.StreamReader) -> bool:
        """Waits for the release of a hold. Returns False if the client has disconnected."""
        await self._tell(lambda: self.holding.append(name))
        released = asyncio.create_task(self._gate(name).wait())
        left = asyncio.create_task(reader.read(1))
        try:
            await asyncio.wait({released, left}, return_when=asyncio.FIRST_COMPLETED)
            return not left.done()
        finally:
            for task in (released, left):
                task.cancel()
                with suppress(asyncio.CancelledError, OSError):
                    await task

    # --- the script -----------------------------------------------------------------------------

    def _read(self, protocol: Protocol, asked: http.Asked) -> Request:
        body = decode(asked.body, protocol)
        request = Request("", body, asked.headers, time.time(), protocol)
        if self._aside is not None and not body.get("tools"):
            lane = "aside"
        else:
            named = (name for name in self._replies if name and name in request.prompt)
            lane = next(named, "")
        return msgspec.structs.replace(request, lane=lane)

    def _next(self, request: Request) -> s.Say | s.Fail:
        if self._log is not None:
            line = msgspec.json.encode({"lane": request.lane, "body": request.body})
            with self._log.open("ab") as file:
                file.write(line + b"\n")
        if request.lane == "aside":
            answer = self._aside
            assert answer is not None
        elif left := self._replies[request.lane]:
            answer = left.pop(0)
        else:  # agents do not retry after status 400
            where = f"the lane {request.lane!r}" if request.lane else "the main conversation"
            number = sum(each.lane == request.lane for each in self.requests)
            return s.Fail(400, f"The script has no reply to request {number} of {where}.")
        if callable(answer):
            try:
                answer = answer(request)
                _check(answer)
            except Exception as defect:  # the test's function may raise anything
                _log.exception("The reply function failed.")
                why = f"{type(defect).__name__}: {defect}"
                return s.Fail(400, f"The reply function failed: {why}")
        return s.Say([answer]) if isinstance(answer, str) else answer

    def _call_id(self, prefix: str) -> str:
        self._numbers += 1
        return f"{prefix}_scripted_{self._run}_{self._numbers}"

    def _gate(self, name: str) -> asyncio.Event:
        return self._gates.setdefault(name, asyncio.Event())

    async def _tell(self, change: Callable[[], None]) -> None:
        async with self._news:
            change()
            self._news.notify_all()


def _check(*answers: object) -> None:
    for answer in answers:
        if not isinstance(answer, s.Say | s.Fail | str):
            raise TypeError(f"A reply is a Say, a Fail or a string, not {answer!r}.")


async def _refuse(writer: asyncio.StreamWriter, protocol: Protocol, failed: s.Fail) -> None:
    await http.send_json(writer, failed.status, protocol.error_body(failed), failed.headers)


async def _send_error(
    writer: asyncio.StreamWriter, protocol: Protocol, reply: s.Say, ids: Ids, *, streams: bool
) -> None:
    """Ends a message with an error: as an event of a stream, else as an HTTP error."""
    status = protocol.status_of(reply.error)
    failed = s.Fail(status, reply.error_message, error=reply.error, headers=reply.headers)
    if streams:
        await http.send_chunk(writer, protocol.encode(protocol.error_event(failed, ids)))
        await _end_stream(writer, protocol)
    else:
        await _refuse(writer, protocol, failed)


async def _end_stream(writer: asyncio.StreamWriter, protocol: Protocol) -> None:
    if protocol.last:
        await http.send_chunk(writer, protocol.last)
    await http.send_chunk(writer, b"")
