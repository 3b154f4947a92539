"""Checks of a store for forks: their entries, numbers, turns, blobs and agent sessions."""

from __future__ import annotations

from msgspec import structs

from turnwire.core.conversation.effects import (
    AddEntry,
    BeginTurn,
    EndRequest,
    EndTurn,
    OpenRequestRow,
)
from turnwire.core.conversation.forking import forked
from turnwire.core.conversation.state import OpenTool, Turn
from turnwire.core.error_codes import Refused
from turnwire.core.message import run_id
from turnwire.core.status import TurnEnd
from turnwire.core.usage import Usage
from turnwire.ports import Conflict, NativeFork, NewConversation, Store
from turnwire.testing.expect import expect, expect_raises
from turnwire.testing.store_checks.log import texts
from turnwire.testing.store_samples import (
    NOW,
    TRACE,
    Writing,
    a_large_message,
    a_message,
    a_request,
    at,
    begin,
)

__all__ = ["FORK_CHECKS"]


async def _turn(talk: Writing, turn_id: int, *words: str) -> None:
    """Commits a complete turn; the first text is the person's message."""
    run, first = run_id(talk.id, turn_id), talk.state.head + 1
    entries = [
        AddEntry(number, a_message(text, "assistant" if place else "user", run=run), turn_id, TRACE)
        for place, (number, text) in enumerate(enumerate(words, first))
    ]
    begun = BeginTurn(Turn(turn_id, TRACE, "user", "running"))
    usage = Usage(input_tokens=10, output_tokens=5)
    last = talk.state.head + len(words)
    end = TurnEnd(False, False, "end_turn", usage=usage, cost_usd=0.5, after_sequence=last)
    await talk.commit(talk.prepare(begun, *entries, EndTurn(turn_id, TRACE, end)))


def _fork(talk: Writing, name: str, head: int, turns: int) -> NewConversation:
    state = forked(talk.state, name, head=head, turns=turns)
    return NewConversation(
        name,
        "demo",
        at(9),
        state=state,
        parent_id=talk.id,
        forked_at=head,
        native_from=NativeFork("session", ["uuid"]),
    )


async def a_fork_has_the_same_beginning(store: Store) -> None:
    await store.put_blob("b-1", b"b-1", "text/plain", at=at())
    talk = await begin(store, user="ann", title="Plans")
    await _turn(talk, 1, "hello", "good morning")
    large = AddEntry(3, a_large_message("b-1", run="c:2"), 2, TRACE)
    asked, ended = OpenRequestRow(a_request()), EndRequest("toolu_1", "answered", "ann")
    end = EndTurn(2, TRACE, TurnEnd(False, False, after_sequence=3))
    await talk.commit(talk.prepare(large, asked, ended, end))
    await _turn(talk, 3, "what else", "nothing")
    made = await store.fork(_fork(talk, "f", 3, 2), by="ann")
    expect(
        (made.parent_id, made.forked_at, made.head) == ("c", 3, 3),
        "a fork has its parent, its fork point and its head",
    )
    expect(
        made.native_from == NativeFork("session", ["uuid"]),
        "a fork has the place in the agent's session where it begins",
    )
    expect(await store.conversation("f") == made, "`fork` returns the stored conversation")
    before, after = await store.entries("c", before=4), await store.entries("f")
    for old, new in zip(before, after, strict=True):
        run = f"f:{old.turn_id}"
        expect(
            new.entry == structs.replace(old.entry, run_id=run),
            "the entries of a fork equal those of the parent, but for the run id",
        )
        expect(
            (new.sequence, new.trace_id) == (old.sequence, old.trace_id),
            "the entries of a fork keep their numbers and trace ids",
        )
    expect(
        await store.turns("f") == (await store.turns("c"))[:2],
        "the turns of a fork equal those of the parent",
    )
    request = await store.request("f", "toolu_1")
    expect(
        request is not None and request.outcome == "answered",
        "an answered request stays answered in a fork",
    )
    expect(not await store.inbox(), "an answered request adds no inbox item to a fork")
    found = {hit.conversation_id for hit in await store.search("morning")}
    expect(found == {"c", "f"}, "search finds the text of a fork")
    trail = [row.action for row in await store.audit(conversation_id="f")]
    expect(trail == ["forked"], "the audit trail of a fork has the action `forked`")
    await expect_raises(Conflict, store.fork(_fork(talk, "f", 3, 2)), "a fork with an existing id")
    await expect_raises(
        Conflict, store.fork(_fork(talk, "g", 9, 2)), "a fork after the end of the log"
    )
    strange = structs.replace(_fork(talk, "g", 3, 2), parent_id="missing")
    await expect_raises(
        Refused, store.fork(strange), "a fork of a conversation that does not exist"
    )
    expect(await store.conversation("g") is None, "a refused fork stores nothing")


