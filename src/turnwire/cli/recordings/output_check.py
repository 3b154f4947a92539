"""Checks the RPC messages of a recorded stream: they must show exactly what the agent said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from msgspec import Struct

from turnwire.core.blocks import UnknownBlock
from turnwire.core.events import AssistantMessage, NormalizedStreamEvent
from turnwire.core.ui import UiStreamAdapter
from turnwire.core.view import (
    BlockView,
    MessageView,
    OtherView,
    ResultView,
    TextView,
    ThinkingView,
    ToolView,
)
from turnwire.core.violations import Violation
from turnwire.dialects import rpc
from turnwire.dialects.claude import Line, blocks, messages
from turnwire.dialects.claude.stream import ApiMessage
from turnwire.dialects.rpc import messages as rpc_messages

__all__ = ["OUTPUT_RULES", "OutputCheck"]

OUTPUT_RULES = {
    "assistant_changed": "Folded RPC messages show the blocks of the assistant frames.",
    "user_changed": "Folded RPC messages show the blocks of the user frames.",
    "tool_result_changed": "Folded RPC messages show the result of each tool call.",
}
"""All rules, by the code of the violation."""

Said: TypeAlias = tuple[Any, ...]  # a block in a form that both sides share, for comparison


class _Message(Struct, gc=False):
    """One message as the agent's own frames describe it."""

    line: int  # the line of its last frame
    blocks: list[Said]
    frames: set[str]


class OutputCheck:
    """Translates events to RPC bytes, folds these like a front end, and compares after each turn."""

    def __init__(self) -> None:
        self._ui = UiStreamAdapter()
        self._bridge = rpc.RpcBridge()
        self._forget()

    def _forget(self) -> None:
        self._transcript = rpc.Transcript()
        self._assistant: dict[str, _Message] = {}
        self._user: list[tuple[int, list[Said]]] = []
        self._results: dict[str, tuple[int, Any, bool]] = {}

    def feed(self, line: Line, events: list[NormalizedStreamEvent]) -> list[Violation]:
        """Takes a line and its events. Returns the violations of a turn at its end."""
        message = line.message
        if isinstance(message, messages.AssistantMessage):
            self._note_assistant(message, events, line)
        elif isinstance(message, messages.UserMessage):
            self._note_user(message, line)
        self._show(events)
        # A message of a sub-agent may still be streaming: then this turn is compared with the next.
        if isinstance(message, messages.ResultMessage):
            shown = list(_all(self._transcript.view().messages))
            if not any(m.streaming for m in shown):
                return self._compare(line.number, shown)
        return []

    def finish(self, events: list[NormalizedStreamEvent], line: int) -> list[Violation]:
        """Takes the events of the end of the stream. Returns the remaining violations."""
        self._show(events)
        return self._compare(line, list(_all(self._transcript.view().messages)))

    def _show(self, events: list[NormalizedStreamEvent]) -> None:
        for event in events:
            for shown in self._ui.feed(event):
                for message in self._bridge.feed(shown):
                    # Encodes and decodes, because a front end receives bytes.
                    self._transcript.apply(rpc.decode(rpc.encode(message)))

    # --- the blocks of the agent --------------------------------------------------------------

    def _note_assistant(
        self, frame: messages.AssistantMessage, events: list[NormalizedStreamEvent], line: Line
    ) -> None:
        # A frame may lack the id of its message; the adapter knows which message it continues.
        names = [event.message_id for event in events if isinstance(event, AssistantMessage)]
        name = names[0] if names else "(lost)"
        message = self._assistant.setdefault(name, _Message(line.number, [], set()))
        message.line = line.number
        if frame.uuid is not None:
            if frame.uuid in message.frames:
                return
            message.frames.add(frame.uuid)
        said = self._note(frame.message, line)
        if len(said) > 1 and message.blocks[:1] == said[:1]:
            message.blocks = []  # the frame repeats the whole message
        calls = [block[1] for block in said if block[0] == "tool_use"]
        kept = [b for b in message.blocks if b[0] != "tool_use" or b[1] not in calls]
        message.blocks = [*kept, *said]

    def _note_user(self, frame: messages.UserMessage, line: Line) -> None:
        said = self._note(frame.message, line)
        if said:
            self._user.append((line.number, said))

    def _note(self, body: ApiMessage | None, line: Line) -> list[Said]:
        """Returns the blocks of a frame. Tool results are kept separately, by their call."""
        content = body.content if body else None
        if isinstance(content, str):
            return [("text", content)]
        said = []
        for block in content or ():
            if isinstance(block, blocks.ToolResultBlock | blocks.ServerToolResultBlock):
                failed = bool(block.is_error) or _is_server_error(block.content)
                self._results[block.tool_use_id] = line.number, block.content, failed
            else:
                said.append(_said(block))
        return said

    # --- the blocks that are shown ------------------------------------------------------------

    def _compare(self, line: int, shown: list[MessageView]) -> list[Violation]:
        found = [
            *self._compare_assistant(line, shown),
            *self._compare_user(line, shown),
            *self._compare_results(),
        ]
        self._forget()
        return found

    def _compare_assistant(self, line: int, shown: list[MessageView]) -> Iterator[Violation]:
        there = {message.id: message for message in shown if message.role == "assistant"}
        for name, message in self._assistant.items():
            content = _content(there.pop(name, None))
            if content != message.blocks:
                said = f"message {name}: {_difference(message.blocks, content)}"
                yield Violation("assistant_changed", message.line, said)
        for extra in there.values():
            said = f"message {extra.id}: {len(extra.blocks)} blocks shown that no frame said"
            yield Violation("assistant_changed", line, said)

    def _compare_user(self, line: int, shown: list[MessageView]) -> Iterator[Violation]:
        there = [message for message in shown if message.role == "user"]
        for (number, said), message in zip(self._user, there, strict=False):
            content = _content(message)
            if content != said:
                yield Violation("user_changed", number, _difference(said, content))
        if len(there) != len(self._user):
            change = f"{len(self._user)} user messages said, {len(there)} shown"
            yield Violation("user_changed", line, change)

    def _compare_results(self) -> Iterator[Violation]:
        for call, (number, content, failed) in self._results.items():
            result = self._transcript.result_of(call)
            status = "failed" if failed else "success"
            if result is None or result.is_error != failed:
                said = f"tool call {call}: {status} said, {_outcome(result)} shown"
                yield Violation("tool_result_changed", number, said)
            elif result.content != content:
                said = f"tool call {call}: another result shown than said"
                yield Violation("tool_result_changed", number, said)


