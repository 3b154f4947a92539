"""What a store promises about everything beside the log: requests, inbox, audit, search, backup."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec import Raw, structs

from turnwire.core.content import Blob, ImageContent, TextContent
from turnwire.core.conversation.effects import (
    AddEntry,
    Audit,
    BeginTurn,
    EndRequest,
    EndTurn,
    OpenRequestRow,
    Spend,
    Write,
)
from turnwire.core.conversation.state import OpenTool, Reply, Turn, Waiting
from turnwire.core.error_codes import Refused
from turnwire.core.message import run_id
from turnwire.core.status import BackgroundTask, QueueItem, TurnEnd
from turnwire.core.usage import Usage
from turnwire.ports import (
    Conflict,
    Connection,
    Fenced,
    NewConversation,
    OverQuota,
    Receipt,
    Store,
    Stored,
)
from turnwire.testing.expect import Broken, expect, expect_raises
from turnwire.testing.store_samples import (
    LEASE,
    NOW,
    TRACE,
    Writing,
    a_large_message,
    a_question,
    a_request,
    at,
    begin,
)

__all__ = ["OTHER_CHECKS", "a_backup_is_a_log_of_its_own"]


async def turns_are_listed_once_they_are_over(store: Store) -> None:
    talk = await begin(store)
    await talk.commit(talk.prepare(BeginTurn(Turn(1, TRACE, "user", "starting"))))
    expect(await store.turns("c") == [], "a turn that runs is not listed")
    first = TurnEnd(False, False, "end_turn", usage=Usage(3, 4), cost_usd=0.5, after_sequence=2)
    await talk.commit(talk.prepare(*talk.entries("a", "b"), EndTurn(1, TRACE, first), seconds=5))
    second = structs.replace(first, after_sequence=3)
    await talk.commit(talk.prepare(*talk.entries("c"), EndTurn(2, TRACE, second), seconds=6))
    turns = await store.turns("c")
    expect([turn.turn_id for turn in turns] == [1, 2], "they are in order")
    expect(turns[0].end == first, "a turn says how it ended")
    expect(turns[0].ended_at == at(5) and turns[0].trace_id == TRACE, "and when, and its trace")
    at_cursor = await store.turns("c", since=2)
    expect(len(at_cursor) == 2, "a turn that ended exactly at the cursor is listed")
    later = await store.turns("c", since=3)
    expect([turn.turn_id for turn in later] == [2], "one that ended before it is not")
    earlier = await store.turns("c", since=2, before=3)
    expect([turn.turn_id for turn in earlier] == [1], "nor one that ended at the end of the range")


async def the_agents_own_message_is_kept_with_its_entry(store: Store) -> None:
    talk = await begin(store)
    first, second = talk.entries("a", "b")
    assert isinstance(first, AddEntry)
    own = structs.replace(first, raw=Raw(b'{"type":"assistant","api_key":"sk-ant-very-secret"}'))
    await talk.commit(talk.prepare(own, second))
    kept = await store.raw_event("c", 1)
    expect(kept is not None and '"assistant"' in kept, "it is found as JSON")
    expect(kept is not None and "very-secret" not in kept, "without its secrets")
    expect(await store.raw_event("c", 2) is None, "an entry without one has none")
    expect(await store.raw_event("c", 9) is None, "nor has an entry that there is not")


async def a_receipt_is_kept_with_what_it_is_for(store: Store) -> None:
    talk = await begin(store)
    receipt = Receipt("ann", "m-1", b"\x00\xff", b'{"type":"user.message.ack"}')
    await talk.commit(talk.prepare(*talk.entries("hello"), receipt=receipt))
    expect(await store.receipt("c", "ann", "m-1") == receipt, "it is found as it was")
    expect(await store.receipt("c", "bob", "m-1") is None, "another user has an id of their own")
    expect(await store.receipt("d", "ann", "m-1") is None, "so has another conversation")
    again = talk.prepare(*talk.entries("hello again"), receipt=receipt)
    await expect_raises(Conflict, store.commit(again), "the same receipt again")
    expect(len(await store.entries("c")) == 1, "and what came with it was not written")


async def a_request_ends_once(store: Store) -> None:
    talk = await begin(store, title="Plans", user="ann")
    asked = a_request()
    await talk.commit(talk.prepare(*talk.entries("?"), OpenRequestRow(asked), seconds=1))
    row = await store.request("c", "toolu_1")
    expect(row is not None and row.request == asked, "it is stored as it was asked")
    expect(row is not None and row.outcome is None and row.opened_at == at(1), "and is open")
    (item,) = await store.inbox()
    expect(item.source_id == "conversation:c:question:toolu_1", "its item names the question")
    expect(item.kind == "await_user_input" and item.inbox_item_id == "inbox-1", "and has its id")
    expect(item.request == asked and item.title == "Plans", "and says what is asked, and where")
    expect(len(await store.inbox(user="ann")) == 1, "it is in its owner's inbox")
    expect(await store.inbox(user="bob") == [], "and in nobody else's")
    await talk.commit(talk.prepare(EndRequest("toolu_1", "answered", "ann"), seconds=2))
    row = await store.request("c", "toolu_1")
    expect(row is not None and row.outcome == "answered", "it says how it ended")
    expect(row is not None and (row.ended_at, row.by) == (at(2), "ann"), "and when, and by whom")
    expect(await store.inbox() == [], "its item is closed with it")
    (item,) = await store.inbox(open_only=False)
    expect(item.closed_at == at(2), "a closed item is still known")
    expect(await store.inbox_item("inbox-1") == item, "and found by its id")
    expect(await store.inbox_item("inbox-1", user="ann") == item, "by its owner")
    expect(await store.inbox_item("inbox-1", user="bob") is None, "and by nobody else")
    expect(await store.inbox_item("inbox-2") is None, "an unknown one is none")
    late = talk.prepare(EndRequest("toolu_1", "expired", None))
    await expect_raises(Conflict, store.commit(late), "ending it a second time")
    row = await store.request("c", "toolu_1")
    expect(row is not None and row.outcome == "answered", "the first outcome stays")
    expect(await store.request("c", "other") is None, "an unknown one is none")


async def a_request_ends_alone(store: Store) -> None:
    """Ids are the agent's own: two conversations may have the same ones."""
    talk, other = await begin(store), await begin(store, "other")
    for each in (talk, other):
        for name in ("toolu_1", "toolu_2"):
            asked = structs.replace(a_request(name), inbox_item_id=f"{each.id}-{name}")
            await each.commit(each.prepare(OpenRequestRow(asked)))
    await talk.commit(talk.prepare(EndRequest("toolu_1", "answered", "ann"), seconds=2))
    await talk.commit(talk.prepare(EndRequest("toolu_2", "cancelled", "bob"), seconds=3))
    first, second = await store.request("c", "toolu_1"), await store.request("c", "toolu_2")
    expect(first is not None and first.outcome == "answered", "each has its own outcome")
    expect(second is not None and second.outcome == "cancelled", "also the one that ends later")
    for name in ("toolu_1", "toolu_2"):
        row = await store.request("other", name)
        expect(row is not None and row.outcome is None, "another conversation's stays open")
    waiting = {item.inbox_item_id for item in await store.inbox()}
    expect(waiting == {"other-toolu_1", "other-toolu_2"}, "and so do its items")
    items = {item.inbox_item_id: item.closed_at for item in await store.inbox(open_only=False)}
    expect(items["c-toolu_1"] == at(2), "an item that was closed keeps its time")
    expect(items["c-toolu_2"] == at(3), "and the next has its own")


