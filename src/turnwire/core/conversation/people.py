"""What people ask of a conversation."""

from __future__ import annotations

from msgspec import structs

from turnwire.core.content import TextContent
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.draft import Draft
from turnwire.core.conversation.effects import Ack, Deliver, EndTurn
from turnwire.core.conversation.requests import end_request, find_open, questions_of_turn
from turnwire.core.conversation.state import Reply, Stopping, Waiting
from turnwire.core.conversation.turns import resume_turn, stop_turn
from turnwire.core.error_codes import Refused
from turnwire.core.status import OpenRequest, QueueItem, TurnEnd

__all__ = ["answered", "changed_queue", "decided", "interrupted", "renamed", "said"]

_TITLE = 80  # characters of the first message


def said(d: Draft, said: i.Said) -> None:
    """A message starts a turn, or waits. One that finds the queue held lets it go on."""
    if not any(not isinstance(part, TextContent) or part.text.strip() for part in said.content):
        raise Refused("INVALID_PAYLOAD", "The message is empty.")
    free = d.turn is None
    if not free and len(d.queue) >= d.options.max_queue:
        limit = d.options.max_queue
        raise Refused("TURN_QUEUE_FULL", f"{limit} messages wait already.", max_queue=limit)
    item = QueueItem(said.queue_id, said.content, said.client_message_id, said.by, d.now)
    if d.title is None:
        d.title = _title(said)
    was_held = d.held
    d.queue.append(Waiting(item, said.trace_id))
    d.held = False
    d.audit("said", said.by, queue_id=said.queue_id)
    if free:
        d.begin_next()
    elif d.turn is not None and d.turn.phase == "suspended":
        _wake(d)
    if d.turn is not None and d.turn.item == item:
        d.ack = Ack(turn_id=d.turn.turn_id)
    else:
        d.ack = Ack(queue_id=said.queue_id, held=was_held)


def _title(said: i.Said) -> str | None:
    words = " ".join(part.text for part in said.content if isinstance(part, TextContent))
    line = next((line.strip() for line in words.splitlines() if line.strip()), None)
    return line and line[:_TITLE]


def changed_queue(d: Draft, change: i.ChangedQueue) -> None:
    """Remove, replace or move what waits, or let a held queue go on."""
    if change.action == "resume":
        d.held = False
        d.audit("resumed", change.by)
        d.begin_next()
        d.ack = Ack()
        return
    place = _place(d, change.queue_id)
    waiting = d.queue[place]
    match change.action:
        case "remove":
            del d.queue[place]
            if waiting.turn_id is not None:  # the log has it already, so its turn has to end
                end = TurnEnd(False, True, after_sequence=d.head)
                d.writes.append(EndTurn(waiting.turn_id, waiting.trace_id, end))
            d.held = d.held and bool(d.queue)
        case "replace":
            if not change.content:
                raise Refused("INVALID_PAYLOAD", "user.queue: replace needs `content`.")
            if waiting.turn_id is not None:
                raise Refused("QUEUE_ITEM_NOT_FOUND", "It has started: it is in the log already.")
            item = structs.replace(waiting.item, content=change.content)
            d.queue[place] = structs.replace(waiting, item=item)
        case "move":
            target = None if change.before is None else _place(d, change.before)
            del d.queue[place]
            if target is None:
                d.queue.append(waiting)
            else:
                d.queue.insert(target - (target > place), waiting)
    d.audit(f"queue_{change.action}", change.by, queue_id=waiting.item.queue_id)
    d.ack = Ack(queue_id=waiting.item.queue_id)


def _place(d: Draft, queue_id: str | None) -> int:
    for place, waiting in enumerate(d.queue):
        if waiting.item.queue_id == queue_id:
            return place
    raise Refused("QUEUE_ITEM_NOT_FOUND", queue_id=queue_id)


def answered(d: Draft, answer: i.Answered) -> None:
    """The first answer is the answer. It reaches the agent as the tool's result."""
    request = find_open(d, answer.question_id, "question", answer.ended)
    if request.required and _is_empty(answer.answer):
        raise Refused("INPUT_REQUIRED", request_id=request.request_id)
    give_answer(d, request, answer.answer, answer.by, resume=answer.resume_task)


def give_answer(
    d: Draft, request: OpenRequest, answer: object, by: str | None, *, resume: bool = True
) -> None:
    """End a question with an answer, and let the agent have it as soon as it can."""
    turn = d.turn
    suspended = turn is not None and turn.phase == "suspended"
    survives = not suspended or (turn and turn.deferred) or d.options.questions_survive
    delivered_as = "tool_result" if survives else "prompt"
    end_request(d, request, "answered", by, answer=answer, delivered_as=delivered_as)
    reply = Reply(request.request_id, "question", answer, wake=resume)
    d.replies.append(reply)
    if not suspended:
        d.commands.append(Deliver(turn, [reply], False))
    elif resume:
        _wake(d)
    d.ack = Ack(request_id=request.request_id, delivered_as=delivered_as)


def _wake(d: Draft) -> None:
    """A suspended turn goes on when none of its questions is open any more."""
    assert d.turn is not None
    if not questions_of_turn(d, d.turn.turn_id):
        resume_turn(d)


def decided(d: Draft, decision: i.Decided) -> None:
    """The first decision is the decision."""
    request = find_open(d, decision.request_id, "permission", decision.ended)
    if decision.decision == "deny" and decision.updated_input is not None:
        raise Refused("INVALID_PAYLOAD", "A denied call has no `updated_input`.")
    end_request(
        d,
        request,
        "answered",
        decision.by,
        decision=decision.decision,
        reason=decision.reason,
        updated_input=decision.updated_input,
        remembered=decision.remember,
        delivered_as="decision",
    )
    reply = Reply(
        request.request_id,
        "permission",
        None,
        decision.decision,
        decision.reason,
        decision.updated_input,
        decision.remember,
    )
    d.commands.append(Deliver(d.turn, [reply], False))
    d.ack = Ack(request_id=request.request_id, delivered_as="decision")


def interrupted(d: Draft, stop: i.Interrupted) -> None:
    """Stop this turn and no other."""
    turn = d.turn
    if turn is None or turn.turn_id != stop.turn_id:
        if not 1 <= stop.turn_id <= d.turns:
            raise Refused("INVALID_PAYLOAD", f"There is no turn {stop.turn_id}.")
        d.ack = Ack(turn_id=stop.turn_id, outcome="already_ended")
        return
    d.ack = Ack(turn_id=turn.turn_id, outcome="requested")
    if turn.phase == "stopping":
        return  # on its way already
    d.audit("stop_requested", stop.by, turn_id=turn.turn_id)
    stop_turn(d, Stopping("user", d.now, stop.queue, stop.by))


def renamed(d: Draft, name: i.Renamed) -> None:
    """Another title."""
    d.title = name.title
    d.audit("renamed", name.by, title=name.title)
    d.ack = Ack()


def _is_empty(answer: object) -> bool:
    if isinstance(answer, str):
        return not answer.strip()
    if isinstance(answer, dict):
        return not answer or any(_is_empty(value) for value in answer.values())
    return not answer
