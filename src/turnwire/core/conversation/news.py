"""News of the agent that the rules need: what goes on in the background, and that nothing does."""

from __future__ import annotations

from msgspec import UNSET, structs

from turnwire.core import events as ev
from turnwire.core.conversation.draft import Draft
from turnwire.core.conversation.tools import turn_of_call
from turnwire.core.conversation.turns import tell_in_words
from turnwire.core.digest import digest_of
from turnwire.core.status import BackgroundTask

__all__ = [
    "hear_of_delivery",
    "hear_of_hook",
    "hear_of_init",
    "hear_of_refusal",
    "hear_of_tasks",
    "hear_of_title",
    "turn_of_task",
]

_LONGEST = 200  # characters of a title
# What the audit trail keeps of a hook's run.
_AUDITED = ("hook", "event", "decision", "failure", "tool_name", "tool_use_id")


def hear_of_tasks(d: Draft, event: ev.SystemEvent) -> int | None:
    """Follow what goes on in the background. Returns the turn of the task that the news is about."""
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
    """The agent could not take an answer as its call's result: then that is ours to tell.

    Or it could, although nobody had thought so: then it has it when it shows the result.
    """
    if news.in_words:
        tell_in_words(d, lambda reply: reply.request_id == news.request_id)
        return
    for place, reply in enumerate(d.replies):
        if reply.request_id == news.request_id:
            d.replies[place] = structs.replace(reply, in_words=False)


def hear_of_hook(d: Draft, run: ev.HookRun) -> None:
    """A hook of the application was asked: whoever looks for who decided finds it beside people."""
    told = {name: getattr(run, name) for name in _AUDITED}
    d.audit("hook_run", None, **{name: value for name, value in told.items() if value is not None})


def hear_of_init(d: Draft, init: ev.SessionInit) -> bool:
    """Follow what the agent is. Returns whether the log has to say it: it is new, or has changed.

    A model or a mode that changes with it is a change, too: a state tells only what was said.
    """
    before = d.model, d.permission_mode, d.init_digest
    d.model = init.model or d.model
    d.permission_mode = init.permission_mode or d.permission_mode
    d.init_digest = init.digest or digest_of(
        [init.model, init.cwd, init.permission_mode, init.tools, init.agent_version]
    )
    return (d.model, d.permission_mode, d.init_digest) != before


def hear_of_refusal(d: Draft, news: ev.ChoiceRefused) -> None:
    """The agent did not take a choice: what it goes on with is what is told, and kept for the next.

    A later choice is not touched by the refusal of an earlier one.
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
    """The agent knows a better title than the first words. One that a person gave stays."""
    if title.strip() and d.title_by != "person":
        d.title, d.title_by = " ".join(title.split())[:_LONGEST], "agent"


def turn_of_task(d: Draft, tool_use_id: str) -> int | None:
    """The turn of the background work that a call has started."""
    return next((t.turn_id for t in d.background if t.tool_use_id == tool_use_id), None)


def _known(d: Draft, task: ev.Task) -> BackgroundTask:
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
                kind=task.kind or known.kind,
                description=task.description or known.description,
            )
    current = d.turn.turn_id if d.turn else d.last_turn_id
    turn_id = turn_of_call(d, task.tool_use_id, current)
    return BackgroundTask(
        task.task_id, turn_id, task.tool_use_id, task.kind, task.description, "running"
    )
