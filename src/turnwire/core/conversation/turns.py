"""How turns are stopped, suspended, resumed and ended, so that nothing stays half said."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from turnwire.core import blocks
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
from turnwire.core.conversation.requests import cancel_requests
from turnwire.core.conversation.state import OpenTool, Stopping
from turnwire.core.entries import entry_of
from turnwire.core.message import run_id, to_json
from turnwire.core.status import TurnEnd, TurnError

__all__ = [
    "close_tools",
    "finish_turn",
    "is_background",
    "resume_turn",
    "stop_turn",
    "suspend_turn",
]


def is_background(d: Draft, tool: OpenTool) -> bool:
    """Whether a call goes on without its turn: the call that it works for has its result already."""
    parent = tool.parent_tool_use_id
    if parent is None:
        return False
    above = d.tools.get(parent)
    return above is None or is_background(d, above)


def close_tools(d: Draft, why: str, *, background: bool) -> None:
    """Give every open call its one result. A call with an open question is suspended: it waits."""
    waiting = {request.tool_use_id for request in d.requests if request.kind == "question"}
    waiting |= {reply.request_id for reply in d.replies}
    for tool in list(d.tools.values()):
        if tool.tool_use_id in waiting or (is_background(d, tool) and not background):
            continue
        del d.tools[tool.tool_use_id]
        result = blocks.ToolResultBlock(tool.tool_use_id, why, True, "failed")
        entry = entry_of(
            "tool",
            [result],
            run_id=run_id(d.before.conversation_id, tool.turn_id),
            timestamp=d.now,
            parent_tool_use_id=tool.parent_tool_use_id,
            agent_id=tool.agent_id,
        )
        d.add(entry, tool.turn_id)


def stop_turn(d: Draft, stopping: Stopping) -> None:
    """Ask the agent to stop, and see to it that it does. A turn that only waits ends at once."""
    turn = d.turn
    assert turn is not None
    cancel_requests(d, stopping.by or stopping.reason, turn_id=turn.turn_id)
    d.replies.clear()
    d.turn = structs.replace(turn, stopping=stopping)
    if turn.phase == "suspended":
        finish_turn(d, _end_of(stopping))
        return
    d.phase("stopping")
    d.commands.append(StopAgent(turn.turn_id, False))
    due = d.at + round(d.options.interrupt_grace * 1000)
    d.timers.append(SetTimer(f"stop:{turn.turn_id}", due))


def suspend_turn(d: Draft, by: str) -> None:
    """The agent is gone and a question is open: it stays open, everything else ends."""
    assert d.turn is not None
    cancel_requests(d, by, kind="permission")
    close_tools(d, f"interrupted: {by}", background=True)
    d.phase("suspended")


def resume_turn(d: Draft) -> None:
    """Every question has its answer: the same turn goes on."""
    turn = d.turn
    assert turn is not None
    d.turn = structs.replace(turn, origin="resume", phase="running", deferred=False)
    d.writes.append(BeginTurn(d.turn))
    d.commands.append(Deliver(d.turn, list(d.replies), True))
    d.move("turn_started")


def finish_turn(
    d: Draft,
    end: TurnEnd,
    *,
    reason: str | None = None,
    acknowledged: bool = False,
    forced: bool = False,
    processes: list[EndedProcess] | None = None,
) -> None:
    """End a turn: requests, calls, the receipt of a stop, the turn itself, the queue."""
    turn = d.turn
    assert turn is not None
    stopping = turn.stopping
    cancel_requests(d, reason or "turn_ended", turn_id=turn.turn_id)
    d.replies.clear()
    why = "interrupted" if end.interrupted else "no result: the turn ended"
    close_tools(d, why, background=False)
    if stopping is not None:
        d.timers.append(CancelTimer(f"stop:{turn.turn_id}"))
    if stopping is not None or end.interrupted:
        _tell_interrupted(d, stopping, reason or "agent", acknowledged, forced, processes or [])
    d.end_turn(end)
    _settle_queue(d, stopping, end)
    if stopping is not None and stopping.reason == "disconnect":
        d.commands.append(CloseAgent())
    d.begin_next()


def _tell_interrupted(
    d: Draft,
    stopping: Stopping | None,
    reason: str,
    acknowledged: bool,
    forced: bool,
    processes: list[EndedProcess],
) -> None:
    assert d.turn is not None
    data: dict[str, Any] = {"reason": stopping.reason if stopping else reason}
    if stopping is not None:
        data |= {"requested_at": stopping.requested_at, "queue": stopping.queue}
        if stopping.by is not None:
            data["by"] = stopping.by
    data |= {"acknowledged": acknowledged, "forced": forced}
    if processes:
        data["processes"] = to_json(processes)
    said = f"Stopped: {data['reason']}"
    d.add_event("interrupted", said, d.turn.turn_id, data)
    d.audit("interrupted", stopping.by if stopping else None, turn_id=d.turn.turn_id, **data)


def _settle_queue(d: Draft, stopping: Stopping | None, end: TurnEnd) -> None:
    fate = stopping.queue if stopping is not None else "hold"
    if not (end.is_error or end.interrupted or stopping is not None):
        return
    if fate == "clear":
        for waiting in d.queue:
            d.audit("removed", stopping.by if stopping else None, queue_id=waiting.item.queue_id)
        d.queue.clear()
    d.held = fate == "hold" and bool(d.queue)


def _end_of(stopping: Stopping) -> TurnEnd:
    """How a turn ends that was stopped while no agent worked on it."""
    if stopping.error is not None:
        return TurnEnd(True, False, error=stopping.error)
    return TurnEnd(False, True)


def lost(d: Draft, reason: str, message: str | None) -> TurnEnd:
    """How a turn ends whose agent is gone."""
    return TurnEnd(True, True, error=TurnError(reason, message or "The agent's process is gone."))
