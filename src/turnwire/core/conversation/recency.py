"""Which steps are news: they move a conversation to the top of the lists.

News is what a person would call so: a message, an answer, a turn that begins or ends, a question, a
permission, a title that a person gives. That an agent's process comes or goes is none, nor is what a
server does for itself: claims, leases, recovery, who is connected.
"""

from __future__ import annotations

from collections.abc import Iterable

from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.effects import (
    AddEntry,
    BeginTurn,
    EndRequest,
    EndTurn,
    Moment,
    OpenRequestRow,
)

__all__ = ["is_news"]


def is_news(happened: i.Input, writes: Iterable[Moment], *, has_new_title: bool) -> bool:
    """Whether a step is news, by what has happened and what it writes.

    A server that starts again ends turns that ended in truth when the one before it died. The last
    entry of such a turn is the newest thing that is known of it, so its time stays.
    """
    if type(happened) is i.AgentSaid:  # by far the most, and most of them write nothing
        return any(_tells(write, is_said=True) for write in writes)
    match happened:
        case i.Said() | i.Answered() | i.Decided() | i.ChangedQueue(action="replace"):
            return True
        case i.Renamed() if has_new_title:
            return True
        case i.Recovered(reason="server_restart"):
            return any(isinstance(write, BeginTurn) for write in writes)
        case _:
            return any(_tells(write, is_said=False) for write in writes)


def _tells(write: Moment, *, is_said: bool) -> bool:
    match write:
        case BeginTurn() | EndTurn() | OpenRequestRow():
            return True
        case EndRequest(outcome=outcome):
            return outcome != "cancelled"  # with its turn, or with its agent
        case AddEntry(entry=entry) if entry.role == "system":
            return entry.meta.get("messageType") == "rewind"  # a person has put files back
        case AddEntry():
            return is_said  # else it is a result that the server gives to a call that was cut off
        case _:
            return False
