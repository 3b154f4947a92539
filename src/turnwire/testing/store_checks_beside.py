"""Checks of a store for all data outside the log: requests, inbox, audit trail, search, blobs."""

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
    expect(await store.turns("c") == [], "a running turn is not listed")
    first = TurnEnd(False, False, "end_turn", usage=Usage(3, 4), cost_usd=0.5, after_sequence=2)
    await talk.commit(talk.prepare(*talk.entries("a", "b"), EndTurn(1, TRACE, first), seconds=5))
    second = structs.replace(first, after_sequence=3)
    await talk.commit(talk.prepare(*talk.entries("c"), EndTurn(2, TRACE, second), seconds=6))
    turns = await store.turns("c")
    expect([turn.turn_id for turn in turns] == [1, 2], "turns are listed in order")
    expect(turns[0].end == first, "a turn has its outcome")
    expect(
        turns[0].ended_at == at(5) and turns[0].trace_id == TRACE,
        "a turn has its end time and its trace id",
    )
    at_cursor = await store.turns("c", since=2)
    expect(len(at_cursor) == 2, "a turn that ended exactly at the cursor is listed")
    later = await store.turns("c", since=3)
    expect(
        [turn.turn_id for turn in later] == [2], "a turn that ended before the cursor is not listed"
    )
    earlier = await store.turns("c", since=2, before=3)
    expect([turn.turn_id for turn in earlier] == [1], "a turn that ended at `before` is not listed")


async def the_agents_own_message_is_kept_with_its_entry(store: Store) -> None:
    talk = await begin(store)
    first, second = talk.entries("a", "b")
    assert isinstance(first, AddEntry)
    own = structs.replace(first, raw=Raw(b'{"type":"assistant","api_key":"sk-ant-very-secret"}'))
    await talk.commit(talk.prepare(own, second))
    kept = await store.raw_event("c", 1)
    expect(kept is not None and '"assistant"' in kept, "the agent's raw message is found as JSON")
    expect(
        kept is not None and "very-secret" not in kept,
        "the raw message is stored without its secrets",
    )
    expect(await store.raw_event("c", 2) is None, "an entry without a raw message returns None")
    expect(await store.raw_event("c", 9) is None, "an entry that does not exist has no raw message")


async def a_receipt_is_kept_with_what_it_is_for(store: Store) -> None:
    talk = await begin(store)
    receipt = Receipt("ann", "m-1", b"\x00\xff", b'{"type":"user.message.ack"}')
    await talk.commit(talk.prepare(*talk.entries("hello"), receipt=receipt))
    expect(await store.receipt("c", "ann", "m-1") == receipt, "a receipt is found as it was stored")
    expect(await store.receipt("c", "bob", "m-1") is None, "a receipt belongs to one user")
    expect(await store.receipt("d", "ann", "m-1") is None, "a receipt belongs to one conversation")
    again = talk.prepare(*talk.entries("hello again"), receipt=receipt)
    await expect_raises(Conflict, store.commit(again), "a commit with the same receipt again")
    expect(len(await store.entries("c")) == 1, "the entries of the refused commit are not written")


