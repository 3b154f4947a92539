"""Another agent takes over: which one, and what it has missed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import structs

from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.people import OWNER
from turnwire.core.conversation.state import Conversation
from turnwire.core.error_codes import Refused
from turnwire.core.message import Message, run_id
from turnwire.core.recap import recap
from turnwire.engine.actor.native_session import NativeSession
from turnwire.ports import Agent, ConversationRow, Store

__all__ = ["check_choice", "entries_after", "last_heard", "missed", "next_agent"]


def check_choice(
    choice: i.ChoseAgent, row: ConversationRow, state: Conversation, find: Callable[[str], Agent]
) -> None:
    """Raises Refused if a user would leave options that only the owner may set.

    The options of a conversation are those of its first agent. Another agent does not know them.
    """
    first = row.agent if state.handover is None else state.handover.first
    if choice.by in (None, OWNER) or choice.agent == first:
        return
    try:
        locked = sorted(row.options.keys() & set(find(first).capabilities.owner_options))
    except Refused:  # the agent is not installed here: any option may be one of the owner's
        locked = sorted(row.options)
    if locked:
        said = (
            f"The owner has set options of {first} for this conversation: {', '.join(locked)}. "
            f"{choice.agent} does not know them, so only the owner may choose it here."
        )
        raise Refused("FORBIDDEN", said)


def next_agent(
    over: i.HandedOver,
    state: Conversation,
    native: NativeSession,
    agent: Agent,
    find: Callable[[str], Agent],
) -> tuple[i.HandedOver, Agent]:
    """Returns the agent that takes over, and what the step has to know about the change.

    `agent` is the present one. It stays, and the step says why, if the chosen one cannot be used.
    """
    session, owns = native.left
    over = structs.replace(over, session=session, owns_session=owns)
    try:
        if state.next_agent is not None:
            agent = find(state.next_agent)
    except Refused as refused:
        return structs.replace(over, refused=refused.message), agent
    return structs.replace(over, questions_survive=agent.capabilities.questions_survive), agent


def last_heard(state: Conversation, agent: Agent) -> int | None:
    """Returns the last entry that the agent knows. Returns None if it needs no recap."""
    handover = state.handover
    if handover is None or not agent.capabilities.takes_recap or state.turn is None:
        return None
    return handover.heard


def missed(state: Conversation, entries: Iterable[Message]) -> str | None:
    """Returns what the entries say, without those of the running turn. None: nothing."""
    assert state.turn is not None
    assert state.handover is not None
    run = run_id(state.conversation_id, state.turn.turn_id)
    said = (entry for entry in entries if entry.run_id != run)
    return recap(said, agent=state.handover.agent)


async def entries_after(store: Store, conversation_id: str, after: int) -> list[Message]:
    """Returns all entries of the log after an entry. 0: all of them."""
    found: list[Message] = []
    while page := await store.entries(conversation_id, after=after):
        found += [stored.entry for stored in page]
        after = page[-1].sequence
    return found
