"""A front end of the profile `classic` works unchanged: each frame is known, nothing is twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from tests.server.helpers.classic_client import ClassicClient, Frame, Shown
from tests.server.helpers.frame_checks import Able, play
from tests.server.helpers.servers import Serving
from turnwire.agents.demo import DemoAgent
from turnwire.core import view as v


class Seeing(DemoAgent):
    """An agent that takes pictures."""

    capabilities = structs.replace(DemoAgent.capabilities, images=True)


def page(server: Any, *, is_text: bool = False) -> ClassicClient:
    return ClassicClient(server.url, server.token, is_text=is_text)


def shown_in(messages: list[v.MessageView]) -> Iterator[Shown]:
    """Returns what the view of protocol v2 shows, in the form of the client's screen."""
    for message in messages:
        for block in message.blocks:
            match block:
                case v.TextView(text=text) if text:
                    yield message.role, "text", text
                case v.ThinkingView(text=text) if text:
                    yield message.role, "thinking", text
                case v.ToolView(id=own_id, result=result, messages=nested):
                    ended = None if result is None else result.is_error
                    yield message.role, "tool", own_id, ended
                    yield from shown_in(nested)
                case _:
                    pass


async def check_truth(server: Any, *clients: ClassicClient) -> None:
    """Checks that each client shows what the log has, and nothing twice."""
    name = clients[0].session_id
    assert name is not None
    async with server.client(name) as witness:
        truth = Counter(shown_in([m for m in witness.view().messages if m.role != "system"]))
    for client in clients:
        assert Counter(client.screen.shown()) == truth


def answer(call: Frame) -> Frame:
    if call["method"] == "RequestPermission":
        return {"approved": True}
    return {"answers": {q["header"]: q["options"][0]["label"] for q in call["params"]["questions"]}}


async def begun(server: Any, **options: Any) -> ClassicClient:
    client = await page(server).open()
    await client.join(**options)
    return client


# --- one client -----------------------------------------------------------------------------------