async def a_request_ends_once(store: Store) -> None:
    talk = await begin(store, title="Plans", user="ann")
    asked = a_request()
    await talk.commit(talk.prepare(*talk.entries("?"), OpenRequestRow(asked), seconds=1))
    row = await store.request("c", "toolu_1")
    expect(row is not None and row.request == asked, "a request is stored as it was asked")
    expect(
        row is not None and row.outcome is None and row.opened_at == at(1),
        "a new request is open and has its opening time",
    )
    (item,) = await store.inbox()
    expect(
        item.source_id == "conversation:c:question:toolu_1",
        "the inbox item of a question names the question",
    )
    expect(
        item.kind == "await_user_input" and item.inbox_item_id == "inbox-1",
        "the inbox item has its kind and id",
    )
    expect(
        item.request == asked and item.title == "Plans",
        "the inbox item has the request and the conversation's title",
    )
    expect(
        len(await store.inbox(user="ann")) == 1,
        "the item is in the inbox of the conversation's user",
    )
    expect(await store.inbox(user="bob") == [], "the item is not in the inbox of another user")
    await talk.commit(talk.prepare(EndRequest("toolu_1", "answered", "ann"), seconds=2))
    row = await store.request("c", "toolu_1")
    expect(row is not None and row.outcome == "answered", "an ended request has its outcome")
    expect(
        row is not None and (row.ended_at, row.by) == (at(2), "ann"),
        "an ended request has its end time and the person",
    )
    expect(await store.inbox() == [], "the end of a request closes its inbox item")
    (item,) = await store.inbox(open_only=False)
    expect(item.closed_at == at(2), "a closed item is kept with its closing time")
    expect(await store.inbox_item("inbox-1") == item, "a closed item is found by its id")
    expect(
        await store.inbox_item("inbox-1", user="ann") == item,
        "the user of the conversation finds the item by its id",
    )
    expect(
        await store.inbox_item("inbox-1", user="bob") is None,
        "another user does not find the item by its id",
    )
    expect(await store.inbox_item("inbox-2") is None, "`inbox_item` returns None for an unknown id")
    late = talk.prepare(EndRequest("toolu_1", "expired", None))
    await expect_raises(Conflict, store.commit(late), "ending a request a second time")
    row = await store.request("c", "toolu_1")
    expect(
        row is not None and row.outcome == "answered",
        "a refused second end keeps the first outcome",
    )
    expect(await store.request("c", "other") is None, "`request` returns None for an unknown id")


async def a_request_ends_alone(store: Store) -> None:
    """Ends a request of one conversation only: agents may use the same ids in two conversations."""
    talk, other = await begin(store), await begin(store, "other")
    for each in (talk, other):
        for name in ("toolu_1", "toolu_2"):
            asked = structs.replace(a_request(name), inbox_item_id=f"{each.id}-{name}")
            await each.commit(each.prepare(OpenRequestRow(asked)))
    await talk.commit(talk.prepare(EndRequest("toolu_1", "answered", "ann"), seconds=2))
    await talk.commit(talk.prepare(EndRequest("toolu_2", "cancelled", "bob"), seconds=3))
    first, second = await store.request("c", "toolu_1"), await store.request("c", "toolu_2")
    expect(first is not None and first.outcome == "answered", "each request has its own outcome")
    expect(
        second is not None and second.outcome == "cancelled",
        "a request that ends later has its own outcome",
    )
    for name in ("toolu_1", "toolu_2"):
        row = await store.request("other", name)
        expect(
            row is not None and row.outcome is None,
            "a request of another conversation with the same id stays open",
        )
    waiting = {item.inbox_item_id for item in await store.inbox()}
    expect(
        waiting == {"other-toolu_1", "other-toolu_2"},
        "inbox items of another conversation stay open",
    )
    items = {item.inbox_item_id: item.closed_at for item in await store.inbox(open_only=False)}
    expect(items["c-toolu_1"] == at(2), "a closed item keeps its closing time")
    expect(items["c-toolu_2"] == at(3), "an item closed later has its own closing time")


async def a_question_that_is_asked_again_reuses_its_item(store: Store) -> None:
    talk = await begin(store)
    await talk.commit(talk.prepare(OpenRequestRow(a_request())))
    await talk.commit(talk.prepare(EndRequest("toolu_1", "cancelled", "agent_lost")))
    await talk.commit(talk.prepare(OpenRequestRow(a_request())))
    row = await store.request("c", "toolu_1")
    expect(
        row is not None and row.outcome is None and row.by is None,
        "a request that is asked again is open",
    )
    expect(
        len(await store.inbox(open_only=False)) == 1,
        "a request that is asked again reuses its inbox item",
    )
    await talk.commit(talk.prepare(OpenRequestRow(a_request("p-1", "permission"))))
    sources = {item.source_id for item in await store.inbox()}
    expect("conversation:c:permission:p-1" in sources, "a permission has its own inbox item")
    await talk.commit(talk.prepare(EndRequest("p-1", "answered", "ann"), seconds=2))
    asked = structs.replace(a_request("p-1"), inbox_item_id="inbox-2")
    await talk.commit(talk.prepare(OpenRequestRow(asked)))
    await talk.commit(talk.prepare(EndRequest("p-1", "answered", "ann"), seconds=3))
    closed = {item.source_id: item.closed_at for item in await store.inbox(open_only=False)}
    expect(
        closed["conversation:c:permission:p-1"] == at(2),
        "a permission's item keeps its closing time",
    )
    expect(
        closed["conversation:c:question:p-1"] == at(3),
        "a question with the same id has its own closing time",
    )


