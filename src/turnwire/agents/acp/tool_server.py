"""Serves the front end's tools to one agent: an MCP server behind a socket, with a relay.

The agent starts the relay (tool_relay.py) as an MCP server over stdio, which every agent of the
protocol can. The relay connects here with a key that only this session's agent is given.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from turnwire.agents.acp.relay_command import relay_command
from turnwire.agents.client_tools import ClientTool
from turnwire.ports import AgentUser
from turnwire.version import __version__

__all__ = ["ToolRequest", "ToolServer", "server_name"]

_log = logging.getLogger("turnwire.acp")
_PROTOCOL = "2025-06-18"
_NO_METHOD, _INVALID = -32601, -32602  # error codes of JSON-RPC
_LONGEST = 64 << 20  # bytes of one line
_KEY_SECONDS = 10.0  # in which a connection has to show its key
_ALIVE = 5.0  # seconds between two signs of life of a call: agents end a silent one


def server_name(taken: Collection[Any]) -> str:
    """Returns a name for the server that no other server of the agent has."""
    name, number = "turnwire", 1
    while name in taken:
        number += 1
        name = f"turnwire{number}"
    return name


class ToolRequest:
    """A call of the agent that waits for the front end."""

    def __init__(self, connection: _Connection, number: Any, tool: str, given: Any) -> None:
        self.tool = tool
        self.arguments: dict[str, Any] = given if isinstance(given, dict) else {}
        self._connection = connection
        self._number = number

    @property
    def is_open(self) -> bool:
        """Returns whether the agent still waits."""
        return self._connection.waiting.get(self._number) is self

    def answer(self, said: str, *, is_error: bool) -> None:
        """Answers the call, if the agent still waits."""
        if self.is_open:
            result = {"content": [{"type": "text", "text": said}], "isError": is_error}
            self._connection.respond(self._number, result=result)
            self._connection.forget(self._number)


class ToolServer:
    """The server of one session. `called` gets each call, `cancelled` one that the agent gives up.

    `user` is the user that the agent runs as, if it is another one. `is_abstract`: the socket has a
    name, and is no file. Only Linux has such sockets.
    """

    def __init__(
        self,
        tools: Sequence[ClientTool],
        called: Callable[[ToolRequest], None],
        cancelled: Callable[[ToolRequest], None],
        *,
        user: AgentUser | None = None,
        is_abstract: bool = sys.platform == "linux",
    ) -> None:
        self.tools = tools
        self.called = called
        self.cancelled = cancelled
        self._user = user
        self._is_abstract = is_abstract
        self._key = secrets.token_hex(32)
        self._command: list[str] = []  # of the relay
        self._name = ""
        self._directory: str | None = None
        self._server: asyncio.Server | None = None
        self._connections: set[_Connection] = set()

    async def open(self) -> None:
        """Opens the socket. Raises AgentGone if the agent's user could not run the relay."""
        self._command = relay_command(self._user)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._bind(listening)
            self._server = await asyncio.start_unix_server(
                self._serve, sock=listening, limit=_LONGEST
            )
        except BaseException:
            listening.close()
            self._remove()
            raise

    def _bind(self, listening: socket.socket) -> None:
        if self._is_abstract:
            name = f"turnwire-{secrets.token_hex(16)}"
            listening.bind(f"\0{name}")
            self._name = f"@{name}"
            return
        # Not TMPDIR: the path of a socket has to be short.
        self._directory = tempfile.mkdtemp(prefix="turnwire-", dir="/tmp")
        self._name = f"{self._directory}/{secrets.token_hex(8)}"
        listening.bind(self._name)
        if self._user is not None:  # that user may pass, but not list the directory
            Path(self._name).chmod(0o666)
            Path(self._directory).chmod(0o711)

    def entry(self, name: str) -> dict[str, Any]:
        """Returns the server for `mcpServers` of the protocol."""
        given = {"TURNWIRE_TOOLS_SOCKET": self._name, "TURNWIRE_TOOLS_KEY": self._key}
        return {
            "name": name,
            "command": self._command[0],
            "args": self._command[1:],
            "env": [{"name": each, "value": value} for each, value in given.items()],
        }

    async def close(self) -> None:
        """Closes the socket and all connections. Nothing of them is left."""
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            connection.close()
        self._remove()

    def _remove(self) -> None:
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection(self, writer)
        self._connections.add(connection)
        try:
            async with asyncio.timeout(_KEY_SECONDS):
                key = await reader.readline()
            if hmac.compare_digest(key.strip(), self._key.encode()):
                while line := await reader.readline():
                    connection.take(line)
        except (TimeoutError, OSError, ValueError) as problem:  # ValueError: the line is too long
            _log.warning("A connection to the front end's tools ended: %r", problem)
        finally:
            self._connections.discard(connection)
            connection.close()


