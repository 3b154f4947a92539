"""Checks what a client asks, and that each of its frames gets exactly one answer, the right one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, structs

from turnwire.core.error_codes import ERRORS, Refused
from turnwire.dialects.v2 import commands as c
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.check_connection import Say
from turnwire.dialects.v2.codec import decode_command

__all__ = ["AnswerCheck"]


_Key: TypeAlias = tuple[str | None, str | None]  # the frame's id; without one, its type


class _Sent(Struct, gc=False):
    """Everything that was sent under one id."""

    content: bytes
    answer: p.Accepted | None = None  # the first ack


class AnswerCheck:
    """Follows one client over all its connections."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._sent: dict[str, _Sent] = {}
        self._waiting: dict[_Key, deque[c.ClientFrame]] = {}  # on this connection
        self._happened: set[str] = set()  # on this connection: what messages and answers caused
        self._heard = False  # the client's side was recorded at all

    # --- the connection -----------------------------------------------------------------------

    def connected(self, *, both_sides: bool) -> None:
        """A connection begins. What an earlier one left without an answer will be sent again."""
        self._waiting.clear()
        self._happened.clear()
        self._heard |= both_sides

    def another_log(self) -> None:
        """The log is not the one before, and knows nothing of what that one had accepted."""
        for sent in self._sent.values():
            sent.answer = None

    def ended(self, *, in_order: bool) -> None:
        """The connection ends. Where it was cut off, answers may be missing."""
        if in_order:
            for (own_id, _), commands in self._waiting.items():
                # A refusal of a frame without an id cannot say which one it was.
                if own_id is not None:
                    self._say("unanswered", _named(commands[0]))
        self._waiting.clear()

    # --- the client ---------------------------------------------------------------------------

    def command(self, raw: bytes) -> None:
        """A frame of the client."""
        self._heard = True
        try:
            command = decode_command(raw)
        except Refused as error:
            self._say("bad_command", f"{error.code}: {error.message}")
            return
        own_id = command.client_message_id
        key = (own_id, _tag(command) if own_id is None else None)
        self._waiting.setdefault(key, deque()).append(command)
        if own_id is not None and not isinstance(command, c.Heartbeat):
            content = msgspec.json.encode(command)
            before = self._sent.setdefault(own_id, _Sent(content))
            if before.answer is None:
                before.content = content  # a refusal is not remembered

    # --- the server ---------------------------------------------------------------------------

    def happened(self, what: str | None) -> None:
        """A frame tells what the message with this id, or the answer to this request, caused."""
        if what is not None:
            self._happened.add(what)

    def ack(self, name: str, answer: p.Accepted) -> None:
        """An ack; `name` is the type of frame that it answers."""
        command = self._answered(name, answer.client_message_id)
        if command is None:
            return
        self._check_fields(command, answer)
        own_id = answer.client_message_id
        if own_id is None:
            return
        sent = self._sent[own_id]
        if answer.duplicate:
            self._check_duplicate(command, answer, sent)
        elif sent.answer is not None:
            self._say("wrong_duplicate", f"{own_id} was accepted before")
        elif own_id in self._happened or answer.request_id in self._happened:
            self._say("answer_after_effect", own_id)
        sent.answer = sent.answer or answer

    def _check_duplicate(self, command: c.ClientFrame, answer: p.Accepted, sent: _Sent) -> None:
        own_id = answer.client_message_id
        if sent.answer is None:
            return  # the first answer was lost with its connection
        if msgspec.json.encode(command) != sent.content:
            self._say("wrong_duplicate", f"{own_id} was used for another frame")
        elif structs.replace(answer, duplicate=False) != structs.replace(
            sent.answer, duplicate=False
        ):
            self._say("wrong_duplicate", f"{own_id} got another answer before")

    def heartbeat(self, own_id: str | None) -> None:
        """session.heartbeat_ack. Without an id the server may also send it by itself."""
        if own_id is None:
            self._take((None, "session.heartbeat"))
        else:
            self._answered("session.heartbeat", own_id)

    def error(self, error: p.ErrorPayload) -> None:
        """session.error."""
        rule = ERRORS[error.code]
        if (error.retryable, error.what_to_do) != (rule.retryable, rule.what_to_do):
            self._say("wrong_error", f"{error.code} has another retryable or what_to_do")
        own_id = error.client_message_id
        if own_id is None:
            return
        command = self._answered(None, own_id)
        sent = self._sent.get(own_id)
        if command is None or sent is None or sent.answer is None:
            return
        same = msgspec.json.encode(command) == sent.content
        if same or error.code != "IDEMPOTENCY_CONFLICT":
            self._say("wrong_duplicate", f"{own_id} was accepted before, and is refused now")

    def _answered(self, name: str | None, own_id: str | None) -> c.ClientFrame | None:
        """The frame that waits for this answer: the oldest with that id, or of that type."""
        if not self._heard:
            return None
        command = self._take((own_id, name if own_id is None else None))
        if command is None:
            what = f"{name or 'session.error'}, {own_id or 'no id'}"
            self._say("answer_without_command", what)
        elif name is not None and _tag(command) != name:
            self._say("wrong_answer", f"{_named(command)} got the ack of {name}")
            return None
        return command

    def _take(self, key: _Key) -> c.ClientFrame | None:
        waiting = self._waiting.get(key)
        if not waiting:
            return None
        command = waiting.popleft()
        if not waiting:
            del self._waiting[key]
        return command

    def _check_fields(self, command: c.ClientFrame, answer: p.Accepted) -> None:
        if not _RIGHT[type(command)](command.payload, answer):
            self._say("wrong_answer", f"{_named(command)}: its ack is not the one it asks for")


# Whether an ack has what its frame asks for. A heartbeat has an ack of another kind.
_RIGHT: dict[type[c.ClientFrame], Callable[[Any, p.Accepted], bool]] = {
    c.SendMessage: lambda _, a: (a.turn_id is None) is not (a.queue_id is None),
    c.InputResponse: lambda asked, a: a.request_id == asked.question_id,
    c.PermissionResponse: lambda asked, a: a.request_id == asked.request_id,
    c.Interrupt: lambda asked, a: a.turn_id == asked.turn_id and a.outcome is not None,
    c.QueueCommand: lambda asked, a: a.queue_id == asked.queue_id,
    c.Rewind: lambda _, a: a.files is not None,
    c.SetModel: lambda asked, a: a.model == asked.model,
    c.SetPermissionMode: lambda asked, a: a.mode == asked.mode,
}


def _tag(command: c.ClientFrame) -> str:
    return str(command.__struct_config__.tag)


def _named(command: c.ClientFrame) -> str:
    return f"{_tag(command)} {command.client_message_id or '(no id)'}"
