"""Opens requests: the questions and permissions that the agent asks for."""

from __future__ import annotations

from typing import Any

from msgspec import Raw, structs

from turnwire.core import events as ev
from turnwire.core.blocks import ToolUseBlock
from turnwire.core.conversation.draft import Draft
from turnwire.core.conversation.effects import Deliver
from turnwire.core.conversation.remembering import rules_that_allow
from turnwire.core.conversation.requests import deadline_of, end_request, open_request, refuse
from turnwire.core.conversation.state import OpenTool, Reply
from turnwire.core.entries import entry_of
from turnwire.core.message import Message, ToolCallPayload, to_json
from turnwire.core.questions import questions_of
from turnwire.core.status import OpenRequest

__all__ = [
    "ask_permission",
    "ask_question",
    "call_of",
    "question_of",
    "settled",
    "shown_of",
    "wait_for_answer",
    "withdrawn",
]

_SHOWN = (
    *("request_id", "tool_use_id", "tool_name", "input", "inbox_item_id", "deadline_at"),
    *("title", "description", "suggestions", "blocked_path", "reason"),
)


def shown_of(request: OpenRequest) -> dict[str, Any]:
    """Returns the fields of a permission that its entry in the log has."""
    shown = {name: getattr(request, name) for name in _SHOWN}
    data = {name: value for name, value in shown.items() if value not in (None, [])}
    return {**data, "decision_only": True} if request.decision_only else data


def ask_question(
    d: Draft,
    entry: Message,
    call: ToolCallPayload,
    turn_id: int | None,
    event: ev.NormalizedStreamEvent,
    inbox_item_id: str | None,
    raw: Raw | None,
) -> None:
    """Opens a question for a tool call. Its log entry has all that a front end needs to ask it."""
    deadline_at = deadline_of(d, "question")
    metadata = call.arguments.get("metadata")
    data: dict[str, Any] = {
        "required": call.arguments.get("required") is not False,
        "metadata": metadata if isinstance(metadata, dict) else None,
        "inbox_item_id": inbox_item_id,
        "deadline_at": deadline_at,
    }
    d.add(structs.replace(entry, meta={**entry.meta, "data": data}), turn_id, raw)
    request = OpenRequest(
        call.tool_call_id,
        "question",
        call.tool_call_id,
        call.tool_name,
        call.arguments,
        turn_id,
        d.head,
        inbox_item_id,
        deadline_at,
        questions_of(call.arguments),
        data["required"],
        data["metadata"],
        parent_tool_use_id=event.parent_tool_use_id,
        agent_id=event.agent_id,
    )
    open_request(d, request)


def question_of(d: Draft, event: ev.QuestionAsked) -> Message:
    """Returns the call entry of a question that the agent asked without a visible call."""
    name, arguments = event.tool_name, event.input
    if not event.is_question:
        name, arguments = "request_input", {"questions": [_as_input(q) for q in event.questions]}
    asked = ToolUseBlock(event.tool_use_id, name, "QUESTION", arguments, "completed", asks=True)
    return _call(d, event, asked)


def call_of(d: Draft, event: ev.PermissionRequested) -> Message:
    """Returns the call entry of a permission that the agent asks for before it emits the call."""
    call = ToolUseBlock(event.tool_use_id, event.tool_name, "TOOL", event.input, "completed")
    return _call(d, event, call)


def _call(d: Draft, event: ev.NormalizedStreamEvent, call: ToolUseBlock) -> Message:
    return entry_of(
        "assistant",
        [call],
        run_id="",
        timestamp=d.now,
        message_id=call.id,
        index=0,
        provider=event.provider,
        parent_tool_use_id=event.parent_tool_use_id,
        agent_id=event.agent_id,
    )


def _as_input(question: ev.Question) -> dict[str, Any]:
    """Returns a question in the form that `questions_of` and front ends read.

    Answers refer to its id.
    """
    return {
        "id": question.id,
        "question": question.question,
        "header": question.header,
        "options": to_json(question.options),
        "multiSelect": question.multi,
        "free_text": question.free_text,
    }


def _names(questions: list[ev.Question]) -> list[tuple[str, str]]:
    return [(each.id, each.question) for each in questions]


def wait_for_answer(d: Draft, event: ev.QuestionAsked, inbox_item_id: str | None) -> None:
    """Handles an agent that waits for an answer; delivers the answer if it exists already.

    A call that is itself a question opened its request when it was announced. Any other call opens
    its question now.
    """
    question_id = event.tool_use_id
    if any(request.request_id == question_id for request in d.requests):
        d.asked[event.request_id] = question_id
        return
    replies = [reply for reply in d.replies if reply.request_id == question_id]
    call = d.tools.get(question_id)
    if replies:
        d.commands.append(Deliver(d.turn, replies, False))
    elif call is not None and not event.is_question:
        d.asked[event.request_id] = question_id
        _ask_in_call(d, event, call, inbox_item_id)
    else:
        refuse(d, question_id, "question", "The question was cancelled.")


