"""Serves the application's tools to Claude Code, as MCP servers inside this process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from turnwire.agents.claude.extensions.callbacks import TookTooLong, call_within, writable
from turnwire.agents.claude.extensions.tools import Tool, ToolCall, ToolFailed, words_of

__all__ = ["ToolHost", "answer_plain", "call_id", "said_by_tool"]

_log = logging.getLogger("turnwire.claude")
_PROTOCOL = "2025-06-18"
_NOT_FOUND = -32601


# --- the protocol -------------------------------------------------------------------------------


def answer_plain(server: str, message: Any, tools: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Answers any JSON-RPC message of Claude Code's MCP client, except a tool call."""
    request = message if isinstance(message, dict) else {}
    head = {"jsonrpc": "2.0", "id": request.get("id")}
    match request.get("method"):
        case "initialize":
            params = request.get("params") or {}
            about = {
                "protocolVersion": params.get("protocolVersion", _PROTOCOL),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": server, "version": "1"},
            }
            return {**head, "result": about}
        case "tools/list":
            return {**head, "result": {"tools": tools}}
        case "ping":
            return {**head, "result": {}}
        case str() as method if not method.startswith("notifications/"):
            error = {"code": _NOT_FOUND, "message": f"There is no {method} here."}
            return {**head, "error": error}
        case _:
            return {"jsonrpc": "2.0", "result": {}}


def call_id(message: Any) -> str | None:
    """Returns the id of the tool call in this message, or None."""
    params = message.get("params") if isinstance(message, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    known = meta.get("claudecode/toolUseId") if isinstance(meta, dict) else None
    return known if isinstance(known, str) else None


def said_by_tool(message: Any, words: str, *, failed: bool) -> dict[str, Any]:
    """Returns the JSON-RPC answer with the result of a tool call."""
    result = {"content": [{"type": "text", "text": words}], "isError": failed}
    return {"jsonrpc": "2.0", "id": message.get("id"), "result": result}


# --- the servers --------------------------------------------------------------------------------


class _Params(Struct):
    name: str = ""
    arguments: Any = None


class ToolHost:
    """The in-process servers of one conversation. Calls run concurrently, until they are cancelled.

    `answer` gets the answer to a control request. `progress` gets the id of a call, the name of the
    tool, and a line. `start` runs a task that ends with the session.
    """

    def __init__(
        self,
        servers: Mapping[str, Sequence[Tool]],
        conversation_id: str,
        *,
        answer: Callable[[str, dict[str, Any]], None],
        progress: Callable[[str, str, str], None],
        start: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    ) -> None:
        self._servers = {
            name: {each.name: each for each in tools} for name, tools in servers.items()
        }
        self._conversation_id = conversation_id
        self._answer = answer
        self._progress = progress
        self._start = start
        self._running: dict[str, asyncio.Task[None]] = {}  # by control request
        self._asked: dict[tuple[str, Any], str] = {}  # control requests, by server and JSON-RPC id

    def has(self, server: str) -> bool:
        """Whether a server is one of these."""
        return server in self._servers

    def take(self, request_id: str, server: str, message: Any) -> None:
        """Handles a message for one of the servers."""
        method = message.get("method") if isinstance(message, dict) else None
        if method == "tools/call":
            self._asked[server, message.get("id")] = request_id
            task = self._start(self._call(request_id, server, message))
            self._running[request_id] = task
            task.add_done_callback(lambda _: self._over(request_id, server, message.get("id")))
            return
        if method == "notifications/cancelled":
            wanted = (message.get("params") or {}).get("requestId")
            self.cancel(self._asked.get((server, wanted), ""))
        tools = [each.listed() for each in self._servers[server].values()]
        self._answer(request_id, {"mcp_response": answer_plain(server, message, tools)})

    def cancel(self, request_id: str) -> None:
        """Cancels the running call of a control request, if there is one."""
        task = self._running.get(request_id)
        if task is not None:
            task.cancel()

    def _over(self, request_id: str, server: str, name: Any) -> None:
        self._running.pop(request_id, None)
        self._asked.pop((server, name), None)

    async def _call(self, request_id: str, server: str, message: dict[str, Any]) -> None:
        try:
            words, failed = await self._work(server, message), False
        except ToolFailed as told:
            words, failed = str(told) or "The tool failed.", True
        except Exception as error:
            _log.warning("A tool of the server %s failed.", server, exc_info=True)
            words, failed = f"The tool failed: {type(error).__name__}: {error}", True
        said = said_by_tool(message, writable(words), failed=failed)
        self._answer(request_id, {"mcp_response": said})

    async def _work(self, server: str, message: dict[str, Any]) -> str:
        params = msgspec.convert(message.get("params") or {}, _Params)
        tool = self._servers[server].get(params.name)
        if tool is None:
            raise ToolFailed(f"There is no tool {params.name!r}.")
        tool_use_id = call_id(message)
        call = ToolCall(
            self._conversation_id,
            tool_use_id,
            lambda line: self._tell(tool_use_id, f"mcp__{server}__{tool.name}", line),
        )
        try:
            work = tool.bind(params.arguments, call)
        except msgspec.ValidationError as bad:
            raise ToolFailed(f"The arguments are invalid: {bad}.") from bad
        try:
            return words_of(await call_within(tool.seconds, work))
        except TookTooLong:
            raise ToolFailed(f"The tool took more than {tool.seconds:g} seconds.") from None
        finally:
            call.end()

    def _tell(self, tool_use_id: str | None, name: str, line: str) -> None:
        if tool_use_id is not None:
            self._progress(tool_use_id, name, line)
