"""Selects one branch of a session's tree of messages, and orders it with its sub-agents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import TypeAlias

from msgspec import Struct

from turnwire.dialects.claude.history import Record, Title

__all__ = ["Voice", "branch", "end_of_turn", "story", "title_of", "voices_in"]

_OF_A_TURN = ("told", "result", "stopped")


class Voice(Struct, frozen=True):
    """The records of one speaker: the agent itself, or a sub-agent under a tool call."""

    records: list[Record]
    call: str | None = None

    def calls(self) -> Iterator[str]:
        """Returns the tool calls in these records."""
        return (call for record in self.records for call in record.calls)


def branch(records: Iterable[Record], leaf: str | None = None) -> list[Record]:
    """Returns the records from the start to the newest record, or to `leaf`, in the file's order.

    Parallel tool calls have sibling results in the tree, so the branch includes whole messages, and
    every call with its result. Raises KeyError if `leaf` does not exist.
    """
    main = [record for record in records if not record.is_side]
    by_uuid = {record.uuid: record for record in main}
    before = dict(zip((record.uuid for record in main[1:]), main, strict=False))
    newest = main[-1] if main else None
    here: Record | None = newest if leaf is None else by_uuid[leaf]
    way: dict[str, Record] = {}
    while here is not None and here.uuid not in way:
        way[here.uuid] = here
        if here.parent is None:
            break
        # If the parent is unreadable, use the record before this one in the file.
        here = by_uuid.get(here.parent) or before.get(here.uuid)
    end = by_uuid[leaf].number if leaf is not None else None
    return [each for each in _whole(main, way) if end is None or each.number <= end]


def end_of_turn(records: Iterable[Record], uuid: str) -> str:
    """Returns the last message of the turn that a message belongs to, on its branch."""
    below: dict[str | None, Record] = {}
    for record in records:  # of several children the newest counts
        if not record.is_side and record.kind not in ("said", "begun"):
            below[record.parent] = record
    last, here = uuid, below.pop(uuid, None)
    while here is not None:
        if here.kind in _OF_A_TURN:
            last = here.uuid
        here = below.pop(here.uuid, None)
    return last


def _whole(main: list[Record], way: dict[str, Record]) -> list[Record]:
    messages = {record.message_id for record in way.values() if record.message_id}
    taken = {r.uuid for r in main if r.uuid in way or r.message_id in messages}
    calls = {call for record in main if record.uuid in taken for call in record.calls}
    calls -= {call for record in way.values() for call in record.answered}
    for record in main:
        if calls.intersection(record.answered):
            taken.add(record.uuid)
            calls.difference_update(record.answered)
    return [record for record in main if record.uuid in taken]


def voices_in(
    records: Sequence[Record], others: Mapping[str, Sequence[Record]], calls: Mapping[str, str]
) -> list[Voice]:
    """Returns the sub-agents of a session.

    Their records are in the session's file (older versions), or in `others`, one file for each
    agent. `calls` has the tool call that started an agent, if it is known. Otherwise it is derived.
    """
    told = {**_started(records), **calls}
    for each in others.values():
        told = {**_started(each), **told}
    asked: dict[str | None, str] = {
        prompt: call
        for each in (records, *others.values())
        for record in each
        for call, prompt in _prompts(record)
    }
    lanes: dict[str, list[Record]] = {}
    roots: dict[str, str] = {}
    for record in records:
        if record.is_side:
            root = roots.get(record.parent or "") or record.agent_id or record.uuid
            roots[record.uuid] = root
            lanes.setdefault(root, []).append(record)
    lanes |= {agent: list(each) for agent, each in others.items() if each}
    return [
        Voice(each, told.get(name) or asked.get(_words(each[0])) or name)
        for name, each in lanes.items()
    ]


def story(
    records: Iterable[Record], main: Sequence[Record], voices: Sequence[Voice]
) -> list[tuple[Record, str | None]]:
    """Returns the records of a branch and its sub-agents in order, each with its tool call.

    `main` is a branch of `records`. Sub-agents that another branch called are left out.
    """
    made: dict[str | None, tuple[int, int]] = {}  # call -> time and depth
    items = _timed(Voice(list(main)), 0, (0, 0), made)
    other_calls = {call for r in records if not r.is_side for call in r.calls} - made.keys()
    order = _Order(voices)
    order.know(made)
    order.know(other_calls)
    for number, voice in enumerate(order, 1):
        if voice.call in other_calls:
            other_calls.update(voice.calls())
        else:
            items += _timed(voice, number, made.get(voice.call, (0, 1)), made)
        order.know(voice.calls())
    items.sort(key=lambda item: item[0])
    return [(record, call) for _, record, call in items]


class _Order:
    """Yields the voices whose call is known first, because they may contain the calls of others."""

    def __init__(self, voices: Sequence[Voice]) -> None:
        self._left = dict(enumerate(voices))
        self._known: list[int] = []  # a heap
        self._unknown: dict[str | None, list[int]] = {}  # call -> voices
        for place, voice in self._left.items():
            self._unknown.setdefault(voice.call, []).append(place)

    def know(self, calls: Iterable[str | None]) -> None:
        """Marks these calls as known."""
        for call in calls:
            for place in self._unknown.pop(call, ()):
                heappush(self._known, place)

    def __iter__(self) -> Iterator[Voice]:
        while self._left:
            place = heappop(self._known) if self._known else next(iter(self._left))
            voice = self._left.pop(place, None)
            if voice is not None:  # else: yielded before its call was known
                yield voice


_Place: TypeAlias = tuple[int, int, int, int]  # time, depth, voice, and position in the voice


def _timed(
    voice: Voice, number: int, since: tuple[int, int], made: dict[str | None, tuple[int, int]]
) -> list[tuple[_Place, Record, str | None]]:
    """Returns the records with sort keys. A record without a later time keeps the last one."""
    now, depth = since
    out: list[tuple[_Place, Record, str | None]] = []
    for place, record in enumerate(voice.records):
        now = max(now, record.at or 0)
        out.append(((now, depth, number, place), record, voice.call))
        for call in record.calls:
            made.setdefault(call, (now, depth + 1))
    return out


def _started(records: Iterable[Record]) -> dict[str, str]:
    """Returns the call that started each agent, as the results of the calls tell."""
    found: dict[str, str] = {}
    for record in records:
        match record.data.get("toolUseResult"), record.answered:
            case {"agentId": str(agent)}, (call,):
                found[agent] = call
            case _:
                pass
    return found


def _prompts(record: Record) -> Iterator[tuple[str, str]]:
    """Yields the calls with a prompt, which is the first message to a sub-agent."""
    message = record.data.get("message")
    content = message.get("content") if isinstance(message, dict) and record.calls else None
    for block in content if isinstance(content, list) else ():
        match block:
            case {"type": "tool_use", "id": str(call), "input": {"prompt": str(prompt)}}:
                yield call, prompt
            case _:
                pass


def _words(record: Record) -> str | None:
    match record.data.get("message"):
        case {"content": str(text)} | {"content": [{"type": "text", "text": str(text)}]}:
            return text
        case _:
            return None


def title_of(titles: Iterable[Title], records: Iterable[Record]) -> str | None:
    """Returns the newest title by a person, else by the program, else the summary."""
    names = {record.uuid for record in records}
    found = {t.kind: t.text for t in titles if t.leaf is None or t.leaf in names}
    return found.get("custom-title") or found.get("ai-title") or found.get("summary")
