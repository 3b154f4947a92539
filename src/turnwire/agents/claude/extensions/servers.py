"""Configuration of the MCP servers that Claude may use: programs, URLs, and in-process tools."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, structs

from turnwire.agents.claude.extensions.tools import read_tools
from turnwire.agents.claude.questions.question_tools import SERVER

__all__ = ["HttpServer", "McpServer", "SseServer", "StdioServer", "ToolServer", "read_servers"]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")


class _Server(Struct, frozen=True, kw_only=True, tag_field="type", forbid_unknown_fields=True):
    optional: bool = False  # used only in conversations that name it


class StdioServer(_Server, frozen=True, tag="stdio"):
    """A program that Claude Code starts, with the same guard and the same environment."""

    command: str
    args: list[str] = []
    env: dict[str, str] = {}

    def told(self) -> dict[str, Any]:
        """Returns the configuration in the format of Claude Code."""
        about = {"type": "stdio", "command": self.command, "args": self.args}
        return {**about, "env": self.env} if self.env else about


class HttpServer(_Server, frozen=True, tag="http"):
    """A remote server, over streamable HTTP."""

    url: str
    headers: dict[str, str] = {}

    def told(self) -> dict[str, Any]:
        """Returns the configuration in the format of Claude Code."""
        return {"type": "http", "url": self.url, "headers": self.headers}


class SseServer(_Server, frozen=True, tag="sse"):
    """A remote server, over server-sent events, the older transport."""

    url: str
    headers: dict[str, str] = {}

    def told(self) -> dict[str, Any]:
        """Returns the configuration in the format of Claude Code."""
        return {"type": "sse", "url": self.url, "headers": self.headers}


class ToolServer(_Server, frozen=True, tag="tools"):
    """In-process tools: made with @tool, or named as `module:attribute`."""

    tools: list[Any]


McpServer: TypeAlias = StdioServer | HttpServer | SseServer | ToolServer


def read_servers(given: Mapping[str, Any] | None) -> dict[str, McpServer]:
    """Returns servers by name, from objects or from mappings of fields. Raises ValueError."""
    found: dict[str, McpServer] = {}
    for name, server in (given or {}).items():
        if not _NAME.fullmatch(name) or "__" in name:
            raise ValueError(
                f"An MCP server cannot be called {name!r}: use letters, digits, - and _."
            )
        if name == SERVER:
            raise ValueError(f"Call your MCP server something else: {SERVER} is Turnwire's own.")
        found[name] = _read(name, server)
    return found


def _read(name: str, given: Any) -> McpServer:
    server = given
    if isinstance(given, Mapping):
        usual = "tools" if "tools" in given else "stdio" if "command" in given else "http"
        try:
            server = msgspec.convert({"type": usual, **given}, McpServer)
        except msgspec.ValidationError as bad:
            raise ValueError(f"The MCP server {name!r} cannot be read: {bad}.") from bad
    match server:
        case ToolServer(tools=tools):
            return structs.replace(server, tools=read_tools(tools))
        case HttpServer(url=url) | SseServer(url=url) if not url.startswith(
            ("http://", "https://")
        ):
            raise ValueError(f"The MCP server {name!r} has the URL {url!r}: use http or https.")
        case StdioServer(command=""):
            raise ValueError(f"The MCP server {name!r} has no command.")
        case StdioServer() | HttpServer() | SseServer():
            return server
        case _:
            raise ValueError(
                f"{given!r} is not an MCP server: give a StdioServer, an HttpServer, or tools."
            )
