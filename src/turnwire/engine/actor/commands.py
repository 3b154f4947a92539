"""Commands of clients, their answers, and the controls that wait for the agent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import msgspec
from msgspec import Struct, structs

from turnwire.core.controls import ControlResult, only_asks
from turnwire.core.conversation import effects as e
from turnwire.core.conversation import inputs as i
from turnwire.core.error_codes import Refused
from turnwire.core.status import Outcome
from turnwire.core.text import clean, writable
from turnwire.ports import Receipt

__all__ = ["Answer", "Ask", "Controls", "accept", "refuse"]

_log = logging.getLogger("turnwire")


class Answer(Struct, frozen=True):
    """The answer to a command."""

    ack: e.Ack
    duplicate: bool = False


class Ask(Struct, frozen=True):
    """A command in the queue of a conversation."""

    asked: i.Asked  # without its time and the outcome of its request; `at` adds them
    body: bytes  # a digest of the command as it was sent, to recognize a repeat
    done: asyncio.Future[Answer]
    accepted: Callable[[Answer], None] | None = None  # called before the effects are published

    @property
    def user(self) -> str:
        """The user who sent the command; empty if the user has no name."""
        return self.asked.by or ""

    @property
    def client_message_id(self) -> str | None:
        """The idempotency key that the client chose."""
        return self.asked.client_message_id

    @property
    def request_id(self) -> str | None:
        """The id of the request that the command answers."""
        match self.asked:
            case i.Answered(question_id=request_id) | i.Decided(request_id=request_id):
                return request_id
            case _:
                return None

    def at(self, now: int, ended: Outcome | None) -> i.Asked:
        """Returns the input of the step. `ended` is the outcome of a request that has ended."""
        if isinstance(self.asked, i.Answered | i.Decided):
            return structs.replace(self.asked, at=now, ended=ended)
        return structs.replace(self.asked, at=now)


def accept(ask: Ask, answer: Answer) -> None:
    """Answers a command that is committed. A callback that fails does not undo the command."""
    if ask.accepted is not None:
        try:
            ask.accepted(answer)
        except Exception:
            _log.exception("A callback for an accepted command failed.")
    if not ask.done.done():  # the caller may have been cancelled
        ask.done.set_result(answer)


def refuse(ask: Ask, why: Exception) -> None:
    """Refuses a command."""
    if not ask.done.done():
        ask.done.set_exception(why)


class _Pending(Struct):
    asked: i.Controls
    waiting: list[Ask]
    receipt: Receipt | None  # to be stored with the result


class Controls:
    """Controls that the agent has not answered yet, with the commands that wait for them."""

    def __init__(self) -> None:
        self._pending: dict[str, _Pending] = {}

    def __bool__(self) -> bool:
        return bool(self._pending)

    def joins(self, ask: Ask) -> bool:
        """Adds a repeated command to the control it repeats, so that both get one answer.

        Returns False if no such control is pending. Raises Refused if the key is the same but the
        body is not.
        """
        for pending in self._pending.values():
            first = pending.waiting[0]
            same = (first.user, first.client_message_id) == (ask.user, ask.client_message_id)
            if same:
                if first.body != ask.body:
                    raise Refused("IDEMPOTENCY_CONFLICT", client_message_id=ask.client_message_id)
                pending.waiting.append(ask)
                return True
        return False

    def begin(self, ask: Ask, asked: i.Controls, receipt: Receipt | None) -> None:
        """Adds a control that is about to be sent to the agent."""
        kept = None if only_asks(asked.control) else receipt
        self._pending[asked.control_id] = _Pending(asked, [ask], kept)

    def came(self, control_id: str, came: ControlResult | Refused, at: int) -> i.Controlled | None:
        """Returns the result of a control as an input. Returns None if no command waits for it."""
        pending = self._pending.get(control_id)
        if pending is None:
            return None
        asked = pending.asked
        ended = i.Controlled(at=at, control_id=control_id, control=asked.control, by=asked.by)
        if isinstance(came, Refused):
            said = clean(came.message)
            return structs.replace(ended, code=came.code, message=said)
        return structs.replace(ended, result=writable(came))

    def receipt(self, ended: i.Controlled, ack: e.Ack) -> Receipt | None:
        """Returns the receipt to store. Returns None for a refusal, which may be retried."""
        receipt = self._pending[ended.control_id].receipt
        if receipt is None or ended.code is not None:
            return None
        return structs.replace(receipt, ack=msgspec.json.encode(ack))

    def end(self, ended: i.Controlled, ack: e.Ack) -> None:
        """Answers all commands that wait for a control."""
        for place, ask in enumerate(self._pending.pop(ended.control_id).waiting):
            if ended.code is not None:
                refuse(ask, Refused(ended.code, ended.message))
            else:
                accept(ask, Answer(ack, duplicate=place > 0))

    def fail(self, control_id: str | None, why: Refused) -> None:
        """Refuses the commands that wait for one control, or for all of them if the id is None."""
        names = list(self._pending) if control_id is None else [control_id]
        for name in names:
            pending = self._pending.pop(name, None)
            for ask in pending.waiting if pending is not None else ():
                refuse(ask, why)
