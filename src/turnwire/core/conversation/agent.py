"""Applies the events of the agent to a conversation."""

from __future__ import annotations

from msgspec import UNSET, Raw, structs

from turnwire.core import events as ev
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.asking import (
    ask_permission,
    ask_question,
    call_of,
    question_of,
    settled,
    wait_for_answer,
    withdrawn,
)
from turnwire.core.conversation.budget import budget_spent
from turnwire.core.conversation.draft import Draft
from turnwire.core.conversation.effects import CloseAgent, Spend, StopAgent
from turnwire.core.conversation.figures import add_to_totals, add_to_turn
from turnwire.core.conversation.news import (
    hear_of_delivery,
    hear_of_hook,
    hear_of_init,
    hear_of_offers,
    hear_of_refusal,
    hear_of_tasks,
    hear_of_title,
    turn_of_task,
)
from turnwire.core.conversation.recordings import recorded, waits_for_a_person
from turnwire.core.conversation.requests import questions_of_turn
from turnwire.core.conversation.steering import is_taken
from turnwire.core.conversation.tools import open_tool, was_called
from turnwire.core.conversation.turns import (
    close_work,
    finish_turn,
    is_suspended,
    suspend_turn,
    wake,
)
from turnwire.core.message import Message, ToolCallPart, ToolResultPart, ToolResultPayload
from turnwire.core.status import TurnEnd, TurnError

__all__ = ["agent_said"]

_VOICES = 64  # maximum number of sub-agents to remember
# Events that do not show that a turn has begun: news, background work, usage of an earlier turn.
_NO_SIGN = (
    *(ev.SystemEvent, ev.SessionInit, ev.UnknownEvent, ev.UsageUpdated),
    *(ev.ToolProgress, ev.ResultSummary),
)
_BUDGET_SPENT = "budget_exhausted"  # the agents' error code for a spent budget
_BY_A_PERSON = (None, "user")  # origins in a turn's end that mean a person


def agent_said(d: Draft, said: i.AgentSaid) -> None:
    """Applies one event: its turn, its entries, and the end of a turn that is complete."""
    event = said.event
    if said.recorded:
        recorded(d, said)
    elif is_suspended(d):
        # The agent was told to end. Its last events are ignored, but their cost counts.
        if isinstance(event, ev.ResultSummary):
            _figures(d, event)
        return
    is_main = event.parent_tool_use_id is None
    if is_main:
        _notice(d, said)
    turn_id = _turn_of(d, event)
    if d.turn is not None and d.turn.turn_id == turn_id and not is_suspended(d):
        d.move("agent_spoke")
    raw = getattr(event, "raw", UNSET)
    match event:
        case ev.SessionInit():
            is_known = not hear_of_init(d, event, choosing=said.choosing)
        case ev.SessionOffered():
            is_known = not hear_of_offers(d, event, choosing=said.choosing)
        case _:
            is_known = False
    for entry in () if is_known else said.entries:
        _add(d, entry, turn_id, said, raw if isinstance(raw, Raw) else None)
        raw = UNSET  # stored once, with the first entry
    match event:
        case ev.UserMessage(message_id=str()) if is_main:
            is_taken(d, event)
        case ev.AssistantMessage() | ev.UserMessage() | ev.TurnStarted():
            pass  # the most frequent events, which have no effect besides their entries
        case ev.TurnCompleted() | ev.TurnFailed() if is_main:
            if not (said.recorded and waits_for_a_person(d, event)):
                _ending(d, event, unsent=said.unsent)
        case ev.ResultSummary():
            _figures(d, event)
        case ev.PermissionRequested():
            if not was_called(d, event.tool_use_id):
                _add(d, call_of(d, event), turn_id, said, None)
            ask_permission(d, event, said.inbox_item_id, said.agent)
        case ev.QuestionAsked():
            if not was_called(d, event.tool_use_id):
                _add(d, question_of(d, event), turn_id, said, None)
            wait_for_answer(d, event, said.inbox_item_id)
        case ev.AnswerDelivered():
            hear_of_delivery(d, event)
        case ev.ChoiceRefused():
            hear_of_refusal(d, event)
        case ev.TitleProposed(title=title):
            hear_of_title(d, title)
        case ev.HookRan(run=run):
            hear_of_hook(d, run)
        case ev.ModelChanged(model=model) if not said.choosing:
            d.model = model
        case ev.PermissionModeChanged(permission_mode=mode) if not said.choosing:
            d.permission_mode = mode
        case ev.RequestWithdrawn():
            withdrawn(d, event.request_id)
        case _:
            pass
    turn = d.turn
    if turn is not None and turn.ending is not None and (said.last or _is_figures(event)):
        _finish(d, turn.ending)


