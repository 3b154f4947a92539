"""RPC on a real socket: every rule of the message format, and every method."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

from tests.helpers.recorded_streams import check_order
from tests.server.helpers.frame_checks import play
from tests.server.helpers.rpc_client import Frame, RpcClient, check_error
from tests.server.helpers.servers import Serving
from tests.server.helpers.socket_reader import PATIENCE
from turnwire.agents.demo import DemoAgent
from turnwire.dialects import rpc
from turnwire.ports import AgentCapabilities, StorageUnavailable

PICTURE = {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}


def read(data: Frame) -> rpc.RpcMessage:
    return rpc.decode(msgspec.json.encode(data))


def events(frames: list[Frame]) -> list[Frame]:
    """The stream events among the frames of a stream."""
    return [f["data"] for f in frames if f["data"]["type"] == "stream_event"]


def kinds(frames: list[Frame]) -> list[str]:
    return [f["data"]["type"] for f in frames]


# --- the message format ---------------------------------------------------------------------------


def test_a_query_streams_its_turn_and_ends_with_the_result(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            await client.join(options={"delay": 0})
            call_id = await client.call("query", prompt="hello")
            accepted = (await client.answer(call_id))["result"]
            frames = await client.stream(call_id)
            assert accepted == {"turn_id": 1}
            assert (kinds(frames)[0], kinds(frames)[-1]) == ("user", "result")
            assert {f["id"] for f in frames} == {call_id}
            result = frames[-1]
            assert result["turn_id"] == 1
            assert {*result["data"]} >= {
                *("subtype", "duration_ms", "duration_api_ms", "is_error", "num_turns"),
                *("session_id", "total_cost_usd", "provider"),
            }
            assert result["data"]["subtype"] == "success"

    play(tmp_path, scene)


def test_a_message_grows_in_the_order_of_the_format(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            await client.join(options={"delay": 0})
            frames = await client.query("think, use a tool, and send a helper")
            check_order(read(e) for e in events(frames))
            seen = {event["event"]["type"] for event in events(frames)}
            assert seen == {
                *("message_start", "content_block_start", "content_block_delta"),
                *("content_block_stop", "message_delta", "message_stop"),
            }
            for event in events(frames):
                assert event["uuid"].startswith("evt-")
                assert event["session_id"]
                assert event["provider"] == "demo"
            deltas = [e["event"]["delta"] for e in events(frames) if "delta" in e["event"]]
            assert {each.get("type") for each in deltas} == {
                *("text_delta", "thinking_delta", "input_json_delta", None)  # none: message_delta
            }

    play(tmp_path, scene)


def test_a_message_ends_with_two_frames(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            await client.join(options={"delay": 0})
            said = events(await client.query("hello"))
            delta, stop = said[-2]["event"], said[-1]["event"]
            assert delta["type"] == "message_delta"
            assert delta["delta"] == {"stop_reason": "end_turn"}
            assert delta["usage"]["output_tokens"] > 0
            assert stop == {"type": "message_stop"}

    play(tmp_path, scene)


def test_blocks_have_their_real_index_and_tools_their_shape(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            await client.join(options={"delay": 0})
            frames = await client.query("tool")
            starts = [e["event"] for e in events(frames)]
            starts = [each for each in starts if each["type"] == "content_block_start"]
            assert {each["index"] for each in starts} == {0, 1}
            [tool] = [
                s["content_block"] for s in starts if s["content_block"]["type"] == "tool_use"
            ]
            assert (tool["toolName"], tool["toolType"]) == ("Bash", "DEMO_BASH")
            assert (tool["input"], tool["status"]) == (None, "in_progress")
            [result] = [
                f["data"]["message"]["content"]
                for f in frames
                if f["data"]["type"] == "user"
                and f["data"]["message"]["content"][0]["type"] == "tool_result"
            ]
            [block] = result
            assert block["tool_use_id"] == tool["id"]
            assert block["is_error"] is False
            assert "README.md" in block["content"]

    play(tmp_path, scene)


@pytest.mark.parametrize("mode", ["off", "text_delta", "output_delta"])
def test_the_output_of_a_tool_is_never_its_input(tmp_path: Path, mode: str) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            await client.join(options={"delay": 0}, tool_progress=mode)
            said = [event["event"] for event in events(await client.query("tool"))]
            prints = [each for each in said if "tool_use_id" in each]
            if mode == "off":
                assert not prints
                return
            assert {each["index"] for each in prints} == {1}
            field = "text" if mode == "text_delta" else "output"
            assert {each["delta"]["type"] for each in prints} == {mode}
            assert "README.md" in "".join(each["delta"][field] for each in prints)

    play(tmp_path, scene)


def test_system_messages_go_to_clients_that_ask_for_them(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin()
        async with server.rpc() as one, server.rpc() as other:
            await one.join(name, system_messages=True)
            await other.join(name)
            await one.query("hello")
            await other.said("result")
            told = {each["subtype"] for each in one.streamed("system")}
            assert {"init", "session_state", "conversation_updated"} <= told
            assert other.streamed("system") == []

    play(tmp_path, scene)


def test_a_client_without_partial_messages_gets_whole_ones(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            await client.join(options={"delay": 0}, include_partial_messages=False)
            frames = await client.query("think")
            assert "stream_event" not in kinds(frames)
            assert "assistant" in kinds(frames)

    play(tmp_path, scene)


def test_a_turn_that_fails_says_why_before_its_result(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            await client.join(options={"delay": 0})
            frames = await client.query("error")
            assert kinds(frames)[-2:] == ["error", "result"]
            assert frames[-2]["data"]["code"]
            assert frames[-1]["data"]["is_error"] is True
            check_order(read(e) for e in events(frames))

    play(tmp_path, scene)


def test_an_agent_that_is_lost_leaves_no_message_open(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin(die=True)
        async with server.rpc() as client:
            await client.join(name)
            frames = await client.query("think, use a tool")
            assert kinds(frames)[-2:] == ["error", "result"]
            assert frames[-2]["data"]["code"] == "agent_lost"
            check_order(read(event) for event in events(frames))
            assert not any(message.streaming for message in client.view().messages)

    play(tmp_path, scene)


def test_a_sub_agent_says_whose_it_is(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            await client.join(options={"delay": 0})
            frames = await client.query("helper")
            tools = [
                block["id"]
                for data in client.streamed("assistant")
                for block in data["message"]["content"]
                if block["type"] == "tool_use"
            ]
            voices = {f["data"].get("parent_tool_use_id") for f in frames} - {None}
            assert voices
            assert voices <= {*tools}

    play(tmp_path, scene)


# --- connecting -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/ws/rpc", "/ws"])
def test_the_rpc_socket_has_two_addresses(tmp_path: Path, path: str) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc(path=path) as client:
            connected = await client.join()
            assert connected["head"] == 0
            assert connected["status"]["state"] == "active"
            assert connected["capabilities"]["provider"] == "demo"

    play(tmp_path, scene)


class Chooser(DemoAgent):
    """An agent that offers choices and reports the chosen ones."""

    capabilities = AgentCapabilities(
        commands=["session.set_model", "session.set_permission_mode"],
        images=True,
        files=["text/*"],
        models=["m-1", "m-2"],
        permission_modes=["default", "plan"],
        options=["delay", "system_prompt"],
        owner_options=["sandbox"],
        questions_survive=True,
    )

    def __init__(self) -> None:
        super().__init__(delay=0)
        self.starts: list[Any] = []

    async def open(self, start: Any) -> Any:
        self.starts.append(start)
        return await super().open(structs.replace(start, options={}))


def test_a_new_conversation_begins_with_the_chosen_options(tmp_path: Path) -> None:
    agent = Chooser()

    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            connected = await client.join(
                provider="demo",
                model="m-1",
                permission_mode="plan",
                system_prompt="Be brief.",
                resume="session-1",
                title="Mine",
            )
            assert connected["session_id"] == "session-1"
            assert connected["status"]["model"] == "m-1"
            await client.query("hello")
            [start] = agent.starts
            assert (start.model, start.permission_mode) == ("m-1", "plan")
            assert start.options == {"system_prompt": "Be brief."}
            assert start.native_session_id == "session-1"
            assert await client.result("setModel", model="m-2") == {"model": "m-2"}
            assert await client.result("setPermissionMode", mode="default") == {"mode": "default"}
            [session] = (await client.result("getHistorySessions"))["sessions"]
            assert (session["title"], session["provider"]) == ("Mine", "demo")

    play(tmp_path, scene, agents={"demo": agent})


def test_only_the_owner_may_resume_a_session_of_another_program(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc(await server.token_of("ann")) as client:
            check_error(await client.refused("connect", resume="session-1"), "FORBIDDEN")
            await client.join()

    play(tmp_path, scene, agents={"demo": Chooser()})


def test_pictures_go_where_they_can_be_seen(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        content = [{"type": "text", "text": "hello"}, {"type": "image", "source": PICTURE}]
        async with server.rpc() as client, server.http() as http:
            await client.join()
            stored = await http.post(
                "/api/blobs", content=b"png", headers={"Content-Type": "image/png"}
            )
            blob = {"type": "blob", "blob_id": stored.json()["blob_id"]}
            address = {"type": "url", "url": "https://example.com/a.png"}
            content += [{"type": "image", "source": each} for each in (blob, address)]
            call_id = await client.call("queryWithContent", content=content)
            [said, *_] = await client.stream(call_id)
            text, *pictures = said["data"]["message"]["content"]
            assert text == {"type": "text", "text": "hello"}
            assert pictures[0]["source"] == PICTURE
            assert pictures[1]["source"]["url"] == f"/api/blobs/{blob['blob_id']}"
            assert pictures[2]["source"] == {**address, "media_type": "image/*"}

    play(tmp_path, scene, agents={"demo": Chooser()})


def test_a_message_may_contain_uploaded_files(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client, server.http() as http:
            await client.join()
            files = []
            for kind in ("text/csv", "application/zip"):
                stored = await http.post(
                    "/api/blobs", content=b"1,2", headers={"Content-Type": kind}
                )
                files.append({"type": "file", "name": "a.csv", "blob_id": stored.json()["blob_id"]})
            call_id = await client.call("queryWithContent", content=files[:1])
            [said, *_] = await client.stream(call_id)
            [shown] = said["data"]["message"]["content"]
            assert (shown["type"], shown["path"], shown["size"]) == ("file_ref", "a.csv", 3)
            error = await client.refused("queryWithContent", content=files)
            assert "It takes text/*." in error["message"]

    play(tmp_path, scene, agents={"demo": Chooser()})


def test_an_agent_that_cannot_see_pictures_gets_none(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            await client.join()
            content = [{"type": "image", "source": PICTURE}]
            error = await client.refused("queryWithContent", content=content)
            check_error(error, "NOT_SUPPORTED")
            check_error(await client.refused("connect"), "INVALID_PAYLOAD")
            await client.query("hello")

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"conversation": "missing"}, "CONVERSATION_NOT_FOUND"),
        ({"provider": "missing"}, "INVALID_PAYLOAD"),
        ({"model": "none such"}, "INVALID_PAYLOAD"),
        ({"options": {"never_start": True}}, "INVALID_PAYLOAD"),
        ({"system_prompt": "Be brief."}, "NOT_SUPPORTED"),
        ({"conversation": "a", "model": "m"}, "INVALID_PAYLOAD"),
        ({"conversation": "a", "client_message_id": "m"}, "INVALID_PAYLOAD"),
        ({"client_message_id": "m" * 201}, "INVALID_PAYLOAD"),
        ({"last_sequence": 3}, "INVALID_PAYLOAD"),
        ({"tool_progress": "loud"}, "INVALID_PAYLOAD"),
        ({"extra": 1}, "INVALID_PAYLOAD"),
    ],
)
def test_a_refused_connect_leaves_the_socket_open_for_another(
    tmp_path: Path, params: dict[str, Any], code: str
) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            check_error(await client.refused("connect", **params), code)
            await client.join(options={"delay": 0})
            assert kinds(await client.query("hello"))[-1] == "result"

    play(tmp_path, scene)


def test_a_connect_that_is_sent_again_under_its_id_begins_nothing_new(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        begun = []
        for _ in range(2):  # as if the line had broken before the answer came
            client = await server.rpc().come()
            joined = await client.join(client_message_id="mine", options={"delay": 0})
            begun.append(joined["conversation"])
            client.drop()
        async with server.rpc() as client, server.rpc() as other:
            both = [await each.call("connect", client_message_id="new") for each in (client, other)]
            told = [
                (await each.answer(call_id))["result"]["conversation"]
                for each, call_id in zip((client, other), both, strict=True)
            ]
            assert told[0] == told[1] not in begun
            listed = (await client.result("getHistorySessions"))["sessions"]
            assert {each["conversation"] for each in listed} == {begun[0], told[0]}
        assert begun[0] == begun[1]
        async with server.rpc(await server.token_of("ann")) as client:
            theirs = await client.join(client_message_id="mine")
            assert theirs["conversation"] not in begun, "another person's id is another id"

    play(tmp_path, scene)


def test_a_connection_goes_from_one_conversation_to_the_next(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        first, second = await server.begin(delay=0.01), await server.begin()
        async with server.rpc() as client:
            check_error(await client.refused("query", prompt="hello"), "CONVERSATION_NOT_FOUND")
            check_error(await client.refused("getHistory"), "CONVERSATION_NOT_FOUND")
            await client.join(first)
            joined = client.frames[-1]["id"]
            check_error(await client.refused("connect"), "INVALID_PAYLOAD")
            query = await client.call("query", prompt="long")
            await client.said("stream_event")
            await client.result("disconnect")
            ends = [f["id"] for f in client.frames if f.get("type") == "complete"]
            assert ends == [query, joined]
            check_error(await client.refused("disconnect"), "CONVERSATION_NOT_FOUND")
            client.cursor = 0
            await client.join(second)
            assert kinds(await client.query("hello"))[-1] == "result"
            assert (await server.service.engine.status(first)).running  # it went on without us
            await client.result("disconnect")
            await client.join(first)
            await client.result("interrupt")
            ended = await client.said("result")
            assert ended["data"]["terminal_reason"].startswith("aborted")

    play(tmp_path, scene)


# --- talking --------------------------------------------------------------------------------------


def test_a_second_query_waits_for_the_first(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            await client.join(options={"delay": 0.001})
            first = await client.call("query", prompt="long")
            second = await client.call("query", prompt="hello")
            waiting = (await client.answer(second))["result"]
            assert {*waiting} == {"queue_id"}
            frames = await client.stream(second)
            assert (kinds(frames)[0], kinds(frames)[-1]) == ("user", "result")
            mine = [f["id"] for f in client.frames if f["id"] in (first, second) and "type" in f]
            assert mine == sorted(mine, key=[first, second].index), "one after the other"
            assert [f["id"] for f in client.frames if f.get("type") == "complete"] == [
                first,
                second,
            ]

    play(tmp_path, scene)


def test_a_queue_that_is_full_is_refused_and_leaves_no_trace(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            await client.join(options={"delay": 0.01})
            await client.call("query", prompt="long")
            await client.said("stream_event")
            await client.call("query", prompt="hello")
            check_error(await client.refused("query", prompt="never"), "TURN_QUEUE_FULL")
            await client.result("interrupt", queue="continue")
            await client.said("result")
            await client.said("result")
            users = [m for m in client.view().messages if m.role == "user"]
            assert len(users) == 2

    play(tmp_path, scene, max_queue=1)


def test_a_query_that_is_taken_out_of_the_queue_ends_with_an_error(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin(delay=0.01)
        async with server.rpc() as client, server.client(name) as other:
            await client.join(name)
            await client.call("query", prompt="long")
            waits = await client.call("query", prompt="hello")
            queue_id = (await client.answer(waits))["result"]["queue_id"]
            await other.send("user.queue", "q-1", action="remove", queue_id=queue_id)
            [error] = await client.stream(waits)
            assert error["data"]["code"] == "QUEUE_ITEM_NOT_FOUND"
            await client.result("interrupt")
            await client.said("result")
            await other.end_of(1)

    play(tmp_path, scene)


def test_an_interrupt_ends_the_turn_it_names_and_no_other(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            await client.join(options={"delay": 0.01})
            assert await client.result("interrupt") == {
                "turn_id": None,
                "outcome": "already_ended",
            }
            query = await client.call("query", prompt="long")
            await client.said("stream_event")
            stopped = await client.result("interrupt")
            assert stopped == {"turn_id": 1, "outcome": "requested"}
            frames = await client.stream(query)
            assert frames[-1]["data"]["terminal_reason"].startswith("aborted")
            assert client.view().turns[0].end.interrupted
            late = await client.result("interrupt", turn_id=1)
            assert late["outcome"] == "already_ended"
            check_order(read(e) for e in events(frames))

    play(tmp_path, scene)


def test_a_query_sent_again_is_taken_once(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            await client.join(options={"delay": 0.005})
            first = await client.call("query", prompt="ask", client_message_id="m-1")
            call = await client.called()
            again = await client.call("query", prompt="ask", client_message_id="m-1")
            told = (await client.answer(again))["result"]
            assert told == {"turn_id": 1, "duplicate": True}
            assert kinds(await client.stream(first))[0] == "user", "nothing more comes under it"
            await client.send({"id": call["id"], "result": {"answer": "Blue"}})
            frames = await client.stream(again)
            assert kinds(frames)[-1] == "result", "the stream goes on under the new id"
            late = await client.call("query", prompt="ask", client_message_id="m-1")
            assert await client.stream(late) == []
            other = await client.refused("query", prompt="short", client_message_id="m-1")
            check_error(other, "IDEMPOTENCY_CONFLICT")
            assert len(client.view().turns) == 1

    play(tmp_path, scene)


def test_a_query_that_waits_and_is_sent_again_waits_under_its_new_id(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            await client.join(options={"delay": 0.01})
            await client.call("query", prompt="long")
            first = await client.call("query", prompt="hello", client_message_id="m-2")
            queue_id = (await client.answer(first))["result"]["queue_id"]
            again = await client.call("query", prompt="hello", client_message_id="m-2")
            told = (await client.answer(again))["result"]
            assert told == {"queue_id": queue_id, "duplicate": True}
            assert await client.stream(first) == []
            await client.result("interrupt", queue="continue")
            frames = await client.stream(again)
            assert (kinds(frames)[0], kinds(frames)[-1]) == ("user", "result")
            assert len(client.view().turns) == 2

    play(tmp_path, scene)


# --- everything else that can be called -----------------------------------------------------------


def test_a_method_that_the_agent_does_not_offer_is_refused_and_not_listed(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            connected = await client.join(options={"delay": 0})
            wishes: dict[str, dict[str, Any]] = {
                "rewindFiles": {"sequence": 1},
                "getMcpStatus": {},
                "reconnectMcp": {"server": "files"},
                "setMaxThinkingTokens": {"max_thinking_tokens": 1000},
                "setModel": {"model": "m"},
                "setPermissionMode": {"mode": "plan"},
            }
            for method, params in wishes.items():
                error = await client.refused(method, **params)
                check_error(error, "NOT_SUPPORTED")
                assert error["what_to_do"] == "Offer only features that the capabilities list."
                assert error["data"] == {"method": method}
            methods = connected["capabilities"]["methods"]
            assert not {*methods} & {*wishes}
            assert {"connect", "query", "queryWithContent", "interrupt", "disconnect"} <= {*methods}
            assert await client.result("getCapabilities") == connected["capabilities"]
            assert kinds(await client.query("hello"))[-1] == "result"

    play(tmp_path, scene)


def test_options_are_those_that_this_client_may_choose(tmp_path: Path) -> None:
    class Careful(DemoAgent):
        capabilities = AgentCapabilities(options=["delay"], owner_options=["silent"])

    async def scene(server: Serving) -> None:
        token, _ = await server.service.keys.make("bob", "bob")
        expected = {server.token: {"delay", "silent"}, token: {"delay"}}
        for each, options in expected.items():
            async with server.rpc(each) as client:
                told = await client.result("getCapabilities")
                assert {*told["options"]} - {"max_budget_usd"} == options
                assert (await client.join())["capabilities"] == told

    play(tmp_path, scene, agents={"demo": Careful()})


def test_a_store_that_fails_while_connecting_is_an_answer_and_the_connection_lives_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            talk = (await client.join(options={"delay": 0}))["conversation"]
            said = await client.query("hello")
            await client.result("disconnect")

            def fail(*_: Any, **__: Any) -> Any:
                raise StorageUnavailable("The disk is full.")

            with monkeypatch.context() as broken:
                broken.setattr(server.service.store, "entries", fail)
                error = await client.refused("connect", conversation=talk)
                check_error(error, "STORAGE_UNAVAILABLE")
                check_error(await client.refused("query", prompt="x"), "CONVERSATION_NOT_FOUND")
            before = len(client.frames)
            again = await client.result("connect", conversation=talk)
            assert (again["conversation"], again["head"]) == (talk, max(client.numbers()))
            assert kinds(await client.query("hello"))[-1] == "result"
            numbers = [f["sequence"] for f in client.frames[before:] if f.get("sequence")]
            earlier = [f["sequence"] for f in said if f.get("sequence")]
            assert numbers[: len(earlier)] == earlier
            assert len({*numbers}) == len(numbers) > len(earlier)

    play(tmp_path, scene)


def test_capabilities_are_returned_without_a_conversation(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            told = await client.result("getCapabilities", provider="demo")
            assert (told["models"], told["images"]) == (["m-1", "m-2"], True)
            assert {"setModel", "setPermissionMode"} <= {*told["methods"]}
            anyones = ["delay", "system_prompt", "max_budget_usd"]
            assert {*told["options"]} == {*anyones, "sandbox"}
        async with server.rpc(await server.token_of("ann")) as client:
            told = await client.result("getCapabilities", provider="demo")
            assert told["options"] == anyones, "the others are the owner's to choose"

    play(tmp_path, scene, agents={"demo": Chooser()})


def test_history_comes_in_pages_that_make_the_whole(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            joined = await client.join(options={"delay": 0})
            for _ in range(3):
                await client.query("tool")
            newest = await client.result("getHistory")
            pages: list[Frame] = []
            before = None
            while True:
                wish = {"limit": 4} | ({} if before is None else {"before": before})
                page = await client.result("loadHistory", **wish)
                assert page["epoch"] == joined["epoch"]
                pages = page["messages"] + pages
                if page["first"] in (None, 1):
                    break
                before = page["first"]
            assert pages == newest["messages"]
            transcript = rpc.Transcript()
            for each in pages:
                transcript.apply(read(each["data"]), each.get("sequence"), each.get("turn_id"))
            assert transcript.view().messages == client.view().messages
            assert [t.turn_id for t in transcript.view().turns] == [1, 2, 3]
            forward = await client.result("loadHistory", after=0, limit=500)
            assert forward["messages"] == pages

    play(tmp_path, scene)


def test_a_client_cannot_read_conversations_of_another_user(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin(user="ann")
        async with server.rpc(await server.token_of("bob")) as client:
            for method in ("connect", "loadHistory"):
                error = await client.refused(method, conversation=name)
                check_error(error, "CONVERSATION_NOT_FOUND")
            assert (await client.result("getHistorySessions"))["sessions"] == []
        async with server.rpc(await server.token_of("ann")) as client:
            await client.join(name)
            [mine] = (await client.result("getHistorySessions"))["sessions"]
            assert mine["conversation"] == name

    play(tmp_path, scene)


def test_connects_and_disconnects_are_in_the_audit_trail(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            joined = await client.join(options={"delay": 0})
            store = server.service.store
            following: list[Any] = []
            async with asyncio.timeout(PATIENCE):
                while not following:
                    following = await store.connections(joined["conversation"])
            assert [(each.protocol, each.user) for each in following] == [("rpc", "owner")]
            await client.result("disconnect")
            told: list[Any] = []
            async with asyncio.timeout(PATIENCE):
                while len(told) < 2:
                    audit = await server.service.store.audit(conversation_id=joined["conversation"])
                    told = [row for row in audit if row.data.get("protocol") == "rpc"]
            assert [row.action for row in told] == ["connected", "disconnected"]
            assert {row.data["connection_id"] for row in told} == {joined["connection_id"]}

    play(tmp_path, scene)


def test_a_conversation_that_is_deleted_under_its_clients(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin()
        client: RpcClient = await server.rpc().come()
        await client.join(name)
        async with server.http() as http:
            assert (await http.delete(f"/api/conversations/{name}")).status_code == 204
        assert await client.until_closed() == 4504
        assert client.frames[-1]["error"]["code"] == "CONVERSATION_CLOSED"

    play(tmp_path, scene)
