"""The log for RPC clients: a page of messages, and the list of conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnwire.core.conversation.state import status_of
from turnwire.dialects.rpc import frames as r
from turnwire.dialects.rpc import methods as m
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.project import frame_of
from turnwire.engine import Talk
from turnwire.engine.channel import Sent
from turnwire.engine.pace import LongWork
from turnwire.ports import ConversationRow
from turnwire.server.keys import Who
from turnwire.server.rpc.feed import Feed

if TYPE_CHECKING:
    from turnwire.server.service import Service

__all__ = ["page", "sessions"]


async def page(service: Service, talk: Talk, wish: m.LoadHistory) -> r.History:
    """A page of the log, with the ends of the turns that ended in it."""
    found = await service.store.entries(
        talk.id,
        after=wish.after or 0,
        before=wish.before,
        limit=wish.limit,
        newest=wish.after is None,
    )
    first = found[0].sequence if found else None
    last = found[-1].sequence if found else None
    work = LongWork()
    frames: list[tuple[int, f.Frame]] = []
    for each in found:
        if work.is_due:
            await work.give_way()
        number = each.sequence
        frames.append((number, frame_of(each.entry, number, talk.id, each.trace_id)))
    if last is not None:
        for turn in await service.store.turns(talk.id, since=first or 0):
            if turn.end.after_sequence <= last:
                ids = (talk.id, turn.turn_id, None, turn.ended_at, turn.trace_id)
                frames.append((turn.end.after_sequence, f.AssistantComplete(*ids, turn.end)))
    frames.sort(key=lambda each: each[0])  # and so the end of a turn stands behind its last entry
    feed = Feed(talk.row.agent, talk.row.native_session_id, "history")
    kept: list[r.Kept] = []
    for _, frame in frames:
        if work.is_due:
            await work.give_way()
        kept += [
            r.Kept(line.message, line.sequence, line.turn_id)
            for line in feed.lines([Sent(frame)])
            if line.message is not None and line.kind == "whole"
        ]
    return r.History(kept, talk.row.head, service.store.epoch, first, last)


async def sessions(service: Service, who: Who, wish: m.GetHistorySessions) -> r.Sessions:
    """The conversations of this user."""
    rows = await service.store.conversations(
        user=who.user, archived=wish.archived, limit=wish.limit, offset=wish.offset
    )
    work = LongWork()
    told: list[r.SessionSummary] = []
    for row in rows:
        if work.is_due:
            await work.give_way()
        told.append(_summary(row))
    return r.Sessions(told)


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
