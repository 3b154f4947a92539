"""How turns are stopped, suspended, resumed and ended, so that nothing stays half said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import structs

from turnwire.core.conversation.draft import Draft
from turnwire.core.conversation.effects import (
    BeginTurn,
    CancelTimer,
    CloseAgent,
    Deliver,
    SetTimer,
    StopAgent,
)
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.conversation.requests import (
    cancel_requests,
    end_request,
    is_waited_for,
    of_turn,
    questions_of_turn,
    refuse,
)
from turnwire.core.conversation.state import Reply, Stopping, Turn
from turnwire.core.conversation.tools import close_tools, give_result
from turnwire.core.message import to_json
from turnwire.core.status import TurnEnd

__all__ = [
    "agent_gone",
    "clear_queue",
    "close_agent",
    "close_work",
    "finish_turn",
    "hand_over",
    "is_suspended",
    "stop_turn",
    "stopped_end",
    "survives",
    "suspend_turn",
    "tell_in_words",
    "wake",
]


_NOTHING_DONE = {"acknowledged": False, "forced": False}  # no agent was asked


# --- a turn that is to stop ---------------------------------------------------------------------


def stop_turn(d: Draft, stopping: Stopping) -> None:
    """Ask the agent to stop, and see to it that it does. A turn that only waits ends at once."""
    turn = d.turn
    assert turn is not None
    waits = is_suspended(d)
    if stopping.queue == "clear":
        clear_queue(d, stopping.by)
    cancel_requests(d, stopping.by or "interrupt", lambda r: waits or of_turn(d, r))
    d.turn = structs.replace(turn, stopping=stopping)
    if waits:
        finish_turn(d, stopped_end(stopping), gone=stopping.reason)
        return
    d.phase("stopping")
    d.commands.append(StopAgent(turn.turn_id, False))
    due = d.at + round(d.options.interrupt_grace * 1000)
    d.timers.append(SetTimer(f"stop:{turn.turn_id}", due))


def clear_queue(d: Draft, by: str | None) -> None:
    """What waits is removed when the stop is asked for: what comes later was not meant."""
    if not d.queue:
        return
    for waiting in d.queue:
        d.audit("queue_remove", by, queue_id=waiting.item.queue_id)
    d.queue.clear()
    d.held = False
    d.tell()


def stopped_end(stopping: Stopping) -> TurnEnd:
    """How a turn ends that was stopped, where no agent says how."""
    if stopping.error is not None:
        return TurnEnd(True, False, error=stopping.error)
    return TurnEnd(False, True)


# --- a turn that waits --------------------------------------------------------------------------


def is_suspended(d: Draft) -> bool:
    """Whether a turn waits for an answer, and no agent is needed for that."""
    return d.turn is not None and d.turn.phase == "suspended"


def survives(d: Draft, voice: str | None) -> bool:
    """Whether a question can get its answer as a result from another process.

    What an agent puts aside is its own question: that of a sub-agent is gone with it.
    """
    assert d.turn is not None
    return d.options.questions_survive or (d.turn.deferred and voice is None)


def suspend_turn(d: Draft, by: str) -> None:
    """The agent is gone and a question is open: it stays open, everything else ends."""
    assert d.turn is not None
    agent_gone(d, by)
    lost = [r for r in d.replies if not r.in_words and not survives(d, r.parent_tool_use_id)]
    tell_in_words(d, lambda reply: reply in lost)
    for reply in lost:
        d.tell_delivery(reply)  # when it was accepted its agent was still there
    close_tools(d, f"interrupted: {by}", background=True)
    d.turn = structs.replace(d.turn, phase="suspended", ending=None)
    d.move("turn_suspended")


def tell_in_words(d: Draft, which: Callable[[Reply], bool]) -> None:
    """Answers that cannot be their calls' results any more, but in the log."""
    for place, reply in enumerate(d.replies):
        if which(reply):
            _cancel_permissions(d, reply.request_id)
            give_result(d, reply)
            d.replies[place] = structs.replace(reply, in_words=True)


def _cancel_permissions(d: Draft, tool_use_id: str) -> None:
    """Cancels the permissions of a call that gets its result, and tells the agent, which waits."""
    for request in [request for request in d.requests if request.tool_use_id == tool_use_id]:
        end_request(d, request, "cancelled", "agent")
        refuse(d, request.request_id, request.kind, "The call has its result already.")


def keep_answers(d: Draft) -> None:
    """The turn ends before the agent has shown that it has these: they go with the next prompt."""
    tell_in_words(d, lambda reply: True)
    d.replies = [structs.replace(reply, wake=False) for reply in d.replies]


