"""Messages into a running turn over both protocols and both clients."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

from tests.dialects.v2.helpers.recorded_sessions import check
from tests.engine.helpers.scripted_agent import ScriptedAgent
from tests.server.helpers.frame_checks import play, refused
from tests.server.helpers.rpc_views import check_same, everything
from tests.server.helpers.servers import Serving


def test_both_protocols_show_a_message_that_went_into_the_turn(tmp_path: Path) -> None:
    agent = ScriptedAgent(steers=True)

    async def scene(server: Serving) -> None:
        talk = await server.service.engine.create("scripted")
        async with server.rpc() as rpc, server.client(talk.id) as v2:
            connected = await rpc.join(talk.id)
            assert connected["capabilities"]["steer"]
            asked = await rpc.call("query", prompt="go")
            session = await agent.opened()
            session.begins()
            await v2.until("turn.started")
            await v2.send("user.message", "m-1", content="in blue", steer=True)
            ack = (await v2.answer("m-1"))["payload"]
            assert ack["turn_id"] == 1
            waiting = await v2.until("session.state", lambda frame: bool(frame["payload"]["queue"]))
            assert waiting["payload"]["queue"][0]["steers"] == 1
            await refused(
                v2, "user.queue", "INVALID_PAYLOAD", action="remove", queue_id=ack["queue_id"]
            )
            assert await session.takes() == ack["queue_id"]
            said = await v2.until("user.message")
            assert (said["turn_id"], said["payload"]["steered_as"]) == (1, ack["queue_id"])

            steered = await rpc.call("query", prompt="and red", steer=True)
            told = (await rpc.answer(steered))["result"]
            assert (told["turn_id"], "queue_id" in told) == (1, True)
            await session.takes()
            assert await rpc.stream(steered) == []  # its turn is in the stream of the first query
            session.ends()
            frames = await rpc.stream(asked)
            words = [each["data"] for each in frames if each["data"]["type"] == "user"]
            assert [("steered_as" in each) for each in words] == [False, True, True]
            await everything(v2, rpc)
            check_same(rpc.view(), v2.view())
            assert [each.steered for each in v2.view().messages] == [False, True, True]
            _check_rules(v2.lines)

    play(tmp_path, scene, agents={"scripted": agent})


def _check_rules(lines: list[dict[str, Any]]) -> None:
    """Checks that the validator names what is wrong about such a message."""
    text = json.dumps(lines)
    queue_id = next(
        line["server"]["payload"]["steered_as"]
        for line in lines
        if "steered_as" in line.get("server", {}).get("payload", {})
    )

    def broken(edited: list[dict[str, Any]]) -> set[str]:
        return {violation.code for violation in check(edited).violations}

    assert broken(lines) == set()
    unknown = json.loads(text.replace(f'"steered_as": "{queue_id}"', '"steered_as": "q-9"'))
    assert "wrong_queue" in broken(unknown)
    other_turn = deepcopy(lines)
    for line in other_turn:
        payload = line.get("server", {}).get("payload", {})
        if payload.get("client_message_id") == "m-1" and "queue_id" in payload:
            payload["turn_id"] = 7
    assert "wrong_answer" in broken(other_turn), broken(other_turn)


def test_an_agent_that_cannot_take_it_refuses_the_message(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        talk = await server.service.engine.create("scripted")
        async with server.client(talk.id) as v2:
            await refused(v2, "user.message", "NOT_SUPPORTED", content="in blue", steer=True)

    play(tmp_path, scene, agents={"scripted": ScriptedAgent()})
