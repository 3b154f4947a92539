"""Pinned conversations: only the node with the files runs the agent, and all can read."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from tests.engine.helpers.scripted_agent import ScriptedAgent
from tests.server.helpers.servers import process, serving
from tests.server.helpers.socket_reader import PATIENCE
from turnwire.core.view import View

PINNED: dict[str, Any] = {
    "TURNWIRE_PROTOCOL_V2": "true",
    "TURNWIRE_NODE": "east",
    "TURNWIRE_PLACEMENT": "pinned",
}


def test_a_command_for_a_pinned_conversation_is_carried_out_by_its_node(tmp_path: Path) -> None:
    async def scene() -> None:
        agents = {"east": ScriptedAgent(), "west": ScriptedAgent()}
        async with AsyncExitStack() as stack:
            east, west = [
                await stack.enter_async_context(
                    serving(tmp_path, agents={"scripted": agent}, node=node, placement="pinned")
                )
                for node, agent in agents.items()
            ]
            talk = await east.service.engine.create("scripted")
            row = await west.service.store.conversation(talk.id)
            assert row is not None
            assert (row.node, row.owner) == ("east", None), "no node has it in memory"
            async with west.client(talk.id) as far:
                await far.say("hello", "m1")
                assert (await far.answer("m1"))["type"] == "user.message.ack"
                session = await agents["east"].opened()
                session.begins()
                session.speaks("Here.", finishes=True)
                session.ends()
                await far.end_of(1)
            assert not agents["west"].live
            assert talk.id not in west.service.engine.alive

    asyncio.run(scene())


def test_a_pinned_conversation_is_readable_and_truthful_while_its_node_is_down(
    tmp_path: Path,
) -> None:
    bus = f"unix://{tmp_path}/bus"  # the same for both, whatever their store

    async def scene() -> None:
        async with serving(tmp_path, bus=bus, node="west", placement="pinned") as west:
            with process(tmp_path, TURNWIRE_BUS=bus, **PINNED) as east:
                async with east.http() as http:  # its turns last for many seconds
                    new = await http.post("/api/conversations", json={"options": {"delay": 1}})
                    name = str(new.json()["id"])
                near = await east.client(name).come()
                await near.say("hello", "m1")
                await near.until("assistant.chunk")
                east.kill()
                await near.until_closed()
            reader = await west.client(name).come()
            await reader.say("go on", "m2")
            refused = await reader.answer("m2")
            assert refused["type"] == "session.error"
            assert refused["payload"]["code"] == "AGENT_UNAVAILABLE"
            assert "the node east" in refused["payload"]["message"]
            assert refused["payload"]["data"]["node"] == "east"
            async with asyncio.timeout(PATIENCE):
                while not (view := reader.view()).turns or not _is_interrupted(view):
                    await reader.next()
            assert [turn.end.interrupted for turn in view.turns] == [True]
            assert view.messages, "what was said can be read"
            row = await west.service.store.conversation(name)
            assert row is not None
            assert row.owner is None, "the node can take it when it is back"
            await reader.leave()
            reader.check()
            with process(tmp_path, TURNWIRE_BUS=bus, **PINNED):
                async with west.client(name) as again:
                    await again.say("go on", "m2")
                    assert (await again.answer("m2"))["type"] == "user.message.ack"
                    await again.until("assistant.chunk", lambda frame: frame["turn_id"] == 2)

    asyncio.run(scene())


def _is_interrupted(view: View) -> bool:
    return view.status is not None and view.status.state == "interrupted"
