"""The step function: computes the next state of a conversation and its effects, without I/O."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from turnwire.core.conversation import (
    agent,
    another_agent,
    controlling,
    losing,
    people,
    queue,
    remembering,
    steering,
)
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.draft import Draft
from turnwire.core.conversation.effects import CancelTimer, CloseAgent, Effects, SetTimer, StopAgent
from turnwire.core.conversation.recency import is_news
from turnwire.core.conversation.requests import (
    end_request,
    is_waited_for,
    questions_of_turn,
    refuse,
)
from turnwire.core.conversation.state import Conversation, Stopping
from turnwire.core.conversation.turns import (
    close_agent,
    is_suspended,
    stop_turn,
    suspend_turn,
)
from turnwire.core.status import OpenRequest, TurnError

__all__ = ["step"]


def step(c: Conversation, happened: i.Input) -> tuple[Conversation, Effects]:
    """Returns the conversation after an input, and the effects to carry out.

    Raises Refused if a person asks for something impossible; the conversation is then unchanged.
    """
    draft = Draft(c, happened.at)
    _HANDLERS[type(happened)](draft, happened)
    if not (isinstance(happened, i.Recovered) and happened.stopping):
        another_agent.begin(draft, happened)
        draft.begin_next()
    has_new_title = draft.title != c.title
    return draft.done(is_news=is_news(happened, draft.writes, has_new_title=has_new_title))


# --- deadlines ------------------------------------------------------------------------------------


def _deadline_passed(d: Draft, passed: i.DeadlinePassed) -> None:
    for request in d.requests:
        if request.request_id == passed.request_id and request.deadline_at is not None:
            break
    else:
        return  # answered at the same moment
    if request.kind == "permission":
        why = "The permission was not decided in time."
        end_request(
            d,
            request,
            "expired",
            "deadline",
            decision="deny",
            reason=why,
            delivered_as="decision",
        )
        refuse(d, request.request_id, "permission", why)
        return
    default = d.options.question_default
    answer = None if default is None else people.default_answer(request, default)
    match d.options.question_policy:
        case "default" if answer is not None:
            people.give_answer(d, request, answer, "deadline")
        case "wait":
            if request.request_id not in d.overdue:  # audited once; server restarts repeat it
                d.overdue.append(request.request_id)
                d.audit("overdue", None, request_id=request.request_id)
        case _:
            _fail(d, request)


def _fail(d: Draft, request: OpenRequest) -> None:
    """Fails the turn of an unanswered question.

    If that turn has ended or is stopping, only refuses it.
    """
    end_request(d, request, "expired", "deadline")
    error = TurnError("INPUT_TIMEOUT", "A question was not answered in time.")
    if d.turn is None or d.turn.stopping or not is_waited_for(d, request):
        refuse(d, request.request_id, "question", error.message)
    else:
        stop_turn(d, Stopping("deadline", d.now, error=error))


def _stop_overdue(d: Draft, overdue: i.StopOverdue) -> None:
    turn = d.turn
    if turn is not None and turn.turn_id == overdue.turn_id and turn.phase == "stopping":
        d.commands.append(StopAgent(turn.turn_id, True))


# --- clients connect and disconnect ---------------------------------------------------------------


def _left(d: Draft, left: i.Left) -> None:
    if d.options.on_disconnect == "converge":
        d.timers.append(SetTimer("grace", d.at + round(d.options.disconnect_grace * 1000)))


def _came(d: Draft, came: i.Came) -> None:
    d.timers.append(CancelTimer("grace"))


def _grace_over(d: Draft, over: i.GraceOver) -> None:
    """Stops the turn after all clients have left.

    An open question stays answerable without an agent.
    """
    if d.turn is None or is_suspended(d):
        close_agent(d, "disconnect")
    elif d.turn.stopping is not None:
        return
    elif questions_of_turn(d):
        suspend_turn(d, "disconnect")
        d.commands.append(CloseAgent())
    else:
        stop_turn(d, Stopping("disconnect", d.now))


_HANDLERS: dict[type, Callable[[Draft, Any], None]] = {
    i.Said: queue.said,
    i.ChangedQueue: queue.changed_queue,
    i.Answered: people.answered,
    i.Decided: people.decided,
    i.ForgotRule: remembering.forgot,
    i.Interrupted: people.interrupted,
    i.Renamed: people.renamed,
    i.Chose: people.chose,
    i.ChoseAgent: another_agent.chose_agent,
    i.Controls: controlling.controls,
    i.Controlled: controlling.controlled,
    i.AgentSaid: agent.agent_said,
    i.AgentLost: losing.agent_lost,
    i.HandedOver: another_agent.handed_over,
    i.SteerRefused: steering.not_taken,
    i.DeadlinePassed: _deadline_passed,
    i.StopOverdue: _stop_overdue,
    i.Left: _left,
    i.Came: _came,
    i.GraceOver: _grace_over,
    i.Recovered: losing.recovered,
}
