"""Reads the history for RPC clients: pages of messages, and the list of conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnwire.core.conversation.state import status_of
from turnwire.dialects.rpc import frames as r
from turnwire.dialects.rpc import methods as m
from turnwire.dialects.rpc.projector import RpcProjector
from turnwire.engine import Talk
from turnwire.engine.fanout.log_pages import happening_of, in_log_order
from turnwire.long_work import LongWork, mapped_in_slices
from turnwire.ports import ConversationRow
from turnwire.server.access.keys import Who

if TYPE_CHECKING:
    from turnwire.server.service import Service

__all__ = ["page", "sessions"]


async def page(service: Service, talk: Talk, wish: m.LoadHistory) -> r.History:
    """Returns a page of the log, with the ends of the turns that ended in it."""
    found = await service.store.entries(
        talk.id,
        after=wish.after or 0,
        before=wish.before,
        limit=wish.limit,
        newest=wish.after is None,
    )
    first = found[0].sequence if found else None
    last = found[-1].sequence if found else None
    ends = []
    if first is not None and last is not None:
        ends = await service.store.turns(talk.id, since=first, before=last + 1)
    row = talk.row
    several = row.state.handover is not None
    projector = RpcProjector(row.agent, row.native_session_id, "history", has_several=several)
    kept: list[r.Kept] = []
    work = LongWork()
    for item in in_log_order(found, ends):
        if work.is_due:
            await work.give_way()
        kept += [
            r.Kept(line.message, line.number, line.turn_id)  # type: ignore[arg-type]  # of RPC
            for line in projector.project([happening_of(item)])
            if line.message is not None and line.kind == "whole"
        ]
    return r.History(kept, talk.row.head, service.store.epoch, first, last)


async def sessions(service: Service, who: Who, wish: m.GetHistorySessions) -> r.Sessions:
    """Returns a page of the conversations of this user."""
    rows = await service.store.conversations(
        user=who.user, archived=wish.archived, limit=wish.limit, offset=wish.offset
    )
    return r.Sessions(await mapped_in_slices(_summary, rows))


def _summary(row: ConversationRow) -> r.SessionSummary:
    status = status_of(row.state)
    return r.SessionSummary(
        row.conversation_id,
        row.agent,
        row.created_at,
        row.updated_at,
        row.head,
        status.state,
        status.running,
        row.title,
        row.cwd,
        row.native_session_id,
        row.archived,
    )
