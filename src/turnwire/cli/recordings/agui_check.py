"""Checks recorded streams of AG-UI by the rules of the package `@ag-ui/client`, which reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnwire.cli.recordings.event_check import EventCheck
from turnwire.cli.recordings.recording import Recording
from turnwire.dialects.claude.check import OpenTool, StreamReport

__all__ = ["AGUI_RULES", "AguiCheck", "check_agui"]

AGUI_RULES = {
    "bad_event": "A line is an event, or a line of server-sent events; an event has the fields of its type.",
    "unknown_event": "Every type is known: a client removes the others.",
    "run_not_begun": "A stream begins with RUN_STARTED, or with RUN_ERROR.",
    "run_not_ended": "A run ends with RUN_FINISHED or RUN_ERROR before another one begins.",
    "event_after_end": "After its end a run has no events.",
    "begun_twice": "A message, a call, a step or a sub-agent that has begun does not begin again before its end.",
    "not_begun": "A message, a call, a step or a sub-agent grows and ends only after its start.",
    "left_open": "Everything that a run has begun ends before RUN_FINISHED.",
    "subagent_repeated": "A sub-agent begins once in a run.",
    "other_subagent": "An event does not name another sub-agent than the start of its message or call.",
}
"""All rules, by the code of the violation."""

_MESSAGE, _CALL = ("messageId",), ("toolCallId",)
_FIELDS: dict[str, tuple[str, ...]] = {  # the required texts of each type
    "RUN_STARTED": ("threadId", "runId"),
    "RUN_FINISHED": ("threadId", "runId"),
    "RUN_ERROR": ("message",),
    "STEP_STARTED": ("stepName",),
    "STEP_FINISHED": ("stepName",),
    "TEXT_MESSAGE_START": _MESSAGE,
    "TEXT_MESSAGE_CONTENT": ("messageId", "delta"),
    "TEXT_MESSAGE_END": _MESSAGE,
    "TEXT_MESSAGE_CHUNK": (),
    "REASONING_START": _MESSAGE,
    "REASONING_MESSAGE_START": ("messageId", "role"),
    "REASONING_MESSAGE_CONTENT": ("messageId", "delta"),
    "REASONING_MESSAGE_END": _MESSAGE,
    "REASONING_MESSAGE_CHUNK": (),
    "REASONING_END": _MESSAGE,
    "REASONING_ENCRYPTED_VALUE": ("subtype", "entityId", "encryptedValue"),
    "TOOL_CALL_START": ("toolCallId", "toolCallName"),
    "TOOL_CALL_ARGS": ("toolCallId", "delta"),
    "TOOL_CALL_END": _CALL,
    "TOOL_CALL_CHUNK": (),
    "TOOL_CALL_RESULT": ("messageId", "toolCallId"),
    "STATE_SNAPSHOT": (),
    "STATE_DELTA": (),
    "MESSAGES_SNAPSHOT": (),
    "ACTIVITY_SNAPSHOT": ("messageId", "activityType"),
    "ACTIVITY_DELTA": ("messageId", "activityType"),
    "RAW": (),
    "CUSTOM": ("name",),
    "SUBAGENT_STARTED": ("subagentRunId", "name"),
    "SUBAGENT_FINISHED": ("subagentRunId",),
    "SUBAGENT_ERROR": ("subagentRunId", "message"),
}
_OTHER: dict[str, tuple[str, type]] = {  # a required field that is no text
    "STATE_SNAPSHOT": ("snapshot", object),
    "STATE_DELTA": ("delta", list),
    "MESSAGES_SNAPSHOT": ("messages", list),
    "ACTIVITY_SNAPSHOT": ("content", dict),
    "ACTIVITY_DELTA": ("patch", list),
    "TOOL_CALL_RESULT": ("content", object),
    "RAW": ("event", object),
    "CUSTOM": ("value", object),
}
_SPANS: dict[str, tuple[str, str]] = {  # the kind of what an event begins, grows or ends; its id
    "TEXT_MESSAGE": ("message", "messageId"),
    "REASONING": ("reasoning", "messageId"),
    "REASONING_MESSAGE": ("reasoning message", "messageId"),
    "TOOL_CALL": ("call", "toolCallId"),
    "STEP": ("step", "stepName"),
    "SUBAGENT": ("sub-agent", "subagentRunId"),
}


class AguiCheck(EventCheck):
    """Checks a recording line by line. It may have several runs, one after the other."""

    bad_code, unknown_code, not_ended_code = "bad_event", "unknown_event", "run_not_ended"

    def __init__(self) -> None:
        super().__init__()
        self._runs = 0
        self._calls: dict[str, OpenTool] = {}  # calls without a result
        self._tools: set[str] = set()
        self._open: dict[tuple[str, str], str | None] = {}  # with the sub-agent of the start
        self._subagents: set[str] = set()

    def _counts(self) -> tuple[int, int, Sequence[OpenTool]]:
        return self._runs, len(self._tools), list(self._calls.values())

    def _event(self, event: dict[str, Any], kind: str, number: int) -> None:
        if kind not in _FIELDS:
            self._note_unknown(kind, number)
            return
        wrong = [name for name in _FIELDS[kind] if not isinstance(event.get(name), str)]
        name, form = _OTHER.get(kind, ("type", object))
        if name not in event or not isinstance(event[name], form):
            wrong.append(name)
        if wrong:
            self._note_bad(f"{kind}: missing, or of another form: {', '.join(wrong)}", number)
            return
        self._order(kind, number)
        if kind == "TOOL_CALL_RESULT":
            self._calls.pop(event["toolCallId"], None)
            return
        span, _, part = kind.rpartition("_")
        if span in _SPANS and part not in ("CHUNK", "VALUE"):
            self._span(event, kind, part, number)

    def _order(self, kind: str, number: int) -> None:
        if kind == "RUN_STARTED":
            if self._is_begun and not self._is_ended:
                self._violations.add("run_not_ended", number, "another run begins before it")
            self._runs += 1
            self._open, self._subagents = {}, set()
            self._is_begun, self._is_ended = True, False
            return
        if not self._is_begun and kind != "RUN_ERROR":
            self._violations.add("run_not_begun", number, f"{kind} before RUN_STARTED")
        elif self._is_ended:
            self._violations.add("event_after_end", number, kind)
        self._is_begun = True
        if kind == "RUN_FINISHED":
            for what, name in self._open:
                self._violations.add("left_open", number, f"the {what} {name} has no end")
        self._is_ended = self._is_ended or kind in ("RUN_FINISHED", "RUN_ERROR")

    def _span(self, event: dict[str, Any], kind: str, part: str, number: int) -> None:
        what, field = _SPANS[kind.rpartition("_")[0]]
        key, tag = (what, event[field]), event.get("subagentRunId")
        if part in ("START", "STARTED"):
            if key in self._open:
                self._violations.add("begun_twice", number, f"the {what} {key[1]}")
            self._open[key] = tag
            self._count(event, what, number)
        elif key not in self._open:
            self._violations.add("not_begun", number, f"{kind} of {key[1]}")
        else:
            if tag is not None and tag != self._open[key]:
                self._violations.add("other_subagent", number, f"{kind} of {key[1]}: {tag}")
            if part in ("END", "FINISHED", "ERROR"):
                del self._open[key]

    def _count(self, event: dict[str, Any], what: str, number: int) -> None:
        if what in ("message", "reasoning message"):
            self._blocks += 1
        elif what == "call":
            name = event["toolCallId"]
            if name not in self._tools:
                self._calls[name] = OpenTool(name, event["toolCallName"], number)
            self._tools.add(name)
        elif what == "sub-agent":
            name = event["subagentRunId"]
            if name in self._subagents:
                self._violations.add("subagent_repeated", number, name)
            self._subagents.add(name)


def check_agui(recording: Recording) -> StreamReport:
    """Runs the check on a recording of AG-UI streams."""
    return AguiCheck().run(recording)
