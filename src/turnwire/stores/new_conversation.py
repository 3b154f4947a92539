"""The first state of a conversation, and the turns that keep it from being forked."""

from __future__ import annotations

from msgspec import structs

from turnwire.core.conversation.state import Conversation
from turnwire.ports import Conflict, NewConversation

__all__ = ["first_state", "open_turns"]


def first_state(new: NewConversation) -> Conversation:
    """Returns the state of a new conversation. Raises Conflict if it has entries."""
    state = new.state or Conversation(new.conversation_id)
    state = structs.replace(
        state,
        model=state.model or new.model,
        permission_mode=state.permission_mode or new.permission_mode,
        title=state.title or new.title,
    )
    if state.head != 0 or state.conversation_id != new.conversation_id:
        raise Conflict("A new conversation must have an empty log, and a state with its own id.")
    return state


def open_turns(state: Conversation) -> list[int]:
    """Returns the turns that have an open tool call, request or task; 0 for those of no turn."""
    turns = [tool.turn_id for tool in state.tools.values()]
    turns += [request.turn_id for request in state.requests]
    turns += [task.turn_id for task in state.background]
    return [turn_id or 0 for turn_id in turns]
