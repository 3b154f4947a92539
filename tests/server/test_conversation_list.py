"""The list of conversations: its order, pins, labels and the archive."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx

from tests.server.helpers.frame_checks import play
from tests.server.helpers.servers import Process, Serving, process, serving
from tests.server.helpers.v2_client import Client
from turnwire.stores.sqlite import SqliteStore


async def listed(http: httpx.AsyncClient) -> list[tuple[str, str]]:
    rows = (await http.get("/api/conversations")).json()["conversations"]
    return [(row["id"], row["updated_at"]) for row in rows]


async def speaking(server: Process) -> Client:
    """A client in a new conversation whose agent writes a long answer."""
    async with server.http() as http:
        begun = await http.post("/api/conversations", json={"options": {"delay": 0.3}})
    client = await server.client(begun.json()["id"]).come()
    await client.say("long", "m-1")
    await client.until("assistant.chunk")
    return client


async def until_idle(server: Serving) -> None:
    """Waits until all agents are closed and all writes are done."""
    async with asyncio.timeout(120):
        while server.service.engine.alive:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


# --- recency ----------------------------------------------------------------------------------


def test_an_idle_agent_that_closes_leaves_the_list_as_it_is(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.http() as http:
            for words in ("background", "hello"):
                async with server.client(await server.begin()) as client:
                    await client.say(words, "m-1")
                    await client.end_of(1)
            before = await listed(http)
            await until_idle(server)
            assert await listed(http) == before

    play(tmp_path, scene, agent_idle=1.0)


def test_a_new_title_moves_a_conversation_up_and_archiving_does_not(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.http() as http:
            older, newer = await server.begin(), await server.begin()
            before = await listed(http)
            address = f"/api/conversations/{older}"
            await http.patch(address, json={"archived": True})
            await http.patch(address, json={"archived": False})
            assert await listed(http) == before
            await http.patch(address, json={"title": "Plans"})
            assert [name for name, _ in await listed(http)] == [older, newer]

    play(tmp_path, scene)


def test_a_server_that_starts_again_leaves_the_list_as_it_was(tmp_path: Path) -> None:
    async def talk(server: Process) -> tuple[str, list[tuple[str, str]]]:
        client = await speaking(server)
        async with server.client(await server.begin()) as other:
            await other.say("hello", "m-1")
            await other.end_of(1)
        async with server.http() as http:
            before = await listed(http)
        server.kill()
        client.drop()
        return client.conversation_id, before

    with process(tmp_path) as server:
        name, before = asyncio.run(talk(server))

    async def look() -> None:
        async with serving(tmp_path) as again, again.http() as http:
            await until_idle(again)
            (turn,) = await again.service.store.turns(name)
            assert turn.end.error is not None
            assert turn.end.error.code == "server_restart"
            assert [each for each, _ in before][1] == name
            assert await listed(http) == before

    asyncio.run(look())


# --- the archive ------------------------------------------------------------------------------


def test_no_turn_begins_in_an_archived_conversation_after_a_restart(tmp_path: Path) -> None:
    begun: list[str] = []

    async def archive(server: Serving) -> None:
        name = await server.begin(delay=0.02)
        begun.append(name)
        client = await server.client(name).come()
        await client.say("long", "m-1")
        await client.until("assistant.chunk")
        await client.say("queued", "m-2")
        await client.answer("m-2")
        async with server.http() as http:
            await http.patch(f"/api/conversations/{name}", json={"archived": True})
        assert await client.until_closed() == 4504

    async def look(server: Serving) -> None:
        (name,) = begun
        await until_idle(server)
        async with server.http() as http:
            address = f"/api/conversations/{name}"
            # A title can be given to it all the same, and then it is in use for a moment.
            assert (await http.patch(address, json={"title": "Kept"})).json()["title"] == "Kept"
            await until_idle(server)
            status = (await http.get(address)).json()["status"]
            assert len(await server.service.store.turns(name)) == 1
            assert not status["running"]
            assert [each["client_message_id"] for each in status["queue"]] == ["m-2"]
            back = (await http.patch(address, json={"archived": False})).json()["status"]
            assert back["queue_held"], "nor does it when it is taken back"
        async with server.client(name) as client:
            await client.send("user.queue", "m-3", action="resume")
            await client.end_of(2)

    play(tmp_path, archive)
    play(tmp_path, look)


def test_a_server_that_died_before_it_knew_of_the_archive_begins_nothing_either(
    tmp_path: Path,
) -> None:
    async def talk(server: Process) -> str:
        client = await speaking(server)
        await client.say("queued", "m-2")
        await client.answer("m-2")
        server.kill()
        client.drop()
        return client.conversation_id

    with process(tmp_path) as server:
        name = asyncio.run(talk(server))

    async def look() -> None:
        async with serving(tmp_path) as again, again.http() as http:
            await until_idle(again)
            address = f"/api/conversations/{name}"
            found = (await http.get(address)).json()
            assert found["archived"]
            assert len(await again.service.store.turns(name)) == 1
            assert not found["status"]["running"]
            assert [each["client_message_id"] for each in found["status"]["queue"]] == ["m-2"]

    asyncio.run(_archive_on_disk(tmp_path, name))
    asyncio.run(look())


async def _archive_on_disk(path: Path, name: str) -> None:
    store = await SqliteStore.open(path / "turnwire.db")
    try:
        await store.change(name, archived=True)
    finally:
        await store.close()


# --- pins and labels --------------------------------------------------------------------------


def test_pins_and_labels_are_set_listed_told_and_taken_away(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.http() as http:
            first, second = await server.begin(), await server.begin()
            before = await listed(http)
            address = f"/api/conversations/{first}"

            async def ids(query: str) -> list[str]:
                rows = (await http.get(f"/api/conversations?{query}")).json()["conversations"]
                return [row["id"] for row in rows]

            async with http.stream("GET", "/api/changes") as changes:
                lines = changes.aiter_lines()
                sent = {"pinned": True, "labels": [" work ", "to do", "work"]}
                said = (await http.patch(address, json=sent)).json()
                assert (said["pinned"], said["labels"]) == (True, ["work", "to do"])
                async for line in lines:
                    if line.startswith("data:") and first in line:
                        break
            assert await listed(http) == before  # the order is that of the news
            assert await ids("pinned=true") == await ids("label=to%20do") == [first]
            assert await ids("agent=demo") == [second, first]
            assert await ids("agent=none") == await ids("label=other") == []
            fork = (await http.post(f"{address}/fork", json={"at_sequence": 0})).json()
            assert "pinned" not in fork
            assert "labels" not in fork
            said = (await http.patch(address, json={"pinned": False, "labels": []})).json()
            assert "pinned" not in said
            assert "labels" not in said

    play(tmp_path, scene)


def test_labels_that_people_cannot_read_are_refused(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.http() as http:
            address = f"/api/conversations/{await server.begin()}"
            many = [str(number) for number in range(11)]
            for labels in (["  "], ["x" * 41], ["a\nb"], ["\u202e"], many, "work", [1]):
                refused = await http.patch(address, json={"title": "New", "labels": labels})
                assert refused.status_code == 400, labels
            row = (await http.get(address)).json()
            assert "labels" not in row
            assert "title" not in row  # if one field is refused, nothing changes

    play(tmp_path, scene)


# --- what goes on -----------------------------------------------------------------------------


def test_the_list_is_limited_to_what_goes_on(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.http() as http:
            quiet, asking, failed = [await server.begin() for _ in range(3)]

            async def ids(activity: str) -> list[str]:
                found = await http.get(f"/api/conversations?limit=2&activity={activity}")
                return [row["id"] for row in found.json()["conversations"]]

            async with server.client(asking) as client:
                await client.say("ask me", "m-1")
                await client.until("assistant.request_input")
                assert await ids("waiting_input") == [asking]
            async with server.client(failed) as client:
                await client.say("fail", "m-1")
                await client.end_of(1)
                assert await ids("error") == [failed]
            assert await ids("idle") == [quiet]
            assert await ids("working") == await ids("interrupted") == []
            refused = await http.get("/api/conversations?activity=busy")
            assert refused.status_code == 400
            assert "waiting_input, working, idle" in refused.text

    play(tmp_path, scene)
