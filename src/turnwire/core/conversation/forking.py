"""Forks: new conversations that begin with a copy of another conversation's log."""

from __future__ import annotations

from msgspec import structs

from turnwire.core.conversation.state import (
    HANDOVER_LEVEL,
    STATE_LEVEL,
    AgentPast,
    Conversation,
    Handover,
)
from turnwire.core.status import RunState, TurnEnd

__all__ = ["forked"]


def forked(
    c: Conversation,
    conversation_id: str,
    *,
    head: int,
    turns: int,
    last_turn_id: int | None = None,
    last_turn: TurnEnd | None = None,
    agent: str | None = None,
    is_told: bool = False,
) -> Conversation:
    """Returns a conversation with the same entries, up to and including the entry `head`.

    `turns` is the id of the newest turn in them. `last_turn` is the last turn that had ended,
    `last_turn_id` its id. The queue and open requests are not copied. Nor are the rules, which were
    given for the other conversation, and the cost, which would otherwise count twice.

    `agent` is the agent that spoke there. If the conversation has had several, or with `is_told`, it
    begins a session of its own, and is told what was said before.
    """
    handover = None
    if agent is not None and (c.handover is not None or is_told):
        first = agent if c.handover is None else c.handover.first
        handover = Handover(agent, first, heard=0 if head else None)
        if c.handover is not None and agent != c.handover.agent:
            past = c.handover.past.get(agent, AgentPast())
            c = structs.replace(
                c,
                model=past.model,
                permission_mode=past.permission_mode,
                max_thinking_tokens=past.max_thinking_tokens,
                mcp_off=past.mcp_off,
                offered=past.offered,
            )
    return Conversation(
        conversation_id,
        c.options,
        _rests(last_turn),
        head=head,
        turns=turns,
        model=c.model,
        permission_mode=c.permission_mode,
        last_turn=last_turn,
        last_turn_id=last_turn_id,
        title=c.title if head or c.title_by is not None else None,
        title_by=c.title_by,
        max_thinking_tokens=c.max_thinking_tokens,
        mcp_off=c.mcp_off,
        handover=handover,
        level=_level(c, handover),
        offered=c.offered,
    )


def _level(c: Conversation, handover: Handover | None) -> int:
    if c.offered is not None and c.offered.chosen:
        return STATE_LEVEL
    return 0 if handover is None else HANDOVER_LEVEL


def _rests(last: TurnEnd | None) -> RunState:
    if last is not None and last.interrupted:
        return "interrupted"
    return "error" if last is not None and last.is_error else "active"
