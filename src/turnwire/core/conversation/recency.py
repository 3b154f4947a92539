"""Decides which steps are news, that is, move a conversation to the top of the lists.

News are a message, an answer, a turn that begins or ends, a question, a permission, and a title
that a person gives. The start or end of an agent's process is not news. Nor is the server's own
work: claims, leases, recovery, connections.
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
    """Returns whether a step is news, by its input and its writes.

    A restarted server ends turns that had really ended when the previous server died. The last
    entry of such a turn is its newest known activity, so the conversation keeps that time.
    """
    if type(happened) is i.AgentSaid:  # the most frequent input; most of these write nothing
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
            return outcome != "cancelled"  # cancelled with its turn or with its agent
        case AddEntry(entry=entry) if entry.role == "system":
            return entry.meta.get("messageType") == "rewind"  # a person has restored files
        case AddEntry():
            return is_said  # otherwise the server closes an interrupted call
        case _:
            return False
