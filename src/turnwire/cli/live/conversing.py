"""A conversation for the terminal: of an engine in this process, or on a server."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, Protocol

from turnwire.cli.live.ask import Decision
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, Talk

if TYPE_CHECKING:  # a command without a server does not import the client
    from turnwire.client import ClientConversation

__all__ = ["Acting", "Conversing", "Here"]


class Conversing(Protocol):
    """A conversation, in this process or on a server."""

    @property
    def id(self) -> str:
        """Returns the id of the conversation."""

    @property
    def is_here(self) -> bool:
        """Returns whether this process runs the conversation: its turn ends with the command."""

    async def head(self) -> int:
        """Returns the number of the newest entry."""

    def frames(self, after: int) -> AsyncGenerator[f.Frame, None]:
        """Yields the frames after an entry. Raises FollowAgain if the caller has to start again."""

    async def send(self, content: str, own_id: str) -> tuple[int | None, str | None]:
        """Sends a message under an id of the caller. Returns its turn id, or its queue id."""

    async def answer(self, question_id: str, answer: Any) -> None:
        """Answers a question."""

    async def decide(self, request_id: str, choice: Decision) -> None:
        """Allows or denies a permission."""

    async def interrupt(self, turn_id: int) -> None:
        """Stops a turn."""


class Acting:
    """The commands of a person, which an engine and a client offer with the same methods."""

    def __init__(self, talk: Talk | ClientConversation) -> None:
        self._asked = talk

    async def answer(self, question_id: str, answer: Any) -> None:
        """Answers a question."""
        await self._asked.answer(question_id, answer)

    async def decide(self, request_id: str, choice: Decision) -> None:
        """Allows or denies a permission."""
        await self._asked.decide(
            request_id,
            choice.decision,
            reason=choice.reason,
            updated_input=choice.updated_input,
            remember=choice.remember,
        )

    async def interrupt(self, turn_id: int) -> None:
        """Stops a turn."""
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
