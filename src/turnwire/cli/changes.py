"""Changes to a whole conversation: its title, the archive, its end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from turnwire.cli.conversations import check_free, find
from turnwire.cli.home import Home
from turnwire.cli.remote import client_of
from turnwire.cli.server_options import find_there

if TYPE_CHECKING:
    from turnwire.client import Client
    from turnwire.engine import Engine
    from turnwire.ports import Agent, ConversationRow, Store

__all__ = ["Changing"]


class Changing(ABC):
    """One conversation, to be changed by the process that may change it."""

    def __init__(self, conversation_id: str, title: str) -> None:
        self.id = conversation_id
        self.title = title

    @abstractmethod
    async def rename(self, title: str) -> None:
        """Changes the title."""

    @abstractmethod
    async def archive(self, *, archived: bool) -> None:
        """Moves the conversation to the archive, or takes it out."""

    @abstractmethod
    async def delete(self) -> str | None:
        """Deletes the conversation. Returns what is left of the agent's own record, or None."""

    @abstractmethod
    async def forget_rule(self, rule_id: str) -> None:
        """Takes a remembered permission rule back."""

    @staticmethod
    @asynccontextmanager
    async def open(home: Home, given: str) -> AsyncIterator[Changing]:
        """Opens the conversation whose id begins with `given`.

        Uses the named server, or the server of the data directory if one runs; otherwise this
        process. Raises TurnwireError if the conversation cannot be found or changed.
        """
        from turnwire.server.discovery import find_server

        if home.far is not None:
            client = client_of(home)
            yield await _There.find(client, (await find_there(client, given)).id)
            return
        async with home.store() as store:
            row = await find(store, given, home)
            if find_server(home.path) is not None:
                yield await _There.find(client_of(home), row.conversation_id)
                return
            check_free(row, home)
            async with _engine_for(store, row) as engine:
                yield _Here(engine, store, row)


class _There(Changing):
    """A conversation of a server."""

    def __init__(self, client: Client, told: Any) -> None:
        super().__init__(told["id"], told.get("title") or "")
        self._client = client
        self._path = _path(told["id"])

    @classmethod
    async def find(cls, client: Client, conversation_id: str) -> _There:
        return cls(client, await client.request("GET", _path(conversation_id)))

    async def rename(self, title: str) -> None:
        await self._client.request("PATCH", self._path, {"title": title})

    async def archive(self, *, archived: bool) -> None:
        await self._client.request("PATCH", self._path, {"archived": archived})

    async def delete(self) -> str | None:
        told = await self._client.request("DELETE", self._path)
        return None if told is None else str(told["left"])

    async def forget_rule(self, rule_id: str) -> None:
        await self._client.forget_rule(self.id, rule_id)


class _Here(Changing):
    """A conversation that this process changes, because no other one runs it."""

    def __init__(self, engine: Engine, store: Store, row: ConversationRow) -> None:
        super().__init__(row.conversation_id, row.title or "")
        self._engine = engine
        self._store = store
        self._was_archived = row.archived

    async def rename(self, title: str) -> None:
        from turnwire.server.new_conversation import check_title

        talk = await self._engine.open(self.id)
        await talk.rename(check_title(title))

    async def archive(self, *, archived: bool) -> None:
        from turnwire.core.times import iso

        if archived is self._was_archived:
            return
        await self._store.change(self.id, archived=archived)
        await self._engine.look_after(self.id)
        action = "archived" if archived else "reopened"
        at = iso(self._engine.clock.now())
        await self._store.note(action, at=at, conversation_id=self.id)

    async def delete(self) -> str | None:
        from turnwire.server.access.keys import OWNER, Keys
        from turnwire.server.access.share_links import ShareLinks

        row = await self._store.conversation(self.id)
        if row is not None:
            clock = self._engine.clock
            await ShareLinks(self._store, Keys(self._store, clock), clock).end_all(row, OWNER)
        return await self._engine.remove(self.id)

    async def forget_rule(self, rule_id: str) -> None:
        talk = await self._engine.open(self.id)
        await talk.forget_rule(rule_id)


@asynccontextmanager
async def _engine_for(store: Store, row: ConversationRow) -> AsyncIterator[Engine]:
    """Opens an engine, with the agent of the conversation if it is known here."""
    from turnwire.agents.registry import MissingAgent, UnknownAgent
    from turnwire.cli.live.visit import known_agent
    from turnwire.engine import Engine

    agent: Agent
    try:
        agent = known_agent(row.agent)
    except UnknownAgent as unknown:
        agent = MissingAgent(row.agent, unknown.message)
    engine = Engine(store, {row.agent: agent})
    try:
        yield engine
    finally:
        await engine.stop()


def _path(conversation_id: str) -> str:
    return f"/api/conversations/{quote(conversation_id, safe='')}"
