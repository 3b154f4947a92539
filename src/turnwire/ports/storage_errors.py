"""The errors of a store."""

from __future__ import annotations

from turnwire.errors import TurnwireError

__all__ = ["Conflict", "Damaged", "Fenced", "OverQuota", "Owned", "StorageUnavailable"]


class StorageUnavailable(TurnwireError):
    """The log cannot be written, for example because the disk is full.

    The commit was not stored.
    """

    code = "STORAGE_UNAVAILABLE"
    retryable = True
    what_to_do = "Check the disk, then try again."
    is_for_operators = False  # the message names parts of the installation: clients are not told


class Fenced(TurnwireError):
    """Another owner has claimed the conversation. The process that gets this must stop writing."""

    code = "STORAGE_UNAVAILABLE"


class Conflict(TurnwireError):
    """A write contradicts stored data: a gap in the numbers, an existing id, an ended request.

    Nothing was stored, and a retry would fail again.
    """


class OverQuota(TurnwireError):
    """A write would exceed the user's quota.

    Nothing was stored; `data` has the size `kept` already.
    """


class Damaged(TurnwireError):
    """The stored data of this conversation cannot be read. Other conversations are not affected."""

    def __init__(self, conversation_id: str, why: str) -> None:
        super().__init__(
            f"Conversation {conversation_id} is damaged and cannot be read: {why}."
            " `turnwire fsck` shows the damage, `turnwire fsck --repair` repairs it.",
            conversation_id=conversation_id,
        )


class Owned(TurnwireError):
    """Another live process owns the conversation. `data` has the owner and the end of its lease."""

    code = "CONVERSATION_CLOSED"
