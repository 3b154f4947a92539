"""One HTTP response that follows a conversation: its first events, its heartbeats and its end."""

from __future__ import annotations

import asyncio
import logging
from contextlib import ExitStack, aclosing
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from turnwire.core.error_codes import Refused
from turnwire.engine import Talk
from turnwire.engine.fanout.channel import FollowAgain, SlowReader
from turnwire.engine.fanout.follow import Place
from turnwire.errors import TurnwireError
from turnwire.ports import WireProtocol
from turnwire.server.access.keys import Who
from turnwire.server.api.problems import refusal_of
from turnwire.server.api.responses import SAFE_HEADERS
from turnwire.server.sockets.hub import Seat
from turnwire.server.sockets.outlet import Gone
from turnwire.server.sse.outlet import BODY, Comment, EventWriter, SseOutlet

if TYPE_CHECKING:
    from turnwire.server.service import Service

__all__ = ["EventStream"]

_log = logging.getLogger("turnwire")
_PATIENCE = 2.0  # seconds that a client has to read the last events
_STALLED = 20.0  # seconds in which a client with a full buffer has to read something
_SLOW = 65.0  # seconds that a slow client has to read what is in its socket; our server allows 60
_RETRY = b"retry: 1000\n\n"  # milliseconds until a browser connects again


class EventStream(Response):
    """A response with server-sent events. The hub can close it like any connection."""

    def __init__(
        self,
        service: Service,
        talk: Talk,
        place: Place,
        who: Who,
        writer: EventWriter,
        protocol: WireProtocol,
        headers: dict[str, str] | None = None,
        *,
        has_retry: bool = True,
    ) -> None:
        """Reserves a place in the hub. Raises Refused if a limit of connections is reached.

        `has_retry`: the response begins with the time after which a browser connects again.
        """
        safe = {**SAFE_HEADERS, "X-Accel-Buffering": "no", **(headers or {})}
        super().__init__(None, 200, safe, "text/event-stream")
        del self.headers["content-length"]
        self._held = ExitStack()
        self._seat: Seat = self._held.enter_context(service.hub.place(who))
        self._service = service
        self._talk = talk
        self._place = place
        self._writer = writer
        self._protocol = protocol
        self._has_retry = has_retry
        self._loop = asyncio.get_running_loop()
        # The close code that a WebSocket would have, and the error.
        self._ended: asyncio.Future[tuple[int, Refused | None]] = self._loop.create_future()
        self._outlet: SseOutlet | None = None
        self.who = who
        self.conversation_id: str | None = talk.id
        self.connection_id = service.engine.new_id()
        self.gone = asyncio.Event()

    # --- what the hub calls -----------------------------------------------------------------------

    def tick(self) -> None:
        """Sends a comment if nothing was sent for a while, and ends a client that does not read."""
        outlet = self._outlet
        if outlet is None:
            return
        if outlet.is_stalled(self._loop.time() - _STALLED):
            outlet.cut_off()
        silence = self._loop.time() - outlet.sent_at
        if silence >= self._service.settings.heartbeat_seconds - 1.5 and outlet.is_idle:
            outlet.put(Comment("still here"))

    def close(self, code: int, error: Refused | None = None) -> None:
        """Ends the response, with an error if the client must not simply connect again."""
        if not self._ended.done():
            self._ended.set_result((code, error))

    # --- the response -----------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends events until the writer is done, the conversation ends, or the client has left."""
        service = self._service
        about = {"connection_id": self.connection_id, "token_id": self.who.token_id}
        with self._held, service.shares.of(self.who).held():
            self._outlet = outlet = SseOutlet(
                send,  # type: ignore[arg-type]  # ASGI, by another name
                self._writer,
                lambda: self.close(1000),
                (scope.get("extensions") or {}).get(BODY),
                size=service.settings.buffer_bytes,
                ended=self._end,
                now=self._loop.time,
                backlog=service.backlog,
            )
            service.hub.add(self, self._seat)
            is_written = service.connection_audit.connected(self.who, self._talk.id, **about)
            left: asyncio.Future[None] = asyncio.ensure_future(_until_gone(receive))
            first = asyncio.create_task(self._open(outlet, send))
            try:
                waiting: list[asyncio.Future[Any]] = [left, self._ended]
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if not left.done():
                    farewell = asyncio.create_task(self._say_goodbye(outlet, first, send))
                    await asyncio.wait([left, farewell], return_when=asyncio.FIRST_COMPLETED)
                    farewell.cancel()
            finally:
                for task in (left, first):
                    task.cancel()
                await asyncio.gather(left, first, return_exceptions=True)
                service.engine.detach(self._talk.id, outlet, self.connection_id)
                outlet.stop()
                service.hub.remove(self)
                if is_written:
                    service.connection_audit.disconnected(self.who, self._talk.id, **about)
                self.gone.set()

    async def _open(self, outlet: SseOutlet, send: Send) -> None:
        """Sends the headers, the entries after the client's cursor, and the current state."""
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            if self._has_retry:
                await send({"type": "http.response.body", "body": _RETRY, "more_body": True})
            first = self._service.engine.attach(
                self._talk.row,
                self._place,
                outlet,
                client_id=self.who.client_id,
                connection_id=self.connection_id,
                user=self.who.name,
                is_owner=self.who.is_owner,
                reached=lambda: outlet.reached,
                protocol=self._protocol,
            )
            async with aclosing(first):
                async for sent in first:
                    await outlet.send_first(sent)
            await outlet.release()
        except Gone:
            self.close(1000)
        except TurnwireError as error:
            self._end(error)
        except Exception:
            _log.exception("conversation %s: a stream failed", self._talk.id)
            self._end(Refused("INTERNAL_ERROR"))

    def _end(self, why: TurnwireError) -> None:
        """Ends the response, because the conversation cannot be followed any more."""
        if isinstance(why, FollowAgain):
            self.close(4001 if isinstance(why, SlowReader) else 4000)
        else:
            self.close(4004, refusal_of(why))

    async def _say_goodbye(self, outlet: SseOutlet, first: asyncio.Task[None], send: Send) -> None:
        """Sends the events that wait, the error, and the end of the body.

        Drops what the client does not read in time. During the replay no error is sent: it could
        come between two pieces of an event. The client gets it when it connects again.
        """
        code, refused = self._ended.result()
        is_replayed = first.done()
        last = self._writer.error(refused) if refused is not None and is_replayed else None
        try:
            async with asyncio.timeout(_SLOW if code == 4001 else _PATIENCE):
                first.cancel()
                await asyncio.wait([first])
                await outlet.send_last(last)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except Exception as reason:  # the client has left, or does not read
            _log.debug("a client did not read its last events: %r", reason)


async def _until_gone(receive: Receive) -> None:
    """Waits until the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
