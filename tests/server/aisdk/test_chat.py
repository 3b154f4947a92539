"""Front ends of the AI SDK: messages, streams, resumes, answers, forks and the history."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.helpers.events import events_of
from tests.server.helpers.http_scenes import play
from tests.server.helpers.listening_client import until
from tests.server.helpers.servers import Serving
from tests.turn_streams.aisdk.helpers.judges import VERSIONS, judged
from tests.turn_streams.aisdk.helpers.streams import shown

Chunk = dict[str, Any]
Message = dict[str, Any]
SCENES = ["hello", "think", "use a tool", "make a plan", "a subagent", "a long answer"]


def says(text: str, name: str = "m-1") -> Message:
    return {"id": name, "role": "user", "parts": [{"type": "text", "text": text}]}


def body(*messages: Message, chat: str = "chat-1", **more: Any) -> dict[str, Any]:
    begun = {"agent": "demo", "options": {"delay": 0}}
    return {"id": chat, "messages": [*messages], "trigger": "submit-message", **begun, **more}


async def streamed(http: httpx.AsyncClient, sent: dict[str, Any], version: int = 7) -> list[Chunk]:
    """Returns the chunks of the stream that a request is answered with."""
    async with events_of(http, "POST", f"/api/chat?version={version}", json=sent) as stream:
        assert stream.response.headers["x-vercel-ai-ui-message-stream"] == "v1"
        chunks = [data for _, data in await stream.all()]
    assert chunks.pop() == "[DONE]"
    return chunks


async def history(http: httpx.AsyncClient, chat: str = "chat-1", version: int = 7) -> list[Message]:
    told: list[Message] = (await http.get(f"/api/chat/{chat}/messages?version={version}")).json()[
        "messages"
    ]
    return told


def message_of(version: int, *streams: list[Chunk]) -> Message:
    """Returns the message that the package assembles."""
    [told] = judged(version, [list(streams)])
    assert told["errors"] == []
    message: Message = told["message"]
    return message


def parts(message: Message, kind: str) -> list[Any]:
    return [part for part in message["parts"] if part["type"] == kind]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_scene_is_assembled_to_its_history(version: int, tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        said: list[Message] = []
        for number, words in enumerate(SCENES, 1):
            said.append(says(words, f"m-{number}"))
            chunks = await streamed(http, body(*said), version)
            told = await history(http, version=version)
            assert [each["id"] for each in told[-2:]] == [f"m-{number}", f"turn-{number}"]
            said = told
            message = await asyncio.to_thread(message_of, version, chunks)
            assert shown(message) == shown(told[-1])
        again = await streamed(http, body(said[0]), version)
        assert again[0]["messageId"] == "turn-1", "a message is taken once"
        assert len(await history(http)) == 2 * len(SCENES)

    play(tmp_path, scene)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_permission_ends_the_stream_and_its_answer_continues_the_turn(
    version: int, tmp_path: Path
) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        first = await streamed(http, body(says("permission")), version)
        assert first[-1]["finishReason"] == "tool-calls"
        message = await asyncio.to_thread(message_of, version, first)
        [told] = parts(message, "data-permission")
        [tool] = parts(message, "dynamic-tool")
        if version > 5:
            assert tool["state"] == "approval-requested"
            tool["approval"] |= {"approved": True}  # as addToolApprovalResponse does
            tool["state"] = "approval-responded"
        else:
            assert tool["state"] == "input-available"
            told["data"]["decision"] = "allow"
        assert told["data"]["state"] == "open"
        nothing = await http.get("/api/chat/chat-1/stream")
        assert nothing.status_code == 204, "nothing runs: the turn waits"
        assert [each["id"] for each in await history(http)] == ["m-1", "turn-1"]
        sent = body(says("permission"), message, messageId=message["id"])
        second = await streamed(http, sent, version)
        assert second[0] == {
            "type": "start",
            "messageId": "turn-1",
            "messageMetadata": {"turnwire": {"turnId": 1}},
        }
        whole = await asyncio.to_thread(message_of, version, first, second)
        [tool] = parts(whole, "dynamic-tool")
        assert tool["state"] == "output-available"
        assert parts(whole, "data-permission")[0]["data"]["decision"] == "allow"
        told = (await history(http, version=version))[-1]
        assert shown(whole) == shown(told)
        if version > 5:
            assert parts(told, "dynamic-tool")[0]["approval"]["approved"] is True
        late = await streamed(http, sent, version)
        assert late[0]["messageId"] == "turn-1", "an answer that comes twice continues as well"

    play(tmp_path, scene)


def test_a_denied_permission_is_an_error_of_its_tool(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        first = await streamed(http, body(says("permission")))
        message = await asyncio.to_thread(message_of, 7, first)
        [tool] = parts(message, "dynamic-tool")
        tool["approval"] |= {"approved": False, "reason": "No."}
        second = await streamed(http, body(message))
        whole = await asyncio.to_thread(message_of, 7, first, second)
        [tool] = parts(whole, "dynamic-tool")
        assert tool["state"] == "output-error"
        assert parts(whole, "data-permission")[0]["data"]["decision"] == "deny"
        [tool] = parts((await history(http))[-1], "dynamic-tool")
        assert "approval" not in tool, "the package takes an approved call only"

    play(tmp_path, scene)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_question_is_answered_in_its_part(version: int, tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        first = await streamed(http, body(says("ask me")), version)
        message = await asyncio.to_thread(message_of, version, first)
        [question] = parts(message, "data-question")
        assert question["data"]["questions"][0]["options"]
        question["data"]["answer"] = "Blue"
        second = await streamed(http, body(message), version)
        whole = await asyncio.to_thread(message_of, version, first, second)
        [question] = parts(whole, "data-question")
        assert (question["data"]["state"], question["data"]["answer"]) == ("answered", "Blue")
        assert "Blue" in parts(whole, "text")[-1]["text"]
        told = (await history(http, version=version))[-1]
        assert shown(whole) == shown(told)

    play(tmp_path, scene)


def test_a_running_turn_is_resumed_from_its_beginning_or_from_a_number(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        slow = body(says("think, a long answer"), options={"delay": 0.01})
        async with events_of(http, "POST", "/api/chat", json=slow) as stream:
            await stream.until(lambda chunk: chunk["type"] == "text-delta")
            last = stream.last_id
        assert last is not None
        assert [each["id"] for each in await history(http)] == ["m-1"], "its stream has the rest"
        from_there = {"Last-Event-ID": last}
        async with (
            events_of(http, "GET", "/api/chat/chat-1/stream") as whole,
            events_of(http, "GET", "/api/chat/chat-1/stream", headers=from_there) as rest,
        ):
            everything, later = await asyncio.gather(whole.all(), rest.all())
        message = await asyncio.to_thread(message_of, 7, [data for _, data in everything[:-1]])
        told = (await history(http))[-1]
        assert message["parts"] == told["parts"]
        numbers = [int(own_id) for own_id, _ in later if own_id is not None]
        assert numbers == [int(o) for o, _ in everything if o is not None and int(o) > int(last)]
        assert not [data for _, data in later if data == {"type": "start-step"}]
        assert (await http.get("/api/chat/chat-1/stream")).status_code == 204
        assert (await http.get("/api/chat/other/stream")).status_code == 204

    play(tmp_path, scene)


def test_a_stopped_turn_is_aborted_and_a_failed_one_has_an_error(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        slow = body(says("a long answer"), options={"delay": 0.05})
        async with events_of(http, "POST", "/api/chat", json=slow) as stream:
            await stream.until(lambda chunk: chunk["type"] == "text-delta")
            assert (await http.post("/api/chat/chat-1/stop", json={})).status_code == 204
            rest = [data for _, data in await stream.all()]
        assert rest[-2:] == [{"type": "abort"}, "[DONE]"]
        told = (await history(http))[-1]
        assert told["metadata"]["turnwire"]["state"] == "interrupted"
        assert parts(told, "text")[-1]["providerMetadata"]["turnwire"]["aborted"]
        failed = await streamed(http, body(says("error"), chat="chat-2"))
        assert failed[-1]["type"] == "error"
        told = (await history(http, "chat-2"))[-1]
        assert told["metadata"]["turnwire"]["error"]["message"] == failed[-1]["errorText"]

    play(tmp_path, scene)


def test_another_answer_and_an_edited_message_are_forks(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        await streamed(http, body(says("hello", "m-1")))
        told = await history(http)
        await streamed(http, body(*told, says("think", "m-2")))
        first = (await http.get("/api/chat/chat-1/messages")).json()
        assert [each["id"] for each in first["messages"]] == ["m-1", "turn-1", "m-2", "turn-2"]
        again = body(*first["messages"][:3], trigger="regenerate-message", messageId="turn-2")
        chunks = await streamed(http, again)
        assert chunks[0]["messageId"] == "turn-2"
        second = (await http.get("/api/chat/chat-1/messages")).json()
        assert second["conversation"] != first["conversation"]
        assert [each["id"] for each in second["messages"]] == ["m-1", "turn-1", "m-2", "turn-2"]
        edited = says("use a tool", "m-1")
        await streamed(http, body(edited, messageId="m-1"))
        third = (await http.get("/api/chat/chat-1/messages")).json()
        assert [each["id"] for each in third["messages"]] == ["m-1", "turn-1"]
        assert third["messages"][0]["parts"] == edited["parts"]
        made = (await http.get("/api/conversations")).json()["conversations"]
        assert len(made) == 3, "what was said before is kept"

    play(tmp_path, scene)


def test_a_conversation_is_a_chat_of_its_own_id(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        await streamed(http, body(says("hello"), chat=name))
        async with server.client(name) as client:
            await client.say("think", "from-a-socket")
            await client.end_of(2)
        told = await history(http, name)
        assert [each["id"] for each in told] == ["m-1", "turn-1", "from-a-socket", "turn-2"]

    play(tmp_path, scene)


def test_a_queued_message_waits_for_its_turn(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        await streamed(http, body(says("ask me")))
        waiting = asyncio.create_task(streamed(http, body(says("later", "m-2"))))
        await until(lambda: len(server.service.hub) == 1)
        told = await history(http)
        question = parts(told[-1], "data-question")[0]["data"]
        answer = f"/api/inbox/{question['inboxItemId']}/answer"
        assert (await http.post(answer, json={"answer": "Blue"})).status_code == 200
        assert (await waiting)[0]["messageId"] == "turn-2"

    play(tmp_path, scene)


def test_a_chat_is_refused_what_it_may_not_send(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        await streamed(http, body(says("hello")))
        strange = says("hello", "m-2")
        wrong: list[tuple[dict[str, Any], str]] = [
            (body(), "INVALID_PAYLOAD"),
            (body(says("hello"), chat=""), "INVALID_PAYLOAD"),
            (body(says("hello", "")), "INVALID_PAYLOAD"),
            (body(says("", "m-2")), "INVALID_PAYLOAD"),
            (body({**strange, "role": "system"}), "INVALID_PAYLOAD"),
            (body({**strange, "parts": [{"type": "tool-x"}]}), "INVALID_PAYLOAD"),
            (
                body({**strange, "parts": [{"type": "file", "url": "x", "mediaType": "text/csv"}]}),
                "NOT_SUPPORTED",
            ),
            (body(says("never said", "m-0"), strange), "INVALID_PAYLOAD"),
            (body({**strange, "role": "assistant"}), "INVALID_PAYLOAD"),
            (body({**strange, "role": "assistant"}, chat="other"), "CONVERSATION_NOT_FOUND"),
            (body(says("another text")), "IDEMPOTENCY_CONFLICT"),
        ]
        for sent, code in wrong:
            refused = await http.post("/api/chat", json=sent)
            assert refused.json()["error"]["code"] == code, sent
        assert len(await history(http)) == 2
        odd = {"Last-Event-ID": "x"}
        assert (await http.get("/api/chat/chat-1/stream", headers=odd)).status_code == 400
        async with server.http(await server.token_of("bob")) as bob:
            assert await history(bob) == [], "the same id is another chat for another user"
            [made] = (await http.get("/api/conversations")).json()["conversations"]
            assert await history(bob, made["id"]) == [], "as if it did not exist"
            assert (await bob.post(f"/api/chat/{made['id']}/stop", json={})).status_code == 204
            assert len(await streamed(bob, body(says("mine"), chat=made["id"]))) > 1
        assert len(await history(http)) == 2

    play(tmp_path, scene)


def test_without_protocol_v2_there_is_no_chat(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        refused = await http.post("/api/chat", json=body(says("hello")))
        assert refused.json()["error"]["code"] == "CHAT_PROTOCOL_DISABLED"

    play(tmp_path, scene, protocol_v2=False)