# --- turns --------------------------------------------------------------------------------------


def _notice(d: Draft, said: i.AgentSaid) -> None:
    """Marks the turn as begun, or begins a turn that the agent started by itself."""
    event = said.event
    if d.turn is not None and d.turn.ending is not None and not _is_figures(event):
        _finish(d, d.turn.ending)  # its usage never arrived
        d.tell()
    turn = d.turn
    if turn is None:
        if isinstance(event, ev.TurnStarted):
            d.begin_turn("agent", said.trace_id)
    elif turn.phase == "starting" and not isinstance(event, _NO_SIGN):
        d.turn = structs.replace(turn, phase="running", meanwhile=None)
    elif turn.meanwhile is not None and isinstance(event, ev.AgentIdle) and not said.unsent:
        d.turn = structs.replace(turn, ending=turn.meanwhile)  # the agent did both in one run


def _is_figures(event: ev.NormalizedStreamEvent) -> bool:
    return isinstance(event, ev.ResultSummary)


def _turn_of(d: Draft, event: ev.NormalizedStreamEvent) -> int | None:
    """Returns the turn of an event; background work keeps the turn that started it."""
    current = d.turn.turn_id if d.turn else None
    voice = event.parent_tool_use_id
    if voice is None:
        about = hear_of_tasks(d, event) if isinstance(event, ev.SystemEvent) else None
        return about or current
    if voice not in d.voices:
        tool = d.tools.get(voice)
        turn_id = tool.turn_id if tool else turn_of_task(d, voice)
        if turn_id is None:  # a turn that is still starting has no sub-agents
            has_begun = d.turn is not None and d.turn.phase != "starting"
            turn_id = current if has_begun else d.last_turn_id
        if turn_id is None:
            return None
        d.voices[voice] = turn_id
        if len(d.voices) > _VOICES:
            del d.voices[next(iter(d.voices))]
    return d.voices[voice]


def _ending(d: Draft, event: ev.TurnCompleted | ev.TurnFailed, *, unsent: bool) -> None:
    turn = d.turn
    if turn is None:
        return
    waits = turn.origin == "user" or (turn.origin == "resume" and bool(d.replies))
    if waits and (unsent or event.origin not in _BY_A_PERSON):
        # The agent was finishing its own work when it received this turn, which starts now.
        close_work(d, _end_of(event), goes_on=turn.stopping is None)
        d.turn = structs.replace(turn, meanwhile=_end_of(event))
        if turn.stopping is None:
            d.phase("starting")
        else:
            d.commands.append(StopAgent(turn.turn_id, False))
    elif _is_deferred(event) and turn.stopping is not None:
        d.turn = structs.replace(turn, ending=TurnEnd(False, True))  # it gets no answer
    elif _is_deferred(event) and (questions_of_turn(d) or d.replies):
        # The agent deferred its question: the turn waits for the answer without the agent.
        d.turn = structs.replace(turn, deferred=True)
        suspend_turn(d, "deferred")
        d.commands.append(CloseAgent())
        wake(d)  # if the answer came first
    else:
        _goes_on(d, None)
        processes = event.processes if isinstance(event, ev.TurnCompleted) else []
        d.turn = structs.replace(turn, ending=_end_of(event), processes=processes)


def _is_deferred(event: ev.TurnCompleted | ev.TurnFailed) -> bool:
    return isinstance(event, ev.TurnCompleted) and event.deferred_tool_use_id is not None


def _end_of(event: ev.TurnCompleted | ev.TurnFailed) -> TurnEnd:
    if isinstance(event, ev.TurnFailed):
        return TurnEnd(True, False, error=TurnError(event.code, event.message))
    return TurnEnd(False, event.interrupted, event.stop_reason)


