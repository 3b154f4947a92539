"""Checks of the guarantees of docs/explanation/guarantees.md from outside the engine.

The checks use visible facts: the log as the store reads it, the frames of followers,
the acknowledged commands, and the prompts of the agent.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from tests.engine.helpers.reconnecting_client import Client
from tests.engine.helpers.simulation import World
from turnwire.core.conversation.state import Conversation
from turnwire.core.error_codes import Refused
from turnwire.core.message import Message, TextPart, ToolCallPart, ToolResultPart, known_meta
from turnwire.ports import StoredEntry, StoredTurn
from turnwire.stores.sqlite import SqliteStore
from turnwire.stores.sqlite.fsck import check as check_file

_TOO_LATE = {
    "answered": "DUPLICATE_INPUT_RESPONSE",
    "expired": "INPUT_TIMEOUT",
    "cancelled": "CONVERSATION_INTERRUPTED",
}
_BY_SESSION = re.compile(r"\[(\d+)\]")


class Log:
    """Everything that the store has of the conversation."""

    entries: list[StoredEntry]
    turns: list[StoredTurn]
    state: Conversation
    removed: set[str]

    @classmethod
    async def read(cls, world: World) -> Log:
        log, store = cls(), world.store
        row = await store.conversation("talk")
        assert row is not None
        log.state = row.state
        log.entries = await store.entries("talk", limit=100_000)
        log.turns = await store.turns("talk")
        audit = await store.audit(conversation_id="talk", limit=100_000)
        log.removed = {r.data["queue_id"] for r in audit if r.action == "queue_remove"}
        assert row.head == row.state.head == len(log.entries)
        return log

    def events(self, name: str) -> list[dict[str, Any]]:
        """The particulars of every event of a name."""
        metas = [known_meta(stored.entry) for stored in self.entries]
        return [meta.data for meta in metas if meta.message_type == name]

    def said_by_people(self) -> list[tuple[str, int | None]]:
        """Returns the messages of people by their id, with the turn that ran each."""
        return [
            (known_meta(stored.entry).client_message_id or "", stored.turn_id)
            for stored in self.entries
            if stored.entry.role == "user"
        ]


async def check_stopped(world: World) -> None:
    """Checks everything that holds after the server has stopped."""
    world.store = await SqliteStore.open(world.path)
    log = await Log.read(world)
    await world.store.close()
    check_dense(log)
    check_turns(log)
    check_tools(log)
    check_asked_once(world, log)
    check_acknowledged(world, log)
    check_handed_over_once(world, log)
    check_stops(world, log)
    check_truthful(log)
    found = check_file(world.path, now=world.clock.now()).findings
    assert not found, f"fsck finds nothing that an engine does: {found}"


def check_dense(log: Log) -> None:
    numbers = [stored.sequence for stored in log.entries]
    assert numbers == list(range(1, len(numbers) + 1)), "dense"


def check_turns(log: Log) -> None:
    """Checks that every turn has exactly one end, except a turn that waits."""
    ended = Counter(turn.turn_id for turn in log.turns)
    assert all(count == 1 for count in ended.values()), "every turn has one end"
    waits = {log.state.turn.turn_id} if log.state.turn else set()
    assert waits.isdisjoint(ended)
    assert waits | ended.keys() == set(range(1, log.state.turns + 1)), "every turn has an end"
    last = {turn.turn_id: turn.end.after_sequence for turn in log.turns}
    for stored in log.entries:
        if stored.turn_id in last:
            assert stored.sequence <= last[stored.turn_id], "nothing follows a turn's end"


def check_tools(log: Log) -> None:
    """Checks tool closure: one result for each call, none invented, none for an open request."""
    calls: Counter[str] = Counter()
    results: Counter[str] = Counter()
    for stored in log.entries:
        for part in stored.entry.parts:
            if isinstance(part, ToolCallPart):
                calls[part.payload.tool_call_id] += 1
            elif isinstance(part, ToolResultPart):
                result = part.payload
                assert calls[result.tool_call_id] == 1, "a result follows its call"
                results[result.tool_call_id] += 1
    assert all(count == 1 for count in [*calls.values(), *results.values()]), "exactly one result"
    questions = {r.request_id for r in log.state.requests if r.kind == "question"}
    answered = {reply.request_id for reply in log.state.replies}
    without = calls.keys() - results.keys()
    assert questions <= without, "an open question has no result yet"
    assert without <= questions | answered, "tool closure"


def check_asked_once(world: World, log: Log) -> None:
    """Checks that each request ends at most once, with at most one accepted answer."""
    ended = Counter(data["request_id"] for data in log.events("request_resolved"))
    assert all(count == 1 for count in ended.values()), "asked once"
    outcomes = {d["request_id"]: d["outcome"] for d in log.events("request_resolved")}
    taken = Counter(
        asked.about
        for asked in world.asked
        if asked.kind in ("answer", "decide") and asked.answer is not None
    )
    for request_id, count in taken.items():
        assert count == 1, "one answer is the answer"
        assert outcomes[request_id] == "answered"


def check_acknowledged(world: World, log: Log) -> None:
    """Ack means durable, and takes effect once; a refusal leaves no trace."""
    said = log.said_by_people()
    names = Counter(name for name, _ in said)
    assert all(count == 1 for count in names.values()), "input takes effect once"
    turns = dict(said)
    queued = {w.item.client_message_id: w for w in log.state.queue}
    sent = {asked.client_message_id for asked in world.asked if asked.kind == "send"}
    assert names.keys() | queued.keys() <= sent, "the log has a message that was not sent"
    for name in sent:
        told = [a for a in world.asked if a.client_message_id == name and a.kind == "send"]
        answers = [asked.answer for asked in told if asked.answer is not None]
        if not answers:
            if all(asked.refusal is not None for asked in told):
                assert name not in names, "a refusal leaves no trace"
                assert name not in queued, "a refusal leaves no trace"
            continue
        ack = answers[0].ack
        assert all(answer.ack == ack for answer in answers), "a repeat gets the first answer"
        assert sum(not answer.duplicate for answer in answers) <= 1, "it is taken once"
        if ack.turn_id is not None:
            assert turns[name] == ack.turn_id, "acknowledged input is in the log"
            continue
        in_queue = name in queued
        removed = ack.queue_id in log.removed and name not in names
        assert (name in names) + in_queue + removed == 1, "acknowledged input is not lost"


def check_handed_over_once(world: World, log: Log) -> None:
    """No process gets a turn twice, and what the log has of one is the work of one process.

    One that died before a word was read behind the prompt has not worked on it: what it said before, by itself, may stand
    in that turn.
    """
    for session in world.agent.sessions:
        assert all(count == 1 for count in session.prompts.values()), "handed over once"
    handed: dict[int, set[int]] = {}
    for session in world.agent.sessions:
        for uuid in session.heard:
            handed.setdefault(int(uuid.rpartition(":")[2]), set()).add(session.number)
    for turn_id, numbers in handed.items():
        by = {n for e in log.entries if e.turn_id == turn_id for n in _sessions(e.entry)}
        assert len(by & numbers) <= 1, "acknowledged input takes effect once"


def _sessions(entry: Message) -> set[int]:
    found: set[int] = set()
    for part in entry.parts:
        if isinstance(part, TextPart):
            found |= {int(number) for number in _BY_SESSION.findall(part.payload.text)}
        elif isinstance(part, ToolCallPart):
            found.add(part.payload.arguments["by"])
    return found


def check_stops(world: World, log: Log) -> None:
    """Checks that every accepted interrupt has ended its turn."""
    ended = {turn.turn_id for turn in log.turns}
    for asked in world.asked:
        if asked.kind == "stop" and asked.answer is not None:
            assert asked.about in ended, "interrupt ends"


def check_truthful(log: Log) -> None:
    """Truthful state: without a server nothing runs."""
    c = log.state
    assert c.turn is None or c.turn.phase == "suspended", "nothing runs without an owner"
    assert c.state != "streaming"
    assert (c.state == "waiting_input") is bool(c.requests)
    assert len(c.queue) <= c.options.max_queue + 1, "bounded queue"


async def check_again(world: World) -> None:
    """Checks that a new client has the same view as the others, and that late answers get the reason."""
    await world.settle()
    log = await Log.read(world)
    newcomer = Client()
    world.clients.append(newcomer)
    for client in world.clients:
        if not client.is_there:
            client.come(world.talk)
    await world.settle()
    status = await world.talk.status()
    for client in world.clients:
        while client.view().cursor < log.state.head or client.view().status != status:
            await client.more()
    shown = newcomer.view()
    for client in world.clients:
        if client.after == 0:
            view = client.view()
            assert view.messages == shown.messages, "a replayed view equals a live one"
            assert view.turns == shown.turns
    for data in log.events("request_resolved"):
        row = await world.store.request("talk", data["request_id"])
        assert row is not None
        assert row.outcome == data["outcome"]
        late = world.talk.answer if row.request.kind == "question" else world.talk.decide
        with pytest.raises(Refused) as refused:
            await late(data["request_id"], "allow")
        assert refused.value.code == _TOO_LATE[data["outcome"]], "latecomers are told why"
    inbox = {item.request.request_id for item in await world.store.inbox()}
    assert inbox == {request.request_id for request in log.state.requests}


async def check_end(world: World) -> None:
    """Ends everything that waits, and checks that nothing stays open."""
    await world.settle()
    status = await world.talk.status()
    if status.turn_id is not None:
        await world.talk.interrupt(status.turn_id, queue="clear")
    for item in (await world.talk.status()).queue:
        await world.talk.change_queue("remove", item.queue_id)
    world.clock.forward(60)
    await world.settle()
    log = await Log.read(world)
    c = log.state
    assert (c.turn, c.queue, c.requests, c.tools) == (None, [], [], {}), "everything can be ended"
    check_turns(log)
    check_tools(log)
