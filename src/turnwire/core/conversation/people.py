"""Commands of people, except those for the queue: answers, decisions, stops, titles, settings."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, structs, to_builtins

from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.budget import check_budgets
from turnwire.core.conversation.draft import Draft
from turnwire.core.conversation.effects import Ack, Choose, Deliver
from turnwire.core.conversation.remembering import remember_rules
from turnwire.core.conversation.requests import end_request, find_open, is_waited_for
from turnwire.core.conversation.rules import all_for_session, for_session
from turnwire.core.conversation.state import Reply, Stopping
from turnwire.core.conversation.tools import give_result
from turnwire.core.conversation.turns import (
    clear_queue,
    is_suspended,
    stop_turn,
    survives,
    wake,
)
from turnwire.core.error_codes import Refused
from turnwire.core.questions import ONLY
from turnwire.core.status import OpenRequest

__all__ = [
    "OWNER",
    "answered",
    "chose",
    "decided",
    "default_answer",
    "give_answer",
    "interrupted",
    "renamed",
]

OWNER = "owner"  # the name of the data's owner in the log


def answered(d: Draft, answer: i.Answered) -> None:
    """Accepts the first answer to a question; the agent gets it as the tool's result."""
    request = find_open(d, answer.question_id, "question", answer.ended)
    if request.required and _is_empty(answer.answer):
        raise Refused("INPUT_REQUIRED", request_id=request.request_id)
    _check_names(request, answer.answer)
    _check_required(request, answer.answer)
    _check_choices(request, answer.answer)
    if is_suspended(d) and answer.resume_task:  # resuming the agent costs money
        check_budgets(d.before, answer.budget)
    delivered_as = give_answer(d, request, answer.answer, answer.by, resume=answer.resume_task)
    d.ack = Ack(request_id=request.request_id, delivered_as=delivered_as)


def default_answer(request: OpenRequest, text: str) -> object | None:
    """Returns a text as the answer to every question. Returns None if it is not an option."""
    names = [question.id for question in request.questions]
    answer: object = text if len(names) < 2 else dict.fromkeys(names, text)
    try:
        _check_choices(request, answer)
    except Refused:
        return None
    return answer


def give_answer(
    d: Draft, request: OpenRequest, answer: object, by: str | None, *, resume: bool = True
) -> str:
    """Ends a question with an answer, and delivers the answer as soon as the agent can take it."""
    in_words = is_suspended(d) and not survives(d, request.parent_tool_use_id)
    delivered_as = "prompt" if in_words else "tool_result"
    end_request(d, request, "answered", by, answer=answer, delivered_as=delivered_as)
    reply = Reply(
        request.request_id,
        "question",
        answer,
        wake=resume,
        in_words=in_words,
        parent_tool_use_id=request.parent_tool_use_id,
        questions=request.questions,
    )
    if is_waited_for(d, request):
        d.replies.append(reply)
    if in_words:
        give_result(d, reply)
    if is_suspended(d):
        wake(d)
    else:
        d.commands.append(Deliver(d.turn, [reply], False))
    return delivered_as


def decided(d: Draft, decision: i.Decided) -> None:
    """Accepts the first decision on a permission."""
    request = find_open(d, decision.request_id, "permission", decision.ended)
    if decision.decision == "deny" and decision.updated_input is not None:
        raise Refused("INVALID_PAYLOAD", "A denied call has no `updated_input`.")
    if request.decision_only and decision.updated_input is not None:
        # The agent would run what it asked for, and not what the person has allowed.
        said = "This agent runs the call as it is, or not at all: it takes no `updated_input`."
        raise Refused("NOT_SUPPORTED", said)
    remember, narrowed = _rules_to_keep(request, decision.remember, decision.by)
    for_agent = remember_rules(d, request, remember, decision)
    end_request(
        d,
        request,
        "answered",
        decision.by,
        decision=decision.decision,
        reason=decision.reason,
        updated_input=decision.updated_input,
        remembered=remember,
        narrowed=narrowed,
        delivered_as="decision",
    )
    reply = Reply(
        request.request_id,
        "permission",
        None,
        decision.decision,
        decision.reason,
        decision.updated_input,
        for_agent,
    )
    d.commands.append(Deliver(d.turn, [reply], False))
    d.ack = Ack(request_id=request.request_id, delivered_as="decision")


def _rules_to_keep(
    request: OpenRequest, remember: list[Any], by: str | None
) -> tuple[list[Any], list[Any]]:
    """Returns the rules for the agent, and those of them whose scope was reduced.

    A rule applies without another question. Only the owner may give a rule that also holds for
    other users; from any other user it holds for the session. Raises Refused for a rule that the
    agent has not offered.
    """
    offered = to_builtins(request.suggestions)
    wanted = to_builtins(remember)
    for rule in wanted:
        if rule not in offered:
            why = "`remember` takes rules from the request's `suggestions`, unchanged."
            raise Refused("INVALID_PAYLOAD", why, request_id=request.request_id)
    if by in (None, OWNER):
        return wanted, []
    return all_for_session(wanted), [rule for rule in wanted if for_session(rule) != rule]


