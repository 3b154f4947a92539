"""Checks of a store for requests and the inbox."""

from __future__ import annotations

from msgspec import structs

from turnwire.core.conversation.effects import EndRequest, OpenRequestRow
from turnwire.ports import Conflict, Store
from turnwire.testing.expect import expect, expect_raises
from turnwire.testing.store_samples import a_request, at, begin

__all__ = ["REQUEST_CHECKS"]


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


async def an_archived_conversation_has_no_items_in_the_inbox(store: Store) -> None:
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


REQUEST_CHECKS = [
    a_request_ends_once,
    a_request_ends_alone,
    an_archived_conversation_has_no_items_in_the_inbox,
    a_question_that_is_asked_again_reuses_its_item,
]
