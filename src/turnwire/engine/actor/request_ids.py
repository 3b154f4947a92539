"""The ids of an agent's requests, unique across its processes."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from turnwire.core import events as ev
from turnwire.core.conversation.state import Reply
from turnwire.core.events import NormalizedStreamEvent

__all__ = ["RequestNames"]

_NAMED = (ev.PermissionRequested, ev.QuestionAsked, ev.RequestWithdrawn)


class RequestNames:
    """Adds the name of one process to the ids of its requests, and removes it from the replies.

    Each process may count its requests from one. With the name, a late decision never matches a
    request of another process. A question has the id of its call, which is unique already.
    """

    def __init__(self, process: str) -> None:
        self._end = f".{process}"

    def heard(self, events: list[NormalizedStreamEvent]) -> list[NormalizedStreamEvent]:
        """Returns the agent's events with the ids that the conversation uses."""
        return [
            structs.replace(event, request_id=event.request_id + self._end)
            if isinstance(event, _NAMED)
            else event
            for event in events
        ]

    def replies(self, replies: Sequence[Reply]) -> list[Reply]:
        """Returns the replies with the ids that the agent uses."""
        return [
            structs.replace(reply, request_id=reply.request_id.removesuffix(self._end))
            if reply.kind == "permission"
            else reply
            for reply in replies
        ]