async def a_commit_may_repeat_what_is_so_already(store: Store) -> None:
    """Accepts a turn that begins again, a blob used twice and settling without a reservation."""
    talk = await begin(store)
    turn = BeginTurn(Turn(1, TRACE, "user", "starting"))
    for number in (1, 2):
        named = AddEntry(number, a_large_message("b-1"), 1, TRACE)
        await talk.commit(structs.replace(talk.prepare(turn, named), settles=True))
    expect(len(await store.entries("c")) == 2, "both commits are written")


async def what_is_asked_in_an_archived_conversation_waits_for_nobody(store: Store) -> None:
    talk = await begin(store, user="ann")
    await begin(store, "other", user="ann")
    await talk.commit(talk.prepare(OpenRequestRow(a_request())))
    await store.change("other", archived=True)
    (item,) = await store.inbox()
    expect(item.conversation_id == "c", "archiving another conversation does not change the inbox")
    await store.change("c", archived=True)
    expect(await store.inbox() == [], "items of an archived conversation are not in the inbox")
    expect(
        await store.inbox(user="ann") == [],
        "items of an archived conversation are not in the user's inbox",
    )
    expect(
        await store.inbox(open_only=False) == [item], "items of an archived conversation are kept"
    )
    expect(
        await store.inbox_item("inbox-1") == item,
        "an item of an archived conversation is found by its id",
    )
    await store.change("c", archived=False)
    expect(
        await store.inbox() == [item],
        "the item is in the inbox again after the conversation is restored",
    )


async def what_is_left_open_is_found_after_a_crash(store: Store) -> None:
    talk = await begin(store)
    await store.release((await begin(store, "idle")).claim)
    expect(await store.unsettled() == [], "an idle conversation is not in `unsettled`")
    running = structs.replace(talk.state, turn=Turn(1, TRACE, "user", "running"))
    queued = structs.replace(talk.state, queue=[Waiting(QueueItem("q", []), TRACE)])
    asked = structs.replace(talk.state, requests=[a_request()])
    working = structs.replace(talk.state, background=[BackgroundTask("task-1", 1)])
    called = structs.replace(talk.state, tools={"toolu_1": OpenTool("toolu_1")})
    replied = structs.replace(talk.state, replies=[Reply("toolu_1", "question", "blue")])
    for state, what in [
        (running, "a turn"),
        (queued, "a queue"),
        (asked, "a request"),
        (working, "a background task"),
        (called, "a tool call without a result"),
        (replied, "an answer that was not delivered to the agent"),
    ]:
        idle = talk.state
        await store.commit(talk.prepare(state=state))
        expect(await store.unsettled() == ["c"], f"a conversation with {what} is unsettled")
        expect(await store.abandoned(now=NOW) == [], f"{what} with a valid lease is not abandoned")
        expect(await store.abandoned(now=10**15) == ["c"], f"{what} is abandoned after the lease")
        await store.commit(talk.prepare(state=idle))
        expect(await store.unsettled() == [], f"a conversation without {what} is settled")


async def what_an_owner_has_left_is_found_when_its_lease_is_over(store: Store) -> None:
    talk = await begin(store)
    await store.release((await begin(store, "idle")).claim)
    running = structs.replace(talk.state, turn=Turn(1, TRACE, "user", "running"))
    await talk.commit(talk.prepare(state=running))
    expect(
        await store.abandoned(now=NOW + LEASE - 1) == [],
        "a conversation with a valid lease is not abandoned",
    )
    expect(
        await store.abandoned(now=NOW + LEASE) == ["c"],
        "a conversation with an expired lease is abandoned",
    )
    await talk.commit(talk.prepare(state=structs.replace(running, turn=None)))
    expect(
        await store.abandoned(now=NOW + LEASE) == ["c"],
        "an idle conversation with an expired lease is abandoned",
    )
    await store.renew([talk.claim], now=NOW + LEASE, lease=LEASE)
    expect(
        await store.abandoned(now=NOW + LEASE) == [],
        "a conversation with a renewed lease is not abandoned",
    )
    await store.release(talk.claim)
    expect(
        await store.abandoned(now=NOW + 9 * LEASE) == [], "a released conversation is not abandoned"
    )


