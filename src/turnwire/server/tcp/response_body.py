"""Writes the body of a response directly to its connection.

The publisher of a conversation writes to all of its clients in one loop. ASGI's `send` has to be
awaited in a task for each of them, and costs as much as everything else that a piece of text needs.
"""

from __future__ import annotations

from turnwire.server.tcp.uvicorn_compat import RequestResponseCycle

__all__ = ["ResponseBody"]


class ResponseBody:
    """A response of unknown length. ASGI's `send` still sends its headers and its end.

    uvicorn's parser keeps no state between two chunks, so chunks can be written without it.
    """

    def __init__(self, cycle: RequestResponseCycle, *, is_chunked: bool) -> None:
        """`is_chunked`: False for a client of HTTP/1.0, whose response ends with the connection."""
        self._cycle = cycle
        self._transport = cycle.transport
        self._flow = cycle.flow
        self._is_chunked = is_chunked

    def is_open(self) -> bool:
        """Returns whether bytes can be written now, without waiting."""
        cycle = self._cycle
        if self._flow.write_paused or cycle.disconnected or self._transport.is_closing():
            return False
        return cycle.response_started and not cycle.response_complete

    def write(self, data: bytes | memoryview) -> None:
        """Writes bytes, as one chunk (RFC 9112, 7.1)."""
        if self._is_chunked:
            self._transport.write(b"".join((b"%x\r\n" % len(data), data, b"\r\n")))
        else:
            self._transport.write(data)
