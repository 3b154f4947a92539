"""Checks recorded UI message streams by the rules of the package `ai`, which reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from turnwire.cli.recordings.event_check import EventCheck
from turnwire.cli.recordings.recording import Recording
from turnwire.dialects.claude.check import OpenTool, StreamReport

__all__ = ["AISDK_RULES", "AiSdkCheck", "check_aisdk"]

AISDK_RULES = {
    "bad_chunk": "A line is a chunk, or a line of server-sent events; a chunk has the fields of its type.",
    "unknown_chunk": "Every type is known: a front end stops at an unknown one.",
    "stream_not_begun": "A stream begins with `start`.",
    "stream_not_ended": "A stream ends with `finish`, `abort` or `error`.",
    "chunk_after_end": "After its end a stream has no chunks.",
    "text_not_begun": "A text or reasoning grows and ends only after its start.",
    "text_left_open": "Every text and reasoning ends before its stream does.",
    "call_not_begun": "Pieces, outputs and approvals belong to a tool call of the message.",
    "output_repeated": "A tool call has one output that is not preliminary.",
}
"""All rules, by the code of the violation."""

_TEXT, _ANY = "text", "any"
_TOOL = {"toolCallId": _TEXT}
_NAMED = {**_TOOL, "toolName": _TEXT}
_FIELDS: dict[str, dict[str, str]] = {  # the required fields of each type
    "start": {},
    "start-step": {},
    "finish-step": {},
    "reset-step": {},
    "finish": {},
    "abort": {},
    "error": {"errorText": _TEXT},
    "message-metadata": {"messageMetadata": _ANY},
    "text-start": {"id": _TEXT},
    "text-delta": {"id": _TEXT, "delta": _TEXT},
    "text-end": {"id": _TEXT},
    "reasoning-start": {"id": _TEXT},
    "reasoning-delta": {"id": _TEXT, "delta": _TEXT},
    "reasoning-end": {"id": _TEXT},
    "tool-input-start": _NAMED,
    "tool-input-delta": {**_TOOL, "inputTextDelta": _TEXT},
    "tool-input-available": {**_NAMED, "input": _ANY},
    "tool-input-error": {**_NAMED, "input": _ANY, "errorText": _TEXT},
    "tool-output-available": {**_TOOL, "output": _ANY},
    "tool-output-error": {**_TOOL, "errorText": _TEXT},
    "tool-output-denied": _TOOL,
    "tool-approval-request": {**_TOOL, "approvalId": _TEXT},
    "tool-approval-response": {"approvalId": _TEXT},
    "file": {"url": _TEXT, "mediaType": _TEXT},
    "reasoning-file": {"url": _TEXT, "mediaType": _TEXT},
    "source-url": {"sourceId": _TEXT, "url": _TEXT},
    "source-document": {"sourceId": _TEXT, "mediaType": _TEXT, "title": _TEXT},
    "steering-message": {"id": _TEXT, "parts": _ANY},
    "custom": {"kind": _TEXT},
}
_BEGINS_CALL = ("tool-input-start", "tool-input-available", "tool-input-error")
_ENDS = ("finish", "abort", "error")


class _Call(Struct):
    """A tool call of a message."""

    name: str
    line: int
    has_output: bool = False


class AiSdkCheck(EventCheck):
    """Checks a recording line by line. A message may have several streams, one after the other."""

    bad_code, unknown_code, not_ended_code = "bad_chunk", "unknown_chunk", "stream_not_ended"
    end_mark = b"[DONE]"

    def __init__(self) -> None:
        super().__init__()
        self._messages: set[str] = set()
        self._tools = 0
        self._open: dict[str, str] = {}  # growing texts: id -> `text` or `reasoning`
        self._calls: dict[str, _Call] = {}  # of the message
        self._message = ""

    def _counts(self) -> tuple[int, int, Sequence[OpenTool]]:
        left = [
            OpenTool(call, each.name, each.line)
            for call, each in self._calls.items()
            if not each.has_output
        ]
        return len(self._messages), self._tools, left

    def _event(self, event: dict[str, Any], kind: str, number: int) -> None:
        if not kind.startswith("data-") and kind not in _FIELDS:
            self._note_unknown(kind, number)
            return
        fields = {"data": _ANY} if kind.startswith("data-") else _FIELDS[kind]
        missing = [name for name in fields if name not in event]
        wrong = [
            name for name, want in fields.items() if want == _TEXT and not _is_text(event, name)
        ]
        if missing or wrong:
            self._note_bad(
                f"{kind}: missing or no text: {', '.join(dict.fromkeys(missing + wrong))}", number
            )
            return
        if kind == "start":
            self._start(event, number)
        elif not self._is_begun:
            self._violations.add("stream_not_begun", number, f"{kind} before `start`")
            self._is_begun = True
        elif self._is_ended:
            self._violations.add("chunk_after_end", number, kind)
        if kind.startswith(("text-", "reasoning-")) and kind != "reasoning-file":
            self._text(kind, event["id"], number)
        elif "toolCallId" in fields:
            self._tool(kind, event, number)
        elif kind in _ENDS:
            self._end(kind, number)

    def _start(self, chunk: dict[str, Any], number: int) -> None:
        if self._is_begun and not self._is_ended:
            self._violations.add("stream_not_ended", number, "another stream begins before it")
        self._open = {}
        message = str(chunk.get("messageId", number))
        if message != self._message:  # else this stream continues the message
            self._message, self._calls = message, {}
        self._messages.add(message)
        self._is_begun, self._is_ended = True, False

    def _end(self, kind: str, number: int) -> None:
        self._is_ended = True
        if kind != "error":  # an error may come at any moment
            for name in self._open:
                self._violations.add("text_left_open", number, f"{name} has no end")

    def _text(self, kind: str, name: str, number: int) -> None:
        family, _, event = kind.partition("-")
        if event == "start":
            self._open[name] = family
            self._blocks += 1
        elif self._open.get(name) != family:
            self._violations.add("text_not_begun", number, f"{kind} of {name}")
        elif event == "end":
            del self._open[name]

    def _tool(self, kind: str, chunk: dict[str, Any], number: int) -> None:
        name = chunk["toolCallId"]
        call = self._calls.get(name)
        if kind in _BEGINS_CALL:
            if call is None:
                call = self._calls[name] = _Call(chunk["toolName"], number)
                self._tools += 1
            call.has_output = kind == "tool-input-error"
        elif call is None:
            self._violations.add("call_not_begun", number, f"{kind} of {name}")
        elif kind.startswith("tool-output") and not chunk.get("preliminary"):
            if call.has_output:
                self._violations.add("output_repeated", number, f"{kind} of {name}")
            call.has_output = True


def _is_text(chunk: dict[str, Any], name: str) -> bool:
    return isinstance(chunk.get(name), str)


def check_aisdk(recording: Recording) -> StreamReport:
    """Runs the check on a recording of UI message streams."""
    return AiSdkCheck().run(recording)
