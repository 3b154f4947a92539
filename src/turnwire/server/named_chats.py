"""Chats that a front end has named: which conversation such a name stands for."""

from __future__ import annotations

from contextlib import suppress

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


async def find_chat(service: Service, who: Who, chat_id: str) -> NamedChat | None:
    """Returns the newest conversation of a chat. Returns None if it has none yet.

    A chat is named by the id of a conversation, or by any id that its front end has chosen. The
    same id names the same conversation at /api/chat and as a thread of AG-UI.
    """
    if not service.speaks_v2:
        raise Refused("CHAT_PROTOCOL_DISABLED")
    first = None
    for name in (chat_id, fork_id(who, chat_id, 0)):
        with suppress(Refused):
            first = first or await service.talk(name, who)
    if first is None:
        return None
    chat = NamedChat(first, 0)
    while await service.store.conversation(fork_id(who, chat_id, chat.forks + 1)) is not None:
        name = fork_id(who, chat_id, chat.forks + 1)
        chat = NamedChat(await service.talk(name, who), chat.forks + 1)
    return chat


def fork_id(who: Who, chat_id: str, forks: int) -> str:
    """Returns the id of the conversation of a chat after so many forks."""
    return id_for(who, f"chat:{chat_id}" if not forks else f"chat:{chat_id}:{forks}")
