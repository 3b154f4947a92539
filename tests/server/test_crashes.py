"""A server that dies between two things that belong together, with a client on its socket."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from tests.engine.watching import engine_on
from tests.server.clients import PATIENCE
from tests.server.serving import process
from turnwire.agents.demo import DemoAgent
from turnwire.client import Client
from turnwire.client.conversation import ClientConversation
from turnwire.core.conversation.state import Options
from turnwire.crash_points import EXIT_CODE, VARIABLE
from turnwire.dialects.v2 import frames as f

POINTS = [
    "claimed:1",
    "ask_stepped:1",
    "ask_written:1",
    "ask_written:2",
    "ask_acknowledged:1",
    "ask_acknowledged:2",
    "agent_opens:1",
    "agent_opened:1",
    "prompts:1",
    "prompted:1",
    "step_made:2",
    "step_written:2",
    "step_written:4",
    "publishes:2",
    "published:3",
    "hints:2",
    "hinted:3",
    "delivers:1",
    "delivered:1",
    "sqlite_commits:6",
    "sqlite_committed:8",
]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


async def begin(path: Path) -> str:
    async with engine_on(path / "turnwire.db", agent=DemoAgent()) as engine:
        rules = Options(on_disconnect="continue")
        return (await engine.create("demo", options={"delay": 0}, rules=rules)).id


async def hold(talk: ClientConversation) -> None:
    """A question that is answered, and another message."""
    asking = asyncio.create_task(talk.send("question", "m-1"))
    second: asyncio.Task[object] | None = None
    answering: set[asyncio.Task[object]] = set()
    async for frame in talk:
        if isinstance(frame, f.AssistantRequestInput):
            answering.add(asyncio.create_task(talk.answer(frame.payload.question_id, "Blue")))
        if isinstance(frame, f.AssistantComplete) and second is None:
            second = asyncio.create_task(talk.send("hello", "m-2"))
        if len(talk.view().turns) == 2:
            break
    await asking
    assert second is not None
    await second
    await asyncio.gather(*answering, return_exceptions=True)  # it may have come too late


@pytest.mark.parametrize("point", POINTS)
def test_a_client_notices_nothing_but_a_pause(tmp_path: Path, point: str) -> None:
    async def run() -> None:
        name, port = await begin(tmp_path), free_port()
        with process(tmp_path, port=port, **{VARIABLE: point}) as first:
            client = Client(first.url, first.token)
            async with client.conversation(name) as talk:
                held = asyncio.create_task(hold(talk))
                code = await asyncio.to_thread(first.popen.wait, PATIENCE)
                assert code == EXIT_CODE
                with process(tmp_path, port=port):
                    async with asyncio.timeout(PATIENCE):
                        await held
                        async with client.conversation(name) as newcomer:
                            await newcomer.connected.wait()
                            seen, fresh = talk.view(), newcomer.view()
        assert seen.messages == fresh.messages
        assert seen.turns == fresh.turns
        assert talk.cursor == newcomer.cursor
        said = [each.client_message_id for each in fresh.messages if each.role == "user"]
        assert said == ["m-1", "m-2"], "each took effect once, in order"

    asyncio.run(run())