async def the_audit_trail_only_grows(store: Store) -> None:
    talk = await begin(store)
    running = structs.replace(talk.state, turn=Turn(1, TRACE, "user", "running"))
    await talk.commit(talk.prepare(Audit("asked", "ann", {"a": 1}), state=running, seconds=1))
    await store.note("connected", at=at(2), by="bob", conversation_id="d", data={"b": 2})
    trail = await store.audit()
    expect(
        [row.action for row in trail] == ["asked", "connected"],
        "the audit trail has all actions in order",
    )
    asked, connected = trail
    expect(
        (asked.by, asked.data, asked.at) == ("ann", {"a": 1}, at(1)),
        "an action has its user, data and time",
    )
    expect(
        asked.conversation_id == "c" and asked.trace_id == TRACE,
        "an action has its conversation and the trace id of its turn",
    )
    expect(connected.conversation_id == "d", "a note may name any conversation")
    expect(
        await store.audit(conversation_id="c") == [asked],
        "`conversation_id` selects the actions of one conversation",
    )
    expect(await store.audit(after=asked.number) == [connected], "`after` selects later actions")
    expect(await store.audit(limit=1) == [asked], "`limit` selects the first actions")
    over = EndTurn(1, TRACE, TurnEnd(False, True))
    idle = structs.replace(running, turn=None)
    await talk.commit(talk.prepare(Audit("interrupted", "ann", {}), over, state=idle))
    await talk.commit(talk.prepare(Audit("renamed", None, {})))
    traces = [row.trace_id for row in (await store.audit())[2:]]
    expect(
        traces == [TRACE, None], "an action has a trace id up to the end of its turn, not after it"
    )
    await store.delete("c", at=at(3), by="ann")
    trail = await store.audit()
    expect(trail[:2] == [asked, connected], "deleting a conversation keeps its audit trail")
    last = trail[-1]
    expect((last.action, last.by) == ("deleted", "ann"), "the audit trail has the deletion")
    expect(last.number > connected.number, "the numbers of the audit trail increase")


async def conversations_are_listed_and_changed(store: Store) -> None:
    for number, user in enumerate(["ann", "bob", "ann"]):
        talk = await begin(store, f"c{number}", user=user)
        await talk.commit(talk.prepare(*talk.entries("x"), seconds=10 + number))

    async def listed(user: str | None = None, archived: bool = False) -> list[str]:
        rows = await store.conversations(user=user, archived=archived)
        return [row.conversation_id for row in rows]

    expect(await listed() == ["c2", "c1", "c0"], "conversations are listed newest first")
    expect(await listed("ann") == ["c2", "c0"], "`user` selects the conversations of one user")
    page = await store.conversations(limit=1, offset=1)
    expect([row.conversation_id for row in page] == ["c1"], "`limit` and `offset` select a page")
    await store.change("c1", archived=True)
    expect(await listed() == ["c2", "c0"], "an archived conversation is not listed")
    expect(
        await listed(archived=True) == ["c1"], "an archived conversation is listed with `archived`"
    )
    await store.change("c1", archived=False)
    expect(await listed() == ["c2", "c1", "c0"], "a restored conversation is listed")
    await expect_raises(
        Refused, store.change("other", archived=True), "changing a conversation that does not exist"
    )


async def what_is_no_news_leaves_a_conversation_in_its_place(store: Store) -> None:
    first, second = await begin(store, "c0"), await begin(store, "c1")
    await first.commit(first.prepare(*first.entries("x"), seconds=10))
    await second.commit(second.prepare(*second.entries("x"), seconds=11))

    async def listed() -> list[tuple[str, str]]:
        return [(row.conversation_id, row.updated_at) for row in await store.conversations()]

    before = [("c1", at(11)), ("c0", at(10))]
    expect(await listed() == before, "each conversation has the time of its newest commit")
    quiet = first.prepare(*first.entries("bookkeeping"), native_session_id="s-1", seconds=20)
    await first.commit(structs.replace(quiet, is_news=False))
    expect(await listed() == before, "a commit with is_news=False does not change the order")
    row = await store.conversation("c0")
    expect(row is not None and row.head == 2, "a commit with is_news=False is written completely")
    await first.commit(first.prepare(*first.entries("news"), seconds=30))
    expect(
        await listed() == [("c0", at(30)), ("c1", at(11))],
        "the next commit with is_news=True changes the order",
    )


