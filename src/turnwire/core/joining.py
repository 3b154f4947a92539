"""Joins adjacent pieces of one block that are ready at the same time."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from turnwire.core.events import ContentDelta, NormalizedStreamEvent

__all__ = ["joined"]


def joined(events: Iterable[NormalizedStreamEvent]) -> list[NormalizedStreamEvent]:
    """Returns the same events with fewer pieces. Called very often, so it is optimized."""
    out: list[NormalizedStreamEvent] = []
    first: ContentDelta | None = None
    texts: list[str] = []
    for event in events:
        if type(event) is ContentDelta:
            if (
                first is not None
                and event.index == first.index
                and event.message_id == first.message_id
                and event.kind == first.kind
                and event.tool_use_id == first.tool_use_id
                and event.parent_tool_use_id == first.parent_tool_use_id
            ):
                texts.append(event.text)
                continue
            if first is not None:
                out.append(_whole(first, texts))
            first, texts = event, [event.text]
            continue
        if first is not None:
            out.append(_whole(first, texts))
            first = None
        out.append(event)
    if first is not None:
        out.append(_whole(first, texts))
    return out


def _whole(first: ContentDelta, texts: list[str]) -> ContentDelta:
    return first if len(texts) == 1 else structs.replace(first, text="".join(texts))