async def a_question_that_is_asked_again_reuses_its_item(store: Store) -> None:
    talk = await begin(store)
    await talk.commit(talk.prepare(OpenRequestRow(a_request())))
    await talk.commit(talk.prepare(EndRequest("toolu_1", "cancelled", "agent_lost")))
    await talk.commit(talk.prepare(OpenRequestRow(a_request())))
    row = await store.request("c", "toolu_1")
    expect(row is not None and row.outcome is None and row.by is None, "it is open again")
    expect(len(await store.inbox(open_only=False)) == 1, "there is one item, not two")
    await talk.commit(talk.prepare(OpenRequestRow(a_request("p-1", "permission"))))
    sources = {item.source_id for item in await store.inbox()}
    expect("conversation:c:permission:p-1" in sources, "a permission has an item of its own")
    await talk.commit(talk.prepare(EndRequest("p-1", "answered", "ann"), seconds=2))
    asked = structs.replace(a_request("p-1"), inbox_item_id="inbox-2")
    await talk.commit(talk.prepare(OpenRequestRow(asked)))
    await talk.commit(talk.prepare(EndRequest("p-1", "answered", "ann"), seconds=3))
    closed = {item.source_id: item.closed_at for item in await store.inbox(open_only=False)}
    expect(closed["conversation:c:permission:p-1"] == at(2), "and keeps the time of its own end")
    expect(closed["conversation:c:question:p-1"] == at(3), "also if its id is used for a question")