def _figures(d: Draft, result: ev.ResultSummary) -> None:
    """Adds usage and cost to the turn.

    If the turn is still starting they belong to an earlier one.
    """
    turn = None if d.turn is None or d.turn.phase == "starting" else d.turn
    if result.cost_usd:
        d.writes.append(Spend(turn.turn_id if turn else None, result.cost_usd))
    if turn is None:
        d.totals = add_to_totals(d.totals, result)
    else:
        d.turn = structs.replace(turn, spent=add_to_turn(turn.spent, result))


def _finish(d: Draft, end: TurnEnd) -> None:
    turn = d.turn
    assert turn is not None
    stopping = turn.stopping
    acknowledged = end.interrupted
    if end.error is not None and end.error.code == _BUDGET_SPENT:
        end = structs.replace(end, error=budget_spent(d.now_is(), end.error.message))
    if stopping is not None and stopping.error is not None:
        end = structs.replace(end, is_error=True, interrupted=False, error=stopping.error)
    if d.handover is not None and turn.origin != "agent":
        d.handover = structs.replace(d.handover, heard=None)  # it was told with the prompt
    finish_turn(d, end, acknowledged=acknowledged, processes=turn.processes)


# --- entries ------------------------------------------------------------------------------------


def _add(d: Draft, entry: Message, turn_id: int | None, said: i.AgentSaid, raw: Raw | None) -> None:
    voice = said.event.parent_tool_use_id
    if entry.role == "assistant":
        _goes_on(d, voice)
    match entry.role, entry.parts:
        case "assistant", [ToolCallPart(payload=call)]:
            if was_called(d, call.tool_call_id):
                return
            open_tool(d, entry, call.tool_call_id, turn_id, said.event)
            if call.is_question:
                entry = _in_turn(d, entry, turn_id)
                ask_question(d, entry, call, turn_id, said.event, said.inbox_item_id, raw)
                return
        case "tool", [ToolResultPart(payload=result)]:
            tool = d.tools.get(result.tool_call_id)
            _show_answer(d, result)
            if tool is None:
                return  # the call has its one result already
            settled(d, tool.tool_use_id, recorded=said.recorded)
            del d.tools[tool.tool_use_id]
            if tool.parent_tool_use_id is not None:  # the result belongs to the caller
                whose = {"parentToolUseId": tool.parent_tool_use_id, "agentId": tool.agent_id}
                entry = structs.replace(entry, meta={**entry.meta, **whose})
            d.add(_in_turn(d, entry, tool.turn_id), tool.turn_id, raw)
            return
        case "user", _:
            origin = entry.meta.get("origin")
            is_known = origin in ("replay", "interrupt") or (origin == "user" and voice is None)
            if is_known and not said.recorded:
                return  # the log has people's messages already; a stop has its receipt
        case _:
            pass
    d.add(_in_turn(d, entry, turn_id), turn_id, raw)


def _show_answer(d: Draft, result: ToolResultPayload) -> None:
    """Marks an answer as shown if its question got a result, unless a stop caused the result.

    The agent may die before it has stored the result, and would not know the answer. So the answer
    is kept until the agent continues.
    """
    if d.turn is None or (d.turn.stopping is not None and result.is_error):
        return
    for place, reply in enumerate(d.replies):
        if reply.request_id == result.tool_call_id:
            d.replies[place] = structs.replace(reply, shown=True)


def _goes_on(d: Draft, voice: str | None) -> None:
    """Drops the answers that the agent has: it has continued after the result or the text."""
    turn = d.turn
    if turn is None or not d.replies:
        return
    was_told = voice is None and turn.origin != "agent"  # the agent's own turn has no prompt
    d.replies = [
        reply
        for reply in d.replies
        if not (reply.shown and reply.parent_tool_use_id == voice)
        and not (reply.in_words and was_told)
    ]
    d.turn = structs.replace(turn, deferred=turn.deferred and bool(d.replies))


def _in_turn(d: Draft, entry: Message, turn_id: int | None) -> Message:
    meta = entry.meta if turn_id is None else {**entry.meta, "turnId": turn_id}
    return structs.replace(entry, run_id=d.run(turn_id), timestamp=d.now, meta=meta)
