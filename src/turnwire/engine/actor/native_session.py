"""The agent's own session behind a conversation: its name, its pieces, and who began it."""

from __future__ import annotations

from typing import Any

from turnwire.agents.client_tools import CLIENT_TOOLS
from turnwire.core.conversation import effects as e
from turnwire.core.conversation.state import Conversation
from turnwire.ports import (
    AgentCapabilities,
    Commit,
    ConversationRow,
    Lease,
    NativeFork,
    ReadsHistory,
    SessionPiece,
    SessionStart,
)

__all__ = ["NativeSession"]


class NativeSession:
    """What the store knows of the agent's session, and what the next commit adds."""

    def __init__(self, row: ConversationRow, node: str | None) -> None:
        """`node`: this node, to which a session that cannot be moved pins the conversation."""
        self.name = row.native_session_id
        self.pieces: list[SessionPiece] = []  # not committed yet
        self.pins_to = node
        self.has_old_pieces = False  # the store may have pieces of earlier sessions
        self._owns = row.owns_session
        self._spoken_in: str | None = None  # the session that sent the latest batch

    def start(
        self,
        row: ConversationRow,
        state: Conversation,
        able: AgentCapabilities,
        lease: Lease,
        history: ReadsHistory,
    ) -> SessionStart:
        """Returns how a session of the agent is opened now."""
        return SessionStart(
            row.conversation_id,
            self.name,
            row.cwd,
            state.model,
            state.permission_mode,
            _options(row, state, able),
            state.max_thinking_tokens,
            _forked_from(row, state) if self.name is None else None,
            mcp_off=state.mcp_off,
            session_options=state.offered.chosen if state.offered else {},
            lease=lease,
            history=history,
        )

    def name_to_begin_with(self, row: ConversationRow, state: Conversation) -> str | None:
        """Returns the session that the agent resumes, or begins a fork with."""
        forked = _forked_from(row, state)
        return forked.session_id if self.name is None and forked is not None else self.name

    def heard(self, name: str | None) -> None:
        """Notes which session has sent a batch: it may have ended when the batch is committed."""
        self._spoken_in = name or self._spoken_in

    def new_name(self, name: str | None) -> str | None:
        """Returns the name that a commit writes. Returns None if the store has it already.

        `name`: of the session that is open now, if there is one.
        """
        native = name or self._spoken_in
        return native if native != self.name else None

    def is_committed(self, commit: Commit, row: ConversationRow) -> None:
        """Notes what a commit has written."""
        del self.pieces[: len(commit.pieces)]
        if commit.native_session_id is not None:
            is_another = self.name is not None or row.native_from is not None
            self.has_old_pieces = self.has_old_pieces or is_another
            self.name = commit.native_session_id
            self._owns = True

    # --- another agent takes over -------------------------------------------------------------

    @property
    def left(self) -> tuple[str | None, bool]:
        """The session that is left when another agent takes over, and whether we began it."""
        session = self._spoken_in or self.name
        return session, self._owns or session != self.name

    def change(self, change: e.ChangeAgent) -> None:
        """Continues with the session of another agent, which may be a new one."""
        self.name, self._owns = change.session, change.owns_session
        self._spoken_in = None


def _is_first_agent(state: Conversation) -> bool:
    """Returns whether the options and the forked session of the conversation are the agent's own."""
    handover = state.handover
    return handover is None or handover.first == handover.agent


def _options(row: ConversationRow, state: Conversation, able: AgentCapabilities) -> dict[str, Any]:
    """Returns the options for the agent.

    An agent that has taken over does not know those of the first one. But the tools of the front end
    are the front end's own, and stay the same.
    """
    if _is_first_agent(state):
        return row.options
    shared = {CLIENT_TOOLS} & row.options.keys() & {*able.options}
    return {name: row.options[name] for name in shared}


def _forked_from(row: ConversationRow, state: Conversation) -> NativeFork | None:
    return row.native_from if _is_first_agent(state) else None
