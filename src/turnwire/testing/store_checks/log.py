"""Checks of a store for the log: atomic commits, order, no gaps, one owner at a time."""

from __future__ import annotations

import asyncio

from msgspec import structs

from turnwire.core.conversation.effects import (
    AddEntry,
    Audit,
    ChangeAgent,
    EndRequest,
    EndTurn,
    Write,
)
from turnwire.core.conversation.state import Conversation, Waiting
from turnwire.core.error_codes import Refused
from turnwire.core.message import TextPart
from turnwire.core.partials import Partial
from turnwire.core.status import QueueItem, TurnEnd
from turnwire.ports import Commit, Conflict, Fenced, NewConversation, Owned, Receipt, Store
from turnwire.testing.expect import expect, expect_raises
from turnwire.testing.store_samples import (
    LEASE,
    NOW,
    TRACE,
    Writing,
    a_message,
    a_request,
    at,
    begin,
)

__all__ = ["LOG_CHECKS"]


async def texts(store: Store, conversation_id: str) -> list[str]:
    """Returns the texts of the log in order."""
    return [
        part.payload.text
        for stored in await store.entries(conversation_id)
        for part in stored.entry.parts
        if isinstance(part, TextPart)
    ]


async def a_conversation_begins_empty_and_is_found_again(store: Store) -> None:
    new = NewConversation("c", "demo", at(), "ann", "Plans", "/tmp", "m-1", "plan", {"a": 1})
    row = await store.create(new)
    expect(await store.conversation("c") == row, "`create` returns the stored conversation")
    expect((row.head, row.state.head) == (0, 0), "the log of a new conversation is empty")
    expect(
        (row.user, row.title, row.cwd) == ("ann", "Plans", "/tmp"),
        "user, title and cwd are stored as given",
    )
    expect(row.options == {"a": 1}, "the agent's options are stored")
    expect(
        (row.state.model, row.state.permission_mode) == ("m-1", "plan"),
        "the state has the model and the permission mode",
    )
    expect(
        await store.conversation("other") is None,
        "`conversation` returns None for an unknown conversation",
    )
    await expect_raises(Conflict, store.create(new), "creating the same id again")
    begun = structs.replace(new, conversation_id="d", state=Conversation("d", head=1))
    await expect_raises(
        Conflict, store.create(begun), "creating a conversation whose state has entries"
    )
    asked = Conversation("d", requests=[a_request()], title="Asked", model="m-2")
    row = await store.create(structs.replace(new, conversation_id="d", state=asked))
    expect(
        (row.title, row.state.model) == ("Asked", "m-2"),
        "the title and model of the given state take precedence",
    )
    expect(row.state.requests == asked.requests, "the open requests of the given state are stored")
    found = await store.request("d", "toolu_1")
    expect(found is not None and found.outcome is None, "a request of the given state is open")
    gone = store.claim("other", "one", now=NOW, lease=LEASE)
    await expect_raises(Refused, gone, "a claim on a conversation that does not exist")


async def a_commit_is_whole_when_it_returns(store: Store) -> None:
    talk = await begin(store)
    await talk.commit(talk.prepare(*talk.entries("a", "b"), native_session_id="s-1", seconds=7))
    row = await store.conversation("c")
    expect(row is not None and row.state == talk.state, "the whole state is stored")
    expect(row is not None and row.head == 2, "the head is the number of the last entry")
    expect(row is not None and row.native_session_id == "s-1", "the agent's session id is stored")
    expect(row is not None and row.updated_at == at(7), "`updated_at` is the time of the commit")
    stored = await store.entries("c")
    expect([e.sequence for e in stored] == [1, 2], "both entries are in the log")
    expect([e.turn_id for e in stored] == [1, 1], "an entry has its turn id")
    expect([e.trace_id for e in stored] == [TRACE, TRACE], "an entry has its trace id")
    expect(stored[0].entry == a_message("a"), "an entry is read back as written")
    await talk.say("c")
    row = await store.conversation("c")
    expect(
        row is not None and row.native_session_id == "s-1",
        "a commit without a session id keeps the stored one",
    )