async def a_commit_may_repeat_what_is_so_already(store: Store) -> None:
    """A turn that goes on begins again, a blob is used twice, and nothing may be reserved."""
    talk = await begin(store)
    turn = BeginTurn(Turn(1, TRACE, "user", "starting"))
    for number in (1, 2):
        named = AddEntry(number, a_large_message("b-1"), 1, TRACE)
        await talk.commit(structs.replace(talk.prepare(turn, named), settles=True))
    expect(len(await store.entries("c")) == 2, "both were written")


async def what_is_asked_in_an_archived_conversation_waits_for_nobody(store: Store) -> None:
    talk = await begin(store, user="ann")
    await begin(store, "other", user="ann")
    await talk.commit(talk.prepare(OpenRequestRow(a_request())))
    await store.change("other", archived=True)
    (item,) = await store.inbox()
    expect(item.conversation_id == "c", "another that is archived changes nothing")
    await store.change("c", archived=True)
    expect(await store.inbox() == [], "of an archived one nothing is in the inbox")
    expect(await store.inbox(user="ann") == [], "nor in its owner's")
    expect(await store.inbox(open_only=False) == [item], "its item is still known")
    expect(await store.inbox_item("inbox-1") == item, "and found by its id")
    await store.change("c", archived=False)
    expect(await store.inbox() == [item], "it waits again when it is taken back")


async def what_is_left_open_is_found_after_a_crash(store: Store) -> None:
    talk = await begin(store)
    await store.release((await begin(store, "idle")).claim)
    expect(await store.unsettled() == [], "an idle conversation is settled")
    running = structs.replace(talk.state, turn=Turn(1, TRACE, "user", "running"))
    queued = structs.replace(talk.state, queue=[Waiting(QueueItem("q", []), TRACE)])
    asked = structs.replace(talk.state, requests=[a_request()])
    beside = structs.replace(talk.state, background=[BackgroundTask("task-1", 1)])
    called = structs.replace(talk.state, tools={"toolu_1": OpenTool("toolu_1")})
    replied = structs.replace(talk.state, replies=[Reply("toolu_1", "question", "blue")])
    for state, what in [
        (running, "a turn"),
        (queued, "a queue"),
        (asked, "a request"),
        (beside, "work in the background"),
        (called, "a tool call without a result"),
        (replied, "an answer that the agent has not got"),
    ]:
        idle = talk.state
        await store.commit(talk.prepare(state=state))
        expect(await store.unsettled() == ["c"], f"{what} makes it unsettled")
        expect(await store.abandoned(now=NOW) == [], f"{what} of a live owner is not abandoned")
        expect(await store.abandoned(now=10**15) == ["c"], f"without its owner {what} is")
        await store.commit(talk.prepare(state=idle))
        expect(await store.unsettled() == [], f"without {what} it is settled")


async def what_an_owner_has_left_is_found_when_its_lease_is_over(store: Store) -> None:
    talk = await begin(store)
    await store.release((await begin(store, "idle")).claim)
    running = structs.replace(talk.state, turn=Turn(1, TRACE, "user", "running"))
    await talk.commit(talk.prepare(state=running))
    expect(await store.abandoned(now=NOW + LEASE - 1) == [], "while the lease runs it is theirs")
    expect(await store.abandoned(now=NOW + LEASE) == ["c"], "then it is nobody's")
    await talk.commit(talk.prepare(state=structs.replace(running, turn=None)))
    expect(await store.abandoned(now=NOW + LEASE) == ["c"], "also if there is nothing to do")
    await store.renew([talk.claim], now=NOW + LEASE, lease=LEASE)
    expect(await store.abandoned(now=NOW + LEASE) == [], "unless they hold on to it")
    await store.release(talk.claim)
    expect(await store.abandoned(now=NOW + 9 * LEASE) == [], "what was let go is not abandoned")


