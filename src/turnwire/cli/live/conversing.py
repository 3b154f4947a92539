"""A conversation as the terminal has it: of an engine in this process, or on a server."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, Protocol

from turnwire.cli.live.ask import Decision
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, Talk

if TYPE_CHECKING:  # who talks to no server needs no client
    from turnwire.client import ClientConversation

__all__ = ["Acting", "Conversing", "Here"]


class Conversing(Protocol):
    """A conversation, in this process or on a server."""

    @property
    def id(self) -> str:
        """Which one."""

    @property
    def is_here(self) -> bool:
        """It is of this process: whoever leaves ends it."""

    async def head(self) -> int:
        """The number of its newest entry."""

    def frames(self, after: int) -> AsyncGenerator[f.Frame, None]:
        """Everything from here on. Raises FollowAgain where it has to be asked for again."""

    async def send(self, content: str, own_id: str) -> tuple[int | None, str | None]:
        """Say something, under an id of one's own: the turn that it starts, or where it waits."""

    async def answer(self, question_id: str, answer: Any) -> None:
        """Answer a question."""

    async def decide(self, request_id: str, choice: Decision) -> None:
        """Allow or deny."""

    async def interrupt(self, turn_id: int) -> None:
        """Stop a turn."""


class Acting:
    """What people do, which is asked for in the same words here and there."""

    def __init__(self, talk: Talk | ClientConversation) -> None:
        self._asked = talk

    async def answer(self, question_id: str, answer: Any) -> None:
        """Answer a question."""
        await self._asked.answer(question_id, answer)

    async def decide(self, request_id: str, choice: Decision) -> None:
        """Allow or deny."""
        await self._asked.decide(
            request_id,
            choice.decision,
            reason=choice.reason,
            updated_input=choice.updated_input,
            remember=choice.remember,
        )

    async def interrupt(self, turn_id: int) -> None:
        """Stop a turn."""
        await self._asked.interrupt(turn_id)


class Here(Acting):
    """A conversation of an engine in this process."""

    def __init__(self, engine: Engine, talk: Talk) -> None:
        super().__init__(talk)
        self._engine = engine
        self._talk = talk
        self.id = talk.id
        self.is_here = True

    async def head(self) -> int:
        row = await self._engine.store.conversation(self._talk.id)
        return row.head if row else 0

    def frames(self, after: int) -> AsyncGenerator[f.Frame, None]:
        epoch = self._engine.store.epoch
        return self._talk.follow(last_sequence=after, epoch=epoch, client_id="terminal")

    async def send(self, content: str, own_id: str) -> tuple[int | None, str | None]:
        ack = (await self._talk.send(content, client_message_id=own_id)).ack
        return ack.turn_id, ack.queue_id
