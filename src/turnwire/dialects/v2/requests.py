"""Converts questions and permission requests into items of the list of open requests."""

from __future__ import annotations

from turnwire.core.status import OpenRequest
from turnwire.dialects.v2 import payloads as p

__all__ = ["open_permission", "open_question"]


def open_question(asked: p.RequestInput, turn_id: int | None) -> OpenRequest:
    """Returns the open request of a question."""
    return OpenRequest(
        asked.question_id,
        "question",
        asked.question_id,
        asked.tool_name,
        asked.input,
        turn_id,
        asked.message_sequence,
        asked.inbox_item_id,
        asked.deadline_at,
        asked.questions,
        asked.required,
        asked.metadata,
        parent_tool_use_id=asked.parent_tool_use_id,
        agent_id=asked.agent_id,
    )


def open_permission(asked: p.PermissionAsked, turn_id: int | None) -> OpenRequest:
    """Returns the open request of a permission."""
    return OpenRequest(
        asked.request_id,
        "permission",
        asked.tool_use_id,
        asked.tool_name,
        asked.input,
        turn_id,
        asked.message_sequence,
        asked.inbox_item_id,
        asked.deadline_at,
        title=asked.title,
        description=asked.description,
        suggestions=asked.suggestions,
        blocked_path=asked.blocked_path,
        reason=asked.reason,
        decision_only=asked.decision_only,
        parent_tool_use_id=asked.parent_tool_use_id,
        agent_id=asked.agent_id,
    )