def _all(messages: list[MessageView]) -> Iterator[MessageView]:
    """Yields every message. The messages of a sub-agent follow the message with its call."""
    for message in messages:
        yield message
        for block in message.blocks:
            if isinstance(block, ToolView):
                yield from _all(block.messages)


def _outcome(result: ResultView | None) -> str:
    if result is None:
        return "nothing"
    return "failed" if result.is_error else "success"


def _content(message: MessageView | None) -> list[Said]:
    return [_shown(block) for block in message.blocks] if message else []


def _said(block: blocks.ClaudeBlock) -> Said:
    match block:
        case blocks.TextBlock(text=text):
            return "text", text
        case blocks.ThinkingBlock(thinking=thinking):
            return "thinking", thinking
        case blocks.RedactedThinkingBlock(data=data):
            return "redacted", data
        case blocks.ToolUseBlock() | blocks.ServerToolUseBlock() | blocks.McpToolUseBlock():
            return "tool_use", block.id, block.name, block.input
        case blocks.ImageBlock(source=source) if source.data or source.url:
            return "image", source.data or source.url
        case UnknownBlock(original_type=kind):
            return "unknown", kind
        case _:  # a document, or an image without its data
            return "unknown", str(block.__struct_config__.tag)


def _shown(block: BlockView) -> Said:
    match block:
        case TextView(text=text):
            return "text", text
        case ThinkingView(redacted=str(data)):
            return "redacted", data
        case ThinkingView(text=thinking):
            return "thinking", thinking
        case ToolView():
            return "tool_use", block.id, block.tool_name, block.input
        case OtherView(block=rpc_messages.RpcImageBlock(source=source)):
            return "image", source.data or source.url
        case OtherView(block=UnknownBlock(original_type=kind)):
            return "unknown", kind
        case _:
            return "other", block.id


def _difference(said: list[Said], shown: list[Said]) -> str:
    if len(said) != len(shown):
        return f"{len(said)} blocks said, {len(shown)} shown"
    at = next(i for i, (a, b) in enumerate(zip(said, shown, strict=True)) if a != b)
    return f"block {at} ({said[at][0]}) is shown differently"


def _is_server_error(content: Any) -> bool:
    """Returns whether a tool of the provider failed: it says so inside the content."""
    # The translation has the same rule. A check must not reuse the code that it checks.
    kind = content.get("type") if isinstance(content, dict) else None
    return isinstance(kind, str) and kind.endswith("_error")