def interrupted(d: Draft, stop: i.Interrupted) -> None:
    """Stops this turn and no other."""
    turn = d.turn
    d.ack = Ack(turn_id=stop.turn_id, outcome="requested")
    if turn is None or turn.turn_id != stop.turn_id:
        if not 1 <= stop.turn_id <= d.turns:
            raise Refused("INVALID_PAYLOAD", f"There is no turn {stop.turn_id}.")
        d.ack = Ack(turn_id=stop.turn_id, outcome="already_ended")
        return
    d.audit("stop_requested", stop.by, turn_id=turn.turn_id)
    if turn.stopping is None:
        stop_turn(d, Stopping("user", d.now, stop.queue, stop.by))
        return
    # The turn is stopping already; the latest request decides about the queue.
    clears = clear_queue(d, stop.by) if stop.queue == "clear" else []
    stopping = structs.replace(turn.stopping, queue=stop.queue, clears=clears)
    d.turn = structs.replace(turn, stopping=stopping)


def renamed(d: Draft, name: i.Renamed) -> None:
    """Renames the conversation."""
    title = name.title.strip()
    if not title:
        raise Refused("INVALID_PAYLOAD", "The title is empty.")
    d.title, d.title_by = title, "person"
    d.audit("renamed", name.by)  # without the title: the audit trail outlives the conversation
    d.ack = Ack()


def chose(d: Draft, choice: i.Chose) -> None:
    """Changes the model (logged as an entry), the permission mode or the thinking budget."""
    model, mode, tokens = choice.model, choice.permission_mode, choice.max_thinking_tokens
    if not (model or mode) and tokens is UNSET:
        raise Refused("INVALID_PAYLOAD", "Name a model, a permission mode or max_thinking_tokens.")
    if model and model != d.model:
        turn_id = d.turn.turn_id if d.turn else None
        d.add_event(
            "system", f"Model: {model}", turn_id, {"subtype": "model", "data": {"model": model}}
        )
    d.model, d.permission_mode = model or d.model, mode or d.permission_mode
    chosen: dict[str, object] = {"model": model, "permission_mode": mode}
    d.ack = Ack(model=model, mode=mode)
    if tokens is not UNSET:
        d.max_thinking_tokens = chosen["max_thinking_tokens"] = tokens
        d.ack = structs.replace(d.ack, max_thinking_tokens=tokens)
    d.audit("chose", choice.by, **chosen)
    d.commands.append(Choose(model, mode, tokens))


def _check_names(request: OpenRequest, answer: object) -> None:
    """Rejects an answer that does not name the questions by id.

    A single question takes any object.
    """
    names = [question.id for question in request.questions]
    if names in ([], [ONLY]):
        return
    known = ", ".join(repr(name) for name in names)
    if not isinstance(answer, dict):
        if len(names) > 1 and not _is_empty(answer):
            why = f"The request has {len(names)} questions. Answer with an object, by id: {known}."
            raise Refused("INVALID_PAYLOAD", why, request_id=request.request_id)
        return
    strange = [name for name in answer if name not in names]
    if strange:
        why = f"The request has no question {strange[0]!r}. It has: {known}."
        raise Refused("INVALID_PAYLOAD", why, request_id=request.request_id)


def _check_required(request: OpenRequest, answer: object) -> None:
    """Rejects an answer to some of several questions that leaves out a required one."""
    if not isinstance(answer, dict) or _is_empty(answer):
        return
    for question in request.questions:
        if question.required and _is_empty(answer.get(question.id)):
            why = f"{question.question!r} needs an answer."
            raise Refused("INVALID_PAYLOAD", why, request_id=request.request_id)


def _check_choices(request: OpenRequest, answer: object) -> None:
    """Rejects an answer outside of the options if the question does not allow free text."""
    names = {question.id for question in request.questions}
    for question in request.questions:
        given = answer
        if isinstance(answer, dict) and answer.keys() <= names:
            given = answer.get(question.id)
        if question.free_text or _is_empty(given):
            continue
        labels = [option.label for option in question.options]
        several = given if isinstance(given, list) else [given]
        if all(each in labels for each in several) and (question.multi or len(several) == 1):
            continue
        known = ", ".join(repr(label) for label in labels)
        why = f"{question.question!r} takes {'only' if question.multi else 'one of'}: {known}."
        raise Refused("INVALID_PAYLOAD", why, request_id=request.request_id)


def _is_empty(answer: object) -> bool:
    """Returns whether an answer is empty. False and zero are answers."""
    if isinstance(answer, str):
        return not answer.strip()
    if isinstance(answer, dict):
        return all(_is_empty(value) for value in answer.values())
    if isinstance(answer, list):
        return all(_is_empty(value) for value in answer)
    return answer is None
