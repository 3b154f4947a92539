"""Reads the history for clients of the profile `classic`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnwire.core.message import TextPart
from turnwire.core.times import ms_of
from turnwire.dialects.rpc.classic import frames as f
from turnwire.dialects.rpc.classic.projector import ClassicProjector
from turnwire.dialects.rpc.messages import ClassicMessage
from turnwire.engine import Talk
from turnwire.engine.fanout.log_pages import happening_of, in_log_order
from turnwire.long_work import LongWork
from turnwire.ports import ConversationRow
from turnwire.server.access.keys import Who

if TYPE_CHECKING:
    from turnwire.server.service import Service

__all__ = ["messages", "sessions"]

_NEWEST = 500  # entries of the log
_LONGEST = 200  # characters of a first message in the list
_FIRST = 8  # entries that are searched for the first message


async def messages(service: Service, talk: Talk) -> f.History:
    """Returns the newest messages of a conversation, with the ends of their turns."""
    found = await service.store.entries(talk.id, limit=_NEWEST, newest=True)
    ends = []
    if found:
        first, last = found[0].sequence, found[-1].sequence
        ends = await service.store.turns(talk.id, since=first, before=last + 1)
    row = talk.row
    several = row.state.handover is not None
    projector = ClassicProjector(row.agent, row.native_session_id, "history", has_several=several)
    said: list[ClassicMessage] = []
    work = LongWork()
    for item in in_log_order(found, ends):
        if work.is_due:
            await work.give_way()
        said += [
            line.message
            for line in projector.project([happening_of(item)])
            if line.message is not None and line.kind in ("whole", "prompt")
        ]
    return f.History(said)


async def sessions(service: Service, who: Who, limit: int) -> f.Sessions:
    """Returns the newest conversations of this user."""
    rows = await service.store.conversations(user=who.user, limit=limit)
    return f.Sessions([await _session(service, row) for row in rows])


async def _session(service: Service, row: ConversationRow) -> f.Session:
    first = ""
    for each in await service.store.entries(row.conversation_id, limit=_FIRST):
        if each.entry.role == "user":
            parts = each.entry.parts
            first = "".join(part.payload.text for part in parts if isinstance(part, TextPart))
            break
    return f.Session(
        row.conversation_id,
        (first or row.title or "")[:_LONGEST],
        ms_of(row.updated_at),
        row.head,
        row.cwd or "",
    )