async def a_title_is_that_of_the_state(store: Store) -> None:
    talk = await begin(store, title="first")

    async def title() -> str | None:
        row = await store.conversation("c")
        return row.title if row is not None else None

    expect(await title() == "first", "a conversation has the title given at its creation")
    await talk.commit(talk.prepare(state=structs.replace(talk.state, title="second")))
    expect(await title() == "second", "a commit changes the title to that of its state")
    await talk.say("x")
    expect(await title() == "second", "a commit with the same title keeps it")
    await talk.commit(talk.prepare(state=structs.replace(talk.state, title=None)))
    expect(await title() is None, "a commit without a title in its state removes the title")


async def who_follows_is_known_until_they_leave(store: Store) -> None:
    await begin(store)
    await begin(store, "d")
    ann = Connection("k1", "c", "one", "page", at(1), at(1), "ann")
    bob = Connection("k2", "d", "one", "terminal", at(2), at(2), None, "rpc", 7)
    nowhere = Connection("k3", "other", "one", "page", at(3), at(3))
    await store.connected([bob, ann, nowhere])
    expect(
        await store.connections() == [ann, bob],
        "`connections` lists all followers, the oldest first",
    )
    expect(
        await store.connections("d") == [bob],
        "`connections` can list the followers of one conversation",
    )
    later = structs.replace(ann, seen_at=at(9), last_sequence=3)
    await store.connected([later])
    expect(
        await store.connections("c") == [later],
        "a connection is updated with its last contact and sequence",
    )
    await store.disconnected(["k2", "k3", "k9"])
    expect(await store.connections() == [later], "a disconnected follower is not listed")
    await store.delete("c")
    expect(await store.connections() == [], "followers of a deleted conversation are not listed")


async def a_deleted_conversation_is_gone(store: Store) -> None:
    talk = await begin(store)
    receipt = Receipt("ann", "m-1", b"", b"{}")
    opened = OpenRequestRow(a_request())
    await talk.commit(talk.prepare(*talk.entries("words"), opened, receipt=receipt))
    await store.delete("c", at=at(1))
    expect(await store.conversation("c") is None, "a deleted conversation is not found")
    expect(await store.entries("c") == [], "a deleted conversation has no log")
    expect(await store.search("words") == [], "search does not find a deleted conversation")
    expect(await store.inbox(open_only=False) == [], "a deleted conversation has no inbox items")
    expect(await store.receipt("c", "ann", "m-1") is None, "a deleted conversation has no receipts")
    late = talk.prepare(*talk.entries("late"))
    await expect_raises(Fenced, store.commit(late), "a commit to a deleted conversation")
    await expect_raises(
        Refused, store.delete("other"), "deleting a conversation that does not exist"
    )
    await begin(store)


async def words_are_found(store: Store) -> None:
    talk = await begin(store, title="Plans", user="ann")
    await talk.say(
        "明天下午三点开会议，请准时参加。", "你好世界", "The deployment failed: foo_bar.py"
    )

    async def found(words: str, user: str | None = None) -> list[int]:
        return sorted(hit.sequence for hit in await store.search(words, user=user))

    expect(
        await found("会议") == [1],
        "search finds a Chinese word of two characters inside a sentence",
    )
    expect(await found("你好") == [2], "search finds a Chinese word at the beginning of an entry")
    expect(await found("开会议") == [1], "search finds a longer Chinese word")
    expect(await found("deploy") == [3], "search finds a word by its prefix and ignores case")
    expect(await found("FAILED deployment") == [3], "search finds words in any order")
    expect(await found("failed 会议") == [], "search requires all words")
    expect(await found("foo_bar.py") == [3], "search finds a word with punctuation in it")
    expect(
        await found("会议", "ann") == [1] and await found("会议", "bob") == [],
        "search finds only the user's own conversations",
    )
    for odd in ['"', "'", "(", "*", "a AND", "NEAR(a b)", "x:y", "-", "^a", "\0", "", "  ", "{}"]:
        await store.search(odd)  # must not raise for any search text
    asked = AddEntry(4, a_question("Which colour?", ["blue", "red"]), 1, TRACE)
    await talk.commit(talk.prepare(asked))
    expect(await found("colour") == [4], "search finds the text of a question")
    expect(await found("red") == [4], "search finds the options of a question")
    (hit,) = await store.search("会议")
    expect(
        (hit.conversation_id, hit.title) == ("c", "Plans"), "a hit has its conversation and title"
    )
    expect("\x02会议\x03" in hit.snippet, "a hit has a snippet with the words marked")
    for long in ["x" * 16_000, "会" * 16_000]:
        await expect_raises(Refused, store.search(long), "a search text that is too long")