async def another_agent_has_its_own_session(store: Store) -> None:
    talk = await begin(store)
    await talk.commit(talk.prepare(*talk.entries("a"), native_session_id="s-1"))
    await talk.commit(talk.prepare(*talk.entries("b"), ChangeAgent("other", None, False)))
    row = await store.conversation("c")
    expect(row is not None and row.agent == "other", "the agent of the conversation has changed")
    expect(
        row is not None and (row.native_session_id, row.owns_session) == (None, False),
        "the session of the agent before is not that of the new one",
    )
    await talk.commit(talk.prepare(ChangeAgent("demo", "s-1", True)))
    row = await store.conversation("c")
    expect(
        row is not None
        and (row.agent, row.native_session_id, row.owns_session) == ("demo", "s-1", True),
        "the agent that comes back has its session again",
    )


async def a_refused_commit_leaves_nothing_behind(store: Store) -> None:
    talk = await begin(store)
    await talk.say("kept")
    receipt = Receipt("ann", "m-1", b"digest", b"{}")
    writes: list[Write] = [
        *talk.entries("lost words"),
        EndTurn(1, TRACE, TurnEnd(False, False, after_sequence=2)),
        Audit("asked", "ann", {}),
        EndRequest("never-opened", "answered", "ann"),  # the store must refuse this write
    ]
    queued = structs.replace(talk.state, queue=[Waiting(QueueItem("q", []), TRACE)])
    refused = talk.prepare(*writes, state=queued, receipt=receipt, native_session_id="s-2")
    await expect_raises(Conflict, store.commit(refused), "ending a request that is not open")
    row = await store.conversation("c")
    expect(
        row is not None and row.state == talk.state, "the state is unchanged after a refused commit"
    )
    expect(
        row is not None and row.native_session_id is None,
        "the session id is unchanged after a refused commit",
    )
    expect(await texts(store, "c") == ["kept"], "a refused commit adds no entry")
    expect(await store.turns("c") == [], "a refused commit ends no turn")
    expect(
        await store.audit(conversation_id="c") == [],
        "a refused commit adds nothing to the audit trail",
    )
    expect(await store.receipt("c", "ann", "m-1") is None, "a refused commit stores no receipt")
    expect(await store.search("lost") == [], "search does not find text of a refused commit")
    await talk.say("and on it goes")


async def numbers_have_no_gap_and_no_repeat(store: Store) -> None:
    talk = await begin(store)
    await talk.say("one", "two")

    def numbered(head: int, *numbers: int) -> Commit:
        writes: list[Write] = [AddEntry(n, a_message("x"), 1, TRACE) for n in numbers]
        return Commit(talk.claim, structs.replace(talk.state, head=head), writes, at(2))

    for wrong, what in [
        (numbered(4, 4), "a gap before the first entry"),
        (numbered(2, 2), "a number that already exists"),
        (numbered(4, 3, 3), "the same number twice"),
        (numbered(5, 3, 5), "a gap between two entries"),
        (numbered(4, 4, 3), "entries in the wrong order"),
        (numbered(4, 3), "a head that is not the number of the last entry"),
        (numbered(3), "a head without its entry"),
        (numbered(1), "a head that goes back"),
    ]:
        await expect_raises(Conflict, store.commit(wrong), what)
    expect(await texts(store, "c") == ["one", "two"], "a refused commit writes nothing")
    await talk.commit(numbered(3, 3))


async def commits_keep_the_order_in_which_they_were_called(store: Store) -> None:
    talk = await begin(store)
    commits = []
    for number in range(100):
        commit = talk.prepare(*talk.entries(str(number)))
        commits.append(asyncio.ensure_future(store.commit(commit)))
        talk.state = commit.state
    await asyncio.gather(*commits)
    expect(
        await texts(store, "c") == [str(n) for n in range(100)],
        "the entries are in the order of the commits",
    )


async def conversations_do_not_disturb_each_other(store: Store) -> None:
    talks = [await begin(store, f"c{number}") for number in range(20)]

    async def speak(talk: Writing) -> None:
        for number in range(20):
            await talk.say(f"{talk.id} {number}")
            if number % 5 == 0:  # an invalid commit among the valid ones
                wrong = structs.replace(
                    talk.prepare(), state=structs.replace(talk.state, head=9999)
                )
                await expect_raises(Conflict, store.commit(wrong), "a wrong head")

    await asyncio.gather(*map(speak, talks))
    for talk in talks:
        said = [f"{talk.id} {number}" for number in range(20)]
        expect(await texts(store, talk.id) == said, f"{talk.id} has exactly its own entries")


