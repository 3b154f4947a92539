"""Chats that a front end has named: which conversation such a name stands for."""

from __future__ import annotations

from msgspec import Struct

from turnwire.core.error_codes import Refused
from turnwire.engine import Talk
from turnwire.server.access.keys import Who
from turnwire.server.new_conversation import id_for
from turnwire.server.service import Service

__all__ = ["NamedChat", "find_chat", "fork_id"]


class NamedChat(Struct, frozen=True):
    """A chat of a front end: its newest conversation, and how many forks were made before it."""

    talk: Talk
    forks: int


async def find_chat(
    service: Service, who: Who, chat_id: str, *, closed: bool = False
) -> NamedChat | None:
    """Returns the newest conversation of a chat. Returns None if it has none yet.

    A chat is named by the id of a conversation, or by any id that its front end has chosen. The
    same id names the same conversation at /api/chat and as a thread of AG-UI. `closed`: an archived
    conversation as well, to be read. Raises Refused with CONVERSATION_CLOSED otherwise.
    """
    if not service.speaks_v2:
        raise Refused("CHAT_PROTOCOL_DISABLED")
    first = None
    for name in (chat_id, fork_id(who, chat_id, 0)):
        first = first or await _visible(service, who, name)
    forks = await _forks_of(service, who, chat_id)
    name = fork_id(who, chat_id, forks)
    talk = await service.talk(name, who, closed=True) if forks else first
    if talk is None:
        return None
    if talk.row.archived and not closed:
        raise Refused("CONVERSATION_CLOSED", conversation_id=talk.id)
    return NamedChat(talk, forks)


def fork_id(who: Who, chat_id: str, forks: int) -> str:
    """Returns the id of the conversation of a chat after so many forks.

    The number of the fork comes first, so that no chat has an id that makes its name that of a fork.
    """
    return id_for(who, f"chat:{chat_id}" if not forks else f"chat-fork:{forks}:{chat_id}")


async def _visible(service: Service, who: Who, name: str) -> Talk | None:
    try:
        return await service.talk(name, who, closed=True)
    except Refused as refused:
        if refused.code != "CONVERSATION_NOT_FOUND":
            raise
        return None


async def _forks_of(service: Service, who: Who, chat_id: str) -> int:
    """Returns the number of the newest fork. Reads few of many forks: doubles, then halves."""

    async def has(forks: int) -> bool:
        return await service.store.conversation(fork_id(who, chat_id, forks)) is not None

    step = 1
    while await has(step):
        step *= 2
    known, missing = step // 2, step
    while missing - known > 1:
        middle = (known + missing) // 2
        known, missing = (middle, missing) if await has(middle) else (known, middle)
    return known
