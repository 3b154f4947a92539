"""What people ask of a conversation, and who waits for what only its agent can say."""

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
    """What somebody who asked for something is told."""

    ack: e.Ack
    duplicate: bool = False


class Ask(Struct, frozen=True):
    """Something that a person asks for."""

    asked: i.Asked  # as it was said: its time, and how its request ended, are added by `at`
    body: bytes  # a digest of what was sent, by which a repeat is known
    done: asyncio.Future[Answer]
    accepted: Callable[[Answer], None] | None = None  # told before anybody sees what it causes

    @property
    def user(self) -> str:
        """The user who asks; empty: one without a name."""
        return self.asked.by or ""

    @property
    def client_message_id(self) -> str | None:
        """What the client calls it."""
        return self.asked.client_message_id

    @property
    def request_id(self) -> str | None:
        """The request that it answers."""
        match self.asked:
            case i.Answered(question_id=request_id) | i.Decided(request_id=request_id):
                return request_id
            case _:
                return None

    def at(self, now: int, ended: Outcome | None) -> i.Asked:
        """Returns the input of the step. `ended`: how the request ended that it answers, if it is over."""
        if isinstance(self.asked, i.Answered | i.Decided):
            return structs.replace(self.asked, at=now, ended=ended)
        return structs.replace(self.asked, at=now)


def accept(ask: Ask, answer: Answer) -> None:
    """It is done, and stays so whatever comes of telling it."""
    if ask.accepted is not None:
        try:
            ask.accepted(answer)
        except Exception:
            _log.exception("Somebody could not be told that it was accepted.")
    if not ask.done.done():  # whoever asked may have gone
        ask.done.set_result(answer)


def refuse(ask: Ask, why: Exception) -> None:
    """It will not be done."""
    if not ask.done.done():
        ask.done.set_exception(why)


class _Pending(Struct):
    asked: i.Controls
    waiting: list[Ask]
    receipt: Receipt | None  # to be kept when it is done


class Controls:
    """Those that the agent has not answered yet, and everybody who waits for that."""

    def __init__(self) -> None:
        self._pending: dict[str, _Pending] = {}

    def __bool__(self) -> bool:
        return bool(self._pending)

    def joins(self, ask: Ask) -> bool:
        """Whether the same frame is on its way already: then both get one answer. Raises Refused."""
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
        """The agent will be asked."""
        kept = None if only_asks(asked.control) else receipt
        self._pending[asked.control_id] = _Pending(asked, [ask], kept)

    def came(self, control_id: str, came: ControlResult | Refused, at: int) -> i.Controlled | None:
        """What the agent said, as an input; none: nobody waits for it any more."""
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
        """What is to be kept of it. Refusals are not remembered."""
        receipt = self._pending[ended.control_id].receipt
        if receipt is None or ended.code is not None:
            return None
        return structs.replace(receipt, ack=msgspec.json.encode(ack))

    def end(self, ended: i.Controlled, ack: e.Ack) -> None:
        """Tell everybody who waits."""
        for place, ask in enumerate(self._pending.pop(ended.control_id).waiting):
            if ended.code is not None:
                refuse(ask, Refused(ended.code, ended.message))
            else:
                accept(ask, Answer(ack, duplicate=place > 0))

    def fail(self, control_id: str | None, why: Refused) -> None:
        """Nobody will get an answer to this one, or to any."""
        names = list(self._pending) if control_id is None else [control_id]
        for name in names:
            for ask in self._pending.pop(name).waiting:
                refuse(ask, why)
