"""What a server lists: conversations, and the permission rules that people gave."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from turnwire.core.status import Status

__all__ = ["ConversationInfo", "ForkedFrom", "RuleInfo"]


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
    pinned: bool = False  # a person keeps it at the top of the list
    labels: list[str] = []
    forked_from: ForkedFrom | None = None


class RuleInfo(Struct, frozen=True):
    """A remembered permission rule in the list of a server."""

    conversation_id: str
    rule_id: str
    agent: str  # the agent that offered the rule
    tool_name: str  # the tool that asked
    rule: Any  # as the agent offered it
    given_at: str
    by: str | None = None  # who gave it
    kept_by: str = "turnwire"  # `agent`: only the agent can forget it
    same_input: bool = False  # it holds only for a call with the same input
    title: str | None = None  # of the conversation
