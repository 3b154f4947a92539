"""Messages into a running turn: Claude takes them at a tool call, or when its text has ended.

If a message still waits when Claude reports a result, Claude begins to answer it at once. So the turn
goes on: this result is not its end, and its figures are added to those of the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import structs

from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock
from turnwire.core.content import Content, TextContent
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.usage import ModelUsage, Usage
from turnwire.dialects.claude import ClaudeMessage, messages

__all__ = ["Steering"]

_Counted = TypeVar("_Counted", Usage, ModelUsage)


class Steering:
    """The messages that Claude has and has not taken yet, by the uuids of their lines.

    `whose` returns the origin fields of an event.
    """

    def __init__(
        self, whose: Callable[[str | None], tuple[str, str, str | None, str | None]]
    ) -> None:
        self._whose = whose
        self._waiting: dict[str, tuple[str, list[Content]]] = {}
        self._end: list[NormalizedStreamEvent] = []  # of a result that was not the end
        self._earlier: list[ev.ResultSummary] = []
        self.is_reported = False  # this program says what it does with a message

    @property
    def waiting(self) -> list[str]:
        """Returns the uuids of the messages that wait."""
        return list(self._waiting)

    def add(self, name: str, message_id: str, content: Sequence[Content]) -> None:
        """Adds a message that is about to be written."""
        self._waiting[name] = message_id, [*content]

    def hear(self, message: ClaudeMessage) -> list[NormalizedStreamEvent]:
        """Returns the events of a report: that a message was taken, or that it never will be."""
        if not isinstance(message, messages.CommandLifecycle):
            return []
        self.is_reported = True
        name = message.command_uuid
        if name not in self._waiting or message.state == "queued":
            return []
        message_id, content = self._waiting.pop(name)
        if message.state == "started":
            said = "\n".join(each.text for each in content if isinstance(each, TextContent))
            block = TextBlock(said, "completed")
            return [ev.UserMessage(*self._whose(None), [block], "user", message_id=message_id)]
        end = [] if self._waiting else self._end
        if end:
            self._end, self._earlier = [], []
        return end

    def follow(self, events: list[NormalizedStreamEvent]) -> list[NormalizedStreamEvent]:
        """Returns the events without the end of a turn that goes on, and without its new start."""
        if self._end:  # the turn goes on
            events = [each for each in events if not isinstance(each, ev.TurnStarted)]
        summary = next((each for each in events if isinstance(each, ev.ResultSummary)), None)
        if summary is None:
            return events
        whole = _sum([*self._earlier, summary])
        events = [whole if each is summary else each for each in events]
        if self._waiting and any(map(_may_go_on, events)):
            self._earlier.append(summary)
            self._end = [each for each in events if isinstance(each, _ENDS)]
            return [each for each in events if not isinstance(each, _ENDS)]
        self._end, self._earlier = [], []
        return events


_ENDS = (ev.TurnCompleted, ev.TurnFailed, ev.ResultSummary)


def _may_go_on(event: NormalizedStreamEvent) -> bool:
    """Returns whether the event ends a turn that was neither stopped nor waits for a person."""
    if isinstance(event, ev.TurnCompleted):
        return not event.interrupted and event.deferred_tool_use_id is None
    return isinstance(event, ev.TurnFailed)


def _sum(parts: list[ev.ResultSummary]) -> ev.ResultSummary:
    """Returns the last summary with the figures of all parts."""
    last = parts[-1]
    if len(parts) == 1:
        return last
    costs = [each.cost_usd for each in parts if each.cost_usd is not None]
    models: dict[str, ModelUsage] = {}
    for each in parts:
        for model, figures in (each.model_usage or {}).items():
            models[model] = _added(models[model], figures) if model in models else figures
    usage: Usage | None = None
    for each in parts:
        if each.usage is not None:
            usage = each.usage if usage is None else _added(usage, each.usage)
    return structs.replace(
        last,
        duration_ms=sum(each.duration_ms for each in parts),
        num_turns=sum(each.num_turns for each in parts),
        cost_usd=round(sum(costs), 12) if costs else None,
        usage=usage,
        model_usage=models or None,
    )


def _added(one: _Counted, other: _Counted) -> _Counted:
    """Returns the sums of all figures. A figure that neither has stays absent."""
    sums: dict[str, int | float | None] = {}
    for name in one.__struct_fields__:
        known = [each for each in (getattr(one, name), getattr(other, name)) if each is not None]
        sums[name] = sum(known) if known else None
    return structs.replace(one, **sums)
