"""Checks the client's frames, and that each of them gets exactly one correct answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, structs

from turnwire.core.error_codes import ERRORS, Refused
from turnwire.dialects.v2 import commands as c
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.codec import decode_command
from turnwire.dialects.v2.validator.connection import Say
from turnwire.dialects.v2.validator.log import LogCheck
from turnwire.dialects.v2.validator.wishes import ack_fault, follow, refusal_fault

__all__ = ["AnswerCheck"]


_Key: TypeAlias = tuple[str | None, str | None]  # the frame's id; if it has none, its type


class _Sent(Struct, gc=False):
    """The command that was sent under one id, and its answer."""

    command: c.ClientFrame
    answer: p.Accepted | None = None  # the first ack


class _Waiting(Struct, gc=False):
    """A frame that has no answer yet."""

    command: c.ClientFrame
    size: int  # in bytes, encoded without spaces
    had_effect: bool = False  # a frame has already shown the effect of the command


class AnswerCheck:
    """Checks the answers to one client over all its connections."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._sent: dict[str, _Sent] = {}
        self._waiting: dict[_Key, deque[_Waiting]] = {}  # of this connection
        self._bad: dict[str, str] = {}  # of this connection: invalid frames -> error code
        self._heard = False  # the recording has frames of the client

    # --- the connection -----------------------------------------------------------------------

    def connected(self, *, both_sides: bool) -> None:
        """Starts a connection. The client will resend frames that had no answer."""
        self._waiting.clear()
        self._bad.clear()
        self._heard |= both_sides

    def another_log(self) -> None:
        """Forgets the answers: a new log does not know the commands that the old log accepted."""
        for sent in self._sent.values():
            sent.answer = None

    def ended(self, *, in_order: bool) -> None:
        """Ends the connection. Reports missing answers unless the connection was cut off."""
        if in_order:
            for (own_id, _), waiting in self._waiting.items():
                # A refusal of a frame without an id cannot name the frame.
                if own_id is not None:
                    self._say("unanswered", _named(waiting[0].command))
        self._waiting.clear()

    @property
    def nameless(self) -> bool:
        """Returns whether an error without an id may answer a frame without an id."""
        return any(own_id is None for own_id, _ in self._waiting)

    # --- the client ---------------------------------------------------------------------------

    def command(self, raw: bytes) -> None:
        """Takes a frame of the client."""
        self._heard = True
        try:
            command = decode_command(raw)
        except Refused as error:
            self._say("bad_command", f"{error.code}: {error.message}")
            if own_id := error.data.get("client_message_id"):
                self._bad[own_id] = error.code
            return
        own_id = command.client_message_id
        key = (own_id, _tag(command) if own_id is None else None)
        size = len(msgspec.json.encode(command))
        self._waiting.setdefault(key, deque()).append(_Waiting(command, size))
        if own_id is not None and not isinstance(command, c.Heartbeat):
            before = self._sent.setdefault(own_id, _Sent(command))
            if before.answer is None:
                before.command = command  # a refused frame may be sent again with other content

    def message(self, own_id: str) -> c.NewMessage | None:
        """Returns the message that this client sent under an id, if it was acknowledged."""
        sent = self._sent.get(own_id)
        if sent is None or sent.answer is None or not isinstance(sent.command, c.SendMessage):
            return None
        return sent.command.payload

    # --- the server ---------------------------------------------------------------------------

    def effect(self, caused: Callable[[c.ClientFrame], bool]) -> None:
        """Marks the commands whose effect a frame shows: their acks should have come before it."""
        for waiting in self._waiting.values():
            for each in waiting:
                each.had_effect = each.had_effect or caused(each.command)

    def is_late(self, answer: Any, name: str) -> bool:
        """Returns whether an ack comes after a frame that showed the effect of its command."""
        if not isinstance(answer, p.Accepted):
            return False
        own_id = answer.client_message_id
        waiting = self._waiting.get((own_id, name.removesuffix(".ack") if own_id is None else None))
        return waiting is not None and waiting[0].had_effect

    def ack(self, name: str, answer: p.Accepted, info: p.SessionInfo, log: LogCheck) -> None:
        """Checks an ack; `name` is the type of the frame that it answers."""
        waiting = self._answered(name, answer.client_message_id)
        if waiting is None:
            return
        command, own_id = waiting.command, answer.client_message_id
        offered = info.capabilities
        # The offer is that of the agent that spoke when the connection began.
        is_current = log.state.agent in (None, offered.agent)
        if is_current and name not in offered.commands:
            self._say("not_offered", _named(command))
        if waiting.size > info.limits.max_frame_bytes:
            self._say("too_large", f"{_named(command)}: {waiting.size} bytes")
        sent = None if own_id is None else self._sent[own_id]
        if sent is not None and sent.answer is not None:
            self._check_duplicate(command, answer, sent.command, sent.answer)
            return
        if sent is not None:
            sent.answer = answer
        if answer.duplicate:
            return  # the first answer was lost with its connection
        if waiting.had_effect:
            self._say("answer_after_effect", _named(command))
        elif fault := ack_fault(command, answer, log):
            self._say("wrong_answer", f"{_named(command)}: {fault}")
        else:
            follow(command, answer, log)

    def _check_duplicate(
        self, command: c.ClientFrame, answer: p.Accepted, sent: c.ClientFrame, first: p.Accepted
    ) -> None:
        own_id = answer.client_message_id
        if not answer.duplicate:
            self._say("wrong_duplicate", f"{own_id} was accepted before")
        elif command != sent:
            self._say("wrong_duplicate", f"{own_id} was used for a different frame")
        elif structs.replace(answer, duplicate=False) != structs.replace(first, duplicate=False):
            self._say("wrong_duplicate", f"{own_id} got a different answer before")

    def heartbeat(self, own_id: str | None) -> None:
        """Takes a session.heartbeat_ack. The server may send one without an id unasked."""
        if own_id is None:
            self._take((None, "session.heartbeat"))
        else:
            self._answered("session.heartbeat", own_id)

    def error(self, error: p.ErrorPayload, log: LogCheck, max_queue: int) -> None:
        """Checks a session.error."""
        rule = ERRORS.get(error.code)
        if rule is None:
            self._say("wrong_error", f"unknown error code {error.code}")
        elif (error.retryable, error.what_to_do) != (rule.retryable, rule.what_to_do):
            self._say("wrong_error", f"{error.code} has a different retryable or what_to_do")
        own_id = error.client_message_id
        if own_id is None:
            return
        if own_id in self._bad:
            if error.code != (due := self._bad.pop(own_id)):
                self._say("wrong_refusal", f"{own_id}: {error.code}, not {due}")
            return
        waiting = self._answered(None, own_id)
        if waiting is None:
            return
        command, sent = waiting.command, self._sent.get(own_id)
        if sent is not None and sent.answer is not None:
            if command == sent.command or error.code != "IDEMPOTENCY_CONFLICT":
                self._say("wrong_duplicate", f"{own_id} was accepted before, and is refused now")
        else:
            # A queue can also be full by bytes. Then one queued message is enough.
            least = 1 if "max_queue_bytes" in error.data else max_queue
            fault = refusal_fault(command, _tag(command), error.code, log, least)
            if fault is not None:
                self._say("wrong_refusal", f"{_named(command)}: {fault}")

    def _answered(self, name: str | None, own_id: str | None) -> _Waiting | None:
        """Returns the oldest frame that waits for this answer: by id or, without one, by type."""
        if not self._heard:
            return None
        waiting = self._take((own_id, name if own_id is None else None))
        if waiting is None:
            what = f"{name or 'session.error'}, {own_id or 'no id'}"
            self._say("answer_without_command", what)
        elif name is not None and _tag(waiting.command) != name:
            self._say("wrong_answer", f"{_named(waiting.command)} got the ack of {name}")
            return None
        return waiting

    def _take(self, key: _Key) -> _Waiting | None:
        waiting = self._waiting.get(key)
        if not waiting:
            return None
        first = waiting.popleft()
        if not waiting:
            del self._waiting[key]
        return first


def _tag(command: c.ClientFrame) -> str:
    return str(command.__struct_config__.tag)


def _named(command: c.ClientFrame) -> str:
    return f"{_tag(command)} {command.client_message_id or '(no id)'}"
