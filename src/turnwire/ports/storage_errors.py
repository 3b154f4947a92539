"""How a store says no."""

from __future__ import annotations

from turnwire.errors import TurnwireError

__all__ = ["Conflict", "Damaged", "Fenced", "OverQuota", "Owned", "StorageUnavailable"]


class StorageUnavailable(TurnwireError):
    """The log cannot be written: a full disk, a broken one. Nothing of the commit was kept."""

    code = "STORAGE_UNAVAILABLE"
    retryable = True


class Fenced(TurnwireError):
    """Another owner has taken the conversation over. The one that gets this must write no more."""

    code = "STORAGE_UNAVAILABLE"


class Conflict(TurnwireError):
    """It contradicts what is stored: numbers with a gap, a name that is taken, a request that has
    ended. Nothing of it was kept, and it would be refused again.
    """


class OverQuota(TurnwireError):
    """A user would keep more than may be kept. Nothing was; `data` has what is `kept` already."""


class Damaged(TurnwireError):
    """What is stored of this conversation cannot be read. Others are not touched by that."""

    def __init__(self, conversation_id: str, why: str) -> None:
        super().__init__(
            f"Conversation {conversation_id} is damaged and cannot be read: {why}."
            " `turnwire fsck` shows the damage, `turnwire fsck --repair` repairs it.",
            conversation_id=conversation_id,
        )


class Owned(TurnwireError):
    """Another live process owns the conversation. `data` says which, and until when."""

    code = "CONVERSATION_CLOSED"