def _ask_in_call(
    d: Draft, event: ev.QuestionAsked, call: OpenTool, inbox_item_id: str | None
) -> None:
    """Opens the question of a call that the log has as an ordinary tool call."""
    given = event.input if isinstance(event.input, dict) else {}
    questions = event.questions or questions_of(given)
    arguments = given
    if _names(questions_of(given)) != _names(questions):  # front ends read the input
        arguments = {**given, "questions": [_as_input(each) for each in questions]}
    metadata = given.get("metadata")
    request = OpenRequest(
        call.tool_use_id,
        "question",
        call.tool_use_id,
        event.tool_name,
        arguments,
        call.turn_id,
        d.head + 1,
        inbox_item_id,
        deadline_of(d, "question"),
        questions,
        given.get("required") is not False,
        metadata if isinstance(metadata, dict) else None,
        parent_tool_use_id=call.parent_tool_use_id,
        agent_id=call.agent_id,
    )
    first = questions[0] if questions else ev.Question("", "")
    data = {
        "question_id": call.tool_use_id,
        "question": first.question,
        "options": first.options,
        "required": request.required,
        "metadata": request.metadata,
        "inbox_item_id": inbox_item_id,
        "deadline_at": request.deadline_at,
        "questions": questions,
        "block_id": call.tool_use_id,
        "message_id": call.message_id or f"entry-{d.head + 1}",
        "index": call.index,
        "tool_name": event.tool_name,
        "tool_type": "QUESTION",
        "input": arguments,
        "announced": True,
    }
    d.add_event(
        "input_request",
        f"{event.tool_name} asks: {first.question}",
        call.turn_id,
        data,
        provider=event.provider,
        parent_tool_use_id=call.parent_tool_use_id,
        agent_id=call.agent_id,
    )
    open_request(d, request)


def ask_permission(
    d: Draft, event: ev.PermissionRequested, inbox_item_id: str | None, agent: str
) -> None:
    """Opens a permission request, in the name of the agent or sub-agent that made the call.

    Remembered rules may allow it at once: then no person is asked.
    """
    if any(request.request_id == event.request_id for request in d.requests):
        return
    call = d.tools.get(event.tool_use_id)
    if call is None:
        refuse(d, event.request_id, "permission", "The call has its result already.")
        return
    is_stopping = d.turn is not None and d.turn.stopping is not None
    rules = [] if is_stopping else rules_that_allow(d.rules, event, agent)
    if rules:
        named = [{"rule_id": rule.rule_id, "by": rule.by} for rule in rules]
        told = {"tool_name": event.tool_name, "tool_use_id": event.tool_use_id}
        d.audit("allowed_by_rule", None, request_id=event.request_id, **told, rules=named)
        allowed = Reply(event.request_id, "permission", decision="allow")
        d.commands.append(Deliver(d.turn, [allowed], False))
        return
    turn_id, voice, agent_id = call.turn_id, call.parent_tool_use_id, call.agent_id
    request = OpenRequest(
        event.request_id,
        "permission",
        event.tool_use_id,
        event.tool_name,
        event.input,
        turn_id,
        d.head + 1,
        inbox_item_id,
        deadline_of(d, "permission"),
        title=event.title,
        description=event.description,
        suggestions=event.suggestions,
        blocked_path=event.blocked_path,
        reason=event.reason,
        decision_only=event.decision_only,
        parent_tool_use_id=voice,
        agent_id=agent_id,
    )
    data = shown_of(request)
    d.add_event(
        "permission_request",
        f"{event.tool_name} asks for permission",
        turn_id,
        {"input": None, **data},
        provider=event.provider,
        parent_tool_use_id=voice,
        agent_id=agent_id,
    )
    d.asked[event.request_id] = event.request_id
    open_request(d, request)


def withdrawn(d: Draft, agents_id: str) -> None:
    """Cancels a request that the agent withdrew."""
    ours = d.asked.get(agents_id)
    for request in list(d.requests):
        if request.request_id == ours:
            end_request(d, request, "cancelled", "agent")


def settled(d: Draft, tool_use_id: str, *, recorded: bool) -> None:
    """Ends the requests of a call that gets its result: the agent continued without them.

    In a recording the result shows that a person has answered.
    """
    for request in list(d.requests):
        if request.tool_use_id == tool_use_id:
            if recorded:
                end_request(d, request, "answered", None)
                if d.turn is not None and not d.requests:
                    d.move("agent_spoke")  # its result counts as activity of the agent
            else:
                end_request(d, request, "cancelled", "agent")