def test_a_conversation_of_all_scenes(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with page(server) as client:
            client.decide = answer
            joined = await client.join()
            assert joined["status"] == "connected"
            assert joined["provider"] == "demo"
            assert client.capabilities["canInterrupt"] is True
            assert client.capabilities["canSkipPermissions"] is False
            scenes = ["hello", "think", "use a tool", "ask", "form", "permission", "plan"]
            for words in [*scenes, "subagent", "long"]:
                await client.ask(words)
            assert client.screen.ends == ["success"] * 9
            await check_truth(server, client)
            late = page(server)
            async with late:
                late.session_id = client.session_id
                await late.reload()
                assert Counter(late.screen.shown()) == Counter(client.screen.shown())
            listed = (await client.call("getHistorySessions", {"maxResults": 5}))["sessions"]
            assert [each["sessionId"] for each in listed] == [client.session_id]
            assert listed[0]["firstUserMessage"] == "hello"
            assert listed[0]["timestamp"] > 1_600_000_000_000
            assert listed[0]["messageCount"] > 20
            assert isinstance(listed[0]["projectPath"], str)

    play(tmp_path, scene, agents={"demo": DemoAgent(delay=0)})


def test_the_stream_comes_first_and_the_answer_of_query_is_complete(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with page(server) as client:
            await client.join()
            await client.ask("think")
            frames = [f for f in client.frames if f["id"] == "req-2"]
            assert [f["type"] for f in frames[:-1]] == ["stream"] * (len(frames) - 1)
            assert frames[-1] == {"id": "req-2", "type": "complete"}
            assert frames[-2]["data"]["type"] == "result"
            assert {f["id"] for f in client.frames} == {"req-1", "req-2"}

    play(tmp_path, scene, agents={"demo": DemoAgent(delay=0)})


@pytest.mark.parametrize("is_text", [False, True])
def test_an_error_has_text_or_is_text_alone(is_text: bool, tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with page(server, is_text=is_text) as client:
            with pytest.raises(RuntimeError, match="Call connect first"):
                await client.call("query", {"message": "hello"})
            with pytest.raises(RuntimeError, match=r"no method 'rewind'.* Check the spelling\.$"):
                await client.call("rewind")
            with pytest.raises(RuntimeError, match=r"own keys\. Connect without it\.$"):
                await client.join(apiKey="sk-1")
            await client.join()
            with pytest.raises(RuntimeError, match="in a conversation already"):
                await client.join()
            with pytest.raises(RuntimeError, match="query: "):
                await client.call("query", {"message": 5})
            await client.ask("error")
            [said] = client.screen.errors
            assert isinstance(said, str)
            assert said
            await client.ask("hello")
            await check_truth(server, client)

    play(tmp_path, scene, agents={"demo": DemoAgent(delay=0)})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dangerouslySkipPermissions": True}, "dangerouslySkipPermissions is not possible here"),
        ({"apiKey": "sk-1"}, "the server has its own keys"),
        ({"sandboxMode": "danger-full-access"}, "danger-full-access is not possible here"),
        ({"permissionMode": "bypassPermissions"}, "'bypassPermissions' is not possible here"),
        ({"provider": "unheard-of"}, "unheard-of"),
        ({"resume": "nothing"}, "conversation"),
        ({"resumeSessionId": "nothing"}, "conversation"),
        ({"resume": 5}, "connect: "),
    ],
)
def test_options_that_are_refused(tmp_path: Path, options: Frame, said: str) -> None:
    async def scene(server: Serving) -> None:
        async with page(server) as client:
            with pytest.raises(RuntimeError, match=said):
                await client.join(**options)
            await client.join()

    play(tmp_path, scene)


def test_the_options_of_a_conversation_are_set(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with page(server) as client:
            joined = await client.join(model="m-1", permissionMode="plan")
            assert joined["model"] == "m-1"
            assert client.capabilities["supportedPermissionModes"] == ["default", "plan"]
            assert await client.call("setModel", "default") == {
                "model": "default",
                "status": "model_changed",
            }
            changed = await client.call("setPermissionMode", {"mode": "default"})
            assert changed == {"mode": "default", "success": True}
            await client.call("disconnect")
            again = await client.join(model="m-1", permissionMode="plan")
            assert again["model"] == "m-1"
            assert again["sessionId"] == joined["sessionId"]
            status = await (await server.service.talk(again["sessionId"], server.owner)).status()
            assert (status.model, status.permission_mode) == ("m-1", "plan")

    play(tmp_path, scene, agents={"demo": Able()})


def test_a_client_connects_again_on_the_same_socket(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with page(server) as client:
            assert await client.call("disconnect") == {"status": "disconnected"}
            first = await client.join(sessionId="mine")
            await client.ask("hello")
            for options in ({}, {"sessionId": "mine"}, {"resume": first["sessionId"]}):
                assert await client.call("disconnect") == {"status": "disconnected"}
                joined = await client.join(**options)
                assert joined["sessionId"] == first["sessionId"]
                await client.ask("hello")
            await check_truth(server, client)
            await client.call("disconnect")
            other = await client.join(provider="demo")
            assert other["sessionId"] != first["sessionId"]
            await client.call("disconnect")
            newest = await client.join(provider="demo", continueConversation=True)
            assert newest["sessionId"] in (first["sessionId"], other["sessionId"])

    play(tmp_path, scene, agents={"demo": DemoAgent(delay=0)})


def test_a_client_may_connect_without_options(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with page(server) as client:
            joined = await client.call("connect")
            assert set(joined) >= {"sessionId", "provider", "status", "capabilities"}
            client.session_id = joined["sessionId"]
            await client.ask("hello")
            await check_truth(server, client)

    play(tmp_path, scene, agents={"demo": DemoAgent(delay=0)})


def test_a_question_is_asked_again_when_its_client_connects_again(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with page(server) as client:
            await client.join()
            running = await client.say("ask")
            [first] = await client.until(lambda: [*client.calls])
            await client.call("disconnect")
            assert await running == {"status": "complete"}, "its stream ends with the connection"
            client.calls.clear()
            await client.reload()
            [again] = await client.until(lambda: [*client.calls])
            assert again["params"] == first["params"]
            await client.reply(again, answer(again))
            await client.until(lambda: client.screen.ends)
            await client.ask("hello")
            assert client.screen.ends == ["success", "success"]
            await check_truth(server, client)

    play(tmp_path, scene, agents={"demo": DemoAgent(delay=0)})


def test_an_interrupt_is_answered_at_the_end_of_its_turn(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with page(server) as client:
            await client.join()
            assert await client.call("interrupt") == {"status": "connected"}
            running = await client.say("long")
            await client.until(lambda: len(client.frames) > 12)
            assert await client.call("interrupt") == {"status": "interrupted"}
            assert await running == {"status": "complete"}
            assert client.screen.ends == ["interrupted"]
            client.decide = None
            waiting = await client.say("ask")
            await client.until(lambda: client.calls)
            assert await client.call("interrupt") == {"status": "interrupted"}
            await waiting
            await client.ask("hello")
            assert client.screen.ends == ["interrupted", "interrupted", "success"]
            await check_truth(server, client)

    play(tmp_path, scene, agents={"demo": DemoAgent(delay=0.002)})


def test_pictures_are_sent(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with page(server) as client:
            await client.join()
            assert client.capabilities["canSendRichContent"] is True
            dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
            source = {"type": "base64", "media_type": "image/png", "data": dot}
            content: list[Frame] = [
                {"type": "text", "text": "look"},
                {"type": "image", "source": source},
            ]
            client.screen.said(content)
            await client.call("queryWithContent", {"content": content})
            await check_truth(server, client)
            history = (await client.call("getHistory"))["messages"]
            assert [b["type"] for b in history[0]["message"]["content"]] == ["text", "image"]

    play(tmp_path, scene, agents={"demo": Seeing(delay=0)})


# --- requests -------------------------------------------------------------------------------------


def test_a_question_and_a_permission_have_the_shapes_of_the_client(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with page(server) as client:
            await client.join()
            running = await client.say("form")
            [call] = await client.until(lambda: [*client.calls])
            assert call["method"] == "AskUserQuestion"
            for each in call["params"]["questions"]:
                assert set(each) == {"question", "header", "options", "multiSelect"}
            await client.reply(call, {"answers": 5})  # invalid: the server asks again
            [call] = await client.until(lambda: [*client.calls])
            assert call["id"] == "srv-2"
            await client.reply(call, answer(call))
            await running
            running = await client.say("permission")
            [call] = await client.until(lambda: [*client.calls])
            assert call["method"] == "RequestPermission"
            assert set(call["params"]) >= {"toolName", "input", "toolUseId"}
            cards = [shown[2] for shown in client.screen.shown() if shown[1] == "tool"]
            assert call["params"]["toolUseId"] in cards
            await client.reply(call, {"approved": False, "denyReason": "not today"})
            await running
            assert "not today" in str(client.screen.results)
            await check_truth(server, client)

    play(tmp_path, scene, agents={"demo": DemoAgent(delay=0)})


def test_rules_that_the_client_sends_back_are_remembered(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with page(server) as client:
            await client.join()
            running = await client.say("permission")
            [call] = await client.until(lambda: [*client.calls])
            [rule] = call["params"]["permissionSuggestions"]
            assert rule["rules"][0]["toolName"] == call["params"]["toolName"]
            await client.reply(call, {"approved": True, "permissionUpdates": [rule]})
            await running
            await client.ask("permission")  # ends without another call
            assert client.calls == []
            await check_truth(server, client)

    play(tmp_path, scene, agents={"demo": DemoAgent(delay=0)})


def test_a_client_that_cannot_answer_leaves_the_request_to_others(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with page(server) as client, page(server) as other:
            await client.join()
            running = await client.say("ask")
            [call] = await client.until(lambda: [*client.calls])
            await client.fail(call, "no such dialog here")
            other.session_id = client.session_id
            await other.reload()
            [same] = await other.until(lambda: [*other.calls])
            assert client.calls == [], "it is not asked again"
            await other.reply(same, answer(same))
            await running
            await check_truth(server, client, other)

    play(tmp_path, scene, agents={"demo": DemoAgent(delay=0)})


def test_a_question_that_another_client_answers(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with page(server) as client, page(server) as other:
            await client.join()
            running = await client.say("ask")
            [call] = await client.until(lambda: [*client.calls])
            other.session_id = client.session_id
            await other.reload()  # the question is open when it connects
            [same] = await other.until(lambda: [*other.calls])
            assert same["params"] == call["params"]
            await other.reply(same, answer(same))
            await running
            await client.reply(call, answer(call))  # too late: no error, no second card
            await client.ask("hello")
            assert client.calls == []
            await other.until(lambda: len(other.screen.ends) == 2)
            await check_truth(server, client, other)

    play(tmp_path, scene, agents={"demo": DemoAgent(delay=0)})


# --- several clients ------------------------------------------------------------------------------


def test_a_turn_of_another_client_is_shown_with_its_prompt(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with page(server) as client, page(server) as other:
            await client.join()
            await other.join(resume=client.session_id)
            await client.ask("think")
            await other.until(lambda: other.screen.ends)
            await check_truth(server, client, other)

    play(tmp_path, scene, agents={"demo": DemoAgent(delay=0)})


def test_a_query_behind_the_turn_of_another_client_gets_its_own_turn_only(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with page(server) as client, page(server) as other:
            await client.join()
            await other.join(resume=client.session_id)
            long = await client.say("ask")
            [call] = await client.until(lambda: [*client.calls])
            await other.until(lambda: other.calls)
            start = len(other.frames)
            running = await other.say("hello")
            second = await client.say("think")
            await client.until(lambda: len(client.pending) == 2)
            await client.reply(call, answer(call))
            await running
            end = other.frames.index({"type": "complete", "id": "req-2"})
            assert {f["id"] for f in other.frames[start:end]} == {"req-2"}
            assert other.screen.ends[0] == "success"
            await long
            await second
            await other.load()
            await client.load()
            await check_truth(server, client, other)

    play(tmp_path, scene, agents={"demo": DemoAgent(delay=0)})


def test_an_interrupt_takes_a_waiting_query_out_of_the_queue(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with page(server) as client, page(server) as other:
            await client.join()
            await other.join(resume=client.session_id)
            running = await client.say("ask")
            [call] = await client.until(lambda: [*client.calls])
            waiting = await other.say("hello")
            while not (await (await talk_of(server, client)).status()).queue:
                await asyncio.to_thread(lambda: None)
            assert await other.call("interrupt") == {"status": "interrupted"}
            assert await waiting == {"status": "complete"}
            await client.reply(call, answer(call))
            await running
            assert client.screen.ends == ["success"]
            await client.load()
            await check_truth(server, client)

    play(tmp_path, scene, agents={"demo": DemoAgent(delay=0)})


def test_a_query_that_another_client_removes_ends_with_an_error(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with page(server) as client, page(server) as other:
            await client.join()
            await other.join(resume=client.session_id)
            await client.say("ask")
            await client.until(lambda: client.calls)
            waiting = await other.say("hello")
            talk = await talk_of(server, client)
            while not (await talk.status()).queue:
                await asyncio.to_thread(lambda: None)
            [item] = (await talk.status()).queue
            await talk.change_queue("remove", item.queue_id)
            assert await waiting == {"status": "complete"}
            [said] = other.screen.errors
            assert "taken out of the queue" in said

    play(tmp_path, scene, agents={"demo": DemoAgent(delay=0)})


async def talk_of(server: Serving, client: ClassicClient) -> Any:
    assert client.session_id is not None
    return await server.service.talk(client.session_id, server.owner)


def has_come(client: ClassicClient, frames: int) -> bool:
    return len(client.frames) > frames or bool(client.screen.ends)


# --- reloads, drops and slow readers --------------------------------------------------------------


@pytest.mark.parametrize("words", ["think, use a tool, then be long", "subagent"])
def test_a_reload_in_mid_turn(tmp_path: Path, words: str) -> None:
    async def scene(server: Serving) -> None:
        client = await begun(server)
        await client.say(words)
        for frames in range(3, 60, 9):
            await client.until(partial(has_come, client, frames))
            client.drop()
            await client.until_closed()
            await client.open()
            await client.reload()
            if client.screen.ends or not (await (await talk_of(server, client)).status()).running:
                break
        talk = await talk_of(server, client)
        while (await talk.status()).running:
            await asyncio.to_thread(lambda: None)
        await client.load()
        await check_truth(server, client)
        await client.close()

    play(tmp_path, scene, agents={"demo": DemoAgent(delay=0.001)})


def test_a_slow_reader_is_closed_and_comes_again(tmp_path: Path) -> None:
    agent = DemoAgent(delay=0, flood=40, flood_seconds=0.3)

    async def scene(server: Serving) -> None:
        async with page(server) as client:
            await client.join()
            slow = page(server)
            slow.ahead = 1
            slow.session_id = client.session_id
            await slow.open()
            await slow.join(resume=client.session_id)
            assert slow._reading is not None
            slow._reading.cancel()
            await client.ask("hello")
            while len(server.service.hub) > 1:
                await asyncio.to_thread(lambda: None)
            slow.drop()
            slow.ahead = None
            await slow.open()
            await slow.reload()
            await check_truth(server, slow)
            await slow.close()

    play(tmp_path, scene, agents={"demo": agent}, buffer_bytes=10_000)


def test_an_unknown_profile_is_refused(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        client = server.rpc(path="/ws/rpc?profile=modern")
        await client.come()
        frame = await client.next()
        assert "There is no profile 'modern'" in frame["error"]["message"]
        client = server.rpc(token="wrong", path="/ws?profile=classic")
        await client.come()
        await client.until_closed()
        assert client.frames == []

    play(tmp_path, scene)
