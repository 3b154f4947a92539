"""Text that clients have received is kept if the server is killed during the answer."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import asyncpg
import pytest

from tests.server.helpers.crash_scenes import SAVING, begin
from tests.server.helpers.servers import free_port, process
from tests.server.helpers.v2_client import PATIENCE
from tests.stores.postgres.fixtures import store_environ
from turnwire.client import Client
from turnwire.client.conversation import ClientConversation
from turnwire.core.view import TextView, View
from turnwire.crash_points import EXIT_CODE, VARIABLE
from turnwire.dialects.v2 import frames as f

DELAY = 0.005  # seconds between two words


_SAVED = "SELECT text FROM partials ORDER BY place, start"


async def saved_in(folder: Path) -> list[str]:
    """The pieces that are saved of the one block that grows."""
    address = store_environ(folder).get("TURNWIRE_STORE")
    if address is not None:
        connection = await asyncpg.connect(address)
        rows = await connection.fetch(_SAVED)
        await connection.close()
        return [row[0] for row in rows]
    with closing(sqlite3.connect(folder / "turnwire.db")) as db:
        return [text for (text,) in db.execute(_SAVED)]


def texts(view: View) -> list[TextView]:
    """The texts of the agent."""
    said = [message for message in view.messages if message.role == "assistant"]
    return [block for message in said for block in message.blocks if isinstance(block, TextView)]


async def follow(talk: ClientConversation) -> None:
    """Follows until the turn has ended."""
    async for frame in talk:
        if isinstance(frame, f.AssistantComplete):
            return


async def until_saved(folder: Path, pieces: int) -> str:
    """Waits until this many partials are saved. Returns the text."""
    async with asyncio.timeout(PATIENCE):
        while len(found := await saved_in(folder)) < pieces:
            await asyncio.to_thread(lambda: None)
    return "".join(found)


async def check_kept(talk: ClientConversation, before: View, saved: str) -> None:
    """Checks that a reconnected client has its saved text, marked as interrupted."""
    [was], [now] = texts(before), texts(talk.view())
    assert was.status == "streaming"
    assert now.status == "aborted"
    assert now.id == was.id
    assert now.text.startswith(saved)
    assert was.text.startswith(now.text) or now.text.startswith(was.text), "the same words"
    [turn] = talk.view().turns
    assert turn.end is not None
    assert turn.end.interrupted


def test_a_client_that_reconnects_has_the_text_that_it_had_read(tmp_path: Path) -> None:
    async def run() -> None:
        name, port = await begin(tmp_path, DELAY), free_port()
        with process(tmp_path, port=port) as first:
            client = Client(first.url, first.token)
            async with client.conversation(name) as talk:
                followed = asyncio.create_task(follow(talk))
                await talk.send("long", "m-1")
                saved = await until_saved(tmp_path, 2)
                before = talk.view()
                first.kill()
                with process(tmp_path, port=port):
                    async with asyncio.timeout(PATIENCE):
                        await followed
                        async with client.conversation(name) as newcomer:
                            await newcomer.connected.wait()
                    await check_kept(talk, before, saved)
                    assert newcomer.view().messages == talk.view().messages
                    assert newcomer.view().turns == talk.view().turns
                    await talk.send("hello", "m-2")
        assert not await saved_in(tmp_path)

    asyncio.run(run())


@pytest.mark.parametrize("point", SAVING)
def test_a_server_that_dies_while_it_saves_has_saved_it_or_not(tmp_path: Path, point: str) -> None:
    async def run() -> None:
        name, port = await begin(tmp_path, DELAY), free_port()
        with process(tmp_path, port=port, **{VARIABLE: point}) as first:
            client = Client(first.url, first.token)
            async with client.conversation(name) as talk:
                followed = asyncio.create_task(follow(talk))
                await talk.send("long", "m-1")
                assert await asyncio.to_thread(first.popen.wait, PATIENCE) == EXIT_CODE
                before, saved = talk.view(), await saved_in(tmp_path)
                assert len(saved) == (1 if point.startswith("saves") else 2)
                with process(tmp_path, port=port):
                    async with asyncio.timeout(PATIENCE):
                        await followed
                await check_kept(talk, before, "".join(saved))

    asyncio.run(run())


@pytest.mark.parametrize("point", ["claimed:1", "step_made:1", "step_written:1", "publishes:1"])
def test_a_recovery_that_is_killed_keeps_it_once(tmp_path: Path, point: str) -> None:
    async def run() -> None:
        name, port, dies = await begin(tmp_path, DELAY), free_port(), {VARIABLE: point}
        with process(tmp_path, port=port) as first:
            client = Client(first.url, first.token)
            async with client.conversation(name) as talk:
                followed = asyncio.create_task(follow(talk))
                await talk.send("long", "m-1")
                saved = await until_saved(tmp_path, 1)
                before = talk.view()
                first.kill()
                # It may die before it has printed its address, or just after that.
                with suppress(AssertionError), process(tmp_path, port=port, **dies) as dying:
                    await asyncio.to_thread(dying.popen.wait, PATIENCE)
                with process(tmp_path, port=port):
                    async with asyncio.timeout(PATIENCE):
                        await followed
                await check_kept(talk, before, saved)

    asyncio.run(run())