async def blobs_are_kept(store: Store) -> None:
    data = bytes(range(256)) * 1000
    await store.put_blob("b-1", data, "image/png", at=at())
    expect(await store.get_blob("b-1") == (data, "image/png"), "a blob is found as it was stored")
    expect(await store.get_blob("b-2") is None, "`get_blob` returns None for an unknown id")
    await store.put_blob("b-1", data, "image/png", at=at(1))
    other = store.put_blob("b-1", b"other", "image/png", at=at())
    await expect_raises(Conflict, other, "other bytes under the same id")


async def a_blob_goes_with_the_last_conversation_that_needs_it(store: Store) -> None:
    talks = [await begin(store, name) for name in ("c", "d", "e")]
    for blob_id in ("shared", "own", "waiting", "unused"):
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
        names = ("shared", "own", "waiting", "unused")
        return [name for name in names if await store.get_blob(name) is not None]

    await store.delete("c")
    expect(
        await left() == ["shared", "waiting", "unused"],
        "deleting a conversation deletes only blobs that no other needs",
    )
    await store.delete("d")
    expect(
        await left() == ["waiting", "unused"],
        "deleting the last conversation that needs a blob deletes the blob",
    )
    await store.delete("e")
    expect(await left() == ["unused"], "deleting a conversation deletes the blobs of its queue")


async def a_backup_is_a_log_of_its_own(
    store: Store, open_copy: Callable[[str], Awaitable[Store]]
) -> None:
    """Checks a backup. Not in OTHER_CHECKS, because it needs a function that opens the copy."""
    talk = await begin(store)
    await talk.say("before")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "copy")

        async def speak() -> None:
            for number in range(20):
                await talk.say(f"meanwhile {number}")

        epoch, _ = await asyncio.gather(store.backup(path), speak())
        expect(epoch != store.epoch, "a backup has its own epoch")
        copy = await open_copy(path)
        try:
            expect(copy.epoch == epoch, "`backup` returns the epoch of the copy")
            row = await copy.conversation("c")
            stored = await copy.entries("c")
            if row is None:
                raise Broken("the backup does not have the committed conversation")
            expect(row.head == len(stored) >= 1, "a backup contains only complete commits")
            expect(
                stored == (await store.entries("c"))[: len(stored)],
                "the entries of a backup equal those of the store",
            )
            claim = await copy.claim("c", "two", now=NOW, lease=LEASE)  # a copy has no owners
            await Writing(copy, claim, row.state).say("in the copy")
            expect(
                len(await store.entries("c")) == 21,
                "writing to the backup does not change the store",
            )
        finally:
            await copy.close()


async def what_is_spent_stays_spent(store: Store) -> None:
    expect(await store.spent(None) == 0, "a new store has no spending")
    talk, other = await begin(store, user="ann"), await begin(store, "d", user="ben")
    await talk.commit(talk.prepare(Spend(1, 0.25), seconds=1))
    await talk.commit(talk.prepare(Spend(None, 0.5), seconds=100))
    await other.commit(other.prepare(Spend(1, 4.0)))
    spent = [await store.spent(user) for user in ("ann", "ben", None)]
    expect(spent == [0.75, 4.0, 0], "the spending of a user is the sum of the user's conversations")
    expect(
        await store.spent("ann", since=at(100)) == 0.5, "`since` selects the spending since a time"
    )
    late = structs.replace(talk.prepare(Spend(2, 9.0)), claim=structs.replace(talk.claim, fence=0))
    await expect_raises(Fenced, store.commit(late), "a commit by an old owner")
    await store.delete("c")
    expect(await store.spent("ann") == 0.75, "deleting a conversation keeps its spending")


