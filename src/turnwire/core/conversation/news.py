"""News of the agent that the rules need: what goes on in the background, and that nothing does."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType, structs

from turnwire.core import events as ev
from turnwire.core.conversation.draft import Draft
from turnwire.core.conversation.tools import turn_of_call
from turnwire.core.conversation.turns import tell_in_words
from turnwire.core.message import to_json
from turnwire.core.status import BackgroundTask

__all__ = [
    "hear_of_delivery",
    "hear_of_hook",
    "hear_of_mode",
    "hear_of_refusal",
    "hear_of_tasks",
    "hear_of_title",
    "says_idle",
    "turn_of_task",
]

_LONGEST = 200  # characters of a title


_T = TypeVar("_T")


class _Task(Struct, frozen=True, gc=False):
    task_id: str
    tool_use_id: str | None = None
    task_type: str | None = None
    description: str | None = None
    is_backgrounded: bool | None = None


class _Tasks(Struct, frozen=True, gc=False):
    tasks: list[_Task]


class _SessionState(Struct, frozen=True, gc=False):
    state: str


class _Choice(Struct, frozen=True, gc=False):
    model: str | None = None
    permission_mode: str | None = None
    max_thinking_tokens: int | UnsetType | None = UNSET


class _ChoiceRefused(Struct, frozen=True, gc=False):
    wanted: _Choice
    stays: _Choice


class _Title(Struct, frozen=True, gc=False):
    title: str


class _Delivery(Struct, frozen=True, gc=False):
    request_id: str
    delivered_as: str


class _Mode(Struct, frozen=True, gc=False):
    permissionMode: str  # noqa: N815 (the wire's spelling)


class _HookRun(Struct, frozen=True, omit_defaults=True, gc=False):
    hook: str
    event: str
    decision: str
    failure: str | None = None
    tool_name: str | None = None
    tool_use_id: str | None = None


def says_idle(event: ev.NormalizedStreamEvent) -> bool:
    """Whether the agent has nothing left to do."""
    if not isinstance(event, ev.SystemEvent) or event.subtype != "session_state_changed":
        return False
    news = _read(event, _SessionState)
    return news is not None and news.state == "idle"


def hear_of_tasks(d: Draft, event: ev.SystemEvent) -> int | None:
    """Follow what goes on in the background. Returns the turn of the task that the news is about."""
    if event.subtype == "background_tasks_changed":
        listed = _read(event, _Tasks)
        if listed is not None:
            d.background = [_known(d, task) for task in listed.tasks]
        return None
    if event.subtype not in ("task_started", "task_updated", "task_notification"):
        return None
    task = _read(event, _Task)
    if task is None:
        return None
    known = _known(d, task)
    others = [each for each in d.background if each.task_id != task.task_id]
    was_there = len(others) < len(d.background)
    if event.subtype == "task_notification":
        d.background = others
    elif was_there or task.is_backgrounded:
        d.background = [*others, known]
    return known.turn_id


def hear_of_delivery(d: Draft, event: ev.SystemEvent) -> None:
    """The agent could not take an answer as its call's result: then that is ours to tell.

    Or it could, although nobody had thought so: then it has it when it shows the result.
    """
    news = _read(event, _Delivery)
    if news is None:
        return
    if news.delivered_as == "prompt":
        tell_in_words(d, lambda reply: reply.request_id == news.request_id)
        return
    for place, reply in enumerate(d.replies):
        if reply.request_id == news.request_id:
            d.replies[place] = structs.replace(reply, in_words=False)


def hear_of_hook(d: Draft, event: ev.SystemEvent) -> None:
    """A hook of the application was asked: whoever looks for who decided finds it beside people."""
    news = _read(event, _HookRun)
    if news is not None:
        d.audit("hook_run", None, **to_json(news))


def hear_of_mode(d: Draft, event: ev.SystemEvent) -> None:
    """The agent goes on in another permission mode, as when its plan was accepted; so will the next."""
    news = _read(event, _Mode)
    if news is not None:
        d.permission_mode = news.permissionMode


def hear_of_refusal(d: Draft, event: ev.SystemEvent) -> None:
    """The agent did not take a choice: what it goes on with is what is told, and kept for the next.

    A later choice is not touched by the refusal of an earlier one.
    """
    news = _read(event, _ChoiceRefused)
    if news is None:
        return
    if news.wanted.model is not None and news.wanted.model == d.model:
        d.model = news.stays.model
    if news.wanted.permission_mode is not None and news.wanted.permission_mode == d.permission_mode:
        d.permission_mode = news.stays.permission_mode
    stays = news.stays.max_thinking_tokens
    if stays is not UNSET and news.wanted.max_thinking_tokens == d.max_thinking_tokens:
        d.max_thinking_tokens = stays


def hear_of_title(d: Draft, event: ev.SystemEvent) -> None:
    """The agent knows a better title than the first words. One that a person gave stays."""
    news = _read(event, _Title)
    if news is not None and news.title.strip() and d.title_by != "person":
        d.title, d.title_by = " ".join(news.title.split())[:_LONGEST], "agent"


def _read(event: ev.SystemEvent, kind: type[_T]) -> _T | None:
    """The particulars of news; none where news of that name is about something else."""
    if event.data is UNSET:
        return None
    try:
        return msgspec.json.decode(event.data, type=kind)
    except msgspec.DecodeError:
        return None


def turn_of_task(d: Draft, tool_use_id: str) -> int | None:
    """The turn of the background work that a call has started."""
    return next((t.turn_id for t in d.background if t.tool_use_id == tool_use_id), None)


def _known(d: Draft, task: _Task) -> BackgroundTask:
    """What is known of a task, with what is new."""
    for known in d.background:
        if known.task_id == task.task_id:
            turn_id = known.turn_id
            if known.tool_use_id is None:  # only now it shows which call has started it
                turn_id = turn_of_call(d, task.tool_use_id, turn_id)
            return structs.replace(
                known,
                turn_id=turn_id,
                tool_use_id=known.tool_use_id or task.tool_use_id,
                kind=task.task_type or known.kind,
                description=task.description or known.description,
            )
    current = d.turn.turn_id if d.turn else d.last_turn_id
    turn_id = turn_of_call(d, task.tool_use_id, current)
    return BackgroundTask(
        task.task_id, turn_id, task.tool_use_id, task.task_type, task.description, "running"
    )
