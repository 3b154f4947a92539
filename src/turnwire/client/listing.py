"""A conversation in the list of a server."""

from __future__ import annotations

from msgspec import Struct

from turnwire.core.status import Status

__all__ = ["ConversationInfo", "ForkedFrom"]


class ForkedFrom(Struct, frozen=True):
    """The conversation that a fork was made from."""

    id: str
    at_sequence: int  # the last entry that both conversations share


class ConversationInfo(Struct, frozen=True):
    """A conversation in the list of a server: what it is, and how it is."""

    id: str
    agent: str
    created_at: str
    updated_at: str
    head: int  # the number of its last entry
    status: Status
    title: str | None = None
    user: str | None = None  # None: it belongs to the owner of the server
    cwd: str | None = None
    archived: bool = False
    forked_from: ForkedFrom | None = None
