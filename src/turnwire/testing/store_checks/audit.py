"""Checks of a store for the audit trail."""

from __future__ import annotations

from msgspec import structs

from turnwire.core.conversation.effects import Audit, EndTurn
from turnwire.core.conversation.state import Turn
from turnwire.core.status import TurnEnd
from turnwire.ports import Store
from turnwire.testing.expect import expect
from turnwire.testing.store_samples import TRACE, at, begin

__all__ = ["AUDIT_CHECKS"]


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


AUDIT_CHECKS = [
    the_audit_trail_only_grows,
]