async def a_stale_owner_writes_nothing(store: Store) -> None:
    old = await begin(store, owner="one")
    await old.say("by one")
    other = store.claim("c", "two", now=NOW + LEASE - 1, lease=LEASE)
    await expect_raises(Owned, other, "a claim before another owner's lease has expired")
    claim = await store.claim("c", "two", now=NOW + LEASE, lease=LEASE)
    expect(claim.fence > old.claim.fence, "a later claim has a greater fence")
    new = Writing(store, claim, old.state)
    await expect_raises(
        Fenced, store.commit(old.prepare(*old.entries("late"))), "a commit by the old owner"
    )
    await new.say("by two")
    await expect_raises(
        Fenced, store.commit(old.prepare()), "a commit by the old owner that adds no entry"
    )
    expect(
        await texts(store, "c") == ["by one", "by two"], "only the new owner's entries are written"
    )
    expect(await store.owned("one") == {}, "the old owner has lost the conversation")
    expect([*await store.owned("two")] == ["c"], "the new owner has the conversation")
    await store.release(old.claim)
    other = store.claim("c", "one", now=NOW + LEASE, lease=LEASE)
    await expect_raises(Owned, other, "a claim after the old owner released its lost claim")
    await store.release(claim)
    expect(await store.owned("two") == {}, "a released conversation has no owner")
    await store.claim("c", "one", now=NOW + LEASE, lease=LEASE)


async def a_commit_names_its_own_conversations_fence_and_head(store: Store) -> None:
    """Refuses a commit with the fence or head of another conversation, even if it would fit."""
    talk, other = await begin(store), await begin(store, "other")
    again = await store.claim("other", "one", now=NOW, lease=LEASE)
    other = Writing(store, again, other.state)
    await other.say("of the other", "and more")
    await talk.say("of its own")
    for fence, what in [
        (talk.claim.fence - 1, "a fence that is too old"),
        (other.claim.fence, "the fence of another conversation"),
    ]:
        claim = structs.replace(talk.claim, fence=fence)
        wrong = structs.replace(talk.prepare(*talk.entries("x")), claim=claim)
        await expect_raises(Fenced, store.commit(wrong), what)
    behind = Writing(store, talk.claim, structs.replace(talk.state, head=other.state.head))
    late = behind.prepare(*behind.entries("x"))
    await expect_raises(Conflict, store.commit(late), "the head of another conversation")
    stale = structs.replace(late, claim=structs.replace(talk.claim, fence=0))
    await expect_raises(Fenced, store.commit(stale), "an old fence with a wrong head")
    unknown = structs.replace(late, claim=structs.replace(talk.claim, conversation_id="unknown"))
    await expect_raises(Fenced, store.commit(unknown), "a conversation that does not exist")
    expect(await texts(store, "c") == ["of its own"], "a refused commit writes nothing")
    expect(
        await texts(store, "other") == ["of the other", "and more"],
        "a refused commit writes nothing to another conversation",
    )
    rows = [await store.conversation(each.id) for each in (talk, other)]
    states = [row.state for row in rows if row is not None]
    expect(states == [talk.state, other.state], "each conversation keeps its own state")
    await talk.say("and on it goes")


async def only_the_owner_writes_even_under_the_same_fence(store: Store) -> None:
    """Refuses another owner with the same fence.

    A fence may repeat in a log that was restored from a plain copy; an owner does not.
    """
    talk = await begin(store, owner="one")
    await talk.say("by one")
    stranger = structs.replace(talk.claim, owner="two")
    late = structs.replace(talk.prepare(*talk.entries("late")), claim=stranger)
    await expect_raises(Fenced, store.commit(late), "a commit by another owner")
    piece = Partial("m", 0, "text", "late")
    await expect_raises(
        Fenced, store.save_partials(stranger, [piece]), "saving partials by another owner"
    )
    asked = store.reserve(stranger, lambda spent, held: 1.0, now=NOW)
    await expect_raises(Fenced, asked, "a reservation by another owner")
    await store.release(stranger)
    await talk.say("by one, still")
    await store.release(talk.claim)
    late = talk.prepare(*talk.entries("late"))
    await expect_raises(
        Fenced, store.commit(late), "a commit by an owner that has released its claim"
    )
    expect(
        await texts(store, "c") == ["by one", "by one, still"],
        "only the owner's entries are written",
    )


