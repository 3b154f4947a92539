"""A conversation on a server, as the terminal uses it."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from turnwire.cli.live.conversing import Acting
from turnwire.client import ClientConversation
from turnwire.dialects.v2.frames import Frame

__all__ = ["There"]


class There(Acting):
    """A `Conversing` through a client, which reconnects by itself."""

    def __init__(self, conversation_id: str, talk: ClientConversation) -> None:
        super().__init__(talk)
        self.id = conversation_id
        self.is_here = False
        self._talk = talk

    async def head(self) -> int:
        """Returns the cursor of the client."""
        return self._talk.cursor

    async def frames(self, after: int) -> AsyncGenerator[Frame, None]:
        """Yields all frames. The client has its own cursor, so `after` is not used."""
        async for frame in self._talk:
            if isinstance(frame, Frame):
                yield frame

    async def send(self, content: str, own_id: str) -> tuple[int | None, str | None]:
        """Sends a message under an id of the caller. Returns its turn id, or its queue id."""
        ack = await self._talk.send(content, own_id)
        return ack.turn_id, ack.queue_id
