"""Questions and permissions over RPC: all clients are asked, and the first answer counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.server.helpers.frame_checks import play
from tests.server.helpers.rpc_client import Frame, RpcClient, check_error
from tests.server.helpers.servers import Serving


def under(client: RpcClient, call_id: str) -> list[Frame]:
    """Returns the messages under an id, except the call itself."""
    return [f for f in client.frames if f["id"] == call_id and "method" not in f]


def test_a_question_is_a_call_and_its_answer_the_tools_result(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            await client.join(options={"delay": 0})
            query = await client.call("query", prompt="ask")
            call = await client.called("askUserQuestion")
            assert call["id"] == "srv-1"
            asked = call["params"]
            assert asked["request_id"] == asked["tool_use_id"]
            assert asked["questions"][0]["question"] == "Which colour shall it be?"
            await client.send({"id": call["id"], "result": {"answer": "Blue"}})
            await client.stream(query)
            assert under(client, call["id"]) == [{"type": "complete", "id": call["id"]}]
            results = [
                block
                for data in client.streamed("user")
                for block in data["message"]["content"]
                if block["type"] == "tool_result"
            ]
            [result] = [r for r in results if r["tool_use_id"] == asked["tool_use_id"]]
            assert "Blue" in str(result["content"])

    play(tmp_path, scene)


def test_a_question_is_streamed_as_any_other_call(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            await client.join(options={"delay": 0})
            query = await client.call("query", prompt="ask")
            call = await client.called("askUserQuestion")
            await client.send({"id": call["id"], "result": {"answer": "Blue"}})
            await client.stream(query)
            events = [data["event"] for data in client.streamed("stream_event")]
            [start] = [
                event
                for event in events
                if event["type"] == "content_block_start"
                and event["content_block"].get("toolName") == "request_input"
            ]
            assert start["content_block"]["id"] == call["params"]["tool_use_id"]
            begun = events.index(start)
            ended = {"type": "content_block_stop", "index": start["index"]}
            pieces = events[begun + 1 : events.index(ended, begun)]
            whole = "".join(piece["delta"]["partial_json"] for piece in pieces)
            assert json.loads(whole) == call["params"]["input"]

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ({"decision": "allow"}, "I ran"),
        ({"decision": "deny", "reason": "not today"}, "not today"),
        ({"decision": "allow", "updated_input": {"command": "ls"}}, "`ls`"),
    ],
)
def test_a_permission_is_a_call(tmp_path: Path, reply: Frame, said: str) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            await client.join(options={"delay": 0})
            query = await client.call("query", prompt="permission")
            call = await client.called("requestPermission")
            assert call["params"]["input"] == {"command": "rm -r build"} or call["params"]["input"]
            await client.send({"id": call["id"], "result": reply})
            frames = await client.stream(query)
            assert said in str([f["data"] for f in frames])

    play(tmp_path, scene)


@pytest.mark.parametrize("first", ["rpc", "v2"])
def test_the_first_answer_counts_for_all_clients(tmp_path: Path, first: str) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin()
        async with (
            server.rpc() as one,
            server.rpc() as two,
            server.client(name) as v2,
            server.client(name) as witness,
        ):
            for client in (one, two):
                await client.join(name)
            await one.call("query", prompt="ask")
            mine, other = await one.called(), await two.called()
            asked = await v2.until("assistant.request_input")
            question_id = asked["payload"]["question_id"]
            assert mine["params"]["request_id"] == other["params"]["request_id"] == question_id
            if first == "rpc":
                await one.send({"id": mine["id"], "result": {"answer": "Red"}})
            else:
                await v2.send("user.input_response", "a-1", question_id=question_id, answer="Red")
            await witness.until("assistant.request_resolved")
            await witness.end_of(1)
            for client in (one, two):
                await client.said("result")
            cancel = {"type": "cancel", "id": other["id"]}
            assert under(two, other["id"]) == [cancel]
            taken = [{"type": "complete", "id": mine["id"]}] if first == "rpc" else [cancel]
            assert under(one, mine["id"]) == taken
            await two.send({"id": other["id"], "result": {"answer": "Green"}})
            late = await two.answer(other["id"])
            check_error(late["error"], "INVALID_QUESTION_ID")
            await v2.end_of(1)

    play(tmp_path, scene)


def test_an_answer_after_another_was_accepted_is_refused(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin()
        async with server.rpc() as one, server.rpc() as two:
            for client in (one, two):
                await client.join(name)
            await one.call("query", prompt="ask")
            calls = [await client.called() for client in (one, two)]
            for client, call in zip((one, two), calls, strict=True):
                await client.send({"id": call["id"], "result": {"answer": "Red"}})
            for client in (one, two):
                await client.said("result")
            told = [under(c, call["id"]) for c, call in zip((one, two), calls, strict=True)]
            won = [frames for frames in told if frames[0].get("type") == "complete"]
            lost = [frames for frames in told if frames not in won]
            assert [len(frames) for frames in won] == [1]
            codes = [f["error"]["code"] for f in lost[0] if f.get("error")]
            assert codes in ([], ["DUPLICATE_INPUT_RESPONSE"], ["INVALID_QUESTION_ID"])
            assert {"type": "cancel", "id": lost[0][0]["id"]} in lost[0]

    play(tmp_path, scene)


def test_an_answer_that_does_not_fit_can_be_given_again(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            await client.join(options={"delay": 0})
            query = await client.call("query", prompt="ask")
            call = await client.called()
            bad: list[tuple[Any, str]] = [
                ({"result": {"answer": ""}}, "INPUT_REQUIRED"),
                ({"result": {"answer": 5}}, "INVALID_PAYLOAD"),
                ({"result": {"decision": "allow"}}, "INVALID_PAYLOAD"),
                ({"result": None}, "INVALID_FORMAT"),
                ({}, "INVALID_FORMAT"),
            ]
            for body, code in bad:
                await client.send({"id": call["id"], **body})
                check_error((await client.answer(call["id"]))["error"], code)
            await client.send({"id": call["id"], "error": "no person is here"})
            await client.send({"id": call["id"], "result": {"answer": "Blue"}})
            assert (await client.stream(query))[-1]["data"]["subtype"] == "success"

    play(tmp_path, scene)


def test_a_client_that_connects_while_a_question_is_open_is_asked_too(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin()
        async with server.rpc() as first:
            await first.join(name)
            await first.call("query", prompt="ask")
            await first.called()
        async with server.rpc() as late:
            joined = await late.join(name)
            assert len(joined["status"]["requests"]) == 1
            call = await late.called()
            await late.send({"id": call["id"], "result": {"answer": "Green"}})
            assert (await late.said("result"))["turn_id"] == 1

    play(tmp_path, scene)


def test_a_question_is_withdrawn_when_its_turn_is_stopped_or_the_client_leaves(
    tmp_path: Path,
) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin()
        async with server.rpc() as one, server.rpc() as two:
            for client in (one, two):
                await client.join(name)
            await one.call("query", prompt="ask")
            mine, other = await one.called(), await two.called()
            await two.result("disconnect")
            assert under(two, other["id"]) == [{"type": "cancel", "id": other["id"]}]
            await one.result("interrupt")
            await one.said("result")
            assert under(one, mine["id"]) == [{"type": "cancel", "id": mine["id"]}]

    play(tmp_path, scene)


def test_an_answer_to_a_call_that_was_not_made_is_refused(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            for joined in (False, True):
                if joined:
                    await client.join()
                await client.send({"id": "srv-9", "result": {"answer": "yes"}})
                check_error((await client.answer("srv-9"))["error"], "INVALID_QUESTION_ID")

    play(tmp_path, scene)
