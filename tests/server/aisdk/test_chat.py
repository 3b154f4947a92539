"""Front ends of the AI SDK: messages, streams, resumes, answers, forks and the history."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec import structs

from tests.agents.helpers.function_agents import remembers
from tests.server.helpers.events import events_of
from tests.server.helpers.http_scenes import PNG, play
from tests.server.helpers.listening_client import until
from tests.server.helpers.servers import Serving
from tests.turn_streams.aisdk.helpers.judges import VERSIONS, judged
from tests.turn_streams.aisdk.helpers.streams import shown
from turnwire.agents.demo import DemoAgent

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
        [made] = (await http.get("/api/conversations")).json()["conversations"]
        assert second[0] == {
            "type": "start",
            "messageId": "turn-1",
            "messageMetadata": {"turnwire": {"turnId": 1, "conversation": made["id"]}},
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
        names = [own_id for own_id, _ in everything if own_id is not None]
        assert [o for o, _ in later if o is not None] == names[names.index(last) + 1 :]
        assert not [data for _, data in later if data == {"type": "start-step"}]
        assert (await http.get("/api/chat/chat-1/stream")).status_code == 204
        assert (await http.get("/api/chat/other/stream")).status_code == 204

    play(tmp_path, scene)


def test_a_place_that_is_not_in_the_running_turn_brings_all_of_it_again(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        async def resumed(place: str) -> list[Chunk]:
            headers = {"Last-Event-ID": place}
            async with events_of(http, "GET", "/api/chat/chat-1/stream", headers=headers) as stream:
                return [data for _, data in (await stream.all())[:-1]]

        async def begun(sent: dict[str, Any]) -> str:
            """Returns a place in the turn that a message begins."""
            async with events_of(http, "POST", "/api/chat", json=sent) as stream:
                await stream.until(lambda chunk: chunk["type"] == "text-delta")
                assert stream.last_id is not None
                return stream.last_id

        slow: dict[str, Any] = {"options": {"delay": 0.01}}
        old = await begun(body(says("think, a long answer"), **slow))
        beyond = old.replace(old.partition("@")[0], "999")
        edited = body(says("think, one more long answer"), messageId="m-1", **slow)
        own = await begun(edited)
        assert own.partition("@")[0] == old.partition("@")[0], "the fork has the same numbers"
        places = ["999", beyond, old, own.replace("@", "@x"), own.partition("@")[0], "0"]
        streams = await asyncio.gather(*map(resumed, places), resumed(own))
        whole, told = [*streams[:-1]], (await history(http))[-1]
        for chunks in whole:
            message = await asyncio.to_thread(message_of, 7, chunks)
            assert message["parts"] == told["parts"]
        assert len(streams[-1]) < len(whole[0]), "its own place continues it"

    play(tmp_path, scene)


def test_a_message_of_a_turn_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        await streamed(http, body(says("hello")))
        for name in ("turn-77", "turn-0", "turn-2"):
            strange: Message = {"id": name, "role": "assistant", "parts": []}
            refused = await http.post("/api/chat", json=body(says("hello"), strange))
            assert refused.status_code == 400
            assert f"no turn {name[5:]}" in refused.json()["error"]["message"]

    play(tmp_path, scene)


def test_an_answer_in_a_message_of_another_branch_is_refused(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        first = await streamed(http, body(says("ask me")))
        old = await asyncio.to_thread(message_of, 7, first)
        again = await streamed(http, body(says("ask me now"), messageId="m-1"))
        new = await asyncio.to_thread(message_of, 7, again)
        future = {**new, "metadata": {"turnwire": {"sequence": 999}}}
        for sent in (old, future):
            parts(sent, "data-question")[0]["data"]["answer"] = "Blue"
            refused = await http.post("/api/chat", json=body(sent))
            assert refused.json()["error"]["code"] == "INVALID_PAYLOAD"
            assert "Read its messages again" in refused.json()["error"]["message"]
        told = (await history(http))[-1]
        assert parts(told, "data-question")[0]["data"]["state"] == "open"
        parts(told, "data-question")[0]["data"]["answer"] = "Blue"
        assert (await streamed(http, body(told)))[-1]["finishReason"] == "stop"

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


def test_a_request_for_another_answer_that_is_sent_again_after_a_drop_makes_one_fork(
    tmp_path: Path,
) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        async def drop(sent: dict[str, Any]) -> None:
            async with events_of(http, "POST", "/api/chat?version=7", json=sent):
                pass  # the server has answered; the connection ends before the first event is read

        async def conversations() -> int:
            return len((await http.get("/api/conversations")).json()["conversations"])

        await streamed(http, body(says("hello", "m-1")))
        await streamed(http, body(*await history(http), says("ask me", "m-2")))
        before = (await history(http))[:3]
        again = body(*before, trigger="regenerate-message", messageId="turn-2")
        await drop(again)
        chunks = await streamed(http, again)
        assert (chunks[0]["messageId"], await conversations()) == ("turn-2", 2)
        await asyncio.gather(drop(again), drop(again))
        assert await conversations() == 2
        # An edit is repeated, too. Edited once more, it is another message.
        edited = body(*before[:2], says("ask me now", "m-2"), messageId="m-2")
        await drop(edited)
        assert await conversations() == 3
        await streamed(http, edited)
        assert await conversations() == 3
        await streamed(http, body(*before[:2], says("think", "m-2"), messageId="m-2"))
        assert await conversations() == 4
        # So is one whose answer has ended.
        await streamed(http, body(*before[:2], says("think", "m-2"), messageId="m-2"))
        assert await conversations() == 4
        # But then the same request for another answer asks for one more.
        await streamed(http, body(*before[:2], says("think", "m-2"), trigger="regenerate-message"))
        assert await conversations() == 5
        both = body(*before[:2], says("ask me again", "m-2"), messageId="m-2")
        await asyncio.gather(drop(both), drop(both))
        assert await conversations() == 6, "also if both are on their way at the same time"

    play(tmp_path, scene)


def test_an_edit_that_changes_only_a_file_is_another_edit(tmp_path: Path) -> None:
    class Seeing(DemoAgent):
        capabilities = structs.replace(DemoAgent.capabilities, images=True)

    def with_picture(data: bytes) -> dict[str, Any]:
        url = f"data:image/png;base64,{b64encode(PNG + data).decode()}"
        picture = {"type": "file", "mediaType": "image/png", "url": url}
        sent = says("look", "m-1")
        return body({**sent, "parts": [*sent["parts"], picture]}, messageId="m-1")

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        await streamed(http, body(says("hello", "m-1")))
        for data, count in ((b"1", 2), (b"1", 2), (b"2", 3), (b"2", 3)):
            await streamed(http, with_picture(data))
            made = (await http.get("/api/conversations")).json()["conversations"]
            assert len(made) == count
        [sent, _] = await history(http)
        assert sent["parts"][1]["mediaType"] == "image/png"

    play(tmp_path, scene, agents={"demo": Seeing(delay=0)})


def test_a_message_is_found_in_a_long_log_as_a_costly_request(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        alice = await server.token_of("alice")
        async with server.http(alice) as own:
            await streamed(own, body(says("hello", "m-0")))
            for number in range(30):
                await streamed(own, body(says("make a plan, use a tool", f"m-{number + 1}")))
            told = (await own.get("/api/chat/chat-1/messages")).json()
            row = await server.service.store.conversation(told["conversation"])
            assert row is not None
            assert row.head > 200, "more than one page of the log"
            strange = await own.post("/api/chat", json=body(says("x", "none"), says("y", "new")))
            assert "'none'" in strange.json()["error"]["message"]
            [share] = [each for name, each in server.service.shares._shares.items() if name]
            share._waiting = 8  # of other requests of this user
            busy = await own.post("/api/chat", json=body(says("x", "none"), says("y", "new")))
            assert busy.json()["error"]["code"] == "RATE_LIMITED"
            near = body(says("make a plan, use a tool", "m-30"), says("hello", "m-31"))
            await streamed(own, near)
            share._waiting = 0
            await streamed(own, body(says("think", "m-0"), messageId="m-0"))
            assert [each["id"] for each in await history(own)] == ["m-0", "turn-1"]

    play(tmp_path, scene)


def test_another_answer_of_an_agent_without_forks_of_its_own_knows_what_was_said_before(
    tmp_path: Path,
) -> None:
    other: dict[str, Any] = {"agent": "remembers", "options": {}}

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        await streamed(http, body(says("a kestrel", "m-1"), **other))
        told = await history(http)
        await streamed(http, body(*told, says("a heron", "m-2"), **other))
        told = await history(http)
        again = body(*told[:3], trigger="regenerate-message", messageId="turn-2", **other)
        await streamed(http, again)
        edited = body(*told[:2], says("a wren", "m-2"), messageId="m-2", **other)
        for sent, last in ((None, "a heron"), (edited, "a wren")):
            if sent is not None:
                await streamed(http, sent)
            (answer,) = [each for each in (await history(http))[-1]["parts"] if "text" in each]
            assert answer["text"] == f"user a kestrel; assistant now a kestrel; now {last}"
        made = (await http.get("/api/conversations")).json()["conversations"]
        assert len(made) == 3

    play(tmp_path, scene, agents={"remembers": remembers})


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
            (body(strange, trigger="nonsense"), "INVALID_PAYLOAD"),
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


@pytest.mark.parametrize("name", ["chat-1", None])
def test_an_archived_chat_is_read_and_takes_nothing_more(name: str | None, tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        chat = name or await server.begin()
        await streamed(http, body(says("hello"), chat=chat))
        told = (await http.get(f"/api/chat/{chat}/messages")).json()
        shelf = f"/api/conversations/{told['conversation']}"
        assert (await http.patch(shelf, json={"archived": True})).status_code == 200
        assert (await http.get(f"/api/chat/{chat}/messages")).json() == told
        assert (await http.get(f"/api/chat/{chat}/stream")).status_code == 204
        for address, sent in (
            ("/api/chat", body(says("hello"), chat=chat)),
            ("/api/chat", body(says("think", "m-2"), chat=chat)),
            ("/api/chat", body(says("think"), chat=chat, messageId="m-1")),
            ("/api/chat", body(told["messages"][-1], chat=chat)),
            (f"/api/chat/{chat}/stop", {}),
        ):
            refused = await http.post(address, json=sent)
            assert refused.json()["error"]["code"] == "CONVERSATION_CLOSED", sent
        assert (await http.get("/api/conversations")).json()["conversations"] == []
        await http.patch(shelf, json={"archived": False})
        await streamed(http, body(says("think", "m-2"), chat=chat))
        assert len(await history(http, chat)) == 4

    play(tmp_path, scene)


def test_a_chat_goes_on_in_its_newest_fork_if_the_first_conversation_is_archived_or_deleted(
    tmp_path: Path,
) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        await streamed(http, body(says("hello")))
        first = (await http.get("/api/chat/chat-1/messages")).json()["conversation"]
        for number in range(5):
            await streamed(http, body(says(f"think {number}"), messageId="m-1"))
        assert len((await http.get("/api/conversations")).json()["conversations"]) == 6
        newest = (await http.get("/api/chat/chat-1/messages")).json()
        assert newest["messages"][0]["parts"] == says("think 4")["parts"]
        await http.patch(f"/api/conversations/{first}", json={"archived": True})
        assert (await http.get("/api/chat/chat-1/messages")).json() == newest
        assert (await http.delete(f"/api/conversations/{first}")).status_code < 300
        assert (await http.get("/api/chat/chat-1/messages")).json() == newest

    play(tmp_path, scene)


@pytest.mark.parametrize("other", ["chat-1:1", "1:chat-1", "fork:1:chat-1"])
def test_no_chat_has_an_id_that_is_the_fork_of_another(other: str, tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        await streamed(http, body(says("hello")))
        await streamed(http, body(says("think"), trigger="regenerate-message"))
        assert await history(http, other) == []
        await streamed(http, body(says("plan", "m-2"), chat=other))
        assert [each["id"] for each in await history(http)] == ["m-1", "turn-1"]
        assert [each["id"] for each in await history(http, other)] == ["m-2", "turn-1"]

    play(tmp_path, scene)


def test_only_agents_that_are_ready_are_named_in_place_of_an_unknown_one(tmp_path: Path) -> None:
    class Missing(DemoAgent):
        def unavailable(self) -> str | None:
            return "Install it first."

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        refused = await http.post("/api/chat", json=body(says("hello"), agent="nope"))
        error = refused.json()["error"]
        assert error["message"] == "There is no agent 'nope'; there is: demo."

    play(tmp_path, scene, agents={"demo": DemoAgent(delay=0), "missing": Missing()})


def test_without_protocol_v2_there_is_no_chat(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        refused = await http.post("/api/chat", json=body(says("hello")))
        assert refused.json()["error"]["code"] == "CHAT_PROTOCOL_DISABLED"

    play(tmp_path, scene, protocol_v2=False)
