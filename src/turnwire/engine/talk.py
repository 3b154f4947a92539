"""A conversation, for whoever talks in it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from turnwire.core.content import Content, TextContent
from turnwire.core.conversation import inputs as i
from turnwire.core.error_codes import Refused
from turnwire.core.status import Outcome, Status
from turnwire.dialects.v2.frames import Frame
from turnwire.engine.channel import numbered
from turnwire.engine.follow import Place
from turnwire.engine.live import Answer
from turnwire.ports import ConversationRow

if TYPE_CHECKING:
    from turnwire.engine.engine import Engine

__all__ = ["Talk"]


class Talk:
    """A conversation, for whoever talks in it."""

    def __init__(self, engine: Engine, row: ConversationRow) -> None:
        self._engine = engine
        self.row = row

    @property
    def id(self) -> str:
        """The conversation's id."""
        return self.row.conversation_id

    async def status(self) -> Status:
        """Its small state, as it is now."""
        return await self._engine.status(self.id)

    async def wake(self) -> Status:
        """Take it over, and make it true: what a crash has left is ended. Raises Owned."""
        return await self._engine.wake(self.id)

    async def send(
        self,
        content: str | list[Content],
        *,
        user: str | None = None,
        client_message_id: str | None = None,
    ) -> Answer:
        """Say something to the agent."""
        said = _content(content)
        queue_id, trace_id = self._engine.new_id(), self._engine.new_id()

        def make(at: int, _: Outcome | None) -> i.Input:
            return i.Said(
                at=at,
                content=said,
                queue_id=queue_id,
                trace_id=trace_id,
                by=user,
                client_message_id=client_message_id,
            )

        return await self._ask(make, "user.message", said, user, client_message_id)

    async def answer(
        self,
        question_id: str,
        answer: Any,
        *,
        resume_task: bool = True,
        user: str | None = None,
        client_message_id: str | None = None,
    ) -> Answer:
        """Answer a question."""

        def make(at: int, ended: Outcome | None) -> i.Input:
            return i.Answered(
                at=at,
                question_id=question_id,
                answer=answer,
                resume_task=resume_task,
                by=user,
                client_message_id=client_message_id,
                ended=ended,
            )

        body = [question_id, answer, resume_task]
        return await self._ask(
            make, "user.input_response", body, user, client_message_id, question_id
        )

    async def decide(
        self,
        request_id: str,
        decision: Literal["allow", "deny"],
        *,
        reason: str | None = None,
        updated_input: Any = None,
        remember: list[Any] | None = None,
        user: str | None = None,
        client_message_id: str | None = None,
    ) -> Answer:
        """Allow or deny what the agent wants to run."""

        def make(at: int, ended: Outcome | None) -> i.Input:
            return i.Decided(
                at=at,
                request_id=request_id,
                decision=decision,
                reason=reason,
                updated_input=updated_input,
                remember=remember or [],
                by=user,
                client_message_id=client_message_id,
                ended=ended,
            )

        body = [request_id, decision, reason, updated_input, remember]
        return await self._ask(
            make, "user.permission_response", body, user, client_message_id, request_id
        )

    async def interrupt(
        self,
        turn_id: int,
        *,
        queue: Literal["hold", "continue", "clear"] = "hold",
        user: str | None = None,
        client_message_id: str | None = None,
    ) -> Answer:
        """Stop a turn."""

        def make(at: int, _: Outcome | None) -> i.Input:
            return i.Interrupted(
                at=at, turn_id=turn_id, queue=queue, by=user, client_message_id=client_message_id
            )

        return await self._ask(make, "user.interrupt", [turn_id, queue], user, client_message_id)

    async def change_queue(
        self,
        action: Literal["remove", "replace", "move", "resume"],
        queue_id: str | None = None,
        *,
        content: str | list[Content] | None = None,
        before: str | None = None,
        user: str | None = None,
        client_message_id: str | None = None,
    ) -> Answer:
        """Remove, replace or move what waits, or let a held queue go on."""
        said = None if content is None else _content(content)

        def make(at: int, _: Outcome | None) -> i.Input:
            return i.ChangedQueue(
                at=at,
                action=action,
                queue_id=queue_id,
                content=said,
                before=before,
                by=user,
                client_message_id=client_message_id,
            )

        body = [action, queue_id, said, before]
        return await self._ask(make, "user.queue", body, user, client_message_id)

    async def rename(self, title: str, *, user: str | None = None) -> Answer:
        """Give it another title."""
        return await self._ask(
            lambda at, _: i.Renamed(at=at, title=title, by=user), "rename", title, user, None
        )

    async def follow(
        self,
        *,
        last_sequence: int | None = None,
        epoch: str | None = None,
        tail: int | None = None,
        client_id: str = "local",
        user: str | None = None,
    ) -> AsyncGenerator[Frame, None]:
        """Everything after a place in the log, then live, as the frames of protocol v2."""
        place = Place(last_sequence, epoch, tail)
        sequence = 0
        async with aclosing(self._engine.follow(self.row, place, client_id, user)) as sent:
            async for each in sent:
                sequence += 1
                yield numbered(each.frame, sequence)

    async def _ask(
        self,
        make: Callable[[int, Outcome | None], i.Input],
        kind: str,
        body: Any,
        user: str | None,
        client_message_id: str | None,
        request_id: str | None = None,
    ) -> Answer:
        try:
            encoded = msgspec.json.encode([kind, body])
        except UnicodeEncodeError:
            raise Refused(
                "INVALID_PAYLOAD", "It is no text: half of a character is in it."
            ) from None
        return await self._engine.ask(
            self.id,
            make,
            user=user,
            client_message_id=client_message_id,
            body=encoded,
            request_id=request_id,
        )


def _content(said: str | list[Content]) -> list[Content]:
    return [TextContent(said)] if isinstance(said, str) else said
