"""Checks that a projector implements the projector port correctly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from turnwire.core import blocks as b
from turnwire.core import events as ev
from turnwire.core import happenings as h
from turnwire.core.entries import entry_of, event_entry
from turnwire.core.growing import Growing
from turnwire.core.message import Message, UnknownPart
from turnwire.core.opening import Opening, Start
from turnwire.core.status import Capabilities, Limits, Status, Totals, TurnEnd, TurnError
from turnwire.ports import Projected, Projector
from turnwire.testing.expect import Broken, expect

__all__ = ["PROJECTOR_CHECKS", "ProjectorBroken", "check_projector"]

_NOW = "2026-01-01T12:00:00.000Z"
_RUN, _TRACE = "talk:1", "0af7651916cd43dd8448eb211c80319c"
_WHO = ("demo", "session-1", None, None)
_IDLE, _STREAMING = Status("active", False, [], []), Status("streaming", True, [], [], None, 1)

MakeProjector = Callable[[], Projector]


class ProjectorBroken(AssertionError):
    """Raised if checks fail. The message names each failed check."""


def check_projector(make: MakeProjector) -> None:
    """Runs every check on new projectors. Raises ProjectorBroken if a check fails."""
    failures = []
    for check in PROJECTOR_CHECKS:
        name = check.__name__.strip("_").replace("_", " ")
        try:
            check(make)
        except Broken as broken:
            failures.append(f"{name}: {broken}")
        except Exception as error:
            failures.append(f"{name}: raised {error!r}")
    if failures:
        total = len(PROJECTOR_CHECKS)
        raise ProjectorBroken(f"{len(failures)} of {total} checks failed:\n" + "\n".join(failures))


# --- a sample conversation ------------------------------------------------------------------------


def _entries() -> list[h.EntryAdded]:
    """Returns an entry of each kind that a log can have."""
    at: Any = {"run_id": _RUN, "timestamp": _NOW}
    block: Any = {**at, "message_id": "m-1"}
    strange: Any = {"type": "unknown", "originalType": "hologram", "data": {"n": 1}}
    written = [
        entry_of("user", [b.TextBlock("hello", "completed")], **at, by="ann"),
        entry_of("assistant", [b.ThinkingBlock("hm", "completed")], **block, index=0),
        entry_of("assistant", [b.TextBlock("said", "completed")], **block, index=1),
        entry_of("assistant", [_call("call-1", "Bash")], **block, index=2),
        entry_of("tool", [b.ToolResultBlock("call-1", "done", False, "completed")], **at),
        entry_of("assistant", [b.ErrorBlock("no", "failed")], **block, index=3),
        entry_of("assistant", [b.UnknownBlock("hologram", strange)], **block, index=4),
        event_entry("system", "Status", **at, data={"subtype": "status", "data": {"n": 1}}),
        event_entry("interrupted", "Stopped", **at, data={"reason": "user"}),
        event_entry("request_resolved", "Answered", **at, data={"strange": True}),
        Message(_RUN, "assistant", [UnknownPart("hologram", strange)], _NOW, {"turnId": 1}),
        Message(_RUN, "system", [], _NOW, {"messageType": "newer", "data": [1]}),
    ]
    return [h.EntryAdded(number, each, _TRACE) for number, each in enumerate(written, 1)]


def _call(name: str, tool: str) -> b.ToolUseBlock:
    return b.ToolUseBlock(name, tool, "OTHER", {"a": 1}, "in_progress")


def _spoke(growing: Growing, *events: ev.NormalizedStreamEvent) -> h.AgentSpoke:
    return h.AgentSpoke(_NOW, 1, _TRACE, [*events], growing.feed_all(events, 1, _TRACE))


def _begins() -> list[ev.NormalizedStreamEvent]:
    text = b.TextBlock("", "in_progress")
    return [ev.MessageStarted(*_WHO, "m-2"), ev.ContentStarted(*_WHO, "m-2", 0, text)]


def _says(text: str) -> ev.ContentDelta:
    return ev.ContentDelta(*_WHO, "m-2", 0, "text", text)


def _turn() -> list[list[h.Happening]]:
    """Returns the publications of a whole turn."""
    growing = Growing()
    end = TurnEnd(True, False, error=TurnError("agent_error", "It failed."), after_sequence=12)
    figures = ev.ResultSummary(*_WHO, "success", False)
    unknown = ev.UnknownEvent(*_WHO, "newer", msgspec.Raw(b"{}"), "a reason")
    return [
        [h.TurnBegan(_NOW, 1, _TRACE, "user", "q-1", "m"), h.StateChanged(_NOW, _STREAMING)],
        [_spoke(growing, *_begins(), _says("first "))],
        [_spoke(growing, _says("second "))],
        [*_entries(), _spoke(growing, ev.ToolProgress(*_WHO, "call-1", "Bash", 1.0, "out"))],
        [_spoke(growing, ev.MessageDiscarded(*_WHO, "m-2", 0, "abandoned"), unknown)],
        [_spoke(growing, figures), h.TurnEnded(_NOW, 1, _TRACE, end)],
        [h.Changed(_NOW, "A title", Totals(1)), h.StateChanged(_NOW, _IDLE)],
    ]


def _opening() -> Opening:
    offered, limits = Capabilities("demo", []), Limits(1_000_000, 16, 15)
    return Opening(_NOW, "connection", "client", "epoch", Start(0), 12, offered, limits)


def _numbers(messages: Sequence[Projected]) -> list[int]:
    return [each.number for each in messages if each.number is not None]


def _all_of(projector: Projector) -> list[Projected]:
    return [message for happened in _turn() for message in projector.project(happened)]


def _bytes(messages: Sequence[Projected]) -> bytes:
    return b"\n".join(each.written for each in messages)


# --- the checks -----------------------------------------------------------------------------------


def every_entry_is_told_with_its_number_in_order(make: MakeProjector) -> None:
    """Checks the numbers of live messages."""
    numbers = _numbers(_all_of(make()))
    expect(numbers == sorted(numbers), f"numbers only rise; received: {numbers}")
    lost = {each.sequence for each in _entries()} - {*numbers}
    expect(not lost, f"every entry gives a message with its number; missing: {sorted(lost)}")


def every_entry_is_replayed_with_its_number(make: MakeProjector) -> None:
    """Checks replayed messages of a new projector."""
    for entry in _entries():
        numbers = _numbers(make().replay(entry, _NOW))
        told = f"entry {entry.sequence} is replayed with its number"
        expect({*numbers} == {entry.sequence}, f"{told}; received: {numbers}")


def the_end_of_a_turn_is_replayed(make: MakeProjector) -> None:
    """Checks that a follower who joins later learns of the end of a turn."""
    ended = h.TurnEnded(_NOW, 1, _TRACE, TurnEnd(False, False, "end_turn", after_sequence=3))
    expect(bool(make().replay(ended, _NOW)), "the end of a turn is replayed")


def nothing_happened_says_nothing(make: MakeProjector) -> None:
    """Checks that an empty publication wakes no follower."""
    expect(not make().project([]), "an empty publication gives no message")


def what_grows_is_told_in_order(make: MakeProjector) -> None:
    """Checks the order of the pieces of a block."""
    raw = _bytes(_all_of(make()))
    first, second = raw.find(b"first "), raw.find(b"second ")
    expect(-1 < first < second, "the pieces of a block are projected in their order")


def who_comes_in_between_gets_all_that_has_grown(make: MakeProjector) -> None:
    """Checks a new projector for a follower who joins in the middle of a message."""
    growing = Growing()
    _spoke(growing, *_begins(), _says("first "))
    projector = make()
    now = _bytes(projector.present(h.Now(_NOW, 0, _STREAMING, growing)))
    expect(b"first " in now, "a follower who joins while a block grows gets all of it so far")
    more = _bytes(projector.project([_spoke(growing, _says("second "))]))
    expect(b"second " in more, "a follower who joined gets the next pieces")
    expect(b"first " not in more, "a follower who joined gets no piece twice")


def a_message_stays_as_it_is(make: MakeProjector) -> None:
    """Checks that all followers get the same bytes at any time."""
    projector = make()
    messages = _all_of(projector)
    before = [(each.written, each.number, each.size) for each in messages]
    _all_of(projector)
    after = [(each.written, each.number, each.size) for each in messages]
    expect(before == after, "a message does not change after it was returned")
    for written, _, size in before:
        expect(
            2 * size >= len(written),
            f"the size of a message is about that of its bytes, not {size}",
        )


def what_is_given_is_not_changed(make: MakeProjector) -> None:
    """Checks that a projector does not change its input, which other projectors share."""
    entries, publications = _entries(), _turn()
    before = msgspec.json.encode(entries), _events(publications)
    projector = make()
    projector.project(entries)
    for happened in publications:
        projector.project(happened)
    for entry in entries:
        projector.replay(entry, _NOW)
    after = msgspec.json.encode(entries), _events(publications)
    expect(before == after, "a projector does not change its input")


def _events(publications: Sequence[Sequence[h.Happening]]) -> list[bytes]:
    return [
        msgspec.json.encode([each.events, len(each.growth)])
        for happened in publications
        for each in happened
        if isinstance(each, h.AgentSpoke)
    ]


def who_comes_changes_nothing_for_the_others(make: MakeProjector) -> None:
    """Checks that `greet`, `replay` and `present` do not change what other followers get."""
    alone, shared = make(), make()
    for happened in _turn():
        expected = [each.number for each in alone.project(happened)]
        shared.greet(_opening())
        for entry in _entries():
            shared.replay(entry, _NOW)
        shared.present(h.Now(_NOW, 12, _IDLE, Growing()))
        found = [each.number for each in shared.project(happened)]
        expect(found == expected, "a follower who joins does not change what the others get")


PROJECTOR_CHECKS: tuple[Callable[[MakeProjector], None], ...] = (
    every_entry_is_told_with_its_number_in_order,
    every_entry_is_replayed_with_its_number,
    the_end_of_a_turn_is_replayed,
    nothing_happened_says_nothing,
    what_grows_is_told_in_order,
    who_comes_in_between_gets_all_that_has_grown,
    a_message_stays_as_it_is,
    what_is_given_is_not_changed,
    who_comes_changes_nothing_for_the_others,
)