class _Connection:
    """A relay that is connected."""

    def __init__(self, server: ToolServer, writer: asyncio.StreamWriter) -> None:
        self._server = server
        self._writer = writer
        self.waiting: dict[Any, ToolRequest] = {}
        self._alive: dict[Any, asyncio.TimerHandle] = {}

    def take(self, line: bytes) -> None:
        """Takes a message of the agent."""
        try:
            message = msgspec.json.decode(line)
        except ValueError:
            return
        if not isinstance(message, dict):
            return
        number, given = message.get("id"), message.get("params")
        params: dict[str, Any] = given if isinstance(given, dict) else {}
        match message.get("method"):
            case "notifications/cancelled":
                self._cancel(params.get("requestId"))
            case str() if not isinstance(number, str | int):
                pass  # a notification
            case "initialize":
                self.respond(
                    number,
                    result={
                        "protocolVersion": params.get("protocolVersion", _PROTOCOL),
                        "capabilities": {"tools": {}},
                        "serverInfo": {"name": "turnwire", "version": __version__},
                    },
                )
            case "ping":
                self.respond(number, result={})
            case "tools/list":
                self.respond(number, result={"tools": [_listed(t) for t in self._server.tools]})
            case "tools/call" if isinstance(number, str | int):
                self._call(number, params)
            case str(method):
                error = {"code": _NO_METHOD, "message": f"There is no {method} here."}
                self.respond(number, error=error)
            case _:
                pass

    def _call(self, number: str | int, params: dict[str, Any]) -> None:
        tool = params.get("name")
        if not isinstance(tool, str) or tool not in [each.name for each in self._server.tools]:
            error = {"code": _INVALID, "message": f"There is no tool {tool!r}."}
            self.respond(number, error=error)
            return
        request = ToolRequest(self, number, tool, params.get("arguments"))
        self.waiting[number] = request
        match params.get("_meta"):
            case {"progressToken": str() | int() as token}:
                self._stay_alive(number, token, 1)
            case _:
                pass
        self._server.called(request)

    def _stay_alive(self, number: str | int, token: str | int, count: int) -> None:
        """Tells the agent that the call still runs, from time to time."""
        if count > 1:
            params = {"progressToken": token, "progress": count - 1}
            self._send({"method": "notifications/progress", "params": params})
        again = asyncio.get_running_loop().call_later
        self._alive[number] = again(_ALIVE, self._stay_alive, number, token, count + 1)

    def _cancel(self, number: Any) -> None:
        request = self.waiting.get(number) if isinstance(number, str | int) else None
        if request is not None:
            self.forget(number)
            self._server.cancelled(request)

    def respond(self, number: Any, **said: Any) -> None:
        """Answers a request."""
        self._send({"id": number, **said})

    def forget(self, number: Any) -> None:
        """Forgets a call that was answered or given up."""
        self.waiting.pop(number, None)
        if (timer := self._alive.pop(number, None)) is not None:
            timer.cancel()

    def _send(self, message: dict[str, Any]) -> None:
        if not self._writer.is_closing():
            self._writer.write(msgspec.json.encode({"jsonrpc": "2.0", **message}) + b"\n")

    def close(self) -> None:
        """Closes the connection. Its calls are no longer open."""
        for number in list(self.waiting):
            self.forget(number)
        with suppress(RuntimeError):  # the event loop is closed already
            self._writer.close()


def _listed(tool: ClientTool) -> dict[str, Any]:
    about = {"name": tool.name, "description": tool.description}
    return {**about, "inputSchema": tool.input_schema}
