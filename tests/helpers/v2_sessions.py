"""Sessions of protocol v2, made from events and read as a client reads them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tests.helpers.sample_events import WHO, result, said
from turnwire.core import events as ev
from turnwire.core.blocks import ToolUseBlock
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.usage import Usage
from turnwire.dialects.v2 import codec
from turnwire.dialects.v2.frames import Frame
from turnwire.engine.recording_view import Recording

NOW = "2026-01-01T12:00:00.000Z"
TURN = ev.TurnStarted(*WHO)
END = ev.TurnCompleted(*WHO, "end_turn")
FIGURES = ev.ResultSummary(
    *WHO, "success", False, 800, cost_usd=0.5, usage=Usage(12, 5, 0, 3), stop_reason="end_turn"
)
ASKS = ToolUseBlock("toolu_ask", "AskUserQuestion", "ASK", {"question": "Why?"}, "completed")
MAY_I = ev.PermissionRequested(
    *WHO, "r-1", "toolu_1", "Read", {"path": "a"}, "Read a file", None, [{"type": "addRules"}]
)
TASK = ToolUseBlock("toolu_task", "Agent", "CLAUDE_AGENT", {}, "completed")

Wire = dict[str, Any]
Events = list[NormalizedStreamEvent]


def on_the_wire(frames: Iterable[Frame]) -> list[Wire]:
    return [json.loads(codec.encode(each).at(n)) for n, each in enumerate(frames, 1)]


def session(*, keep: bool = False) -> Recording:
    return Recording("conv-1", trace_of=lambda turn: f"{turn:032x}", keep=keep)


def live(*events: NormalizedStreamEvent, finish: bool = False) -> list[Wire]:
    """Returns the frames of these events, fed one by one, after the first frames."""
    conversation = session()
    conversation.connect()
    frames = [each for event in events for each in conversation.feed(event, now=NOW)]
    return on_the_wire(frames + (conversation.finish(now=NOW) if finish else []))


def told(*events: NormalizedStreamEvent, finish: bool = False) -> list[str]:
    """Returns the same frames as a word each; a state as its name."""
    return [
        f"{each['payload']['state']}" if each["type"] == "session.state" else each["type"]
        for each in live(*events, finish=finish)
    ]


def only(frames: list[Wire], kind: str) -> list[Wire]:
    return [each["payload"] for each in frames if each["type"] == kind]


def words(text: str, origin: ev.UserOrigin = "user") -> ev.UserMessage:
    return ev.UserMessage(*WHO, [said(text)], origin)


def answered(tool_id: str, who: tuple[str, str, str | None, str | None] = WHO) -> ev.UserMessage:
    return ev.UserMessage(*who, [result(tool_id)], "tool")
