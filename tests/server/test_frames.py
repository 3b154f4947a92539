"""Every frame of a client gets one answer, and every error code has its cause."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.server.helpers.frame_checks import Able, Away, Broken, play, refused
from tests.server.helpers.raw_http import upgrade
from tests.server.helpers.servers import Serving
from turnwire.core.status import TurnError

# --- accepted ------------------------------------------------------------------------------------


def test_a_repeated_message_gets_the_first_answer(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.client(await server.begin()) as client:
            await client.say("hello", "m-1")
            first = (await client.answer("m-1"))["payload"]
            await client.end_of(1)
            await client.state("active")
            await client.say("hello", "m-1")
            assert (await client.answer("m-1"))["payload"] == {**first, "duplicate": True}
            await refused(client, "user.message", "IDEMPOTENCY_CONFLICT", "m-1", content="other")
            assert len(client.view().turns) == 1

    play(tmp_path, scene)


def test_an_answer_and_a_permission(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.client(await server.begin()) as client:
            await client.say("question and permission", "m-1")
            question = (await client.until("assistant.request_input"))["payload"]["question_id"]
            await client.state("waiting_input")
            data = await refused(
                client, "user.input_response", "INPUT_REQUIRED", question_id=question, answer=" "
            )
            assert data == {"question_id": question}
            await refused(
                client, "user.input_response", "INVALID_QUESTION_ID", question_id="q", answer="a"
            )
            await client.send("user.input_response", "a-1", question_id=question, answer="Blue")
            ack = (await client.answer("a-1"))["payload"]
            assert (ack["request_id"], ack["delivered_as"]) == (question, "tool_result")
            asked = (await client.until("assistant.permission_request"))["payload"]
            await client.state("waiting_input")
            await refused(
                client,
                "user.input_response",
                "DUPLICATE_INPUT_RESPONSE",
                question_id=question,
                answer="Red",
            )
            await client.send(
                "user.permission_response",
                "p-1",
                request_id=asked["request_id"],
                decision="deny",
                reason="not now",
            )
            assert (await client.answer("p-1"))["payload"]["delivered_as"] == "decision"
            await client.end_of(1)
            await client.state("active")
            await refused(
                client, "user.input_response", "NO_PENDING_INPUT", question_id="q", answer="a"
            )

    play(tmp_path, scene)


def test_a_stop_names_its_turn(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.client(await server.begin(delay=0.01)) as client:
            await client.say("long", "m-1")
            await client.until("assistant.chunk")
            await client.send("user.interrupt", "s-1", turn_id=1)
            assert (await client.answer("s-1"))["payload"]["outcome"] == "requested"
            stopped = (await client.until("conversation.interrupted"))["payload"]
            assert (stopped["reason"], stopped["by"]) == ("user", "owner")
            assert (await client.end_of(1))["payload"]["interrupted"]
            await client.state("interrupted")
            await client.send("user.interrupt", "s-2", turn_id=1)
            assert (await client.answer("s-2"))["payload"]["outcome"] == "already_ended"
            await refused(client, "user.interrupt", "INVALID_PAYLOAD", turn_id=7)

    play(tmp_path, scene)


def test_a_cancelled_question_cannot_be_answered(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.client(await server.begin()) as client:
            await client.say("question", "m-1")
            question = (await client.until("assistant.request_input"))["payload"]["question_id"]
            await client.send("user.interrupt", "s-1", turn_id=1)
            await client.state("interrupted")
            await refused(
                client,
                "user.input_response",
                "CONVERSATION_INTERRUPTED",
                question_id=question,
                answer="Blue",
            )

    play(tmp_path, scene)


def test_an_expired_question_cannot_be_answered(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.client(await server.begin()) as client:
            await client.say("question", "m-1")
            question = (await client.until("assistant.request_input"))["payload"]["question_id"]
            await client.state("error")
            await refused(
                client, "user.input_response", "INPUT_TIMEOUT", question_id=question, answer="a"
            )

    play(tmp_path, scene, question_seconds=0.2)


def test_the_queue_is_changed_by_frames(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.client(await server.begin()) as client:
            await client.say("question", "m-1")
            await client.state("waiting_input")
            waiting = []
            for name in ("m-2", "m-3", "m-4"):
                await client.say(f"hello {name}", name)
                waiting.append((await client.answer(name))["payload"]["queue_id"])
            data = await refused(client, "user.message", "TURN_QUEUE_FULL", "m-5", content="x")
            assert data == {"max_queue": 3}
            await client.send(
                "user.queue", "q-1", action="move", queue_id=waiting[2], before=waiting[0]
            )
            assert (await client.answer("q-1"))["type"] == "user.queue.ack"
            await client.send(
                "user.queue", "q-2", action="replace", queue_id=waiting[0], content="other"
            )
            await client.answer("q-2")
            await client.send("user.queue", "q-3", action="remove", queue_id=waiting[1])
            await client.answer("q-3")
            data = await refused(
                client, "user.queue", "QUEUE_ITEM_NOT_FOUND", action="remove", queue_id="q"
            )
            assert data == {"queue_id": "q"}
            await client.send("user.interrupt", "s-1", turn_id=1)
            await client.state("interrupted")
            await client.send("user.queue", "q-4", action="resume")
            await client.answer("q-4")
            said = [await client.until("user.message") for _ in range(2)]
            texts = [each["payload"]["content"][0]["text"] for each in said]
            assert texts == ["hello m-4", "other"]
            await client.end_of(3)

    play(tmp_path, scene, max_queue=3)


def test_a_heartbeat_is_answered(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.client(await server.begin()) as client:
            await client.send("session.heartbeat", "h-1")
            assert (await client.answer("h-1"))["type"] == "session.heartbeat_ack"

    play(tmp_path, scene)


# --- refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("", "INVALID_FORMAT"),
        ("hello", "INVALID_FORMAT"),
        ("[]", "INVALID_FORMAT"),
        ('{"type": 1}', "INVALID_FORMAT"),
        (b"\x00\xff", "INVALID_FORMAT"),
        (b'{"type": "session.heartbeat"}', "INVALID_FORMAT"),
        ("[" * 100_000, "INVALID_PAYLOAD"),  # refused before it is parsed
        ('{"type": "user.shout"}', "UNKNOWN_MESSAGE_TYPE"),
        ('{"type": "user.message"}', "INVALID_PAYLOAD"),
        ('{"type": "user.message", "payload": {"content": ""}}', "INVALID_PAYLOAD"),
        ('{"type": "user.message", "payload": {"content": "a", "extra": 1}}', "INVALID_PAYLOAD"),
        ('{"type": "session.heartbeat", "extra": 1}', "INVALID_PAYLOAD"),
        ('{"type": "user.interrupt", "payload": {"turn_id": 0}}', "INVALID_PAYLOAD"),
        (
            '{"type": "user.permission_response", "payload": {"request_id": "r", "decision":'
            f' "allow", "updated_input": {"[" * 80}{"]" * 80}}}}}',
            "INVALID_PAYLOAD",
        ),
        ('{"type": "user.rewind", "payload": {"message_sequence": 1}}', "NOT_SUPPORTED"),
        ('{"type": "session.set_model", "payload": {"model": "m"}}', "NOT_SUPPORTED"),
        ('{"type": "session.set_permission_mode", "payload": {"mode": "m"}}', "NOT_SUPPORTED"),
        (
            '{"type": "user.message", "payload": {"content": [{"type": "image", "url": "x"}]}}',
            "NOT_SUPPORTED",
        ),
        (
            '{"type": "user.message", "payload": {"content": [{"type": "text", "text": "a",'
            ' "blob": {"blob_id": "b"}}]}}',
            "INVALID_PAYLOAD",
        ),
        (
            '{"type": "user.message", "payload": {"content": [{"type": "file_ref", "path":'
            ' "/etc/passwd"}]}}',
            "FORBIDDEN",
        ),
    ],
)
def test_an_invalid_frame_is_refused_and_the_connection_goes_on(
    tmp_path: Path, raw: str | bytes, code: str
) -> None:
    async def scene(server: Serving) -> None:
        client = await server.client(await server.begin()).come()
        await client.send_raw(raw)
        error = (await client.until("session.error"))["payload"]
        assert error["code"] == code
        await client.send("session.heartbeat", "h-1")
        assert (await client.answer("h-1"))["type"] == "session.heartbeat_ack"
        await client.leave()

    play(tmp_path, scene)


def test_a_refusal_names_the_frame_that_it_answers(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        client = await server.client(await server.begin()).come()
        await client.send("user.message", "m-1", content="hello", extra=True)
        error = (await client.answer("m-1"))["payload"]
        assert error["code"] == "INVALID_PAYLOAD"
        assert "`payload.extra` is not known" in error["message"]
        half = '{"type": "user.message", "client_message_id": "m-2", "payload": {"content": "\\ud83d"}}'
        await client.send_raw(half)
        assert (await client.answer("m-2"))["payload"]["code"] == "INVALID_FORMAT"
        await client.leave()

    play(tmp_path, scene)


@pytest.mark.parametrize("end", ["]}}", ""])
def test_a_frame_of_too_many_values_is_refused_before_it_is_decoded(
    tmp_path: Path, end: str
) -> None:
    """The frame has no end, so a decoder would report invalid JSON."""

    async def scene(server: Serving) -> None:
        client = await server.client(await server.begin()).come()
        start = '{"type": "user.message", "client_message_id": "m-1", "payload": {"content": ['
        await client.send_raw(start + ",".join(["[]"] * 10_001) + end)
        error = (await client.until("session.error"))["payload"]
        assert error["code"] == "INVALID_PAYLOAD"
        assert "No more than 20000 objects, lists and entries" in error["message"]
        assert error.get("client_message_id") == ("m-1" if end else None)
        await client.leave()

    play(tmp_path, scene)


def test_a_long_text_may_hold_any_brackets(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.client(await server.begin()) as client:
            code = '[{"a": [1, 2, "b"]}, ' * 25_000
            await client.say(code, "m-1")
            assert (await client.answer("m-1"))["type"] == "user.message.ack"
            await client.end_of(1)
            assert client.view().messages[0].blocks[0].text == code  # type: ignore[union-attr]

    play(tmp_path, scene)


def test_paths_are_bounded_each_and_together(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        talk = await server.service.engine.create("demo", cwd=str(tmp_path), options={"delay": 0})
        async with server.client(talk.id) as client:
            for paths, said in (
                (["a/" * 2049], "A path has no more than 4096 characters."),
                (["a/" * 2000] * 17, "no more than 65536 characters in all"),
            ):
                content = [{"type": "file_ref", "path": each} for each in paths]
                await client.send("user.message", "m-1", content=content)
                error = (await client.answer("m-1"))["payload"]
                assert error["code"] == "INVALID_PAYLOAD"
                assert said in error["message"]
            content = [{"type": "file_ref", "path": "a/b"}] * 100
            await client.send("user.message", "m-2", content=content)
            assert (await client.answer("m-2"))["type"] == "user.message.ack"
            await client.end_of(1)

    play(tmp_path, scene, roots=[str(tmp_path)])


@pytest.mark.parametrize("letter", ["a", "ä", "漢"])
def test_a_frame_that_is_too_large(tmp_path: Path, letter: str) -> None:
    async def scene(server: Serving) -> None:
        async with server.client(await server.begin()) as client:
            size = len(letter.encode())
            data = await refused(
                client, "user.message", "PAYLOAD_TOO_LARGE", content=letter * (10_000 // size)
            )
            assert data == {"max_frame_bytes": 10_000}
            await client.say("hello", "m-1")
            assert (await client.answer("m-1"))["type"] == "user.message.ack"
            await client.end_of(1)

    play(tmp_path, scene, max_frame_bytes=10_000)


def test_a_client_that_makes_no_sense_again_and_again_has_to_go(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        client = await server.client(await server.begin()).come()
        for _ in range(30):
            await client.send_raw("nonsense")
        assert await client.until_closed() == 4505

    play(tmp_path, scene)


def test_too_many_frames_at_once_are_refused(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.client(await server.begin()) as client:
            for number in range(8):
                await client.send("session.heartbeat", f"h-{number}")
            answers = [await client.answer(f"h-{number}") for number in range(8)]
            assert [each["type"] for each in answers[:5]] == ["session.heartbeat_ack"] * 5
            error = answers[7]["payload"]
            assert error["code"] == "RATE_LIMITED"
            assert 0 < error["data"]["retry_after"] <= 1

    play(tmp_path, scene, frames_at_once=5, frames_per_second=1)


def test_a_client_that_exceeds_its_rate_again_and_again_is_disconnected(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        client = await server.client(await server.begin()).come()
        for number in range(60):
            await client.send("session.heartbeat", f"h-{number}")
        assert await client.until_closed() == 4003
        assert client.frames[-1]["payload"]["code"] == "RATE_LIMITED"

    play(tmp_path, scene, frames_at_once=5, frames_per_second=0)


# --- instead of the first frame -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "settings", "code", "close"),
    [
        ("protocol=v2", {"protocol_v2": False}, "CHAT_PROTOCOL_DISABLED", 4501),
        ("protocol=v2", {"protocol_v2": None}, "CHAT_PROTOCOL_DISABLED", 4501),
        ("protocol=v1", {}, "PROTOCOL_VERSION_UNSUPPORTED", 4500),
        ("", {}, "PROTOCOL_VERSION_UNSUPPORTED", 4500),
        ("protocol=v1&last_sequence=x", {}, "PROTOCOL_VERSION_UNSUPPORTED", 4500),
        ("protocol=v2&last_sequence=x", {}, "INVALID_PAYLOAD", 4505),
        ("protocol=v2&last_sequence=-1", {}, "INVALID_PAYLOAD", 4505),
        ("protocol=v2&last_sequence=1&last_sequence=2", {}, "INVALID_PAYLOAD", 4505),
        ("protocol=v2&tail=0", {}, "INVALID_PAYLOAD", 4505),
        ("protocol=v2&epoch=", {}, "INVALID_PAYLOAD", 4505),
        ("protocol=v2&epoch=%zz", {}, "INVALID_PAYLOAD", 4505),
    ],
)
def test_a_refusal_comes_instead_of_the_first_frame(
    tmp_path: Path, query: str, settings: dict[str, Any], code: str, close: int
) -> None:
    async def scene(server: Serving) -> None:
        headers = [("Host", server.url[7:]), ("Authorization", f"Bearer {server.token}")]
        path = f"/ws/conversations/{await server.begin()}?{query}"
        frames, closed, _ = await upgrade(server.url, path, headers)
        assert [each["payload"]["code"] for each in frames] == [code]
        assert closed == close

    play(tmp_path, scene, **settings)


@pytest.mark.parametrize("path", ["/ws/conversations/missing", "/ws/elsewhere", "/ws/rpc/more"])
def test_a_socket_for_an_unknown_address_is_refused(tmp_path: Path, path: str) -> None:
    async def scene(server: Serving) -> None:
        headers = [("Host", server.url[7:]), ("Authorization", f"Bearer {server.token}")]
        frames, closed, _ = await upgrade(server.url, f"{path}?protocol=v2", headers)
        assert frames[0]["payload"]["code"] == "CONVERSATION_NOT_FOUND"
        assert closed == 4504

    play(tmp_path, scene)


@pytest.mark.parametrize("how", ["archived", "deleted"])
def test_a_conversation_that_is_closed_under_its_clients(tmp_path: Path, how: str) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin(delay=0.01)
        client = await server.client(name).come()
        await client.say("long", "m-1")
        await client.until("assistant.chunk")
        async with server.http() as http:
            if how == "archived":
                answer = await http.patch(f"/api/conversations/{name}", json={"archived": True})
                assert answer.json()["status"]["running"] is False
            else:
                assert (await http.delete(f"/api/conversations/{name}")).status_code == 204
            assert await client.until_closed() == 4504
            assert client.frames[-1]["payload"]["code"] == "CONVERSATION_CLOSED"
            client.check()
            again = server.client(name)
            await again.come(until_ready=False)
            assert await again.until_closed() == 4504
            expected = "CONVERSATION_CLOSED" if how == "archived" else "CONVERSATION_NOT_FOUND"
            assert again.frames[-1]["payload"]["code"] == expected
            if how == "archived":
                await http.patch(f"/api/conversations/{name}", json={"archived": False})
                async with server.client(name) as back:
                    end = back.view().turns[0].end
                    assert end.interrupted
                    assert end.error == TurnError("archived", "The conversation was archived.")

    play(tmp_path, scene)


# --- the server and the agent --------------------------------------------------------------------


def test_an_agent_that_is_away(tmp_path: Path) -> None:
    agent = Away()

    async def scene(server: Serving) -> None:
        async with server.client(await server.begin()) as client:
            agent.away = True
            await client.say("hello", "m-1")
            error = (await client.answer("m-1"))["payload"]
            assert error["code"] == "AGENT_UNAVAILABLE"
            assert error["message"] == "It has gone fishing. Wait for it."
            agent.away = False
            await client.say("hello", "m-1")
            assert (await client.answer("m-1"))["payload"]["turn_id"] == 1
            await client.end_of(1)

    play(tmp_path, scene, agents={"demo": agent})


def test_a_broken_agent_is_reported_and_the_connection_goes_on(tmp_path: Path) -> None:
    agent = Broken()

    async def scene(server: Serving) -> None:
        async with server.client(await server.begin()) as client:
            agent.broken = True
            await refused(client, "user.message", "AGENT_ERROR", "m-1", content="hello")
            agent.broken = False
            await client.say("hello", "m-1")
            assert (await client.answer("m-1"))["payload"]["turn_id"] == 1
            await client.end_of(1)

    play(tmp_path, scene, agents={"demo": agent})


def test_a_conversation_that_another_process_works_on(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin()
        store, now = server.service.store, server.service.engine.clock.now()
        claim = await store.claim(name, "elsewhere:1:a", now=now, lease=60_000)
        async with server.client(name) as client:
            await client.say("hello", "m-1")
            error = (await client.answer("m-1"))["payload"]
            assert error["code"] == "STORAGE_UNAVAILABLE"
            assert "Another server runs this conversation" in error["message"]
            await store.release(claim)
            await client.say("hello", "m-1")
            await client.end_of(1)

    play(tmp_path, scene)


def test_another_model_and_another_mode_are_chosen(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.client(await server.begin()) as client:
            await client.send("session.set_model", "s-1", model="m-1")
            first = await client.answer("s-1")
            assert (first["type"], first["payload"]["model"]) == ("session.set_model.ack", "m-1")
            told = await client.until("session.state")
            assert told["payload"]["model"] == "m-1"
            await client.send("session.set_model", "s-1", model="m-1")
            again = (await client.answer("s-1"))["payload"]
            assert again == {**first["payload"], "duplicate": True}
            await client.send("session.set_model", "s-2", model=None)
            assert "model" not in (await client.answer("s-2"))["payload"]
            told = await client.until("session.state")
            assert told["payload"]["model"] == "default"
            await client.send("session.set_permission_mode", "s-3", mode="plan")
            ack = await client.answer("s-3")
            assert ack["type"] == "session.set_permission_mode.ack"
            assert ack["payload"]["mode"] == "plan"
            told = await client.until("session.state")
            assert told["payload"]["permission_mode"] == "plan"
            await refused(client, "session.set_permission_mode", "INVALID_PAYLOAD", mode="wild")
            await refused(client, "session.set_model", "INVALID_PAYLOAD", model="")

    play(tmp_path, scene, agents={"demo": Able()})


def test_a_rewind_that_cannot_be_done_is_refused(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.client(await server.begin()) as client:
            await refused(client, "user.rewind", "INVALID_PAYLOAD", message_sequence=1)
            await client.say("hello", "m-1")
            await client.end_of(1)
            await refused(client, "user.rewind", "NOT_SUPPORTED", message_sequence=1)

    play(tmp_path, scene, agents={"demo": Able()})


# --- how large ------------------------------------------------------------------------------------


def test_an_accepted_message_comes_back_in_a_frame_of_about_the_same_size(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        own_id = "ü" * 200
        empty = {"type": "user.message", "client_message_id": own_id, "payload": {"content": ""}}
        most = server.service.settings.max_frame_bytes
        left = most - len(msgspec.json.encode(empty))
        name = await server.begin()
        async with server.client(name) as client:
            await refused(
                client, "user.message", "PAYLOAD_TOO_LARGE", own_id, content="x" * (left + 1)
            )
            await client.say("x" * left, own_id)
            await client.end_of(1)
            await client.state("active")
        async with server.client(name) as again:
            said = next(each for each in again.frames if each["type"] == "message.replay")
        for frame in (*client.frames, said):
            assert len(msgspec.json.encode(frame)) <= most + 4096, frame["type"]

    play(tmp_path, scene)


def test_an_id_that_is_too_long_is_refused_and_not_sent_back(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.client(await server.begin()) as client:
            for kind, payload in (
                ("user.message", {"content": "hello"}),
                ("session.heartbeat", {}),
                ("user.message", {"content": 1}),
                ("nonsense", {}),
            ):
                frame = {"type": kind, "client_message_id": "x" * 201, "payload": payload}
                await client.send_raw(msgspec.json.encode(frame).decode())
                error = (await client.until("session.error"))["payload"]
                assert error["code"] in ("INVALID_PAYLOAD", "UNKNOWN_MESSAGE_TYPE")
                assert error.get("client_message_id") is None
            await client.say("a question", "x" * 200)
            asked = await client.until("assistant.request_input")
            address = f"/api/inbox/{asked['payload']['inbox_item_id']}/answer"
            async with server.http() as http:
                for size, status in ((201, 400), (200, 200)):
                    body = {"answer": "blue", "client_message_id": "y" * size}
                    assert (await http.post(address, json=body)).status_code == status
            await client.end_of(1)

    play(tmp_path, scene)
