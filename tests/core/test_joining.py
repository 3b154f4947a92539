"""Joining adjacent pieces."""

from __future__ import annotations

from itertools import groupby, pairwise

from hypothesis import given
from hypothesis import strategies as st

from turnwire.core import events as ev
from turnwire.core.joining import joined

WHO = ("claude", "s-1", None, None)


def piece(text: str) -> ev.ContentDelta:
    return ev.ContentDelta(*WHO, "m", 0, "text", text)


STARTED = ev.MessageStarted(*WHO, "m")
pieces = st.builds(
    ev.ContentDelta,
    st.just("claude"),
    st.just("s-1"),
    st.sampled_from([None, "toolu_1"]),
    st.none(),
    st.sampled_from(["m", "n"]),
    st.integers(0, 1),
    st.sampled_from(["text", "thinking"]),
    st.text(max_size=3),
    st.sampled_from([None, "t"]),
)


def test_adjacent_pieces_are_joined() -> None:
    assert joined([piece("He"), piece("llo")]) == [piece("Hello")]
    assert joined([]) == []


def test_pieces_with_another_event_between_are_not_joined() -> None:
    events: list[ev.NormalizedStreamEvent] = [piece("He"), STARTED, piece("llo"), STARTED]
    assert joined(events) == events


def test_neighbours_of_two_blocks_stay_apart() -> None:
    other = ev.ContentDelta(*WHO, "m", 1, "text", "llo")
    events: list[ev.NormalizedStreamEvent] = [STARTED, piece("He"), other]
    assert joined(events) == events


def place(event: ev.ContentDelta) -> tuple[object, ...]:
    return (event.parent_tool_use_id, event.message_id, event.index, event.kind, event.tool_use_id)


@given(st.lists(pieces | st.just(STARTED)))
def test_no_word_is_lost_or_moved(events: list[ev.ContentDelta | ev.MessageStarted]) -> None:
    def said(some: list[ev.NormalizedStreamEvent]) -> list[tuple[object, str]]:
        keyed = [
            (place(each), each.text) if isinstance(each, ev.ContentDelta) else (number, "")
            for number, each in enumerate(some)
        ]
        runs = groupby(keyed, key=lambda each: each[0])
        return [
            (key if isinstance(key, tuple) else "", "".join(text for _, text in run))
            for key, run in runs
        ]

    result = joined(events)
    assert said(result) == said([*events])
    neighbours = pairwise(result)
    assert not any(
        isinstance(a, ev.ContentDelta) and isinstance(b, ev.ContentDelta) and place(a) == place(b)
        for a, b in neighbours
    )
