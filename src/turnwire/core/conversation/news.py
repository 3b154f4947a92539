"""Handles events of the agent that are not content: tasks, titles, delivery, settings, hooks."""

from __future__ import annotations

from msgspec import UNSET, structs

from turnwire.core import events as ev
from turnwire.core.conversation.draft import Draft
from turnwire.core.conversation.state import Offered
from turnwire.core.conversation.tools import turn_of_call
from turnwire.core.conversation.turns import tell_in_words
from turnwire.core.digest import digest_of
from turnwire.core.status import BackgroundTask

__all__ = [
    "hear_of_delivery",
    "hear_of_hook",
    "hear_of_init",
    "hear_of_offers",
    "hear_of_refusal",
    "hear_of_tasks",
    "hear_of_title",
    "turn_of_task",
]

_LONGEST = 200  # maximum characters of a title
# The fields of a hook run that the audit trail keeps.
_AUDITED = ("hook", "event", "decision", "failure", "tool_name", "tool_use_id")


def hear_of_tasks(d: Draft, event: ev.SystemEvent) -> int | None:
    """Updates the list of background tasks.

    Returns the turn of the task that the event is about.
    """
    match event:
        case ev.TasksListed(tasks=tasks):
            d.background = [_known(d, task) for task in tasks]
            return None
        case ev.TaskChanged(task=task) | ev.TaskEnded(task=task):
            known = _known(d, task)
        case _:
            return None
    others = [each for each in d.background if each.task_id != task.task_id]
    was_there = len(others) < len(d.background)
    if isinstance(event, ev.TaskEnded):
        d.background = others
    elif was_there or event.in_background:
        d.background = [*others, known]
    return known.turn_id


def hear_of_delivery(d: Draft, news: ev.AnswerDelivered) -> None:
    """Records how the agent received an answer.

    If the agent could not take the answer as the call's result, this side gives the call its
    result. If it could, unexpectedly, the agent confirms the answer by emitting the result.
    """
    if news.in_words:
        tell_in_words(d, lambda reply: reply.request_id == news.request_id)
        return
    for place, reply in enumerate(d.replies):
        if reply.request_id == news.request_id:
            d.replies[place] = structs.replace(reply, in_words=False)


def hear_of_hook(d: Draft, run: ev.HookRun) -> None:
    """Audits a run of an application's hook, so that its decisions appear with those of people."""
    told = {name: getattr(run, name) for name in _AUDITED}
    d.audit("hook_run", None, **{name: value for name, value in told.items() if value is not None})


def hear_of_init(d: Draft, init: ev.SessionInit, *, choosing: bool = False) -> bool:
    """Records the agent's settings. Returns whether they are new or changed, for the log.

    A changed model or permission mode counts as well, because the status shows only reported
    values. `choosing`: the agent does not know the latest choice yet, so the choice stays.
    """
    before = d.model, d.permission_mode, d.init_digest
    if not choosing:
        d.model = init.model or d.model
        d.permission_mode = init.permission_mode or d.permission_mode
    d.init_digest = init.digest or digest_of(
        [init.model, init.cwd, init.permission_mode, init.tools, init.agent_version]
    )
    return (d.model, d.permission_mode, d.init_digest) != before


def hear_of_offers(d: Draft, news: ev.SessionOffered, *, choosing: bool = False) -> bool:
    """Records what the session offers, and its settings. Returns whether they are new, for the log.

    `choosing`: as for `hear_of_init`.

    A person's choice of an option is kept for the next session, with the value that it has now.
    """
    before = d.offered, d.model, d.permission_mode
    known = d.offered or Offered()
    chosen = {name: news.options.get(name, value) for name, value in known.chosen.items()}
    d.offered = Offered(news.offers, news.options, chosen)
    if not choosing:
        d.model = news.model or d.model
        d.permission_mode = news.permission_mode or d.permission_mode
    return (d.offered, d.model, d.permission_mode) != before


def hear_of_refusal(d: Draft, news: ev.ChoiceRefused) -> None:
    """Restores the setting that the agent keeps after it refused a change.

    The refusal of an earlier choice does not affect a later choice.
    """
    wanted, stays = news.wanted, news.stays
    if wanted.model is not None and wanted.model == d.model:
        d.model = stays.model
    if wanted.permission_mode is not None and wanted.permission_mode == d.permission_mode:
        d.permission_mode = stays.permission_mode
    tokens = stays.max_thinking_tokens
    if tokens is not UNSET and wanted.max_thinking_tokens == d.max_thinking_tokens:
        d.max_thinking_tokens = tokens


def hear_of_title(d: Draft, title: str) -> None:
    """Takes over the agent's title, unless a person has given one."""
    if title.strip() and d.title_by != "person":
        d.title, d.title_by = " ".join(title.split())[:_LONGEST], "agent"


def turn_of_task(d: Draft, tool_use_id: str) -> int | None:
    """Returns the turn of the background task that a call has started. Returns None if unknown."""
    return next((t.turn_id for t in d.background if t.tool_use_id == tool_use_id), None)


def _known(d: Draft, task: ev.Task) -> BackgroundTask:
    """Returns the task merged with its earlier record."""
    for known in d.background:
        if known.task_id == task.task_id:
            turn_id = known.turn_id
            if known.tool_use_id is None:  # the call that started it is known only now
                turn_id = turn_of_call(d, task.tool_use_id, turn_id)
            return structs.replace(
                known,
                turn_id=turn_id,
                tool_use_id=known.tool_use_id or task.tool_use_id,
                kind=task.kind or known.kind,
                description=task.description or known.description,
            )
    current = d.turn.turn_id if d.turn else d.last_turn_id
    turn_id = turn_of_call(d, task.tool_use_id, current)
    return BackgroundTask(
        task.task_id, turn_id, task.tool_use_id, task.kind, task.description, "running"
    )
