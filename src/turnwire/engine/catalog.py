"""The conversations of the store: created, found, forked and deleted."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from turnwire.agents.client_tools import CLIENT_TOOLS, check_client_tools
from turnwire.core.conversation.state import Conversation, Options
from turnwire.core.error_codes import Refused
from turnwire.core.times import iso
from turnwire.crash_points import CrashPoint, reach
from turnwire.engine.agents import KnownAgents
from turnwire.engine.forking import agent_at, check_place, fork_of, last_said_in
from turnwire.engine.validation import check_mode, check_model, valid
from turnwire.ports import (
    Agent,
    ChecksOptions,
    Clock,
    Conflict,
    ConversationRow,
    Damaged,
    ForgetsSessions,
    NewConversation,
    Store,
)

__all__ = ["Conversations"]

_log = logging.getLogger("turnwire")


class Conversations:
    """The conversations of one store. None of these operations starts an agent."""

    def __init__(
        self,
        store: Store,
        agents: KnownAgents,
        clock: Clock,
        new_id: Callable[[], str],
        forgets: Callable[[str, str, str | None], None],
    ) -> None:
        """`forgets` is called with the agent, the conversation and the session that is deleted."""
        self._forgets = forgets
        self._store = store
        self._agents = agents
        self._clock = clock
        self._new_id = new_id

    async def begin(
        self, wish: NewConversation, options: Mapping[str, Any] | Struct | None, rules: Options
    ) -> ConversationRow:
        """Creates a conversation. `options` are the agent's. Raises Refused if its id is taken."""
        agent = self._agents.usable(wish.agent, is_chosen=True)
        new = valid(_beginning(wish, agent, options, rules))
        reach(CrashPoint.CREATES)
        try:
            row = await self._store.create(new)
        except Conflict as taken:
            why = f"{taken.message} Open that one, or choose another id."
            raise Refused("INVALID_PAYLOAD", why, conversation_id=wish.conversation_id) from None
        reach(CrashPoint.CREATED)
        return row

    async def find(self, conversation_id: str) -> ConversationRow:
        """Returns an existing conversation. Raises Refused with CONVERSATION_NOT_FOUND."""
        row = await self._store.conversation(conversation_id)
        if row is None:
            raise Refused("CONVERSATION_NOT_FOUND", conversation_id=conversation_id)
        return row

    async def fork(
        self,
        conversation_id: str,
        at_sequence: int | None,
        new_conversation_id: str | None,
        *,
        title: str | None,
        user: str | None,
        permission_modes: Sequence[str] | None = None,
    ) -> ConversationRow:
        """Creates a conversation that begins with another one's log; see `Engine.fork`."""
        row = await self.find(conversation_id)
        place = await self._store.fork_place(conversation_id, at_sequence)
        check_place(place, conversation_id)
        agent = await agent_at(self._store, row, place.sequence)
        able = self._agents.usable(agent).capabilities
        name = new_conversation_id or self._new_id()
        if permission_modes is not None and row.state.permission_mode not in permission_modes:
            row = structs.replace(row, state=structs.replace(row.state, permission_mode=None))
        last = await last_said_in(self._store, row, place)
        now = iso(self._clock.now())
        new = valid(
            fork_of(
                row,
                place,
                name,
                said_in=last,
                title=title,
                now=now,
                agent=agent,
                able=able,
            )
        )
        reach(CrashPoint.CREATES)
        try:
            made = await self._store.fork(new, by=user)
        except Conflict as taken:
            raise Refused("INVALID_PAYLOAD", taken.message, conversation_id=name) from None
        reach(CrashPoint.CREATED)
        return made

    async def delete(self, conversation_id: str, *, by: str | None) -> str | None:
        """Deletes a conversation. Raises Refused with CONVERSATION_NOT_FOUND.

        Returns what is left of the agent's own record, and why. Returns None if nothing is left.
        The record is deleted first, so a delete after a crash can still delete the rest.
        """
        left = await self._forget_session(conversation_id)
        at = iso(self._clock.now())
        if left is not None:
            _log.warning("conversation %s: %s", conversation_id, left)
            data = {"why": left}
            await self._store.note(
                "session_left", at=at, by=by, conversation_id=conversation_id, data=data
            )
        await self._store.delete(conversation_id, at=at, by=by)
        return left

    async def _forget_session(self, conversation_id: str) -> str | None:
        try:
            row = await self.find(conversation_id)
        except Damaged:
            return "The agent's session could not be removed: the conversation cannot be read."
        # A session that the agent did not begin for this conversation belongs to a person.
        sessions = {row.agent: row.native_session_id if row.owns_session else None}
        for name, past in row.state.handover.past.items() if row.state.handover else ():
            sessions[name] = past.session if past.owns_session else None
        left = [await self._forget(conversation_id, *each) for each in sessions.items()]
        return " ".join(each for each in left if each is not None) or None

    async def _forget(self, conversation_id: str, name: str, session: str | None) -> str | None:
        if session is not None:
            others = {*await self._store.users_of_session(session)} - {conversation_id}
            session = None if others else session
        self._forgets(name, conversation_id, session)
        if self._agents.get(name) is None and session is not None:
            return f"The agent {name} does not exist here. Its session {session} may be left."
        return await self.forget_session(name, conversation_id, session)

    async def forget_session(
        self, agent_name: str, conversation_id: str, session: str | None
    ) -> str | None:
        """Removes the agent's own record of a session here. Returns what is left, and why."""
        agent = self._agents.get(agent_name)
        if not isinstance(agent, ForgetsSessions):
            return None
        try:
            await agent.forget(conversation_id, session)
        except Exception as failure:  # a defect of an agent must not stop the deletion
            return f"The agent {agent_name} could not remove its session {session}: {failure}"
        return None


def _beginning(
    wish: NewConversation,
    agent: Agent,
    options: Mapping[str, Any] | Struct | None,
    rules: Options,
) -> NewConversation:
    """Returns the conversation with its first state. Raises Refused if the agent cannot do it."""
    if not isinstance(rules, Options):
        raise Refused("INVALID_PAYLOAD", "`rules` must be of the type Options.")
    able = agent.capabilities
    if wish.model is not None:
        check_model(able, wish.model)
    if wish.permission_mode is not None:
        check_mode(able, wish.permission_mode)
    own: Any = {} if options is None else options
    if isinstance(agent, ChecksOptions):
        own = agent.check_options(own)
    if isinstance(own, Mapping) and CLIENT_TOOLS in own:
        check_client_tools(own[CLIENT_TOOLS])
    own = dict(own) if isinstance(own, Mapping) else own
    limit = own.pop("max_budget_usd", None) if isinstance(own, dict) else None
    kept = structs.replace(
        rules,
        questions_survive=able.questions_survive,
        max_budget_usd=rules.max_budget_usd if limit is None else limit,
    )
    state = Conversation(
        wish.conversation_id,
        kept,
        title=wish.title,
        title_by=None if wish.title is None else "person",
        model=wish.model,
        permission_mode=wish.permission_mode,
    )
    return structs.replace(wish, options=own, state=state)