async def the_audit_trail_only_grows(store: Store) -> None:
    talk = await begin(store)
    running = structs.replace(talk.state, turn=Turn(1, TRACE, "user", "running"))
    await talk.commit(talk.prepare(Audit("asked", "ann", {"a": 1}), state=running, seconds=1))
    await store.note("connected", at=at(2), by="bob", conversation_id="d", data={"b": 2})
    trail = await store.audit()
    expect([row.action for row in trail] == ["asked", "connected"], "all is there, in order")
    asked, connected = trail
    expect((asked.by, asked.data, asked.at) == ("ann", {"a": 1}, at(1)), "who did what, and when")
    expect(asked.conversation_id == "c" and asked.trace_id == TRACE, "and in which turn")
    expect(connected.conversation_id == "d", "a note may be about any conversation")
    expect(await store.audit(conversation_id="c") == [asked], "one conversation's trail")
    expect(await store.audit(after=asked.number) == [connected], "what came after a number")
    expect(await store.audit(limit=1) == [asked], "the first ones")
    over = EndTurn(1, TRACE, TurnEnd(False, True))
    idle = structs.replace(running, turn=None)
    await talk.commit(talk.prepare(Audit("interrupted", "ann", {}), over, state=idle))
    await talk.commit(talk.prepare(Audit("renamed", None, {})))
    traces = [row.trace_id for row in (await store.audit())[2:]]
    expect(traces == [TRACE, None], "what ends a turn belongs to it, and what comes then does not")
    await store.delete("c", at=at(3), by="ann")
    trail = await store.audit()
    expect(trail[:2] == [asked, connected], "what was written stays, even of what was deleted")
    last = trail[-1]
    expect((last.action, last.by) == ("deleted", "ann"), "and the deletion is written down")
    expect(last.number > connected.number, "numbers only grow")


async def conversations_are_listed_and_changed(store: Store) -> None:
    for number, user in enumerate(["ann", "bob", "ann"]):
        talk = await begin(store, f"c{number}", user=user)
        await talk.commit(talk.prepare(*talk.entries("x"), seconds=10 + number))

    async def listed(user: str | None = None, archived: bool = False) -> list[str]:
        rows = await store.conversations(user=user, archived=archived)
        return [row.conversation_id for row in rows]

    expect(await listed() == ["c2", "c1", "c0"], "the newest is first")
    expect(await listed("ann") == ["c2", "c0"], "or only one user's")
    page = await store.conversations(limit=1, offset=1)
    expect([row.conversation_id for row in page] == ["c1"], "a page of them")
    await store.change("c1", archived=True)
    expect(await listed() == ["c2", "c0"], "an archived one is not listed")
    expect(await listed(archived=True) == ["c1"], "but among the archived ones")
    await store.change("c1", archived=False)
    expect(await listed() == ["c2", "c1", "c0"], "until it is taken back")
    await expect_raises(Refused, store.change("other", archived=True), "changing an unknown one")


async def what_is_no_news_leaves_a_conversation_in_its_place(store: Store) -> None:
    first, second = await begin(store, "c0"), await begin(store, "c1")
    await first.commit(first.prepare(*first.entries("x"), seconds=10))
    await second.commit(second.prepare(*second.entries("x"), seconds=11))

    async def listed() -> list[tuple[str, str]]:
        return [(row.conversation_id, row.updated_at) for row in await store.conversations()]

    before = [("c1", at(11)), ("c0", at(10))]
    expect(await listed() == before, "each has the time of its newest commit")
    quiet = first.prepare(*first.entries("bookkeeping"), native_session_id="s-1", seconds=20)
    await first.commit(structs.replace(quiet, is_news=False))
    expect(await listed() == before, "a commit that is no news moves none of them")
    row = await store.conversation("c0")
    expect(row is not None and row.head == 2, "all the rest of it is written")
    await first.commit(first.prepare(*first.entries("news"), seconds=30))
    expect(await listed() == [("c0", at(30)), ("c1", at(11))], "and the next news does")


async def a_title_is_that_of_the_state(store: Store) -> None:
    talk = await begin(store, title="first")

    async def title() -> str | None:
        row = await store.conversation("c")
        return row.title if row is not None else None

    expect(await title() == "first", "it begins with one")
    await talk.commit(talk.prepare(state=structs.replace(talk.state, title="second")))
    expect(await title() == "second", "a commit gives another one")
    await talk.say("x")
    expect(await title() == "second", "or leaves it")
    await talk.commit(talk.prepare(state=structs.replace(talk.state, title=None)))
    expect(await title() is None, "or takes it away")