async def an_owner_may_claim_again(store: Store) -> None:
    first = await begin(store, owner="one")
    again = await store.claim("c", "one", now=NOW + 1, lease=LEASE)
    expect(again.fence > first.claim.fence, "the second claim of an owner has a greater fence")
    late = first.prepare(*first.entries("x"))
    await expect_raises(Fenced, store.commit(late), "a commit under the owner's first claim")


async def one_of_many_concurrent_claims_succeeds(store: Store) -> None:
    await store.create(NewConversation("c", "demo", at()))
    claims = [store.claim("c", f"owner {n}", now=NOW, lease=LEASE) for n in range(10)]
    got = await asyncio.gather(*claims, return_exceptions=True)
    expect(
        sum(isinstance(claim, Owned) for claim in got) == 9,
        "one of ten concurrent claims succeeds, nine raise Owned",
    )


async def reads_see_what_was_committed_before(store: Store) -> None:
    talk = await begin(store)
    for number in range(1, 51):
        await talk.say(str(number))
        row, stored = await asyncio.gather(store.conversation("c"), store.entries("c"))
        expect(row is not None and row.head >= number, "a read sees the head of the last commit")
        expect(len(stored) >= number, "a read sees the entry of the last commit")


async def the_log_is_read_from_anywhere(store: Store) -> None:
    talk = await begin(store)
    await talk.say(*(str(number) for number in range(1, 101)))

    async def numbers(**where: int | bool | None) -> list[int]:
        return [e.sequence for e in await store.entries("c", **where)]  # type: ignore[arg-type]

    expect(
        await numbers() == list(range(1, 101)),
        "without arguments all entries are returned in order",
    )
    expect(await numbers(after=97) == [98, 99, 100], "`after` returns only later entries")
    expect(await numbers(after=100) == [], "nothing comes after the head")
    expect(
        await numbers(after=10, limit=3) == [11, 12, 13],
        "`after` with `limit` returns the first entries after the number",
    )
    expect(
        await numbers(limit=3, newest=True) == [98, 99, 100],
        "`newest` returns the last entries, in ascending order",
    )
    expect(
        await numbers(before=51, limit=2, newest=True) == [49, 50],
        "`before` with `newest` returns the last entries before the number",
    )
    expect(
        await numbers(after=10, before=13) == [11, 12],
        "`after` with `before` returns the entries between both numbers",
    )
    expect(await numbers(after=10, limit=0) == [], "limit 0 returns no entry")
    expect(
        await numbers(after=10, size=1) == [11],
        "at least one entry is returned for any positive size",
    )
    expect(len(await numbers(size=2_000)) < 50, "`size` limits the bytes of the returned entries")
    expect(
        await numbers(size=10**9, limit=3) == [1, 2, 3],
        "`limit` applies even if `size` allows more entries",
    )
    expect(await store.entries("other") == [], "an unknown conversation has no entries")


async def strange_text_is_written_and_read(store: Store) -> None:
    talk = await begin(store, title="\ud83d")
    await talk.say("nul \0 in it", "half \ud83d a character", "\U0001f600 会议", "\x02\x03\x1b")
    said = await texts(store, "c")
    expect(said[0] == "nul \0 in it", "a NUL character is kept")
    expect(said[1] == "half � a character", "a lone surrogate becomes U+FFFD")
    expect(said[2:] == ["\U0001f600 会议", "\x02\x03\x1b"], "all other characters are kept")


LOG_CHECKS = [
    a_conversation_begins_empty_and_is_found_again,
    a_commit_is_whole_when_it_returns,
    another_agent_has_its_own_session,
    a_refused_commit_leaves_nothing_behind,
    numbers_have_no_gap_and_no_repeat,
    commits_keep_the_order_in_which_they_were_called,
    conversations_do_not_disturb_each_other,
    a_stale_owner_writes_nothing,
    a_commit_names_its_own_conversations_fence_and_head,
    only_the_owner_writes_even_under_the_same_fence,
    an_owner_may_claim_again,
    one_of_many_concurrent_claims_succeeds,
    reads_see_what_was_committed_before,
    the_log_is_read_from_anywhere,
    strange_text_is_written_and_read,
]
