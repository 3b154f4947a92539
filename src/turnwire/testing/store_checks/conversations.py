"""Checks of a store for the list of conversations, their titles, followers and deletion."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from turnwire.core.conversation.effects import OpenRequestRow
from turnwire.core.conversation.state import Turn
from turnwire.core.error_codes import Refused
from turnwire.core.status import BackgroundTask
from turnwire.ports import Activity, Connection, Fenced, Receipt, Store
from turnwire.testing.expect import expect, expect_raises
from turnwire.testing.store_samples import LEASE, NOW, a_request, at, begin

__all__ = ["CONVERSATION_CHECKS"]


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


async def conversations_are_pinned_and_labelled(store: Store) -> None:
    for number, user in enumerate(["ann", "bob", "ann"]):
        await begin(store, f"c{number}", user=user)
    row = await store.conversation("c0")
    expect(
        row is not None and not row.pinned and row.labels == [],
        "a new conversation has neither a pin nor labels",
    )
    await store.change("c0", pinned=True, labels=["work", 'a "b" \\ 工作'])
    await store.change("c1", labels=["work"])

    async def listed(**wanted: Any) -> list[str]:
        return sorted([row.conversation_id for row in await store.conversations(**wanted)])

    expect(await listed(pinned=True) == ["c0"], "`pinned` selects pinned conversations")
    expect(await listed(label="work") == ["c0", "c1"], "`label` selects by one label")
    expect(await listed(label='a "b" \\ 工作') == ["c0"], "a label may have any characters")
    expect(await listed(label="wor") == [], "`label` is a whole label")
    expect(await listed(label="work", user="ann") == ["c0"], "`label` and `user` both count")
    expect(await listed(agent="none") == [], "`agent` selects by the name of the agent")
    await store.change("c0", archived=True)
    row = await store.conversation("c0")
    expect(
        row is not None and row.pinned and row.labels == ["work", 'a "b" \\ 工作'],
        "a change leaves the other fields as they are",
    )
    expect(await listed(label="work") == ["c1"], "an archived conversation is not listed by label")
    expect(await listed(label="work", archived=True) == ["c0"], "it is listed with `archived`")
    await store.change("c0", archived=False, pinned=False, labels=[])
    row = await store.conversation("c0")
    expect(
        row is not None and not row.pinned and row.labels == [],
        "a pin and labels are taken away again",
    )


async def conversations_are_listed_by_activity(store: Store) -> None:
    suspended = Turn(1, "0" * 32, "user", "suspended")
    states: dict[str, tuple[Activity, dict[str, Any]]] = {
        "new": ("idle", {}),
        "streaming": ("working", {"state": "streaming", "turn": suspended}),
        "suspended": ("working", {"turn": suspended}),
        "background": ("working", {"background": [BackgroundTask("t1")]}),
        "asks": ("waiting_input", {"state": "waiting_input", "turn": suspended}),
        "stopped": ("interrupted", {"state": "interrupted", "title": '"state":"error"'}),
        "failed": ("error", {"state": "error", "reason": "api_error"}),
    }
    for name, (_, fields) in states.items():
        talk = await begin(store, name)
        await talk.commit(talk.prepare(state=structs.replace(talk.state, **fields)))

    async def listed(activity: Activity | None, **wanted: Any) -> list[str]:
        rows = await store.conversations(activity=activity, **wanted)
        return sorted([row.conversation_id for row in rows])

    for group in dict.fromkeys(activity for activity, _ in states.values()):
        members = sorted([name for name, (activity, _) in states.items() if activity == group])
        expect(await listed(group) == members, f"`activity` selects conversations: {group}")
    expect(await listed(None) == sorted(states), "without `activity` all are listed")
    expect(await listed("working", agent="none") == [], "`activity` and `agent` both count")
    expect(
        len(await listed("working", limit=2) + await listed("working", limit=2, offset=2)) == 3,
        "`limit` and `offset` count the conversations of the group",
    )


async def a_commit_without_news_keeps_the_order_of_the_list(store: Store) -> None:
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


async def a_commit_sets_the_title_of_its_state(store: Store) -> None:
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


async def a_version_changes_with_the_state_and_the_owner(store: Store) -> None:
    talk = await begin(store)
    other = await begin(store, "d")

    async def versions() -> dict[str, int]:
        return await store.versions(["c", "d", "unknown"])

    seen = [await versions()]
    expect(seen[0].keys() == {"c", "d"}, "each conversation that exists has a version")
    expect(await versions() == seen[0], "a version stays while nothing changes")
    expect(await store.versions(["d"]) == {"d": seen[0]["d"]}, "only the named ones are returned")
    expect(await store.versions([]) == {}, "no names have no versions")

    async def is_changed(what: str) -> None:
        seen.append(await versions())
        new = seen[-1]["c"]
        expect(new not in [before["c"] for before in seen[:-1]], f"{what} changes the version")
        expect(seen[-1]["d"] == seen[0]["d"], f"{what} changes no other version")

    await talk.say("x")
    await is_changed("an entry")
    for title in ("a", "b"):  # of the same length, at the same time
        await talk.commit(talk.prepare(state=structs.replace(talk.state, title=title)))
        await is_changed("a state without an entry")
    await store.release(talk.claim)
    await is_changed("a release")
    await store.claim("c", "one", now=NOW, lease=LEASE)
    await is_changed("a claim")
    await store.release(other.claim)
    await store.delete("c", at=at(1))
    expect((await versions()).keys() == {"d"}, "a deleted conversation has no version")


async def followers_are_listed_until_they_leave(store: Store) -> None:
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


CONVERSATION_CHECKS = [
    conversations_are_listed_and_changed,
    conversations_are_pinned_and_labelled,
    conversations_are_listed_by_activity,
    a_commit_without_news_keeps_the_order_of_the_list,
    a_commit_sets_the_title_of_its_state,
    a_version_changes_with_the_state_and_the_owner,
    followers_are_listed_until_they_leave,
    a_deleted_conversation_is_gone,
]