async def a_fork_and_its_parent_are_independent(store: Store) -> None:
    await store.put_blob("b-1", b"b-1", "text/plain", at=at())
    talk = await begin(store)
    large = AddEntry(1, a_large_message("b-1"), 1, TRACE)
    end = EndTurn(1, TRACE, TurnEnd(False, False, after_sequence=1))
    await talk.commit(talk.prepare(large, end))
    made = await store.fork(_fork(talk, "f", 1, 1))
    claim = await store.claim("f", "two", now=0, lease=1000)
    fork = Writing(store, claim, made.state)
    await _turn(fork, 2, "over here")
    await _turn(talk, 2, "over there")
    expect(await texts(store, "f") == ["...", "over here"], "new entries of a fork go to the fork")
    expect(
        await texts(store, "c") == ["...", "over there"],
        "new entries of the parent go to the parent",
    )
    await store.delete("c")
    expect(
        await texts(store, "f") == ["...", "over here"],
        "a fork keeps its entries when its parent is deleted",
    )
    expect(
        await store.get_blob("b-1") is not None,
        "a blob that a fork uses is kept when the parent is deleted",
    )


async def a_fork_begins_where_nothing_is_half_said(store: Store) -> None:
    talk = await begin(store)
    expect((await store.fork_place("c")).sequence == 0, "an empty conversation can be forked at 0")
    await _turn(talk, 1, "hello", "hi")
    await talk.commit(talk.prepare(AddEntry(3, a_message("news", run="c:"), None, None)))
    await _turn(talk, 2, "do it in the background", "I do")
    await _turn(talk, 3, "what else", "nothing")
    late = AddEntry(8, a_message("it is done", run="c:2"), 2, TRACE)
    await talk.commit(talk.prepare(late))
    places = [await store.fork_place("c", number) for number in range(-1, 10)]
    whole = [place.sequence for place in places if place.is_whole]
    expect(
        whole == [0, 2, 3, 8],
        "a fork is possible between turns, unless a later entry belongs to an earlier turn",
    )
    expect(places[1 + 2].turns == 1, "`turns` is the number of the last turn that began")
    last = places[1 + 3].last
    expect(last is not None and last.turn_id == 1, "`last` is the last turn that ended")
    nearest = {place.sequence: place.nearest for place in places if not place.is_whole}
    expect(nearest[1] == [0, 2], "at any other place `nearest` has the nearest possible places")
    expect((nearest[-1], nearest[9]) == ([0], [8]), "`nearest` is also set outside of the log")
    begun = BeginTurn(Turn(4, TRACE, "user", "running"))
    said = AddEntry(9, a_message("and now?", "user", run="c:4"), 4, TRACE)
    await talk.commit(talk.prepare(begun, said))
    expect(
        not (await store.fork_place("c", 9)).is_whole,
        "a fork inside a running turn is not possible",
    )
    expect(
        (await store.fork_place("c")).sequence == 8,
        "during a turn the default place is before that turn",
    )
    tool = structs.replace(talk.state, tools={"toolu_2": OpenTool("toolu_2", 3)})
    await talk.commit(talk.prepare(state=tool))
    expect(
        not (await store.fork_place("c", 8)).is_whole,
        "a fork before the result of a tool call is not possible",
    )
    await expect_raises(
        Refused, store.fork_place("missing"), "a fork place in a conversation that does not exist"
    )


async def conversations_of_an_agent_session_are_found(store: Store) -> None:
    talk = await begin(store)
    await talk.commit(talk.prepare(*talk.entries("hello"), native_session_id="session"))
    own = await store.conversation("c")
    expect(
        own is not None and own.owns_session, "a conversation owns a session that its agent began"
    )
    expect(
        await store.users_of_session("session") == ["c"],
        "a conversation is listed as a user of its session",
    )
    brought = NewConversation("d", "demo", at(), native_session_id="foreign")
    expect(
        not (await store.create(brought)).owns_session,
        "a conversation does not own a session given at its creation",
    )
    end = EndTurn(1, TRACE, TurnEnd(False, False, after_sequence=1))
    await talk.commit(talk.prepare(end))
    made = await store.fork(_fork(talk, "f", 1, 1))
    expect(not made.owns_session, "a new fork owns no session")
    expect(
        {*await store.users_of_session("session")} == {"c", "f"},
        "a fork uses its parent's session until it has its own",
    )
    claim = await store.claim("f", "one", now=NOW, lease=1)
    fork = Writing(store, claim, made.state)
    await fork.commit(fork.prepare(native_session_id="another"))
    expect(
        await store.users_of_session("session") == ["c"],
        "a fork with its own session no longer uses the parent's",
    )
    expect(
        await store.users_of_session("another") == ["f"],
        "a fork is listed as a user of its own session",
    )
    await store.delete("c")
    expect(await store.users_of_session("session") == [], "a deleted conversation uses no session")


FORK_CHECKS = [
    conversations_of_an_agent_session_are_found,
    a_fork_has_the_same_beginning,
    a_fork_and_its_parent_are_independent,
    a_fork_begins_where_nothing_is_half_said,
]
