"""Passes commands on to the nodes that own their conversations, and carries out theirs."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from msgspec import Struct

from turnwire.background import BackgroundTasks
from turnwire.core.conversation import effects as e
from turnwire.core.conversation import inputs as i
from turnwire.core.error_codes import ERRORS, Refused
from turnwire.crash_points import CrashPoint, reach
from turnwire.engine.actor.commands import Answer
from turnwire.engine.nodes import messages as m
from turnwire.engine.nodes.mailbox import Mailbox
from turnwire.engine.ownership.claims import CannotClaim
from turnwire.errors import TurnwireError
from turnwire.ports import Clock, Owned, StorageUnavailable, Timer

__all__ = ["AskHere", "Forwarding", "NotOwner", "OwnerSilent"]

_log = logging.getLogger("turnwire")
_AGAIN = 1_000  # milliseconds until a request without an answer is sent again
_SILENT = 3_000  # milliseconds without a sign of the owner, until it counts as unreachable
_STILL_SILENT = 500  # the same for an owner that did not answer just before
_CHECK = 100  # milliseconds between two checks whether the process of the owner has died
_ENVELOPE = 1_024  # bytes of a forwarded command besides its input
_REMEMBERED = 4_096  # requests whose answer may be asked for again


class NotOwner(Exception):
    """The node does not own the conversation. Nothing was done."""


class OwnerSilent(Exception):
    """The node does not answer. The command may have been carried out."""


class AskHere(Struct, frozen=True):
    """How this node carries out what others ask of it."""

    ask: Callable[[str, i.Asked, bytes, Callable[[Answer], None]], Awaitable[Answer]]
    end: Callable[[str, str], Awaitable[None]]


class _Pending:
    """A request that was sent, and is not answered yet."""

    def __init__(
        self,
        owner: str,
        message: m.Ask | m.End,
        accepted: Callable[[Answer], None] | None,
        now: int,
        patience: int,
    ) -> None:
        self.owner = owner
        self.message = message
        self.accepted = accepted
        self.heard_at = now
        self.sent_at = now
        self.patience = patience
        self.done: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
        self.again: Timer | None = None


class Forwarding:
    """The requests of this node to others, and those of others to this node."""

    def __init__(
        self,
        mailbox: Mailbox,
        clock: Clock,
        background: BackgroundTasks,
        here: AskHere,
        new_id: Callable[[], str],
        has_died: Callable[[str], bool],
    ) -> None:
        """`has_died` returns whether the process of an inbox is known to have ended."""
        self._has_died = has_died
        self._mailbox = mailbox
        self._clock = clock
        self._background = background
        self._here = here
        self._new_id = new_id
        self._pending: dict[str, _Pending] = {}
        # Requests of others, with their answers. None: not answered yet.
        self._answers: OrderedDict[str, m.Message | None] = OrderedDict()
        mailbox.handle(
            (m.Ask, self._asked),
            (m.End, self._asked),
            (m.Working, self._working),
            (m.Answered, self._answered),
            (m.Ended, self._ended),
            (m.Refusal, self._refused),
            (m.NotHere, self._not_here),
        )

    # --- requests of this node ----------------------------------------------------------------

    async def ask(
        self,
        owner: str,
        conversation_id: str,
        asked: i.Asked,
        body: bytes,
        accepted: Callable[[Answer], None] | None,
        *,
        was_silent: bool = False,
    ) -> Answer:
        """Passes a command on, and returns the answer. `body` is a digest of the command.

        `was_silent`: the owner did not answer just before, so it is not waited for that long.

        Raises Refused, NotOwner, OwnerSilent.
        """
        kind, data = m.pack_input(asked)
        most = self._mailbox.most_bytes - _ENVELOPE
        if len(data) > most:
            said = (
                f"This command has {len(data):,} bytes, and servers pass on at most {most:,}."
                " Upload large content first, and send its id."
            )
            raise Refused("PAYLOAD_TOO_LARGE", said)
        request = self._new_id()
        message = m.Ask(self._mailbox.inbox, request, conversation_id, kind, data, body)
        patience = _STILL_SILENT if was_silent else _SILENT
        answer = await self._request(owner, message, accepted, patience)
        assert answer is not None
        return answer

    async def end(self, owner: str, conversation_id: str, reason: str) -> None:
        """Has the owner end the agent and the turn. Raises NotOwner, OwnerSilent."""
        message = m.End(self._mailbox.inbox, self._new_id(), conversation_id, reason)
        await self._request(owner, message, None)

    async def _request(
        self,
        owner: str,
        message: m.Ask | m.End,
        accepted: Callable[[Answer], None] | None,
        patience: int = _SILENT,
    ) -> Answer | None:
        pending = _Pending(owner, message, accepted, self._clock.now(), patience)
        self._pending[message.request] = pending
        try:
            reach(CrashPoint.FORWARDS)
            self._mailbox.send(owner, message)
            self._check_later(pending)
            answer = await pending.done
            reach(CrashPoint.FORWARDED)
            return answer
        finally:
            del self._pending[message.request]
            if pending.again is not None:
                pending.again()

    def _check_later(self, pending: _Pending) -> None:
        pending.again = self._clock.call_after(_CHECK, lambda: self._check(pending))

    def _check(self, pending: _Pending) -> None:
        """Sends a request again after a while. Gives up if the owner is silent or has died."""
        if pending.done.done():
            return
        now = self._clock.now()
        is_silent = now - pending.heard_at >= pending.patience
        if is_silent or self._has_died(pending.owner):
            pending.done.set_exception(OwnerSilent())
            return
        if now - pending.sent_at >= _AGAIN:
            pending.sent_at = now
            self._mailbox.send(pending.owner, pending.message)
        self._check_later(pending)

    def _working(self, message: m.Working) -> None:
        pending = self._pending.get(message.request)
        if pending is not None:
            pending.heard_at = self._clock.now()

    def _answered(self, message: m.Answered) -> None:
        pending = self._pending.get(message.request)
        if pending is not None and not pending.done.done():
            answer = Answer(msgspec.json.decode(message.ack, type=e.Ack), message.duplicate)
            if pending.accepted is not None:
                pending.accepted(answer)
            pending.done.set_result(answer)

    def _ended(self, message: m.Ended) -> None:
        pending = self._pending.get(message.request)
        if pending is not None and not pending.done.done():
            pending.done.set_result(None)

    def _refused(self, message: m.Refusal) -> None:
        data = msgspec.json.decode(message.data)
        code: Any = message.code if message.code in ERRORS else "INTERNAL_ERROR"
        self._fail(message.request, Refused(code, message.message, **data))

    def _not_here(self, message: m.NotHere) -> None:
        self._fail(message.request, NotOwner())

    def _fail(self, request: str, why: Exception) -> None:
        pending = self._pending.get(request)
        if pending is not None and not pending.done.done():
            pending.done.set_exception(why)

    # --- requests of other nodes --------------------------------------------------------------

    def _asked(self, message: m.Ask | m.End) -> None:
        request = message.request
        if request in self._answers:  # the answer was lost, or is not there yet
            answer = self._answers[request]
            self._mailbox.send(message.sender, answer or m.Working(self._mailbox.inbox, request))
            return
        self._answers[request] = None
        while len(self._answers) > _REMEMBERED:
            self._answers.popitem(last=False)
        self._background.run(self._carry_out(message))

    async def _carry_out(self, message: m.Ask | m.End) -> None:
        here, request = self._mailbox.inbox, message.request

        def accepted(answer: Answer) -> None:
            self._reply(
                message,
                m.Answered(here, request, msgspec.json.encode(answer.ack), answer.duplicate),
            )

        reach(CrashPoint.CARRIES_OUT)
        try:
            if isinstance(message, m.End):
                await self._here.end(message.conversation_id, message.reason)
                self._reply(message, m.Ended(here, request))
                return
            asked = m.unpack_input(message.kind, message.input)
            if asked is None:
                said = "The node that runs this conversation has another version."
                raise Refused("NOT_SUPPORTED", said)
            await self._here.ask(message.conversation_id, asked, message.body, accepted)
        except (Owned, CannotClaim):
            self._reply(message, m.NotHere(here, request))
        except StorageUnavailable as down:
            said = ERRORS[down.code].meaning if down.is_for_operators else down.message
            self._reply(message, m.Refusal(here, request, "STORAGE_UNAVAILABLE", said, b"{}"))
        except TurnwireError as refused:
            code = refused.code if refused.code in ERRORS else "INTERNAL_ERROR"
            data = msgspec.json.encode(refused.data)
            self._reply(message, m.Refusal(here, request, code, refused.message, data))
        except Exception:  # without an answer the other node would ask for ever
            _log.exception("A command of the node %s failed.", message.sender)
            said = ERRORS["INTERNAL_ERROR"].meaning
            self._reply(message, m.Refusal(here, request, "INTERNAL_ERROR", said, b"{}"))

    def _reply(self, message: m.Ask | m.End, answer: m.Message) -> None:
        reach(CrashPoint.ANSWERS)
        if message.request in self._answers:
            self._answers[message.request] = answer
        self._mailbox.send(message.sender, answer)