async def who_follows_is_known_until_they_leave(store: Store) -> None:
    await begin(store)
    await begin(store, "d")
    ann = Connection("k1", "c", "one", "page", at(1), at(1), "ann")
    bob = Connection("k2", "d", "one", "terminal", at(2), at(2), None, "rpc", 7)
    nowhere = Connection("k3", "other", "one", "page", at(3), at(3))
    await store.connected([bob, ann, nowhere])
    expect(await store.connections() == [ann, bob], "all who follow, the oldest first")
    expect(await store.connections("d") == [bob], "or those of one conversation")
    later = structs.replace(ann, seen_at=at(9), last_sequence=3)
    await store.connected([later])
    expect(
        await store.connections("c") == [later], "when they were seen last, and how far they are"
    )
    await store.disconnected(["k2", "k3", "k9"])
    expect(await store.connections() == [later], "who has left is gone")
    await store.delete("c")
    expect(await store.connections() == [], "and so are those of what was deleted")


async def a_deleted_conversation_is_gone(store: Store) -> None:
    talk = await begin(store)
    receipt = Receipt("ann", "m-1", b"", b"{}")
    opened = OpenRequestRow(a_request())
    await talk.commit(talk.prepare(*talk.entries("words"), opened, receipt=receipt))
    await store.delete("c", at=at(1))
    expect(await store.conversation("c") is None, "it is not found")
    expect(await store.entries("c") == [], "nor its log")
    expect(await store.search("words") == [], "nor its words")
    expect(await store.inbox(open_only=False) == [], "nor its requests")
    expect(await store.receipt("c", "ann", "m-1") is None, "nor its receipts")
    late = talk.prepare(*talk.entries("late"))
    await expect_raises(Fenced, store.commit(late), "a commit to what was deleted")
    await expect_raises(Refused, store.delete("other"), "deleting an unknown one")
    await begin(store)


async def words_are_found(store: Store) -> None:
    talk = await begin(store, title="Plans", user="ann")
    await talk.say(
        "明天下午三点开会议，请准时参加。", "你好世界", "The deployment failed: foo_bar.py"
    )

    async def found(words: str, user: str | None = None) -> list[int]:
        return sorted(hit.sequence for hit in await store.search(words, user=user))

    expect(await found("会议") == [1], "a Chinese word of two characters, inside a sentence")
    expect(await found("你好") == [2], "and at the beginning of one")
    expect(await found("开会议") == [1], "a longer one")
    expect(await found("deploy") == [3], "a word by its beginning, in any case")
    expect(await found("FAILED deployment") == [3], "all words, in any order")
    expect(await found("failed 会议") == [], "but all of them")
    expect(await found("foo_bar.py") == [3], "a word with punctuation in it")
    expect(await found("会议", "ann") == [1] and await found("会议", "bob") == [], "by user")
    for odd in ['"', "'", "(", "*", "a AND", "NEAR(a b)", "x:y", "-", "^a", "\0", "", "  ", "{}"]:
        await store.search(odd)  # whatever a person types: never an error
    asked = AddEntry(4, a_question("Which colour?", ["blue", "red"]), 1, TRACE)
    await talk.commit(talk.prepare(asked))
    expect(await found("colour") == [4], "what an agent asked")
    expect(await found("red") == [4], "and what there was to choose from")
    (hit,) = await store.search("会议")
    expect((hit.conversation_id, hit.title) == ("c", "Plans"), "a hit says where it is")
    expect("\x02会议\x03" in hit.snippet, "and shows the words, marked")
    for long in ["x" * 16_000, "会" * 16_000]:
        await expect_raises(Refused, store.search(long), "a search for more than one may ask for")


async def blobs_are_kept(store: Store) -> None:
    data = bytes(range(256)) * 1000
    await store.put_blob("b-1", data, "image/png", at=at())
    expect(await store.get_blob("b-1") == (data, "image/png"), "a blob is as it was")
    expect(await store.get_blob("b-2") is None, "an unknown one is none")
    await store.put_blob("b-1", data, "image/png", at=at(1))
    other = store.put_blob("b-1", b"other", "image/png", at=at())
    await expect_raises(Conflict, other, "other bytes under the same name")


