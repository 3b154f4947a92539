"""Shares: the limits of one user over all connections, by bytes and by time."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosedError

from tests.server.helpers.frame_checks import Able, play
from tests.server.helpers.servers import Serving
from tests.server.helpers.socket_reader import PATIENCE
from turnwire.agents.demo import DemoAgent
from turnwire.agents.demo.agent import DemoSession
from turnwire.core import controls as c
from turnwire.core.error_codes import Refused
from turnwire.ports import AgentCapabilities, AgentsBusy, SessionStart, Store
from turnwire.server.access.keys import Who
from turnwire.server.access.limits import Bucket
from turnwire.server.access.shares import Share, Shares
from turnwire.settings import Settings

STREAMS = 12


async def told(lines: AsyncIterator[str]) -> Any:
    """The next event of a stream of changes."""
    async for line in lines:
        if line.startswith("data: "):
            return json.loads(line.removeprefix("data: "))["conversations"]
    raise AssertionError("the stream has ended")


def why(answer: httpx.Response) -> str:
    """The message of a refusal."""
    assert answer.status_code == 429, answer.text
    assert answer.json()["error"]["code"] == "RATE_LIMITED"
    assert int(answer.headers["retry-after"]) > 0
    return str(answer.json()["error"]["message"])


# --- streams of changes ---------------------------------------------------------------------------


def test_a_change_costs_listeners_no_read_of_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(server: Serving) -> None:
        anns, bobs = await server.begin("ann"), await server.begin("bob")
        token = await server.token_of("bob")
        reads = Counter[str]()
        kind: Any = type(server.service.store)
        real = kind.conversation

        async def conversation(self: Store, conversation_id: str) -> Any:
            reads["all"] += 1
            return await real(self, conversation_id)

        monkeypatch.setattr(kind, "conversation", conversation)
        async with server.http() as owner, server.http(token) as bob, AsyncExitStack() as open_:

            async def change(title: str) -> int:
                before = reads["all"]
                for name in (anns, bobs):
                    await owner.patch(f"/api/conversations/{name}", json={"title": title})
                return reads["all"] - before

            await change("first")
            alone = await change("second")
            streams = []
            for _ in range(STREAMS):
                stream = await open_.enter_async_context(bob.stream("GET", "/api/changes"))
                streams.append(stream.aiter_lines())
            for lines in streams:
                assert await told(lines) is None
            before = reads["all"]
            await change("third")
            for lines in streams:
                assert await told(lines) == [bobs], "ann's is none of theirs"
            assert reads["all"] - before == alone

    play(tmp_path, scene)


def test_a_user_has_so_many_streams_of_changes(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        token = await server.token_of("ann")
        async with server.http(token) as ann, server.http() as owner:
            async with ann.stream("GET", "/api/changes"), ann.stream("GET", "/api/changes"):
                assert "2 streams of changes" in why(await ann.get("/api/changes"))
                for _ in range(3):
                    async with owner.stream("GET", "/api/changes") as stream:
                        assert stream.status_code == 200, "the owner has no such limit"
            share = server.service.shares.of(Who("ann", ""))
            async with asyncio.timeout(PATIENCE):
                while share._streams:  # noqa: ASYNC110  # no event announces the end of a stream
                    await asyncio.sleep(0.01)
            async with ann.stream("GET", "/api/changes") as stream:
                assert stream.status_code == 200, "who closes one may have another"

    play(tmp_path, scene, max_streams_per_user=2)


# --- frames, bytes and time -----------------------------------------------------------------------


def test_all_connections_of_a_user_have_one_bucket_of_frames(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        token = await server.token_of("ann")
        name, owners = await server.begin("ann"), await server.begin()
        async with server.client(name, token) as one, server.client(name, token) as two:
            for number, client in enumerate((one, two, one, two)):
                await client.send("session.heartbeat", f"h-{number}")
                answer = await client.answer(f"h-{number}")
                assert answer["type"] == "session.heartbeat_ack"
            for number, client in enumerate((one, two)):
                await client.send("session.heartbeat", f"x-{number}")
                answer = await client.answer(f"x-{number}")
                assert answer["payload"]["code"] == "RATE_LIMITED"
        async with server.client(owners) as one, server.client(owners) as two:
            for number, client in enumerate((one, two) * 4):
                await client.send("session.heartbeat", f"o-{number}")
                answer = await client.answer(f"o-{number}")
                assert answer["type"] == "session.heartbeat_ack", "the owner has one for each"

    play(tmp_path, scene, frames_at_once=4, frames_per_second=0)


def test_the_bytes_that_a_user_sends_are_counted_over_all_connections(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        token = await server.token_of("ann")
        names = [await server.begin("ann") for _ in range(2)]
        async with server.client(names[0], token) as one, server.client(names[1], token) as two:
            for own_id, client in (("m-1", one), ("m-2", two)):
                await client.say("x" * 60_000, own_id)
                assert (await client.answer(own_id))["type"] == "user.message.ack"
            await one.say("y", "m-3")
            error = (await one.answer("m-3"))["payload"]
            assert error["code"] == "RATE_LIMITED"
            assert "bytes_per_second" in error["message"]
            assert error["data"]["retry_after"] > 0
        async with server.http(token) as ann, server.http() as owner:
            assert "bytes_per_second" in why(await ann.get("/api/agents"))
            with pytest.raises(ConnectionClosedError, match="4003"):
                await server.client(names[0], token).come()
            for _ in range(3):
                made = await owner.post("/api/blobs", content=b"z" * 60_000, headers=PNG)
                assert made.status_code == 201, "the owner has no such limit"

    play(tmp_path, scene, bytes_at_once=100_000, bytes_per_second=1)


PNG = {"content-type": "image/png"}


def test_a_body_is_counted_piece_by_piece(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        token = await server.token_of("ann")

        async with server.http(token) as ann:
            refused = await ann.post("/api/blobs", content=bytes(2_000_000), headers=PNG)
            assert "bytes_per_second" in why(refused), "before its end"
            assert (await server.service.store.stored("ann")).bytes == 0

    play(tmp_path, scene, bytes_at_once=100_000, bytes_per_second=1)


def test_the_requests_of_a_user_are_counted_by_the_time_they_take(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        token = await server.token_of("ann")
        name = await server.begin("ann")
        async with server.client(name, token) as early, server.http(token) as ann:
            answer = await ann.get("/api/agents")
            for _ in range(190):
                if answer.status_code != 200:
                    break
                answer = await ann.get("/api/agents")
            assert "work_per_second" in why(answer)
            await early.send("session.heartbeat", "h-1")
            error = (await early.answer("h-1"))["payload"]
            assert error["code"] == "RATE_LIMITED", "frames and requests are paid from one purse"
        async with server.http() as owner:
            for _ in range(20):
                assert (await owner.get("/api/agents")).status_code == 200

    play(tmp_path, scene, work_at_once=0.002, work_per_second=0)


def test_only_the_work_of_the_loop_is_counted_and_not_the_wait() -> None:
    async def busy(until: asyncio.Event) -> str:
        await until.wait()  # other tasks run meanwhile
        sum(range(300_000))
        return "done"

    async def scene() -> None:
        share = Share(Settings(work_at_once=10.0, work_per_second=0.001), is_owner=False)
        until = asyncio.Event()
        one = asyncio.create_task(share.timed(busy(until)))
        await asyncio.sleep(0)
        sum(range(3_000_000))
        until.set()
        assert await one == "done"
        spent = 10.0 - share._work._left
        other = Share(Settings(work_at_once=10.0, work_per_second=0.001), is_owner=False)
        until.set()

        async def longer() -> None:
            sum(range(3_000_000))

        await other.timed(longer())
        assert 0 < spent < (10.0 - other._work._left) / 2

    asyncio.run(scene())


def test_a_timed_task_is_cancelled_and_raises_like_any_other() -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise Refused("FORBIDDEN")

    async def scene() -> None:
        share = Share(Settings(), is_owner=False)
        with pytest.raises(Refused):
            await share.timed(fails())
        ended = asyncio.Event()

        async def waits() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        task = asyncio.create_task(share.timed(waits()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()

    asyncio.run(scene())


def test_a_debt_is_paid_off_in_time_and_is_bounded() -> None:
    bucket = Bucket(10.0, 100)
    assert bucket.wait(0.0) == 0
    bucket.charge(0.0, 99)
    assert bucket.wait(0.0) == 0
    bucket.charge(0.0, 11)
    assert bucket.wait(0.0) == pytest.approx(1.0)
    assert bucket.wait(0.5) == pytest.approx(0.5)
    assert bucket.wait(1.1) == 0
    bucket.charge(1.1, 10_000)
    assert bucket.wait(1.1) == pytest.approx(10.0)
    assert Bucket(0.0, 1).take(0.0) == 0


def test_the_share_of_a_user_is_forgotten_only_when_idle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("turnwire.server.access.shares._KEPT", 3)

    async def scene() -> None:
        shares = Shares(Settings())
        ann = shares.of(Who("ann", ""))
        with ann.held():
            for number in range(10):
                shares.of(Who(f"user-{number}", ""))
            assert shares.of(Who("ann", "another token")) is ann
            assert len(shares._shares) <= 4
        assert shares.of(Who(None, "")) is not ann

    asyncio.run(scene())


# --- costly requests ------------------------------------------------------------------------------


def test_costly_requests_of_a_user_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(server: Serving) -> None:
        token = await server.token_of("ann")
        name = await server.begin("ann")
        async with server.client(name, token) as client:
            await client.say("hello", "m-1")
            await client.end_of(1)
        under_way, go_on = 0, asyncio.Event()

        async def search(self: Store, *given: Any, **more: Any) -> list[Any]:
            nonlocal under_way
            under_way += 1
            await go_on.wait()
            return []

        monkeypatch.setattr(type(server.service.store), "search", search)
        share = server.service.shares.of(Who("ann", ""))
        async with server.http(token) as ann, server.http() as owner:
            asked = [asyncio.create_task(ann.get("/api/search?q=x")) for _ in range(10)]
            async with asyncio.timeout(PATIENCE):
                while share._waiting < 8:  # noqa: ASYNC110  # no event announces it
                    await asyncio.sleep(0.01)
            assert under_way == 2
            for request in (
                ann.get("/api/search?q=x"),
                ann.get(f"/api/conversations/{name}/export"),
                ann.post(f"/api/conversations/{name}/fork", json={}),
            ):
                assert "2 searches, exports or forks" in why(await request)
            owners = asyncio.create_task(owner.get("/api/search?q=x"))
            async with asyncio.timeout(PATIENCE):
                while under_way < 3:  # noqa: ASYNC110  # the owner does not wait for ann
                    await asyncio.sleep(0.01)
            go_on.set()
            assert {(await each).status_code for each in (*asked, owners)} == {200}
            exported = await ann.get(f"/api/conversations/{name}/export")
            assert len(exported.text.splitlines()) > 2
        assert share.is_at_rest

    play(tmp_path, scene, costly_at_once=2)


# --- stored bytes ---------------------------------------------------------------------------------


def test_pictures_and_text_in_messages_count_as_stored_bytes(tmp_path: Path) -> None:
    picture = b64encode(bytes(30_000)).decode()  # 40,000 characters
    image: Any = {"type": "image", "mime_type": "image/png", "data": picture}

    async def scene(server: Serving) -> None:
        token = await server.token_of("ann")
        names = [await server.begin("ann") for _ in range(2)]
        async with server.client(names[0], token) as client, server.http(token) as ann:
            content: Any
            for turn, content in ((1, [image]), (2, "x" * 40_000)):
                await client.send("user.message", f"m-{turn}", content=content)
                await client.end_of(turn)
            assert (await server.service.store.stored("ann")).bytes > 80_000
            for number, content in enumerate(([image], "x" * 40_000)):
                await client.send("user.message", f"x-{number}", content=content)
                error = (await client.answer(f"x-{number}"))["payload"]
                assert error["code"] == "PAYLOAD_TOO_LARGE"
                assert "of 100,000 bytes" in error["message"]
                assert "Delete conversations" in error["message"]
            refused = await ann.post("/api/blobs", content=bytes(40_000), headers=PNG)
            assert refused.status_code == 413
        async with server.client(names[0]) as client:
            await client.send("user.message", "o-1", content=[image])
            assert (await client.answer("o-1"))["type"] == "user.message.ack", (
                "the owner has no limit"
            )
            await client.end_of(3)
        async with server.http() as owner:
            await owner.delete(f"/api/conversations/{names[0]}")
        async with server.client(names[1], token) as client:
            await client.send("user.message", "m-3", content=[image])
            assert (await client.answer("m-3"))["type"] == "user.message.ack", "there is room again"
            await client.end_of(1)

    agents = {"demo": Seeing(delay=0)}
    play(tmp_path, scene, max_user_blob_bytes=100_000, agents=agents)


class Seeing(DemoAgent):
    capabilities = AgentCapabilities(images=True, questions_survive=True)


def test_a_user_has_so_many_conversations(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        token = await server.token_of("ann")
        async with server.http(token) as ann, server.http() as owner:
            made = [await ann.post("/api/conversations", json={}) for _ in range(3)]
            assert [each.status_code for each in made] == [201, 201, 413]
            assert "2 conversations" in made[2].json()["error"]["message"]
            first = made[0].json()["id"]
            forked = await ann.post(f"/api/conversations/{first}/fork", json={})
            assert forked.status_code == 413
            assert (await ann.delete(f"/api/conversations/{first}")).status_code == 204
            assert (await ann.post("/api/conversations", json={})).status_code == 201
            for _ in range(3):
                assert (await owner.post("/api/conversations", json={})).status_code == 201

    play(tmp_path, scene, max_conversations_per_user=2)


def test_a_token_has_so_many_tickets(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        token = await server.token_of("ann")
        async with server.http(token) as ann:
            for _ in range(100):
                assert (await ann.post("/api/tickets")).status_code == 201
            assert "100 tickets are open" in why(await ann.post("/api/tickets"))

    play(tmp_path, scene)


# --- agents ---------------------------------------------------------------------------------------


class Counted(DemoAgent):
    """Counts its sessions, and lists models."""

    capabilities = AgentCapabilities(
        commands=[*Able.capabilities.commands, "session.control"],
        controls=["models", "mcp_status"],
        questions_survive=True,
    )

    def __init__(self, most: int = 1000) -> None:
        super().__init__(delay=0)
        self.most = most
        self.running: set[DemoSession] = set()
        self.opened = 0
        self.asked = 0

    async def open(self, start: SessionStart) -> DemoSession:
        self.running = {each for each in self.running if not each._is_over}
        if len(self.running) >= self.most:
            raise AgentsBusy("No more may run.")
        session = await super().open(start)
        session.control = self.control  # type: ignore[method-assign]
        self.running.add(session)
        self.opened += 1
        return session

    async def control(self, control: c.Control) -> c.ControlResult:
        self.asked += 1
        if isinstance(control, c.McpStatus):
            return c.McpServers([])
        return c.Models([c.Model("m-1", "The first")])


async def all_of(*requests: Coroutine[Any, Any, httpx.Response]) -> list[int]:
    return [answer.status_code for answer in await asyncio.gather(*requests)]


def test_many_requests_for_the_models_open_one_agent(tmp_path: Path) -> None:
    agent = Counted()

    async def scene(server: Serving) -> None:
        token = await server.token_of("ann")
        names = [await server.begin("ann") for _ in range(5)]
        async with server.http(token) as ann:
            asked = [ann.get(f"/api/conversations/{name}/models") for name in names * 2]
            assert await all_of(*asked) == [200] * 10
            assert (agent.opened, agent.asked) == (1, 1)
            again = await ann.get(f"/api/conversations/{names[-1]}/models")
            assert again.json()["models"][0]["name"] == "The first"
            assert (agent.opened, agent.asked) == (1, 1)
        async with server.http() as owner:
            bobs = await server.begin("bob")
            assert (await owner.get(f"/api/conversations/{bobs}/models")).status_code == 200
            assert agent.asked == 2, "another user's answer is another"

    play(tmp_path, scene, agents={"demo": agent})


def test_idle_agents_of_a_user_make_room_for_those_that_are_needed(tmp_path: Path) -> None:
    agent = Counted()

    async def scene(server: Serving) -> None:
        token = await server.token_of("ann")
        names = [await server.begin("ann") for _ in range(5)]
        async with server.http(token) as ann:
            for name in names:
                answer = await ann.get(f"/api/conversations/{name}/mcp")
                assert answer.status_code == 200, answer.text
                assert len([each for each in agent.running if not each._is_over]) <= 2
            assert agent.opened == 5

    play(tmp_path, scene, agents={"demo": agent}, max_agents_per_user=2)


def test_a_user_has_so_many_agents_at_work(tmp_path: Path) -> None:
    agent = Counted()

    async def scene(server: Serving) -> None:
        token = await server.token_of("ann")
        names = [await server.begin("ann") for _ in range(3)]
        async with AsyncExitStack() as open_:
            clients = [
                await open_.enter_async_context(server.client(name, token)) for name in names
            ]
            for client in clients[:2]:
                await client.say("ask me", "m-1")  # and waits for the answer
                await client.state("waiting_input")
            await clients[2].say("hello", "m-1")
            end = await clients[2].end_of(1)
            assert "2 agents of this user are at work" in end["payload"]["error"]["message"]
            owners = await server.begin()
            async with server.client(owners) as owner:
                await owner.say("hello", "m-1")
                assert not (await owner.end_of(1))["payload"]["is_error"]

    play(tmp_path, scene, agents={"demo": agent}, max_agents_per_user=2)


def test_an_idle_agent_of_another_user_is_closed_at_the_limit(tmp_path: Path) -> None:
    agent = Counted(most=3)

    async def scene(server: Serving) -> None:
        token = await server.token_of("ann")
        names = [await server.begin("ann") for _ in range(3)]
        async with server.http(token) as ann:
            for name in names:
                assert (await ann.get(f"/api/conversations/{name}/mcp")).status_code == 200
        assert len(agent.running) == 3
        async with server.client(await server.begin()) as owner:
            await owner.say("hello", "m-1")
            assert not (await owner.end_of(1))["payload"]["is_error"]

    play(tmp_path, scene, agents={"demo": agent})
