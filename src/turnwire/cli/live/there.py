"""A conversation on a server, for the terminal."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from turnwire.cli.live.conversing import Acting
from turnwire.client import ClientConversation
from turnwire.dialects.v2.frames import Frame

__all__ = ["There"]


class There(Acting):
    """See `Conversing`. The client reconnects by itself, so that its frames go on."""

    def __init__(self, conversation_id: str, talk: ClientConversation) -> None:
        super().__init__(talk)
        self.id = conversation_id
        self.is_here = False
        self._talk = talk

    async def head(self) -> int:
        """Where the client begins."""
        return self._talk.cursor

    async def frames(self, after: int) -> AsyncGenerator[Frame, None]:
        """Whatever comes; from `after` on the client has seen to itself."""
        async for frame in self._talk:
            if isinstance(frame, Frame):
                yield frame

    async def send(self, content: str, own_id: str) -> tuple[int | None, str | None]:
        """Say something."""
        ack = await self._talk.send(content, own_id)
        return ack.turn_id, ack.queue_id
