"""Stops, suspends, resumes and ends turns, and closes everything that is open in them."""

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
from turnwire.core.conversation.remembering import forget_of_process
from turnwire.core.conversation.requests import (
    cancel_requests,
    end_request,
    is_waited_for,
    of_turn,
    questions_of_turn,
    refuse,
)
from turnwire.core.conversation.state import Reply, Stopping, Turn, Waiting
from turnwire.core.conversation.steering import may_be_known, stays_queued
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


_NOTHING_DONE = {"acknowledged": False, "forced": False}  # the agent was not asked to stop


# --- stopping a turn ------------------------------------------------------------------------------


def stop_turn(d: Draft, stopping: Stopping) -> None:
    """Asks the agent to stop, with a timer that forces it. A suspended turn ends at once."""
    turn = d.turn
    assert turn is not None
    waits = is_suspended(d)
    if stopping.queue == "clear":
        stopping = structs.replace(stopping, clears=clear_queue(d, stopping.by))
    cancel_requests(d, stopping.by or "interrupt", lambda r: waits or of_turn(d, r))
    d.turn = structs.replace(turn, stopping=stopping)
    if waits:
        finish_turn(d, stopped_end(stopping), gone=stopping.reason)
        return
    d.phase("stopping")
    d.commands.append(StopAgent(turn.turn_id, False))
    due = d.at + round(d.options.interrupt_grace * 1000)
    d.timers.append(SetTimer(f"stop:{turn.turn_id}", due))


def clear_queue(d: Draft, by: str | None) -> list[str]:
    """Empties the queue at the stop request. Messages queued after the request are kept.

    Returns the messages that are on their way to the agent, which may still take them. Those that
    it has not taken go at the turn's end.
    """
    if d.queue:
        _remove(d, by, [waiting for waiting in d.queue if waiting.item.steers is None])
        d.held = False
        d.tell()
    return [waiting.item.queue_id for waiting in d.queue]


def _remove(d: Draft, by: str | None, removed: list[Waiting]) -> None:
    for waiting in removed:
        d.audit("queue_remove", by, queue_id=waiting.item.queue_id)
        d.queue.remove(waiting)


def stopped_end(stopping: Stopping) -> TurnEnd:
    """Returns the end of a stopped turn if the agent does not report one."""
    if stopping.error is not None:
        return TurnEnd(True, False, error=stopping.error)
    return TurnEnd(False, True)


# --- suspending and resuming a turn ---------------------------------------------------------------


def is_suspended(d: Draft) -> bool:
    """Returns whether the turn waits for an answer without an agent."""
    return d.turn is not None and d.turn.phase == "suspended"


def survives(d: Draft, voice: str | None) -> bool:
    """Returns whether another process of the agent can take the answer as a tool result.

    An agent can defer only its own question. The question of a sub-agent is lost with the process.
    """
    assert d.turn is not None
    return d.options.questions_survive or (d.turn.deferred and voice is None)


def suspend_turn(d: Draft, by: str) -> None:
    """Suspends the turn after its agent has ended. Questions stay open, everything else ends."""
    assert d.turn is not None
    agent_gone(d, by)
    lost = [r for r in d.replies if not r.in_words and not survives(d, r.parent_tool_use_id)]
    tell_in_words(d, lambda reply: reply in lost)
    for reply in lost:
        d.tell_delivery(reply)  # at its acceptance the agent was still running
    close_tools(d, f"interrupted: {by}", background=True)
    d.turn = structs.replace(d.turn, phase="suspended", ending=None)
    d.move("turn_suspended")


def tell_in_words(d: Draft, which: Callable[[Reply], bool]) -> None:
    """Marks answers to be delivered as text, and gives their calls a result in the log."""
    for place, reply in enumerate(d.replies):
        if which(reply):
            _cancel_permissions(d, reply.request_id)
            give_result(d, reply)
            d.replies[place] = structs.replace(reply, in_words=True)