async def what_is_reserved_counts_until_it_is_settled(store: Store) -> None:
    one, two = await begin(store, user="ann"), await begin(store, "d", user="ann")
    ben = await begin(store, "e", user="ben")

    def half(spent: float, held: float) -> float:
        return (1.0 - spent - held) / 2

    many = [store.reserve(each.claim, half, now=NOW) for each in (one, two, ben)]
    first, second, other = await asyncio.gather(*many)
    expect((first.amount, first.spent, first.held) == (0.5, 0, 0), "the chosen amount is reserved")
    expect(
        (second.amount, second.held) == (0.25, 0.5),
        "a concurrent reservation counts earlier ones as held",
    )
    expect((other.amount, other.held) == (0.5, 0), "a reservation does not count for another user")
    again = await store.reserve(one.claim, half, now=NOW)
    expect(
        (again.amount, again.held) == (0.375, 0.25),
        "a new reservation replaces the conversation's earlier one",
    )
    await one.commit(structs.replace(one.prepare(Spend(1, 0.125)), settles=True))
    after = await store.reserve(two.claim, half, now=NOW)
    expect((after.spent, after.held) == (0.125, 0), "a settled reservation counts only as spent")
    late = await store.reserve(one.claim, half, now=NOW + LEASE)
    expect(late.held == 0, "a reservation under an expired lease does not count")
    nothing = await store.reserve(two.claim, lambda spent, held: 0.0, now=NOW)
    expect(nothing.amount == 0, "a reservation of zero is possible")
    claim = await store.claim("d", "another", now=NOW + LEASE, lease=LEASE)
    taken = await store.reserve(one.claim, half, now=NOW)
    expect(taken.held == 0, "a reservation of a replaced owner does not count")
    await expect_raises(
        Fenced, store.reserve(two.claim, half, now=NOW), "a reservation by a replaced owner"
    )
    await store.release(claim)
    await store.delete("d")
    expect(
        (await store.reserve(one.claim, half, now=NOW)).held == 0,
        "a reservation of a deleted conversation does not count",
    )


async def what_a_user_has_stored_is_counted(store: Store) -> None:
    expect(await store.stored("ann") == Stored(), "a new user has stored nothing")
    talk, other = await begin(store, user="ann"), await begin(store, "d", user="ann")
    empty = await store.stored("ann")
    expect(empty.conversations == 2, "each conversation of the user is counted")
    await talk.say("x" * 10_000)
    said = await store.stored("ann")
    expect(10_000 < said.bytes - empty.bytes < 20_000, "the bytes of entries are counted")
    item = QueueItem("q-1", [TextContent("y" * 10_000)], at())
    queued = structs.replace(talk.state, queue=[Waiting(item, TRACE)])
    await talk.commit(talk.prepare(state=queued))
    waiting = await store.stored("ann")
    expect(10_000 < waiting.bytes - said.bytes < 20_000, "the bytes of queued messages are counted")
    await store.put_blob("b-1", b"12345", "text/plain", at=at(), user="ann")
    await store.put_blob("b-2", b"12345", "text/plain", at=at())
    expect(
        (await store.stored("ann")).bytes == waiting.bytes + 5,
        "a blob counts for the user that stored it",
    )
    over = store.put_blob("b-3", b"1", "text/plain", at=at(), user="ann", quota=waiting.bytes + 5)
    await expect_raises(OverQuota, over, "a blob above the quota of everything stored")
    await store.delete("c")
    rest = await store.stored("ann")
    expect(rest.conversations == 1, "a deleted conversation is not counted")
    expect(
        rest.bytes - 5 <= empty.bytes / 2 + 100,
        "the bytes of a deleted conversation are not counted",
    )
    await other.say("z" * 10_000)
    place = await store.fork_place("d")
    state = structs.replace(other.state, conversation_id="f")
    await store.fork(
        NewConversation(
            "f", "demo", at(), "ann", state=state, parent_id="d", forked_at=place.sequence
        )
    )
    forked = await store.stored("ann")
    expect(forked.bytes - rest.bytes > 20_000, "the bytes copied into a fork are counted again")
    for name in ("d", "f"):
        await store.delete(name)
    expect(
        await store.stored("ann") == Stored(5, 0),
        "after deleting all conversations only the blob is counted",
    )
    expect(await store.stored("ben") == Stored(), "the bytes of a user do not count for another")


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
