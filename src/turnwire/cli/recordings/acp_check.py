"""Checks a recorded stream of an ACP agent: the protocol's rules, and what a front end shows of it.

The check reads the messages by itself: it must not reuse the code that it checks.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
from msgspec import Struct

from turnwire.cli.recordings.contract_check import ContractCheck
from turnwire.cli.recordings.recording import Recording
from turnwire.cli.recordings.rpc_stream import RPC_AGENTS, Heard
from turnwire.cli.terminal.progress import with_progress
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.ui import UiStreamAdapter
from turnwire.core.view import BlockView, MessageView, TextView, ThinkingView, ToolView
from turnwire.core.violations import Violations
from turnwire.dialects import rpc
from turnwire.dialects.claude.check import OpenTool, StreamReport
from turnwire.errors import BadLine
from turnwire.testing.agent_order import EventOrder

__all__ = ["ACP_RULES", "check_acp"]

ACP_RULES = {
    "bad_line": "Every line is a JSON object.",
    "response_without_request": "A response answers a request of the other side.",
    "result_repeated": "A tool call ends once.",
    "update_outside_turn": "The agent says and calls something only during a prompt.",
    "order": "The events of the stream are in the order that the agent port promises.",
    "text_changed": "A front end shows the text and the reasoning of the chunks.",
    "tool_changed": "A front end shows each tool call, and how it ended.",
}
"""All rules, by the code of the violation."""

_SAID = {"agent_message_chunk": "text", "agent_thought_chunk": "thinking"}
_ENDED = ("completed", "failed")


class _Said(Struct):
    """What the agent has said and done, by its own messages."""

    text: str = ""
    thinking: str = ""
    tools: dict[str, str] = {}  # call -> its status


class AcpCheck:
    """Checks a recording line by line."""

    def __init__(self) -> None:
        self._violations = Violations()
        self._lines = self._unknown = self._errors = self._messages = self._chunks = 0
        self._kinds: Counter[str] = Counter()
        self._said = _Said()
        self._first_lines: dict[str, int] = {}
        self._requests: dict[bool, dict[Any, str]] = {True: {}, False: {}}  # by: from the host
        self._prompts = 0
        self._has_host = False
        self._contract = ContractCheck()
        self._order = EventOrder()
        self._ui = UiStreamAdapter()
        self._bridge = rpc.RpcBridge()
        self._transcript = rpc.Transcript()

    def feed(self, heard: Heard) -> None:
        """Takes one line and its events."""
        self._lines += 1
        line = heard.line
        if isinstance(line, BadLine):
            self._errors += 1
            self._violations.add("bad_line", line.line, line.detail)
            return
        if line.unknown:
            self._unknown += 1
            self._kinds.update(line.unknown)
        self._has_host = self._has_host or heard.from_host
        self._read(msgspec.json.decode(line.raw), heard.from_host, line.number)
        self.show(heard.events, line.number)

    def show(self, events: list[NormalizedStreamEvent], number: int) -> None:
        """Takes events: checks their order, and shows them like a front end."""
        for found in self._contract.feed(events, number):
            self._violations.add(found.code, found.line, found.message)
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
            self._violations.add(found.code, found.line, found.message)
        for problem in dict.fromkeys(self._order.problems):
            self._violations.add("order", number, problem)
        self._compare(number)
        still_open = [
            OpenTool(call, "tool", self._first_lines[call])
            for call, status in self._said.tools.items()
            if status not in _ENDED
        ]
        return StreamReport(
            self._lines,
            self._lines - self._unknown - self._errors,
            self._unknown,
            self._errors,
            self._messages,
            self._chunks,
            len(self._said.tools),
            0,
            dict(self._kinds),
            still_open,
            self._violations.count,
            self._violations.in_order(),
        )

    # --- what was said ------------------------------------------------------------------------

    def _read(self, message: dict[str, Any], from_host: bool, number: int) -> None:
        match message:
            case {"method": "session/update", "params": {"update": dict(update)}}:
                self._update(update, number)
            case {"method": str(method), "id": request}:
                self._requests[from_host][str(request)] = method
                self._prompts += method == "session/prompt"
            case {"id": request, **rest} if "result" in rest or "error" in rest:
                method = self._requests[not from_host].pop(str(request), "")
                if not method and self._has_host:
                    said = f"the response {request!r} has no request"
                    self._violations.add("response_without_request", number, said)
                self._prompts -= method == "session/prompt"
            case _:
                pass

    def _update(self, update: dict[str, Any], number: int) -> None:
        kind = update.get("sessionUpdate")
        if "session/load" in self._requests[True].values():
            return  # repeats what was said before
        said = _SAID.get(str(kind))
        if said is None and kind not in ("tool_call", "tool_call_update"):
            return
        if self._has_host and not self._prompts:
            self._violations.add("update_outside_turn", number, f"{kind} without a prompt")
            return
        if said is None:
            self._tool(update, number)
            return
        self._chunks += 1
        content = update.get("content")
        text = content.get("text") if isinstance(content, dict) else None
        if isinstance(text, str):
            setattr(self._said, said, getattr(self._said, said) + text)

    def _tool(self, update: dict[str, Any], number: int) -> None:
        call, status = str(update.get("toolCallId")), update.get("status")
        self._first_lines.setdefault(call, number)
        before = self._said.tools.get(call, "pending")
        if before in _ENDED:
            if status in _ENDED:
                said = f"the tool call {call} ended as {before}, and again as {status}"
                self._violations.add("result_repeated", number, said)
            return
        self._said.tools[call] = status or before

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
            said = getattr(self._said, kind)
            if said != text:
                differ = f"{len(said)} characters of {kind} said, {len(text)} shown, or others"
                self._violations.add("text_changed", number, differ)
        for call, status in self._said.tools.items():
            result = self._transcript.result_of(call)
            outcome = "open" if result is None else "failed" if result.is_error else "completed"
            if call not in tools:
                self._violations.add("tool_changed", number, f"the call {call} is not shown")
            elif outcome != (status if status in _ENDED else "open"):
                differ = f"the call {call} is {status}, and shown as {outcome}"
                self._violations.add("tool_changed", number, differ)


def _blocks(message: MessageView) -> list[BlockView]:
    return message.blocks if message.role == "assistant" else []


def check_acp(recording: Recording) -> StreamReport:
    """Runs every check on a recording of an ACP agent."""
    check, stream = AcpCheck(), RPC_AGENTS["acp"]()
    last = 0
    for batch in with_progress(recording, stream.batches(recording)):
        for heard in batch:
            last = heard.line.line if isinstance(heard.line, BadLine) else heard.line.number
            check.feed(heard)
    check.show(stream.finish(), last)
    return check.report(last)