def _cancel_permissions(d: Draft, tool_use_id: str) -> None:
    """Cancels the permissions of a call that gets its result, and tells the waiting agent."""
    for request in [request for request in d.requests if request.tool_use_id == tool_use_id]:
        end_request(d, request, "cancelled", "agent")
        refuse(d, request.request_id, request.kind, "The call has its result already.")


def keep_answers(d: Draft) -> None:
    """Keeps unconfirmed answers of a turn that ends, for delivery with the next prompt."""
    tell_in_words(d, lambda reply: True)
    d.replies = [structs.replace(reply, wake=False) for reply in d.replies]


def wake(d: Draft, *, anyway: bool = False) -> None:
    """Resumes a suspended turn whose questions are all answered.

    Needs an answer that asks for it, or `anyway`.
    """
    if d.turn is None or not is_suspended(d) or questions_of_turn(d):
        return
    if not anyway and not any(reply.wake for reply in d.replies):
        return
    if d.before.turn is None or d.before.turn.phase != "suspended":
        d.tell()  # it was suspended in this same step
    d.replies = [structs.replace(reply, shown=False) for reply in d.replies]
    turn = structs.replace(d.turn, origin="resume", phase="starting", unheard=False)
    d.writes.append(BeginTurn(turn))
    # A turn that the agent never received keeps its origin.
    d.turn = structs.replace(turn, origin="user") if d.turn.unheard else turn
    hand_over(d, d.turn)
    d.move("turn_started")


def hand_over(d: Draft, turn: Turn) -> None:
    """Gives a turn to the agent: the person's message, or the answers that the turn waits for."""
    if turn.origin == "user":
        d.prompt(turn)
    else:
        d.commands.append(Deliver(turn, list(d.replies), True))


# --- after the agent has ended --------------------------------------------------------------------


def agent_gone(d: Draft, by: str) -> None:
    """Ends everything that depends on the agent, except the questions of a turn that can wait."""
    cancel_requests(d, by, lambda r: r.kind == "permission" or not is_waited_for(d, r))
    d.asked.clear()
    d.voices.clear()
    may_be_known(d)
    for task in d.background:
        news = {"task_id": task.task_id, "tool_use_id": task.tool_use_id, "status": "stopped"}
        data = {"subtype": "task_notification", "data": {**news, "summary": f"interrupted: {by}"}}
        d.add_event("system", f"Background work ended: {by}", task.turn_id, data)
    d.background.clear()
    forget_of_process(d)
    if d.turn is None or d.turn.phase in ("suspended", "starting"):
        close_tools(d, f"interrupted: {by}", background=True)  # otherwise closed with the turn


def close_agent(d: Draft, by: str) -> None:
    """Closes the agent, and with it the background work."""
    agent_gone(d, by)
    d.commands.append(CloseAgent())


# --- ending a turn --------------------------------------------------------------------------------


def close_work(d: Draft, end: TurnEnd, gone: str | None = None, *, goes_on: bool = False) -> None:
    """Closes all requests and calls of the turn, except background work of a live agent.

    With `goes_on` the turn keeps its answers.
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
        # A turn that the agent began by itself did not receive the answers left as text.
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
    """Ends a turn: its requests, calls, stop receipt, the turn itself, and the hold of the queue.

    `gone` says why the agent has ended; background work then ends with the turn.
    """
    turn = d.turn
    assert turn is not None
    stopping = turn.stopping
    if stopping is not None and stopping.error is None:
        end = structs.replace(end, interrupted=True)  # even if it was about to end anyway
    close_work(d, end, gone)
    stays_queued(d)
    if stopping is not None and stopping.queue == "clear":
        _remove(d, stopping.by, [w for w in d.queue if w.item.queue_id in stopping.clears])
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
    """Logs and audits the receipt of a stop: the request and its effect."""
    by = stopping.by if stopping else None
    data: dict[str, Any] = {"reason": reason}
    if stopping is not None:
        data |= {"requested_at": stopping.requested_at, "queue": stopping.queue}
    data |= receipt
    if processes:
        data["processes"] = to_json(processes)
    d.audit("interrupted", by, turn_id=turn_id, **data)
    d.add_event("interrupted", f"Stopped: {reason}", turn_id, {**data, "by": by})
