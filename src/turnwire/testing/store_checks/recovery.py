"""Checks of a store for recovery: which conversations a dead owner has left."""

from __future__ import annotations

from msgspec import structs

from turnwire.core.conversation.state import OpenTool, Reply, Turn, Waiting
from turnwire.core.status import BackgroundTask, QueueItem
from turnwire.ports import Store
from turnwire.testing.expect import expect
from turnwire.testing.store_samples import LEASE, NOW, TRACE, a_request, begin

__all__ = ["RECOVERY_CHECKS"]


async def unfinished_work_is_found_after_a_crash(store: Store) -> None:
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


async def a_conversation_with_an_expired_lease_is_abandoned(store: Store) -> None:
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
    await store.release(talk.claim)
    expect(
        await store.abandoned(now=NOW + 9 * LEASE) == [], "a released conversation is not abandoned"
    )


RECOVERY_CHECKS = [
    unfinished_work_is_found_after_a_crash,
    a_conversation_with_an_expired_lease_is_abandoned,
]
