"""Tool calls as they change: each update replaces the fields that it has."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Raw

from turnwire.core.blocks import Status, TodoItem, ToolResultBlock, ToolUseBlock
from turnwire.dialects.acp.client_tools import ClientTools
from turnwire.dialects.acp.content import ContentItem, TerminalRef, TextContent, ToolContent
from turnwire.dialects.acp.updates import ToolCallFields

__all__ = ["Call", "plain"]

_WORD = re.compile(r"[A-Za-z_][\w.:-]*")  # a title that is the name of a tool
_MOST_OUTPUT = 1 << 20  # characters of a terminal's output that are kept for the result


class Call:
    """One tool call. `fields` has the latest value of each field, by its name on the wire."""

    def __init__(self, call_id: str, client_tools: ClientTools | None = None) -> None:
        self.id = call_id
        self._client_tools = client_tools
        self.client_tool: str | None = None  # the tool of the front end that it calls
        self.has_come = False  # the call of the front end's tool has come over MCP, too
        self.name = "tool"
        self.kind = "other"
        self.status = "pending"
        self.title: str | None = None
        self.content: list[ToolContent] = []
        self.fields: dict[str, Any] = {"toolCallId": call_id}
        self.shown = ""  # the text that has been reported as progress
        self.printed = ""  # the output of its terminal
        self.place: tuple[str, int] | None = None  # message and index, while its block is open
        self.is_announced = False  # the log has its block
        self._has_name = False

    @property
    def has_ended(self) -> bool:
        """Returns whether the call has its result."""
        return self.status in ("completed", "failed")

    def update(self, change: ToolCallFields) -> None:
        """Takes a change."""
        told = {key: value for key, value in plain(change).items() if value is not None}
        told.pop("sessionUpdate", None)
        self.fields.update(told)
        self.kind = change.kind or self.kind
        self.status = change.status or self.status
        if change.content is not None:
            self.content = change.content
        self._name_it(change)
        self.title = change.title or self.title

    def _name_it(self, change: ToolCallFields) -> None:
        """Finds the name of the tool: the protocol has only a title for people and a kind."""
        if self._has_name:
            return
        own = change.name or _name_in(change.meta)
        if self._client_tools is not None and self.place is None:
            title = change.title if self.title is None else None  # a later title is the model's
            self.client_tool = self._client_tools.named(own, title, self.id)
            own = self.client_tool or own
        if own is not None:
            self.name, self._has_name = own, True
        elif self.title is None and change.title is not None:
            # The first title of some agents is the tool's name; later it says what the tool does.
            self._has_name = _WORD.fullmatch(change.title) is not None
            self.name = change.title if self._has_name else self.kind
        elif self.title is None:
            self.name = self.kind

    @property
    def input(self) -> dict[str, Any]:
        """Returns its arguments. Without any, what people are shown instead."""
        given = self.fields.get("rawInput")
        if self.client_tool is not None and self.arguments is not None:
            return self.arguments
        if isinstance(given, dict) and given:
            return given
        if given not in (None, {}):
            return {"input": given}
        shown = {name: self.fields.get(name) for name in ("title", "locations", "content")}
        return {name: value for name, value in shown.items() if value}

    @property
    def arguments(self) -> dict[str, Any] | None:
        """Returns the arguments for a tool of the front end, or None if the agent tells none yet."""
        match self.fields.get("rawInput"):
            case {"server": str(), "arguments": dict(given)} if not self.has_come:
                return given
            case dict(given) if given or self.has_come:
                return given
            case _:
                return None

    def came(self, given: dict[str, Any]) -> None:
        """Takes the arguments that have come over MCP."""
        self.has_come = True
        self.fields["rawInput"] = given

    def block(self) -> ToolUseBlock:
        """Returns the block of the call."""
        kind = f"ACP_{self.kind.upper()}"
        return ToolUseBlock(self.id, self.name, kind, self.input, "in_progress", None, False)

    def begun(self) -> ToolUseBlock:
        """Returns the block before its arguments are known."""
        kind = f"ACP_{self.kind.upper()}"
        return ToolUseBlock(self.id, self.name, kind, None, "in_progress", None, False)

    # --- output -------------------------------------------------------------------------------

    def printed_by(self, change: ToolCallFields) -> str:
        """Returns the new output in a change that extends the former output, else nothing.

        Content that replaces the former output cannot be reported as progress. The result has it.
        """
        piece = _terminal_piece(change.meta)
        if piece:
            self.print(piece)
            return piece
        text = _text_of(self.content)
        if self.status != "in_progress" or not text.startswith(self.shown):
            return ""  # content of a call that waits is no output yet
        piece, self.shown = text[len(self.shown) :], text
        return piece

    def print(self, piece: str) -> None:
        """Takes output of its terminal."""
        self.printed = (self.printed + piece)[-_MOST_OUTPUT:]

    def uses_terminal(self, terminal_id: str) -> bool:
        """Returns whether the output of a terminal belongs to this call."""
        return TerminalRef(terminal_id) in self.content

    def result(self) -> ToolResultBlock:
        """Returns the result. `details` has all fields of the call."""
        failed = self.status == "failed"
        details = Raw(msgspec.json.encode(self.fields))
        status: Status = "failed" if failed else "completed"
        return ToolResultBlock(self.id, self._said(), failed, status, details)

    def _said(self) -> Any:
        """Returns the content: text if it is only text, else the items."""
        items = [item for item in self.content if not isinstance(item, TerminalRef)]
        if items and not all(_is_text(item) for item in items):
            return [
                plain(item.content if isinstance(item, ContentItem) else item) for item in items
            ]
        text = _text_of(self.content) or self.printed
        if text:
            return text
        match self.fields.get("rawOutput"):
            case str(output) | {"output": str(output)} | {"error": str(output)}:
                return output
            case None:
                return ""
            case other:
                return msgspec.json.encode(other).decode()

    # --- plans --------------------------------------------------------------------------------

    def plan(self) -> list[TodoItem] | None:
        """Returns the plan that a call of a to-do tool has written. Returns None if it is none."""
        given = self.fields.get("rawInput")
        todos = given.get("todos") if isinstance(given, dict) else None
        if self.status != "completed" or not isinstance(todos, list):
            return None
        return [
            TodoItem(each["content"], str(each.get("status", "pending")))
            for each in todos
            if isinstance(each, dict) and isinstance(each.get("content"), str)
        ]


def plain(value: Any) -> Any:
    """Returns a part of the protocol as plain values."""
    return msgspec.to_builtins(value)


def _is_text(item: ToolContent) -> bool:
    return isinstance(item, ContentItem) and isinstance(item.content, TextContent)


def _text_of(content: list[ToolContent]) -> str:
    return "\n".join(
        item.content.text
        for item in content
        if isinstance(item, ContentItem) and isinstance(item.content, TextContent)
    )


def _name_in(meta: dict[str, Any] | None) -> str | None:
    """Returns the tool's name that some agents put into `_meta`, under a name of their own."""
    for own in (meta or {}).values():
        if isinstance(own, dict) and isinstance(own.get("toolName"), str):
            return str(own["toolName"])
    return None


def _terminal_piece(meta: dict[str, Any] | None) -> str:
    """Returns new output of a terminal that the agent runs itself."""
    match (meta or {}).get("terminal_output_delta"):
        case {"data": str(data)}:
            return data
        case _:
            return ""
