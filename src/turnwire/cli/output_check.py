"""Checks what a recorded stream becomes: nothing the agent said may be lost or changed on the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from msgspec import Struct

from turnwire.core.blocks import UnknownBlock
from turnwire.core.events import AssistantMessage, NormalizedStreamEvent
from turnwire.core.ui import UiStreamAdapter
from turnwire.dialects import rpc
from turnwire.dialects.claude import Line, blocks, messages
from turnwire.dialects.claude.check import Violation
from turnwire.dialects.claude.stream import ApiMessage
from turnwire.dialects.rpc import messages as rpc_messages
from turnwire.dialects.rpc.fold import FoldedMessage

__all__ = ["OUTPUT_RULES", "OutputCheck"]

OUTPUT_RULES = {
    "assistant_changed": "Folded RPC messages show the blocks that the assistant frames said.",
    "user_changed": "Folded RPC messages show the blocks that the user frames said.",
    "tool_result_changed": "Folded RPC messages show the result that each tool call got.",
}
"""Every rule by the code of its violation."""

Said: TypeAlias = tuple[Any, ...]  # a block, told the same way on both sides


class _Message(Struct, gc=False):
    """What the agent's own frames said of one message."""

    line: int  # of its last frame
    blocks: list[Said]
    frames: set[str]


class OutputCheck:
    """Runs the chain down to RPC bytes and folds them as a front end would. Compares turn by turn."""

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
        """A line and the events it became; at the end of a turn, what is wrong with it."""
        message = line.message
        if isinstance(message, messages.AssistantMessage):
            self._note_assistant(message, events, line)
        elif isinstance(message, messages.UserMessage):
            self._note_user(message, line)
        self._show(events)
        # A sub-agent may still be in mid-sentence: then both turns are compared as one.
        turn_ended = isinstance(message, messages.ResultMessage)
        if turn_ended and not any(m.is_streaming for m in self._transcript.messages):
            return self._compare(line.number)
        return []

    def finish(self, events: list[NormalizedStreamEvent], line: int) -> list[Violation]:
        """The stream ended: the events that says, and what is wrong with the rest."""
        self._show(events)
        return self._compare(line)

    def _show(self, events: list[NormalizedStreamEvent]) -> None:
        for event in events:
            for shown in self._ui.feed(event):
                for message in self._bridge.feed(shown):
                    # Through bytes and back, because that is what a front end gets.
                    self._transcript.apply(rpc.decode(rpc.encode(message)))

    # --- what the agent said ------------------------------------------------------------------

    def _note_assistant(
        self, frame: messages.AssistantMessage, events: list[NormalizedStreamEvent], line: Line
    ) -> None:
        # A frame need not name its message; the adapter knows which one it continues.
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
            message.blocks = []  # the whole message again
        calls = [block[1] for block in said if block[0] == "tool_use"]
        kept = [b for b in message.blocks if b[0] != "tool_use" or b[1] not in calls]
        message.blocks = [*kept, *said]

    def _note_user(self, frame: messages.UserMessage, line: Line) -> None:
        said = self._note(frame.message, line)
        if said:
            self._user.append((line.number, said))

    def _note(self, body: ApiMessage | None, line: Line) -> list[Said]:
        """The blocks of a frame, without tool results: those belong to their call."""
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

    # --- what a person sees -------------------------------------------------------------------

    def _compare(self, line: int) -> list[Violation]:
        found = [
            *self._compare_assistant(line),
            *self._compare_user(line),
            *self._compare_results(),
        ]
        self._forget()
        return found

    def _compare_assistant(self, line: int) -> Iterator[Violation]:
        folded = {m.id: m for m in self._transcript.messages if m.role == "assistant"}
        for name, message in self._assistant.items():
            shown = _content(folded.pop(name, None))
            if shown != message.blocks:
                said = f"message {name}: {_difference(message.blocks, shown)}"
                yield Violation("assistant_changed", message.line, said)
        for extra in folded.values():
            if extra.blocks:  # a message may well be empty; no frame says so
                said = f"message {extra.id}: {len(extra.blocks)} blocks shown that no frame said"
                yield Violation("assistant_changed", line, said)

    def _compare_user(self, line: int) -> Iterator[Violation]:
        folded = [m for m in self._transcript.messages if m.role == "user"]
        for (number, said), message in zip(self._user, folded, strict=False):
            shown = _content(message)
            if shown != said:
                yield Violation("user_changed", number, _difference(said, shown))
        if len(folded) != len(self._user):
            change = f"{len(self._user)} user messages said, {len(folded)} shown"
            yield Violation("user_changed", line, change)

    def _compare_results(self) -> Iterator[Violation]:
        for call, (number, content, failed) in self._results.items():
            tool = self._transcript.tools.get(call)
            status = "failed" if failed else "success"
            if tool is None or tool.status != status:
                shown = tool.status if tool else "nothing"
                said = f"tool call {call}: {status} said, {shown} shown"
                yield Violation("tool_result_changed", number, said)
            elif tool.result != content:
                said = f"tool call {call}: another result shown than said"
                yield Violation("tool_result_changed", number, said)


def _content(message: FoldedMessage | None) -> list[Said]:
    return [_shown(block) for block in message.content] if message else []


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
        case _:  # a document, or a picture kept elsewhere
            return "unknown", str(block.__struct_config__.tag)


def _shown(block: rpc_messages.RpcBlock) -> Said:
    match block:
        case rpc_messages.RpcTextBlock(text=text):
            return "text", text
        case rpc_messages.RpcThinkingBlock(redacted=str(data)):
            return "redacted", data
        case rpc_messages.RpcThinkingBlock(thinking=thinking):
            return "thinking", thinking
        case rpc_messages.RpcToolUseBlock():
            return "tool_use", block.id, block.tool_name, block.input
        case rpc_messages.RpcImageBlock(source=source):
            return "image", source.data or source.url
        case UnknownBlock(original_type=kind):
            return "unknown", kind
        case _:
            return "other", str(block.__struct_config__.tag)


def _difference(said: list[Said], shown: list[Said]) -> str:
    if len(said) != len(shown):
        return f"{len(said)} blocks said, {len(shown)} shown"
    at = next(i for i, (a, b) in enumerate(zip(said, shown, strict=True)) if a != b)
    return f"block {at} ({said[at][0]}) is shown otherwise"


def _is_server_error(content: Any) -> bool:
    """The provider's own tools report failure inside the content."""
    # The translation has this rule too. Taking it from there would be to check it by itself.
    kind = content.get("type") if isinstance(content, dict) else None
    return isinstance(kind, str) and kind.endswith("_error")