def wake(d: Draft, *, anyway: bool = False) -> None:
    """The same turn goes on when every question has its answer, and somebody wants it to."""
    if d.turn is None or not is_suspended(d) or questions_of_turn(d):
        return
    if not anyway and not any(reply.wake for reply in d.replies):
        return
    if d.before.turn is None or d.before.turn.phase != "suspended":
        d.tell()  # it was suspended in this very step
    d.replies = [structs.replace(reply, shown=False) for reply in d.replies]
    turn = structs.replace(d.turn, origin="resume", phase="starting", unheard=False)
    d.writes.append(BeginTurn(turn))
    # What the agent never heard of is still what a person began.
    d.turn = structs.replace(turn, origin="user") if d.turn.unheard else turn
    hand_over(d, d.turn)
    d.move("turn_started")


def hand_over(d: Draft, turn: Turn) -> None:
    """Give a turn to the agent: what a person said, or the answers that it waits for."""
    if turn.origin == "user":
        d.prompt(turn)
    else:
        d.commands.append(Deliver(turn, list(d.replies), True))


# --- without the agent --------------------------------------------------------------------------


def agent_gone(d: Draft, by: str) -> None:
    """What goes with the agent: all that was asked, but the questions of a turn that can wait."""
    cancel_requests(d, by, lambda r: r.kind == "permission" or not is_waited_for(d, r))
    d.asked.clear()
    d.voices.clear()
    for task in d.background:
        news = {"task_id": task.task_id, "tool_use_id": task.tool_use_id, "status": "stopped"}
        data = {"subtype": "task_notification", "data": {**news, "summary": f"interrupted: {by}"}}
        d.add_event("system", f"Background work ended: {by}", task.turn_id, data)
    d.background.clear()
    if d.turn is None or d.turn.phase in ("suspended", "starting"):
        close_tools(d, f"interrupted: {by}", background=True)  # else with the turn


def close_agent(d: Draft, by: str) -> None:
    """The agent is not needed for now, and background work ends with it."""
    agent_gone(d, by)
    d.commands.append(CloseAgent())


# --- the end ------------------------------------------------------------------------------------


def close_work(d: Draft, end: TurnEnd, gone: str | None = None, *, goes_on: bool = False) -> None:
    """Nothing that was asked or called stays open, but for background work with a live agent.

    What was answered stays with a turn that goes on.
    """
    cancel_requests(d, gone or "agent", lambda r: gone is not None or of_turn(d, r))
    turn = d.turn
    assert turn is not None
    if not goes_on:
        _close_answers(d, turn, end, gone)
    why = "interrupted" if end.interrupted else "no result: the turn ended"
    close_tools(d, f"interrupted: {gone}" if gone else why, background=gone is not None)


def _close_answers(d: Draft, turn: Turn, end: TurnEnd, gone: str | None) -> None:
    if turn.stopping is not None or end.is_error or gone is not None:
        keep_answers(d)
    else:
        # A turn of the agent's own began without the words that a turn before it has left.
        d.replies = [reply for reply in d.replies if reply.in_words and turn.origin == "agent"]


def finish_turn(
    d: Draft,
    end: TurnEnd,
    *,
    gone: str | None = None,
    acknowledged: bool = False,
    forced: bool = False,
    lost: bool = False,
    processes: list[EndedProcess] | None = None,
) -> None:
    """End a turn: requests, calls, the receipt of a stop, the turn itself, the queue.

    `gone` says why there is no agent any more; then background work ends with the turn.
    """
    turn = d.turn
    assert turn is not None
    stopping = turn.stopping
    if stopping is not None and stopping.error is None:
        end = structs.replace(end, interrupted=True)  # it may have been about to end anyway
    close_work(d, end, gone)
    reason = stopping.reason if stopping else gone or "agent"
    if stopping is not None:
        d.timers.append(CancelTimer(f"stop:{turn.turn_id}"))
    if end.interrupted:
        receipt = {"acknowledged": acknowledged, "forced": forced}
        if lost:
            receipt["lost"] = True
        _tell_interrupted(d, turn.turn_id, reason, stopping, receipt, processes)
    d.end_turn(turn, end, end.error.code if end.error else reason)
    if end.is_error or end.interrupted or stopping is not None:
        d.held = bool(d.queue) and (stopping is None or stopping.queue == "hold")
    if reason == "disconnect":
        close_agent(d, reason)


def _tell_interrupted(
    d: Draft,
    turn_id: int,
    reason: str,
    stopping: Stopping | None,
    receipt: dict[str, Any] = _NOTHING_DONE,
    processes: list[EndedProcess] | None = None,
) -> None:
    """The receipt of a stop: what was asked for, and what came of it."""
    by = stopping.by if stopping else None
    data: dict[str, Any] = {"reason": reason}
    if stopping is not None:
        data |= {"requested_at": stopping.requested_at, "queue": stopping.queue}
    data |= receipt
    if processes:
        data["processes"] = to_json(processes)
    d.audit("interrupted", by, turn_id=turn_id, **data)
    d.add_event("interrupted", f"Stopped: {reason}", turn_id, {**data, "by": by})