async def a_blob_goes_with_the_last_conversation_that_needs_it(store: Store) -> None:
    talks = [await begin(store, name) for name in ("c", "d", "e")]
    for blob_id in ("shared", "own", "waiting", "of-nobody"):
        await store.put_blob(blob_id, blob_id.encode(), "text/plain", at=at())

    def needs(talk: Writing, *blob_ids: str) -> list[Write]:
        run = run_id(talk.id, 1)
        return [
            AddEntry(number, a_large_message(blob_id, run=run), 1, TRACE)
            for number, blob_id in enumerate(blob_ids, talk.state.head + 1)
        ]

    first, second, third = talks
    await first.commit(first.prepare(*needs(first, "shared", "own", "waiting")))
    await second.commit(second.prepare(*needs(second, "shared")))
    item = QueueItem("q", [ImageContent(blob=Blob("waiting"))])
    queued = structs.replace(third.state, queue=[Waiting(item, TRACE)])
    await third.commit(third.prepare(state=queued))

    async def left() -> list[str]:
        names = ("shared", "own", "waiting", "of-nobody")
        return [name for name in names if await store.get_blob(name) is not None]

    await store.delete("c")
    expect(await left() == ["shared", "waiting", "of-nobody"], "only what nobody else needs goes")
    await store.delete("d")
    expect(await left() == ["waiting", "of-nobody"], "the last one takes it along")
    await store.delete("e")
    expect(await left() == ["of-nobody"], "also what was only about to be said")


async def a_backup_is_a_log_of_its_own(
    store: Store, open_copy: Callable[[str], Awaitable[Store]]
) -> None:
    """Beside the other checks, because it opens the copy."""
    talk = await begin(store)
    await talk.say("before")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "copy")

        async def speak() -> None:
            for number in range(20):
                await talk.say(f"meanwhile {number}")

        epoch, _ = await asyncio.gather(store.backup(path), speak())
        expect(epoch != store.epoch, "the copy has an epoch of its own")
        copy = await open_copy(path)
        try:
            expect(copy.epoch == epoch, "which it knows")
            row = await copy.conversation("c")
            stored = await copy.entries("c")
            if row is None:
                raise Broken("the copy does not have what was committed")
            expect(row.head == len(stored) >= 1, "it has whole commits")
            expect(stored == (await store.entries("c"))[: len(stored)], "the same ones")
            claim = await copy.claim("c", "two", now=NOW, lease=LEASE)  # nobody owns a copy
            await Writing(copy, claim, row.state).say("in the copy")
            expect(len(await store.entries("c")) == 21, "writing to it changes only the copy")
        finally:
            await copy.close()


async def what_is_spent_stays_spent(store: Store) -> None:
    expect(await store.spent(None) == 0, "at first nothing is spent")
    talk, other = await begin(store, user="ann"), await begin(store, "d", user="ben")
    await talk.commit(talk.prepare(Spend(1, 0.25), seconds=1))
    await talk.commit(talk.prepare(Spend(None, 0.5), seconds=100))
    await other.commit(other.prepare(Spend(1, 4.0)))
    spent = [await store.spent(user) for user in ("ann", "ben", None)]
    expect(spent == [0.75, 4.0, 0], "each user has spent what their conversations have cost")
    expect(await store.spent("ann", since=at(100)) == 0.5, "or what they have since a time")
    late = structs.replace(talk.prepare(Spend(2, 9.0)), claim=structs.replace(talk.claim, fence=0))
    await expect_raises(Fenced, store.commit(late), "a commit of an owner who is none any more")
    await store.delete("c")
    expect(await store.spent("ann") == 0.75, "deleting a conversation gives nothing back")


