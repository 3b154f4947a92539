"""Checks a recorded stream of an agent that speaks JSON-RPC, and what a front end shows of it.

A subclass reads the messages of one protocol. It reads them by itself: a check must not reuse the
code that it checks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from typing import Any

import msgspec
from msgspec import Struct

from turnwire.cli.recordings.contract_check import ContractCheck
from turnwire.cli.recordings.recording import Recording
from turnwire.cli.recordings.rpc_stream import Heard, RpcStream
from turnwire.cli.terminal.progress import with_progress
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.ui import UiStreamAdapter
from turnwire.core.view import BlockView, MessageView, TextView, ThinkingView, ToolView
from turnwire.core.violations import Violations
from turnwire.dialects import rpc
from turnwire.dialects.claude.check import OpenTool, StreamReport
from turnwire.errors import BadLine
from turnwire.testing.agent_order import EventOrder

__all__ = ["ENDED", "RPC_AGENT_RULES", "RpcAgentCheck"]

RPC_AGENT_RULES = {
    "bad_line": "Every line is a JSON object.",
    "result_repeated": "A tool call ends once.",
    "order": "The events of the stream are in the order that the agent port promises.",
    "text_changed": "A front end shows the text and the reasoning that the agent said.",
    "tool_changed": "A front end shows each tool call, and how it ended.",
}
"""The rules of every such agent, by the code of the violation."""

ENDED = ("completed", "failed")


class _Said(Struct):
    """What the agent has said and done, by its own messages."""

    text: str = ""
    thinking: str = ""
    tools: dict[str, str] = {}  # call -> its status


class RpcAgentCheck(ABC):
    """Checks a recording line by line. A subclass implements `read`."""

    def __init__(self) -> None:
        self.violations = Violations()
        self.said = _Said()
        self.chunks = 0  # pieces of text and of reasoning
        self._lines = self._unknown = self._errors = self._messages = 0
        self._kinds: Counter[str] = Counter()
        self._first_lines: dict[str, int] = {}
        self._contract = ContractCheck()
        self._order = EventOrder()
        self._ui = UiStreamAdapter()
        self._bridge = rpc.RpcBridge()
        self._transcript = rpc.Transcript()

    @abstractmethod
    def read(self, message: dict[str, Any], from_host: bool, number: int) -> None:
        """Notes in `said` what a message says."""

    def run(self, recording: Recording, stream: RpcStream) -> StreamReport:
        """Checks a whole recording."""
        last = 0
        for batch in with_progress(recording, stream.batches(recording)):
            for heard in batch:
                last = heard.line.line if isinstance(heard.line, BadLine) else heard.line.number
                self.feed(heard)
        self.show(stream.finish(), last)
        return self.report(last)

    def feed(self, heard: Heard) -> None:
        """Takes one line and its events."""
        self._lines += 1
        line = heard.line
        if isinstance(line, BadLine):
            self._errors += 1
            self.violations.add("bad_line", line.line, line.detail)
            return
        if line.unknown:
            self._unknown += 1
            self._kinds.update(line.unknown)
        self.read(msgspec.json.decode(line.raw), heard.from_host, line.number)
        self.show(heard.events, line.number)

    def show(self, events: list[NormalizedStreamEvent], number: int) -> None:
        """Takes events: checks their order, and shows them like a front end."""
        for found in self._contract.feed(events, number):
            self.violations.add(found.code, found.line, found.message)
        if events:
            self._order.feed(events)
        for event in events:
            for shown in self._ui.feed(event):
                for message in self._bridge.feed(shown):
                    # Encodes and decodes, because a front end receives bytes.
                    self._transcript.apply(rpc.decode(rpc.encode(message)))

    def report(self, number: int) -> StreamReport:
        """Compares what is shown with what was said, and returns the report."""
        for found in self._contract.finish(number):
            self.violations.add(found.code, found.line, found.message)
        for problem in dict.fromkeys(self._order.problems):
            self.violations.add("order", number, problem)
        self._compare(number)
        still_open = [
            OpenTool(call, "tool", self._first_lines[call])
            for call, status in self.said.tools.items()
            if status not in ENDED
        ]
        return StreamReport(
            self._lines,
            self._lines - self._unknown - self._errors,
            self._unknown,
            self._errors,
            self._messages,
            self.chunks,
            len(self.said.tools),
            0,
            dict(self._kinds),
            still_open,
            self.violations.count,
            self.violations.in_order(),
        )

    def note_tool(self, call: str, status: str | None, number: int) -> None:
        """Notes the state of a tool call."""
        self._first_lines.setdefault(call, number)
        before = self.said.tools.get(call, "pending")
        if before in ENDED:
            if status in ENDED:
                said = f"the tool call {call} ended as {before}, and again as {status}"
                self.violations.add("result_repeated", number, said)
            return
        self.said.tools[call] = status or before

    # --- what is shown ------------------------------------------------------------------------

    def _compare(self, number: int) -> None:
        messages = self._transcript.view().messages
        self._messages = len(messages)
        shown = [block for message in messages for block in _blocks(message)]
        texts = {"text": "", "thinking": ""}
        tools: dict[str, ToolView] = {}
        for block in shown:
            match block:
                case TextView(text=text):
                    texts["text"] += text
                case ThinkingView(text=text):
                    texts["thinking"] += text
                case ToolView():
                    tools[block.id] = block
                case _:
                    pass
        for kind, text in texts.items():
            said = getattr(self.said, kind)
            if said != text:
                differ = f"{len(said)} characters of {kind} said, {len(text)} shown, or others"
                self.violations.add("text_changed", number, differ)
        for call, status in self.said.tools.items():
            result = self._transcript.result_of(call)
            outcome = "open" if result is None else "failed" if result.is_error else "completed"
            if call not in tools:
                self.violations.add("tool_changed", number, f"the call {call} is not shown")
            elif outcome != (status if status in ENDED else "open"):
                differ = f"the call {call} is {status}, and shown as {outcome}"
                self.violations.add("tool_changed", number, differ)


def _blocks(message: MessageView) -> list[BlockView]:
    return message.blocks if message.role == "assistant" else []
