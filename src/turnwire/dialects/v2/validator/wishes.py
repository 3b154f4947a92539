"""Checks whether an ack or a refusal is correct for the current log and queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from turnwire.core.error_codes import ErrorCode
from turnwire.dialects.v2 import commands as c
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.validator.log import LogCheck
from turnwire.dialects.v2.validator.queue import Waiting
from turnwire.dialects.v2.validator.requests import Answer

__all__ = ["ack_fault", "follow", "refusal_fault"]

# Error codes that answer only some types of frame. Any other code may answer every type.
_ANSWERS = ("user.input_response", "user.permission_response")
_ONLY: Mapping[str, tuple[str, ...]] = {
    "TURN_QUEUE_FULL": ("user.message", "user.queue"),
    "QUEUE_ITEM_NOT_FOUND": ("user.queue",),
    "INVALID_QUESTION_ID": _ANSWERS,
    "NO_PENDING_INPUT": _ANSWERS,
    "INPUT_REQUIRED": _ANSWERS,
    "DUPLICATE_INPUT_RESPONSE": _ANSWERS,
    "INPUT_TIMEOUT": _ANSWERS,
    "CONVERSATION_INTERRUPTED": _ANSWERS,
    "HEARTBEAT_TIMEOUT": (),
    "PROTOCOL_VERSION_UNSUPPORTED": (),
    "CHAT_PROTOCOL_DISABLED": (),
}


# --- acks ---------------------------------------------------------------------------------------


def ack_fault(command: c.ClientFrame, answer: p.Accepted, log: LogCheck) -> str | None:
    """Returns what is wrong with the first ack of a frame; None if it is correct."""
    if not _RIGHT[type(command)](command.payload, answer):
        return "its ack does not match the command"
    match command:
        case c.SendMessage():
            return _message_fault(answer, log)
        case c.InputResponse() | c.PermissionResponse():
            due = _refusal(command, log)
            return None if due is None else f"it must be refused with {due}"
        case c.Interrupt(payload=wish):
            ended = log.turns.has_ended(wish.turn_id)
            if ended is not None and ended is not (answer.outcome == "already_ended"):
                return f"turn {wish.turn_id} {'has' if ended else 'has not'} ended"
        case c.QueueCommand(payload=wish) if wish.action != "resume" and not _waits(wish, log):
            return f"{wish.queue_id} is not in the queue"
        case _:
            pass
    return None


# Whether an ack has the values that its command asks for. A heartbeat has its own type of ack.
_RIGHT: dict[type[c.ClientFrame], Callable[[Any, p.Accepted], bool]] = {
    c.SendMessage: lambda asked, a: (
        (a.turn_id is None) is not (a.queue_id is None)
        or (asked.steer and a.turn_id is not None)  # both: on its way into the running turn
    ),
    c.InputResponse: lambda asked, a: a.request_id == asked.question_id,
    c.PermissionResponse: lambda asked, a: a.request_id == asked.request_id,
    c.Interrupt: lambda asked, a: a.turn_id == asked.turn_id and a.outcome is not None,
    c.QueueCommand: lambda asked, a: a.queue_id == asked.queue_id,
    c.Rewind: lambda _, a: a.files is not None,
    c.ForgetRule: lambda asked, a: a.rule_id == asked.rule_id,
    c.SetAgent: lambda asked, a: a.agent == asked.agent,
    c.SetModel: lambda asked, a: a.model == asked.model,
    c.SetPermissionMode: lambda asked, a: a.mode == asked.mode,
    c.SetMaxThinkingTokens: lambda asked, a: a.max_thinking_tokens == asked.max_thinking_tokens,
    c.ControlCommand: lambda _, a: a.result is not None,
}


def _message_fault(answer: p.Accepted, log: LogCheck) -> str | None:
    waits = [item.queue_id for item in log.queue.items]
    if answer.queue_id is not None:
        if answer.turn_id not in (None, log.turns.open):
            return f"turn {answer.turn_id} does not run"
        if not waits and log.turns.open is None and log.state.next_agent is None:
            return "no turn runs and the queue is empty, so it must start a turn"
        if answer.queue_id in waits:
            return f"{answer.queue_id} is the id of another message"
        if answer.held and not log.queue.held:
            return "the queue is not held"
    elif log.turns.open is not None or waits:
        return "a turn runs or the queue is not empty, so it must be queued"
    elif (answer.turn_id or 0) <= log.turns.latest:
        return f"turn {answer.turn_id} is not new"
    return None


def _waits(wish: c.QueueChange, log: LogCheck) -> bool:
    return any(item.queue_id == wish.queue_id for item in log.queue.items)


def follow(command: c.ClientFrame, answer: p.Accepted, log: LogCheck) -> None:
    """Applies an accepted command to the expected state of log, queue and requests."""
    match command:
        case c.SendMessage(payload=message):
            if answer.queue_id is not None:
                item = Waiting(answer.queue_id, answer.client_message_id, message.content)
                log.queue.joined(item)
                log.state.asked_for("queue")
            else:
                log.turns.expected = (answer.turn_id, answer.client_message_id)
        case c.InputResponse(payload=said):
            log.requests.accepted(said.question_id, Answer(said, answer.delivered_as))
        case c.PermissionResponse(payload=choice):
            log.requests.accepted(choice.request_id, Answer(choice, answer.delivered_as))
        case c.QueueCommand(payload=wish):
            before = log.queue.items, log.queue.held and bool(log.queue.items)
            log.queue.changed(wish)
            if before != (log.queue.items, log.queue.held):
                log.state.asked_for("queue")
        case c.SetModel():
            log.state.asked_for("model", answer.model)
        case c.SetPermissionMode():
            log.state.asked_for("mode", answer.mode)
        case c.SetMaxThinkingTokens():
            log.state.asked_to_think(answer.max_thinking_tokens)
        case _:
            pass


# --- refusals -----------------------------------------------------------------------------------


def refusal_fault(
    command: c.ClientFrame, name: str, code: str, log: LogCheck, max_queue: int
) -> str | None:
    """Returns what is wrong with a refusal, or None; `name` is the type of the refused frame."""
    if name not in _ONLY.get(code, (name,)):
        return f"{code} cannot answer {name}"
    if code == "TURN_QUEUE_FULL" and len(log.queue.items) < max_queue:
        return f"the queue has {len(log.queue.items)} messages, and its limit is {max_queue}"
    match command:
        case c.QueueCommand(payload=wish) if code == "QUEUE_ITEM_NOT_FOUND" and _waits(wish, log):
            return f"{wish.queue_id} is in the queue"
        case c.InputResponse() | c.PermissionResponse() if code in _ONLY:
            due = _refusal(command, log)
            if due is None and command_id(command) in log.requests.open:
                return f"{code}, but the request is open"
            if due not in (None, code):
                return f"{code}, not {due}"
        case _:
            pass
    return None


def _refusal(command: c.InputResponse | c.PermissionResponse, log: LogCheck) -> ErrorCode | None:
    is_empty = isinstance(command, c.InputResponse) and not _says(command.payload.answer)
    return log.requests.refusal(command_id(command), is_empty=is_empty)


def command_id(command: c.InputResponse | c.PermissionResponse) -> str:
    """Returns the id of the request that is answered."""
    if isinstance(command, c.InputResponse):
        return command.payload.question_id
    return command.payload.request_id


def _says(answer: str | dict[str, str | list[str]]) -> bool:
    """Returns whether an answer is not empty."""
    return bool(answer.strip()) if isinstance(answer, str) else any(answer.values())
