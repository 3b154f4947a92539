"""A conversation that begins with what another one had come to."""

from __future__ import annotations

from turnwire.core.conversation.state import Conversation
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
) -> Conversation:
    """Another conversation with the same beginning, up to and with the entry `head`.

    `turns` is the newest turn in it, the last one that had ended there is given with its id. What
    waits or is open stays behind, and so does what was spent: that was spent once.
    """
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
    )


def _rests(last: TurnEnd | None) -> RunState:
    if last is not None and last.interrupted:
        return "interrupted"
    return "error" if last is not None and last.is_error else "active"
