"""Checks of a store for partials: saved apart from the log, kept until their block ends."""

from __future__ import annotations

import asyncio

from msgspec import structs

from turnwire.core.conversation.effects import EndRequest
from turnwire.core.conversation.state import Conversation
from turnwire.core.partials import Partial
from turnwire.ports import Conflict, Fenced, NewConversation, Store
from turnwire.testing.expect import expect, expect_raises
from turnwire.testing.store_samples import LEASE, NOW, at, begin

__all__ = ["PARTIAL_CHECKS"]

_TEXT = Partial("m-1", 0, "text", "Once upon ", 0, 1)
_THINKING = Partial("m-0", 1, "thinking", "Hmm", 0, 0, "toolu_1", "a-1", "demo", "opus")


async def partials_are_found_whole_and_in_their_order(store: Store) -> None:
    talk = await begin(store)
    expect(await store.partials("c") == [], "a new conversation has no partials")
    more = structs.replace(_TEXT, text="a time", start=10)
    await store.save_partials(talk.claim, [_THINKING, _TEXT])
    await store.save_partials(talk.claim, [more])
    whole = structs.replace(_TEXT, text="Once upon a time")
    expect(
        await store.partials("c") == [_THINKING, whole],
        "the saved pieces of a block are joined to one partial",
    )
    longer = structs.replace(more, text="a time, in a")
    await store.save_partials(talk.claim, [longer])
    found = await store.partials("c")
    expect(
        found[-1].text == "Once upon a time, in a",
        "a piece with the same start replaces the earlier one",
    )
    expect(await store.partials("other") == [], "another conversation does not see the partials")


async def a_partial_is_no_part_of_the_log(store: Store) -> None:
    talk = await begin(store, user="ann")
    before = await store.conversation("c"), await store.stored("ann")
    await store.save_partials(talk.claim, [_TEXT])
    after = await store.conversation("c"), await store.stored("ann")
    expect(after == before, "saving a partial changes neither head, state nor the user's bytes")
    expect(await store.entries("c") == [], "saving a partial adds no entry")
    expect(await store.search("upon") == [], "search does not find text of a partial")


async def a_commit_deletes_the_partials_of_the_blocks_that_it_ends(store: Store) -> None:
    talk = await begin(store)
    await store.save_partials(talk.claim, [_THINKING, _TEXT])
    ends = structs.replace(
        talk.prepare(*talk.entries("Once upon a time")), ended_blocks=[("m-1", 0)]
    )
    refused = structs.replace(ends, writes=[*ends.writes, EndRequest("none", "answered", "ann")])
    await expect_raises(Conflict, store.commit(refused), "ending a request that is not open")
    expect(await store.partials("c") == [_THINKING, _TEXT], "a refused commit deletes no partial")
    await talk.commit(ends)
    expect(
        await store.partials("c") == [_THINKING],
        "a commit deletes only the partials of the blocks that it ends",
    )
    nothing = structs.replace(talk.prepare(), ended_blocks=[("m-0", 1), ("never saved", 0)])
    await talk.commit(nothing)
    expect(await store.partials("c") == [], "a commit without entries can end a block")


async def saves_and_commits_keep_the_order_in_which_they_were_called(store: Store) -> None:
    talk = await begin(store)
    for _ in range(20):
        ends = structs.replace(talk.prepare(*talk.entries("x")), ended_blocks=[_TEXT.block])
        saving = asyncio.ensure_future(store.save_partials(talk.claim, [_TEXT]))
        await asyncio.sleep(0)
        await asyncio.gather(saving, talk.commit(ends))
        expect(
            await store.partials("c") == [], "a save called before a commit is written before it"
        )


async def a_stale_owner_saves_nothing(store: Store) -> None:
    old = await begin(store, owner="one")
    await store.save_partials(old.claim, [_THINKING])
    claim = await store.claim("c", "two", now=NOW + LEASE, lease=LEASE)
    late = store.save_partials(old.claim, [_TEXT])
    await expect_raises(Fenced, late, "saving partials by the old owner")
    expect(await store.partials("c") == [_THINKING], "a refused save changes no partial")
    await store.save_partials(claim, [_TEXT])
    await store.delete("c")
    await expect_raises(
        Fenced, store.save_partials(claim, [_TEXT]), "saving partials of a deleted conversation"
    )


async def partials_go_with_their_conversation_and_into_no_fork(store: Store) -> None:
    talk = await begin(store)
    await talk.say("a")
    await store.save_partials(talk.claim, [_TEXT])
    state = Conversation("f", head=1, turns=1)
    new = NewConversation("f", "demo", at(), state=state, parent_id="c", forked_at=1)
    await store.fork(new)
    expect(await store.partials("f") == [], "a fork has no partials")
    await store.delete("c")
    expect(await store.partials("c") == [], "a deleted conversation has no partials")
    await begin(store)
    expect(
        await store.partials("c") == [],
        "a new conversation with a deleted one's id has no partials",
    )


PARTIAL_CHECKS = [
    partials_are_found_whole_and_in_their_order,
    a_partial_is_no_part_of_the_log,
    a_commit_deletes_the_partials_of_the_blocks_that_it_ends,
    saves_and_commits_keep_the_order_in_which_they_were_called,
    a_stale_owner_saves_nothing,
    partials_go_with_their_conversation_and_into_no_fork,
]
