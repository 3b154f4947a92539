"""Checks of a store for blobs."""

from __future__ import annotations

from msgspec import structs

from turnwire.core.content import Blob, ImageContent
from turnwire.core.conversation.effects import AddEntry, Write
from turnwire.core.conversation.state import Waiting
from turnwire.core.message import run_id
from turnwire.core.status import QueueItem
from turnwire.ports import Conflict, Store
from turnwire.testing.expect import expect, expect_raises
from turnwire.testing.store_samples import TRACE, Writing, a_large_message, at, begin

__all__ = ["BLOB_CHECKS"]


async def blobs_are_kept(store: Store) -> None:
    data = bytes(range(256)) * 1000
    await store.put_blob("b-1", data, "image/png", at=at())
    expect(await store.get_blob("b-1") == (data, "image/png"), "a blob is found as it was stored")
    expect(await store.get_blob("b-2") is None, "`get_blob` returns None for an unknown id")
    await store.put_blob("b-1", data, "image/png", at=at(1))
    other = store.put_blob("b-1", b"other", "image/png", at=at())
    await expect_raises(Conflict, other, "other bytes under the same id")


async def a_blob_is_deleted_with_the_last_conversation_that_needs_it(store: Store) -> None:
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


BLOB_CHECKS = [
    blobs_are_kept,
    a_blob_is_deleted_with_the_last_conversation_that_needs_it,
]
