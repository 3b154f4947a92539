"""Deleting a conversation deletes the agent's record of its session, and no other session."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.engine.helpers.watcher import Watcher
from turnwire.agents.demo import DemoAgent
from turnwire.agents.demo.agent import DemoSession
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, Talk
from turnwire.ports import SessionStart
from turnwire.stores.sqlite import SqliteStore


class Keeper(DemoAgent):
    """Keeps a file for each session."""

    def __init__(self, folder: Path) -> None:
        super().__init__(delay=0)
        self.folder = folder
        self.fails = False

    async def open(self, start: SessionStart) -> DemoSession:
        session = await super().open(start)
        (self.folder / str(session.native_session_id)).touch()
        return session

    async def forget(self, conversation_id: str, native_session_id: str | None) -> None:
        if self.fails:
            raise OSError("the files are on strike")
        if native_session_id is not None:
            (self.folder / native_session_id).unlink(missing_ok=True)


async def _says(talk: Talk, text: str = "hello") -> None:
    async with Watcher(talk) as seen:
        await talk.send(text)
        await seen.until(f.AssistantComplete)


class _World:
    def __init__(self, place: Path) -> None:
        self.sessions = place / "sessions"
        self.sessions.mkdir()
        self.agent = Keeper(self.sessions)
        self.path = place / "log.db"

    def kept(self) -> set[str]:
        return {each.name for each in self.sessions.iterdir()}

    async def session_of(self, store: SqliteStore, name: str) -> str:
        row = await store.conversation(name)
        assert row is not None
        assert row.native_session_id is not None
        return row.native_session_id


@pytest.fixture
def world(tmp_path: Path) -> _World:
    return _World(tmp_path)


async def _deleted(world: _World, scene: str) -> None:
    store = await SqliteStore.open(world.path)
    async with Engine(store, {"demo": world.agent}) as engine:
        talk = await engine.create("demo", options={"delay": 0})
        await _says(talk)
        session = await world.session_of(store, talk.id)
        assert session in world.kept()
        match scene:
            case "alone":
                assert await engine.remove(talk.id) is None
                assert session not in world.kept()
            case "fork":
                fork = await talk.fork()
                assert await engine.remove(talk.id) is None
                assert session in world.kept(), "the fork has to begin with it"
                await _says(fork)
            case "foreign":
                own = world.sessions / "own"
                own.touch()
                other = await engine.create("demo", native_session_id="own")
                assert await engine.remove(other.id) is None
                assert own.exists(), "a person has begun it, not this conversation"
            case _:
                world.agent.fails = True
                left = await engine.remove(talk.id)
                assert left is not None
                assert "on strike" in left
                trail = await store.audit(conversation_id=talk.id)
                assert [row.action for row in trail][-2:] == ["session_left", "deleted"]
                assert trail[-2].data == {"why": left}
        assert await store.conversation(talk.id) is None or scene == "foreign"
    await store.close()


@pytest.mark.parametrize("scene", ["alone", "fork", "foreign", "failure"])
def test_a_session_goes_with_its_conversation(world: _World, scene: str) -> None:
    asyncio.run(_deleted(world, scene))


def test_a_session_of_a_missing_agent_is_reported(world: _World) -> None:
    async def run() -> None:
        store = await SqliteStore.open(world.path)
        async with Engine(store, {"demo": world.agent}) as engine:
            talk = await engine.create("demo", options={"delay": 0})
            await _says(talk)
        async with Engine(store, {}) as engine:
            left = await engine.remove(talk.id)
            assert left is not None
            assert "does not exist here" in left
            assert await store.conversation(talk.id) is None
        await store.close()

    asyncio.run(run())