async def what_is_reserved_counts_until_it_is_settled(store: Store) -> None:
    one, two = await begin(store, user="ann"), await begin(store, "d", user="ann")
    ben = await begin(store, "e", user="ben")

    def half(spent: float, held: float) -> float:
        return (1.0 - spent - held) / 2

    many = [store.reserve(each.claim, half, now=NOW) for each in (one, two, ben)]
    first, second, other = await asyncio.gather(*many)
    expect((first.amount, first.spent, first.held) == (0.5, 0, 0), "what is chosen is reserved")
    expect(
        (second.amount, second.held) == (0.25, 0.5), "others know of it, however close they come"
    )
    expect((other.amount, other.held) == (0.5, 0), "one user's does not count for another")
    again = await store.reserve(one.claim, half, now=NOW)
    expect((again.amount, again.held) == (0.375, 0.25), "one's own is replaced, and not counted")
    await one.commit(structs.replace(one.prepare(Spend(1, 0.125)), settles=True))
    after = await store.reserve(two.claim, half, now=NOW)
    expect((after.spent, after.held) == (0.125, 0), "what is settled counts as what it has cost")
    late = await store.reserve(one.claim, half, now=NOW + LEASE)
    expect(late.held == 0, "what an owner has reserved whose lease is over does not count")
    nothing = await store.reserve(two.claim, lambda spent, held: 0.0, now=NOW)
    expect(nothing.amount == 0, "it may be nothing")
    claim = await store.claim("d", "another", now=NOW + LEASE, lease=LEASE)
    taken = await store.reserve(one.claim, half, now=NOW)
    expect(taken.held == 0, "nor does what an owner has reserved that was taken over from")
    await expect_raises(Fenced, store.reserve(two.claim, half, now=NOW), "it reserves no more")
    await store.release(claim)
    await store.delete("d")
    expect((await store.reserve(one.claim, half, now=NOW)).held == 0, "nor one that was deleted")


async def what_a_user_has_stored_is_counted(store: Store) -> None:
    expect(await store.stored("ann") == Stored(), "at first nothing is stored")
    talk, other = await begin(store, user="ann"), await begin(store, "d", user="ann")
    empty = await store.stored("ann")
    expect(empty.conversations == 2, "each conversation counts")
    await talk.say("x" * 10_000)
    said = await store.stored("ann")
    expect(10_000 < said.bytes - empty.bytes < 20_000, "what is said counts")
    item = QueueItem("q-1", [TextContent("y" * 10_000)], at())
    queued = structs.replace(talk.state, queue=[Waiting(item, TRACE)])
    await talk.commit(talk.prepare(state=queued))
    waiting = await store.stored("ann")
    expect(10_000 < waiting.bytes - said.bytes < 20_000, "what waits counts")
    await store.put_blob("b-1", b"12345", "text/plain", at=at(), user="ann")
    await store.put_blob("b-2", b"12345", "text/plain", at=at())
    expect((await store.stored("ann")).bytes == waiting.bytes + 5, "a blob counts for who sent it")
    over = store.put_blob("b-3", b"1", "text/plain", at=at(), user="ann", quota=waiting.bytes + 5)
    await expect_raises(OverQuota, over, "a quota is one of all that is stored")
    await store.delete("c")
    rest = await store.stored("ann")
    expect(rest.conversations == 1, "one that is deleted counts no more")
    expect(rest.bytes - 5 <= empty.bytes / 2 + 100, "nor does what was said in it")
    await other.say("z" * 10_000)
    place = await store.fork_place("d")
    state = structs.replace(other.state, conversation_id="f")
    await store.fork(
        NewConversation(
            "f", "demo", at(), "ann", state=state, parent_id="d", forked_at=place.sequence
        )
    )
    forked = await store.stored("ann")
    expect(forked.bytes - rest.bytes > 20_000, "what is copied into a fork counts again")
    for name in ("d", "f"):
        await store.delete(name)
    expect(await store.stored("ann") == Stored(5, 0), "what is left is the blob")
    expect(await store.stored("ben") == Stored(), "others have nothing of it")


OTHER_CHECKS = [
    what_is_reserved_counts_until_it_is_settled,
    what_a_user_has_stored_is_counted,
    what_is_spent_stays_spent,
    turns_are_listed_once_they_are_over,
    the_agents_own_message_is_kept_with_its_entry,
    a_receipt_is_kept_with_what_it_is_for,
    a_request_ends_once,
    a_request_ends_alone,
    what_is_asked_in_an_archived_conversation_waits_for_nobody,
    a_question_that_is_asked_again_reuses_its_item,
    a_commit_may_repeat_what_is_so_already,
    what_is_left_open_is_found_after_a_crash,
    what_an_owner_has_left_is_found_when_its_lease_is_over,
    the_audit_trail_only_grows,
    conversations_are_listed_and_changed,
    what_is_no_news_leaves_a_conversation_in_its_place,
    a_title_is_that_of_the_state,
    who_follows_is_known_until_they_leave,
    a_deleted_conversation_is_gone,
    words_are_found,
    blobs_are_kept,
    a_blob_goes_with_the_last_conversation_that_needs_it,
]
