"""The Python client against real servers, which are killed meanwhile."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve

from tests.server.helpers.servers import ROOT, Serving, process, serving
from tests.server.helpers.v2_client import PATIENCE
from turnwire.client import Client, ClientConversation, Closed, Unreachable
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.errors import TurnwireError
from turnwire.server.sockets.hub import _RETRY_AFTER


async def frames_of(talk: ClientConversation, kind: type[f.Frame]) -> AsyncIterator[f.Frame]:
    async with asyncio.timeout(PATIENCE):
        async for frame in talk:
            if isinstance(frame, kind):
                yield frame


async def until(talk: ClientConversation, kind: type[f.Frame]) -> f.Frame:
    return await anext(frames_of(talk, kind))


def client_of(server: Serving) -> Client:
    return Client(server.url, server.token)


def test_a_client_sends_a_message_and_answers_a_question(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server:
            client = client_of(server)
            name = await client.create("demo", title="Plans", options={"delay": 0})
            async with client.conversation(name) as talk:
                ack = await talk.send("a question and a permission")
                assert ack.turn_id == 1
                asked = await until(talk, f.AssistantRequestInput)
                assert isinstance(asked, f.AssistantRequestInput)
                with pytest.raises(Refused) as refused:
                    await talk.answer("another", "Blue")
                assert refused.value.code == "INVALID_QUESTION_ID"
                await talk.answer(asked.payload.question_id, "Blue")
                wanted = await until(talk, f.AssistantPermissionRequest)
                assert isinstance(wanted, f.AssistantPermissionRequest)
                await talk.decide(wanted.payload.request_id, "allow")
                await until(talk, f.AssistantComplete)
                with pytest.raises(Refused) as refused:
                    await talk.change_queue("remove", "none")
                assert refused.value.code == "QUEUE_ITEM_NOT_FOUND"
                again = await talk.interrupt(1)
                assert again.outcome == "already_ended"
                assert [turn.turn_id for turn in talk.view().turns] == [1]
            shown = await client.request("GET", f"/api/conversations/{name}")
            assert shown["title"] == "Plans"

    asyncio.run(run())


def test_a_conversation_may_be_closed_without_a_block(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server:
            client = client_of(server)
            first, second = [
                client.conversation(await client.create("demo", options={"delay": 0}))
                for _ in range(2)
            ]
            first.open()
            second.open()
            await first.send("hello")
            await first.close()
            await first.close()
            with pytest.raises(TurnwireError, match="You have left"):
                await first.send("hello")
            await second.send("hello")
            await client.close()
            with pytest.raises(TurnwireError, match="You have left"):
                await second.send("hello")
            third = client.conversation("none")
            await third.close()
            with pytest.raises(TurnwireError, match="closed"):
                third.open()

    asyncio.run(run())


def test_a_client_may_be_used_as_a_block(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server, client_of(server) as client:
            talk = client.conversation(await client.create("demo"))
            talk.open()
            await talk.connected.wait()
        with pytest.raises(TurnwireError, match="You have left"):
            await talk.send("hello")

    asyncio.run(run())


def test_a_conversation_says_which_turn_runs_and_that_one_is_stopped(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server, client_of(server) as client:
            talk = client.conversation(await client.create("demo"))
            assert talk.status is None
            async with talk, asyncio.timeout(PATIENCE):
                reply = await talk.ask("ask me a question")
                assert talk.status is not None
                assert talk.status.state == "waiting_input"
                assert talk.status.requests == reply.requests
                assert talk.status.turn_id == reply.turn_id
                await talk.interrupt(talk.status.turn_id)
                assert (await talk.wait(reply)).was_interrupted

    asyncio.run(run())


def test_a_frame_names_its_type(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server:
            client = client_of(server)
            name = await client.create("demo", options={"delay": 0})
            async with client.conversation(name) as talk, asyncio.timeout(PATIENCE):
                await talk.send("hello")
                types = []
                async for frame in talk:
                    types.append(frame.type)
                    if frame.type == "assistant.complete":
                        break
            assert "turn.started" in types
            assert "assistant.chunk" in types

    asyncio.run(run())


def test_a_frame_that_is_not_known_names_the_type_that_it_came_with() -> None:
    assert f.UnknownFrame("session.brand_new", {}).type == "session.brand_new"


def test_an_entry_of_a_kind_that_is_not_known_is_not_missing(tmp_path: Path) -> None:
    """A newer server may write unknown entries. They count in the log."""
    lines = 0

    async def run() -> None:
        async with serving(tmp_path) as server:
            client = client_of(server)
            name = await client.create("demo", options={"delay": 0})

            async def pass_on(near: ServerConnection) -> None:
                nonlocal lines
                lines += 1
                assert near.request is not None
                address = f"{server.url.replace('http', 'ws', 1)}{near.request.path}"
                bearer = {"Authorization": near.request.headers["Authorization"]}
                async with connect(address, additional_headers=bearer) as far:

                    async def ask() -> None:
                        async for asked in near:
                            await far.send(asked)

                    asking = asyncio.create_task(ask())
                    async for said in far:
                        assert isinstance(said, str)
                        await near.send(said.replace('"user.message"', '"user.brand_new"'))
                    asking.cancel()

            async with serve(pass_on, "127.0.0.1", 0) as newer:
                [listener] = newer.sockets
                there = Client(f"http://127.0.0.1:{listener.getsockname()[1]}", server.token)
                for last in (0, 1):
                    talk = there.conversation(name, last_sequence=last)
                    async with talk, asyncio.timeout(PATIENCE):
                        await talk.send("hello")
                        await until(talk, f.AssistantComplete)
                        row = await server.service.store.conversation(name)
                        assert row is not None
                        assert talk.cursor == row.head
                        assert not talk.view().behind

    asyncio.run(run())
    assert lines == 2, "no line was begun anew"


def test_a_line_that_breaks_again_and_again(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server:
            client = client_of(server)
            name = await client.create(options={"delay": 0.005})
            numbers: list[int] = []
            async with client.conversation(name) as talk:
                await talk.send("think and use a tool")
                breaks = 0
                async with asyncio.timeout(PATIENCE):
                    async for frame in talk:
                        payload = getattr(frame, "payload", None)
                        number = getattr(payload, "message_sequence", None)
                        if number is not None:
                            numbers.append(number)
                            if breaks < 3 and talk._socket is not None:
                                breaks += 1
                                talk._socket.transport.abort()
                        if isinstance(frame, f.AssistantComplete):
                            break
                assert breaks == 3
            assert numbers == list(range(1, len(numbers) + 1)), "no gap, no double"
            async with client.conversation(name) as other:
                await asyncio.wait_for(other.connected.wait(), PATIENCE)
                assert other.view().messages == talk.view().messages

    asyncio.run(run())


def test_a_client_goes_on_after_its_server_was_killed_and_restarted(tmp_path: Path) -> None:
    async def run() -> None:
        with process(tmp_path) as first:
            client = Client(first.url, first.token)
            name = await client.create(options={"delay": 0.003})
            talk = client.conversation(name)
            talk.open()
            await talk.send("long", "m-1")
            await until(talk, f.AssistantChunk)
            await asyncio.to_thread(first.kill)
            waiting = asyncio.create_task(talk.send("hello", "m-2"))
        port = int(first.url.rpartition(":")[2])
        with process(tmp_path, port=port):
            async with asyncio.timeout(PATIENCE):
                ack = await waiting
                assert ack.client_message_id == "m-2"
                while len(talk.view().turns) < 2:
                    await until(talk, f.AssistantComplete)
            ends = [turn.end.interrupted for turn in talk.view().turns]
            assert ends == [True, False]
            said = [m.client_message_id for m in talk.view().messages if m.role == "user"]
            assert said == ["m-1", "m-2"], "each took effect once"
            await talk.__aexit__()

    asyncio.run(run())


def test_a_client_finds_a_server_that_restarts_at_another_address(tmp_path: Path) -> None:
    async def run() -> None:
        place: tuple[str, str] | None = None
        lines: list[str] = []
        with process(tmp_path) as first:
            client = Client(first.url, first.token, find=lambda: place)
            talk = client.conversation(await client.create(options={"delay": 0}))
            talk.on_line = lambda: lines.append(talk.line.state)
            talk.open()
            await talk.send("hello")
            await until(talk, f.AssistantComplete)
            await asyncio.to_thread(first.kill)
        async with asyncio.timeout(PATIENCE):
            while talk.line.state != "offline":
                await asyncio.to_thread(lambda: None)
        assert talk.line.retry_at is not None
        with process(tmp_path) as second:
            assert second.url != first.url
            place = second.url, second.token
            shown = await client.request("GET", "/api/conversations")
            assert len(shown["conversations"]) == 1, "what is asked over HTTP finds it too"
            talk.hurry()
            await asyncio.wait_for(talk.send("hello again"), PATIENCE)
            await until(talk, f.AssistantComplete)
            assert len(talk.view().turns) == 2
            await talk.__aexit__()
        assert lines[:2] == ["catching_up", "live"]
        assert lines[-2:] == ["catching_up", "live"]
        assert "offline" in lines

    asyncio.run(run())


def test_a_client_does_not_reconnect_before_the_time_that_the_server_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("random.uniform", lambda low, high: low)

    async def run() -> None:
        async with serving(tmp_path, max_connections=1) as server:
            client = client_of(server)
            name = await client.create()
            async with client.conversation(name) as first, asyncio.timeout(PATIENCE):
                await first.connected.wait()
                second = client.conversation(name)
                told = asyncio.Event()
                second.on_line = told.set
                began = asyncio.get_running_loop().time()
                async with second:
                    await told.wait()
                    assert second.line.retry_at is not None
                    assert second.line.retry_at - began >= _RETRY_AFTER

    asyncio.run(run())


def test_an_error_that_a_retry_cannot_mend_is_raised(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server:
            client = client_of(server)
            async with client.conversation("missing") as talk:
                with pytest.raises(Closed) as closed:
                    await talk.send("hello")
                assert closed.value.code == "CONVERSATION_NOT_FOUND"
                for _ in range(2):  # a repeated request gets the same error
                    with pytest.raises(Closed):
                        await until(talk, f.SessionState)
                with pytest.raises(Closed):
                    await talk.send("hello")
            with pytest.raises(Refused) as refused:
                await client.request("GET", "/api/conversations/missing")
            assert refused.value.code == "CONVERSATION_NOT_FOUND"
            with pytest.raises(TurnwireError, match="nothing at this address"):
                await client.request("GET", "/nowhere")
            url = server.url
        with pytest.raises(Unreachable, match="cannot be reached") as gone:
            await Client(url, "").request("GET", "/healthz")
        assert (gone.value.code, gone.value.retryable) == ("UNREACHABLE", True)
        assert "turnwire serve" in gone.value.what_to_do

    asyncio.run(run())


def test_a_bad_token_is_refused_with_what_to_do_over_http_and_over_a_socket(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server, asyncio.timeout(PATIENCE):
            name = await client_of(server).create()
            stranger = Client(server.url, "tw_wrong")
            with pytest.raises(Refused) as refused:
                await stranger.create()
            async with stranger.conversation(name) as talk:
                with pytest.raises(Closed) as closed:
                    await talk.send("hello")
            errors: tuple[TurnwireError, ...] = (refused.value, closed.value)
            for error in errors:
                assert error.code == "UNAUTHORIZED"
                assert "turnwire token create" in error.what_to_do
            assert "Authorization: Bearer" in refused.value.what_to_do  # the server's own words

    asyncio.run(run())


def test_the_line_break_at_the_end_of_a_token_is_ignored(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server, asyncio.timeout(PATIENCE):
            client = Client(server.url, f"{server.token}\n")
            async with client.conversation(await client.create(options={"delay": 0})) as talk:
                assert (await talk.ask("hello")).text
            found = Client(server.url, "", find=lambda: (server.url, f" {server.token}\r\n"))
            async with found.conversation(await found.create()) as talk:
                await talk.connected.wait()

    asyncio.run(run())


def test_a_server_without_protocol_v2_is_refused_with_the_setting_that_enables_it(
    tmp_path: Path,
) -> None:
    async def run() -> None:
        async with serving(tmp_path, protocol_v2=None) as server, asyncio.timeout(PATIENCE):
            client = client_of(server)
            async with client.conversation(await client.create()) as talk:
                with pytest.raises(Closed) as closed:
                    await talk.send("hello")
            assert closed.value.code == "CHAT_PROTOCOL_DISABLED"
            assert "Settings(protocol_v2=True)" in closed.value.what_to_do

    asyncio.run(run())


def test_a_client_that_leaves_closes_its_socket(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server:
            client = client_of(server)
            name = await client.create(options={"delay": 0})
            async with client.conversation(name) as talk:
                await talk.send("hello")
            async with client.conversation(name) as talk, asyncio.timeout(PATIENCE):
                await talk.connected.wait()
            told: list[dict[str, Any]] = []
            async with asyncio.timeout(PATIENCE):
                while len(told) < 2:
                    audit = await client.request("GET", "/api/audit", limit=100)
                    told = [row for row in audit["audit"] if row["action"] == "disconnected"]
            assert [row["data"]["code"] for row in told] == [1000, 1000]

    asyncio.run(run())


def test_a_call_whose_answer_cannot_come_raises(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server, asyncio.timeout(PATIENCE):
            client = client_of(server)
            talk = client.conversation(await client.create(options={"delay": 0}))
            with pytest.raises(
                TurnwireError, match="Send commands inside of `async with`, or after `open`"
            ):
                await talk.send("too early")
            async with talk:
                same = [talk.send("hello", "m-1") for _ in range(3)]
                acks = await asyncio.gather(*same)
                assert [ack.duplicate for ack in acks] == [False, True, True]
                assert {ack.turn_id for ack in acks} == {1}
            for late in (talk.send("too late"), until(talk, f.AssistantDiscarded)):
                with pytest.raises(TurnwireError, match="You have left this conversation"):
                    await late
            with pytest.raises(TurnwireError, match="another one"):
                talk.open()

    asyncio.run(run())


def test_a_client_lists_its_conversations_and_answers_its_inbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwire.client.http._PAGE", 2)

    async def run() -> None:
        async with serving(tmp_path) as server, client_of(server) as client:
            quick = {"options": {"delay": 0}}
            made = [await client.create("demo", title=f"Plan {n}", **quick) for n in range(5)]
            assert {each.id async for each in client.conversations()} == {*made}
            assert [each async for each in client.inbox()] == []
            async with client.conversation(made[0]) as talk:
                asked = await talk.ask("a question and a permission")
                (item,) = [each async for each in client.inbox()]
                assert (item.conversation_id, item.title) == (made[0], "Plan 0")
                for _ in range(2):  # a script that is started again answers once
                    await client.answer(item.inbox_item_id, "Blue", client_message_id="once")
                asked = await talk.wait(asked)
                (item,) = [each async for each in client.inbox()]
                assert item.request.kind == "permission"
                await client.decide(item.inbox_item_id, "deny", reason="Not today.")
                reply = await talk.wait(asked)
                assert reply.end is not None
                with pytest.raises(TurnwireError) as late:
                    await client.decide(item.inbox_item_id, "allow")
                assert late.value.what_to_do
            newest = await anext(client.conversations())
            assert (newest.id, newest.status.running) == (made[0], False)
            await client.request("PATCH", f"/api/conversations/{made[1]}", {"archived": True})
            (put_away,) = [each async for each in client.conversations(archived=True)]
            assert (put_away.id, put_away.archived) == (made[1], True)

    asyncio.run(run())


def test_a_client_lists_by_agent_label_and_pin(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server, client_of(server) as client:
            made = [await client.create("demo") for _ in range(3)]
            for name, change in ((made[0], {"labels": ["plants"]}), (made[1], {"pinned": True})):
                await client.request("PATCH", f"/api/conversations/{name}", change)
            (labelled,) = [each async for each in client.conversations(label="plants")]
            assert (labelled.id, labelled.labels, labelled.pinned) == (made[0], ["plants"], False)
            (pinned,) = [each async for each in client.conversations(pinned=True)]
            assert (pinned.id, pinned.labels, pinned.pinned) == (made[1], [], True)
            assert {each.id async for each in client.conversations(agent="demo")} == {*made}
            assert {each.id async for each in client.conversations(activity="idle")} == {*made}
            assert [each async for each in client.conversations(activity="working")] == []
            assert [each async for each in client.conversations(agent="other")] == []

    asyncio.run(run())


def test_a_client_allows_from_the_inbox_with_a_rule_and_another_input(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server, client_of(server) as client:
            name = await client.create("demo", options={"delay": 0})
            async with client.conversation(name) as talk:
                asked = await talk.ask("permission")
                (item,) = [each async for each in client.inbox()]
                rules = item.request.suggestions
                assert rules
                changed = {"command": "echo another-input"}
                await client.decide(
                    item.inbox_item_id, "allow", remember=rules, updated_input=changed
                )
                reply = await talk.wait(asked)
                assert "another-input" in str([tool.result for tool in reply.tools] + [reply.text])
                again = await talk.ask("permission")  # the rule allows it
                assert again.end is not None
                assert [each async for each in client.inbox()] == []

    asyncio.run(run())


def test_a_client_uploads_blobs_and_downloads_exports(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server:
            client = client_of(server)
            blob = await client.upload(b"picture", "image/png")
            assert blob
            with pytest.raises(TurnwireError, match="Content-Type"):
                await client.upload(b"picture", "nonsense")
            name = await client.create(options={"delay": 0})
            async with client.conversation(name) as talk:
                await talk.send("hello")
                await until(talk, f.AssistantComplete)
            assert b'"hello"' in await client.export(name)
            assert b"hello" in await client.export(name, "markdown")
            with pytest.raises(TurnwireError, match="Is a Turnwire server there"):
                await client.request("GET", f"/api/conversations/{name}/export")

    asyncio.run(run())


@pytest.mark.parametrize("url", ["127.0.0.1:7410", "localhost", "ws://x", "http://", "http://x:y"])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(Unreachable, match="Write it like http://127") as wrong:
        Client(url, "tw_1")
    assert not wrong.value.retryable


def test_a_token_with_a_space_in_it_is_refused_at_once() -> None:
    with pytest.raises(Refused, match="as `turnwire token create` printed it") as refused:
        Client("http://127.0.0.1:7410", "tw_1 tw_2")
    assert refused.value.code == "UNAUTHORIZED"


def test_a_defect_of_the_connection_is_raised_in_the_waiting_call(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server, asyncio.timeout(PATIENCE):
            name = await client_of(server).create()
            lost = Client(server.url, server.token, find=lambda: ("nowhere", ""))
            async with lost.conversation(name) as talk:
                for waiting in (talk.send("hello"), until(talk, f.SessionState)):
                    with pytest.raises(TurnwireError, match="not the address of a server"):
                        await waiting
            with pytest.raises(TurnwireError, match="not the address of a server"):
                await lost.request("GET", "/healthz")

    asyncio.run(run())


def test_a_message_of_any_size_above_the_limit_is_refused(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path, max_frame_bytes=10_000) as server:
            client = client_of(server)
            talk = client.conversation(await client.create(options={"delay": 0}))
            early = asyncio.create_task(talk.send("x" * 100_000))
            async with talk, asyncio.timeout(PATIENCE):
                for sending in (early, talk.send("x" * 10_000), talk.send("x" * 100_000)):
                    with pytest.raises(Refused) as refused:
                        await sending
                    assert refused.value.code == "PAYLOAD_TOO_LARGE"
                    assert refused.value.data["max_frame_bytes"] == 10_000
                    assert "10000 bytes (max_frame_bytes)" in refused.value.message
                await talk.send("hello")

    asyncio.run(run())


def test_answers_arrive_even_with_many_unread_frames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwire.client.conversation._WAITING", 3)

    async def run() -> None:
        async with serving(tmp_path) as server, asyncio.timeout(PATIENCE):
            client = client_of(server)
            name = await client.create(options={"delay": 0})
            async with client.conversation(name) as talk:
                await talk.send("think and use a tool")
                await talk.send("a question")
                async for frame in talk:
                    if isinstance(frame, f.AssistantRequestInput):
                        await talk.answer(frame.payload.question_id, "yes")
                    if isinstance(frame, f.AssistantComplete) and frame.turn_id == 2:
                        break
            async with client.conversation(name) as talk:
                await talk.connected.wait()
                assert len(talk.view().turns) == 2
                await talk.interrupt(1)
                await until(talk, f.AssistantRequestInput)

    asyncio.run(run())


def test_a_client_that_does_not_read_causes_backpressure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwire.client.conversation._WAITING", 3)

    async def run() -> None:
        async with serving(tmp_path) as server, asyncio.timeout(PATIENCE):
            client = client_of(server)
            name = await client.create(options={"delay": 0})
            async with client.conversation(name) as idle, client.conversation(name) as talk:
                await idle.connected.wait()
                await talk.send("long")
                await until(talk, f.AssistantComplete)
                assert not idle.view().turns
                await until(idle, f.AssistantComplete)
                assert idle.view().messages == talk.view().messages

    asyncio.run(run())


def test_the_bot_of_the_examples_runs(tmp_path: Path) -> None:
    program = ROOT / "examples" / "bot.py"
    body = program.read_text().split("async def main")[1].split("\n\n")[0].splitlines()[1:]
    assert len(body) <= 10
    with process(tmp_path) as server:
        run = subprocess.run(
            [sys.executable, program, server.url, server.token, "a question"],
            capture_output=True,
            timeout=180,
            check=True,
        )
    assert b"yes" in run.stdout
