"""Finds the commands whose effect a frame shows: their acks must come before that frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from turnwire.core.status import QueueItem, Status
from turnwire.dialects.v2 import commands as c
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.validator.content import same_content
from turnwire.dialects.v2.validator.log import LogCheck
from turnwire.dialects.v2.validator.queue import Waiting

__all__ = ["shown_by_entry", "shown_by_start", "shown_by_state"]

_Causes: TypeAlias = Callable[[c.ClientFrame], bool]


def shown_by_start(start: p.TurnStart, *, held: bool) -> _Causes:
    """turn.started: shows the effect of a message, or of a resumed queue."""

    def causes(wish: c.ClientFrame) -> bool:
        match wish:
            case c.SendMessage(client_message_id=str(own_id)):
                return own_id == start.client_message_id
            case c.QueueCommand(payload=change):
                return change.action == "resume" and held and start.queue_id is not None
            case _:
                return False

    return causes


def shown_by_entry(payload: Any) -> _Causes:
    """An entry: shows the effect of a message, an answer, a rewind or a change of the model."""

    def causes(wish: c.ClientFrame) -> bool:
        match wish, payload:
            case c.SendMessage(client_message_id=str(own_id)), p.UserWords():
                return own_id == payload.client_message_id
            case c.InputResponse(payload=answer), p.RequestResolved():
                return answer.question_id == payload.request_id
            case c.PermissionResponse(payload=choice), p.RequestResolved():
                return choice.request_id == payload.request_id
            case c.Rewind(payload=to), p.SystemNews(subtype="rewind", data={} as data):
                return not to.dry_run and bool(data.get("message_sequence") == to.message_sequence)
            case c.SetModel(payload=model), p.SystemNews(subtype="model", data={} as data):
                return bool(data.get("model") == model.model)
            case c.SetAgent(payload=choice), p.SystemNews(subtype="agent", data={} as data):
                return bool(data.get("agent") == choice.agent)
            case _:
                return False

    return causes


def shown_by_state(status: Status, log: LogCheck) -> _Causes:
    """session.state: shows the effect of a queued message, or a change of queue, model or mode."""
    before = log.queue.items

    def causes(wish: c.ClientFrame) -> bool:
        match wish:
            case c.SendMessage(client_message_id=str(own_id)):
                return any(item.client_message_id == own_id for item in status.queue)
            case c.QueueCommand(payload=change):
                after = log.queue.after(change)
                return after != before and _is(status.queue, after)
            case c.SetAgent(payload=choice):
                return log.state.next_agent != choice.agent == status.next_agent
            case c.SetModel(payload=model):
                return log.state.changes_to(status, model=model.model)
            case c.SetPermissionMode(payload=mode):
                return log.state.changes_to(status, mode=mode.mode)
            case c.SetMaxThinkingTokens(payload=choice):
                return log.state.thinks_otherwise(status, choice.max_thinking_tokens)
            case _:
                return False

    return causes


def _is(told: Sequence[QueueItem], queue: Sequence[Waiting]) -> bool:
    return [item.queue_id for item in told] == [item.queue_id for item in queue] and all(
        same_content(mine.content, theirs.content) for mine, theirs in zip(queue, told, strict=True)
    )
