"""The ids of what an agent asks. Each of its processes may count from one: the engine tells them apart."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from turnwire.core import events as ev
from turnwire.core.conversation.state import Reply
from turnwire.core.events import NormalizedStreamEvent

__all__ = ["RequestNames"]

_NAMED = (ev.PermissionRequested, ev.QuestionAsked, ev.RequestWithdrawn)


class RequestNames:
    """Adds the name of one process to the ids of its requests, and takes it away from the replies.

    So a decision that comes late never meets another request of the same id. A question goes by
    the id of its call, which is unique already.
    """

    def __init__(self, process: str) -> None:
        self._end = f".{process}"

    def heard(self, events: list[NormalizedStreamEvent]) -> list[NormalizedStreamEvent]:
        """What the agent said, as the conversation knows it."""
        return [
            structs.replace(event, request_id=event.request_id + self._end)
            if isinstance(event, _NAMED)
            else event
            for event in events
        ]

    def replies(self, replies: Sequence[Reply]) -> list[Reply]:
        """What the agent is told, as it knows it."""
        return [
            structs.replace(reply, request_id=reply.request_id.removesuffix(self._end))
            if reply.kind == "permission"
            else reply
            for reply in replies
        ]
