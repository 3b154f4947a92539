"""Turns over plain HTTP: as server-sent events, or as one answer."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec
import pytest

from tests.server.helpers.events import Event, events_of
from tests.server.helpers.http_scenes import play
from tests.server.helpers.listening_client import until
from tests.server.helpers.servers import Serving, free_port, process
from tests.server.helpers.socket_reader import PATIENCE
from turnwire.agents.demo import DemoAgent
from turnwire.core.pieces import LARGE
from turnwire.core.view import View
from turnwire.dialects.v2 import codec
from turnwire.dialects.v2.view_reducer import ViewReducer

Frame = dict[str, Any]


def turns(name: str, key: str | None = None) -> str:
    return f"/api/conversations/{name}/turns" + (f"?key={key}" if key else "")


def key(name: str, **more: str) -> dict[str, str]:
    return {"Idempotency-Key": name, **more}


def view_of(frames: list[Frame]) -> View:
    """Returns what the frames of several connections show."""
    reducer = ViewReducer()
    for frame in frames:
        reducer.apply(codec.decode(msgspec.json.encode(frame)))
    return reducer.view()


def numbers(events: list[Event]) -> list[int]:
    return [int(own_id) for own_id, _ in events if own_id is not None and own_id.isdecimal()]


def blocks(frames: list[Frame]) -> Any:
    """Returns the shown messages, without what belongs to a connection."""
    return msgspec.to_builtins(view_of(frames))["messages"]


# --- events ---------------------------------------------------------------------------------------


def test_a_turn_is_streamed_as_frames_until_its_end(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        body = {"content": "think, then use a tool"}
        async with events_of(http, "POST", turns(name), json=body, headers=key("m-1")) as stream:
            assert stream.response.headers["location"] == turns(name, "m-1")
            events = await stream.all()
        frames = [frame for _, frame in events]
        assert frames[0]["type"] == "session.connected"
        assert [frame["sequence"] for frame in frames] == [*range(1, len(frames) + 1)]
        head = (await http.get(f"/api/conversations/{name}")).json()["head"]
        assert numbers(events) == [*range(1, head + 1)], "the id of an event is its number"
        assert frames[-1]["type"] == "assistant.complete"
        assert events[-1][0] == f"{head}.end"
        partials = [f for f in frames if f["payload"].get("partial")]
        assert partials, "it grows while it is written"
        async with server.client(name) as client:
            assert msgspec.to_builtins(client.view())["messages"] == blocks(frames)

    play(tmp_path, scene)


def test_a_stream_that_is_cut_at_any_event_goes_on_from_its_last_id(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        body = {"content": "think, then use a tool"}
        sent = {"json": body, "headers": key("m-1")}
        async with events_of(http, "POST", turns(name), **sent) as stream:
            whole = await stream.all()
        expected = blocks([frame for _, frame in whole])
        for cut in range(1, len(whole)):
            first, last = whole[:cut], None
            for own_id, _ in first:
                last = own_id or last
            again = key("m-1", **({} if last is None else {"Last-Event-ID": last}))
            for method, more in (("POST", {"json": body}), ("GET", {})):
                path = turns(name) if more else turns(name, "m-1")
                async with events_of(http, method, path, headers=again, **more) as stream:
                    rest = await stream.all()
                assert numbers([*first, *rest]) == numbers(whole), "no entry is lost or doubled"
                assert rest[-1][0] == whole[-1][0]
                assert blocks([frame for _, frame in [*first, *rest]]) == expected
        ended = {"Accept": "text/event-stream", "Last-Event-ID": str(whole[-1][0])}
        assert (await http.get(turns(name, "m-1"), headers=ended)).status_code == 204
        shown = (await http.get(f"/api/conversations/{name}/messages")).json()["messages"]
        said = [each for each in shown if each["event"]["type"] == "user.message"]
        assert len(said) == 1, "the message was sent many times and taken once"

    play(tmp_path, scene, requests_per_second=1e6, requests_at_once=10**6)


def test_a_stream_survives_a_server_that_is_killed(tmp_path: Path) -> None:
    async def run() -> None:
        port = free_port()
        with process(tmp_path, port=port) as server:
            async with server.http() as http:
                made = await http.post("/api/conversations", json={"options": {"delay": 0}})
                name = made.json()["id"]
                body = {"json": {"content": "ask me"}, "headers": key("m-1")}
                async with events_of(http, "POST", turns(name), **body) as stream:
                    await stream.until(lambda f: f["type"] == "assistant.request_input")
                    before, last = numbers(stream.read), stream.last_id
            server.kill()
        with process(tmp_path, port=port) as server:
            async with server.http() as http:
                again = {"json": {"content": "ask me"}, "headers": key("m-1")}
                again["headers"]["Last-Event-ID"] = str(last)
                async with events_of(http, "POST", turns(name), **again) as stream:
                    await stream.until(lambda f: f["type"] == "session.state")
                    [item] = (await http.get("/api/inbox")).json()["items"]
                    answer = f"/api/inbox/{item['inbox_item_id']}/answer"
                    assert (await http.post(answer, json={"answer": "Blue"})).status_code == 200
                    await stream.until(lambda f: f["type"] == "assistant.complete")
                    after = numbers(stream.read)
                assert before + after == [*range(1, len(before + after) + 1)]

    asyncio.run(run())


def test_a_quiet_stream_has_heartbeats_and_ends_with_the_server(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        asks = {"json": {"content": "ask me"}, "headers": key("m-1")}
        async with events_of(http, "POST", turns(name), **asks) as stream:
            reading = asyncio.create_task(stream.all())
            await until(lambda: len(stream.comments) >= 2)
            assert not reading.done()
            await server.app.stop()
            frames = await reading
        assert frames[-1][1]["type"] != "assistant.complete"
        assert stream.last_id is not None, "from there it goes on later"
        await server.app.start()

    play(tmp_path, scene, heartbeat_seconds=1)


def test_a_slow_reader_of_events_is_cut_off_and_reads_the_rest_later(tmp_path: Path) -> None:
    agent = DemoAgent(delay=0, flood=40, flood_seconds=0.5)

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = (await server.service.engine.create("demo")).id
        sent = {"json": {"content": "hello"}, "headers": key("m-1")}
        async with events_of(http, "POST", turns(name), **sent) as stream:
            ended = {"Prefer": "wait=120"}
            answer = await http.get(turns(name, "m-1"), headers=ended)
            assert answer.json()["state"] == "ended"
            assert server.service.backlog.total < 4 << 20, "what waits is bounded"
            with pytest.raises((AssertionError, httpx.RemoteProtocolError)):
                await stream.until(lambda f: f["type"] == "assistant.complete")
        before = numbers(stream.read)
        more = key("m-1", **({"Last-Event-ID": stream.last_id} if stream.last_id else {}))
        async with events_of(http, "GET", turns(name, "m-1"), headers=more) as stream:
            rest = await stream.all()
        assert rest[-1][1]["type"] in ("assistant.complete", "message.replay")
        everything = before + numbers(rest)
        assert everything == [*range(1, len(everything) + 1)]

    play(tmp_path, scene, made_agents={"demo": agent})


def test_a_large_message_keeps_its_place_among_the_live_events(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        body = {"content": "use a tool"}
        async with events_of(http, "POST", turns(name), json=body, headers=key("m-1")) as stream:
            events = await stream.all()
        frames = [frame for _, frame in events]
        assert any(len(msgspec.json.encode(frame)) > LARGE for frame in frames)
        async with events_of(http, "GET", turns(name, "m-1")) as again:
            replayed = [frame for _, frame in await again.all()]
        assert blocks(frames) == blocks(replayed)
        assert numbers(events) == sorted(numbers(events))

    flood = DemoAgent(delay=0, flood=2, flood_seconds=0.3)
    play(tmp_path, scene, made_agents={"demo": flood})


def test_a_client_of_http_1_0_reads_events_until_the_connection_ends(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        body = b'{"content": "a long answer"}'
        place = urlsplit(server.url)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        lines = [f"POST {turns(name)} HTTP/1.0", f"Host: {place.netloc}"]
        lines += [f"Authorization: Bearer {server.token}", "Accept: text/event-stream"]
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}", "", ""]
        writer.write("\r\n".join(lines).encode() + body)
        answer = await asyncio.wait_for(reader.read(), PATIENCE)
        writer.close()
        head, _, events = answer.partition(b"\r\n\r\n")
        assert b"chunked" not in head.lower()
        said = [line for line in events.split(b"\n") if line and not line.startswith(b"retry: ")]
        assert all(line.startswith((b"id: ", b"data: {")) for line in said)
        assert b'"assistant.complete"' in said[-1]

    play(tmp_path, scene)


def test_a_message_that_leaves_the_queue_ends_its_stream_with_an_error(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        first = await http.post(turns(name), json={"content": "ask me"}, headers=key("m-1"))
        assert first.status_code == 202
        sent = {"json": {"content": "later"}, "headers": key("m-2")}
        async with events_of(http, "POST", turns(name), **sent) as stream:
            _, state = await stream.until(
                lambda f: f["type"] == "session.state" and f["payload"]["queue"]
            )
            polled = (await http.get(turns(name, "m-2"))).json()
            assert polled["state"] == "queued"
            [item] = state["payload"]["queue"]
            async with server.client(name) as client:
                await client.send("user.queue", "q", action="remove", queue_id=item["queue_id"])
                await client.answer("q")
            _, last = (await stream.all())[-1]
        assert last["type"] == "session.error"
        assert last["payload"]["code"] == "QUEUE_ITEM_NOT_FOUND"
        gone = await http.get(turns(name, "m-2"))
        assert (gone.status_code, gone.json()["error"]["code"]) == (404, "QUEUE_ITEM_NOT_FOUND")

    play(tmp_path, scene)


def test_a_stream_ends_with_an_error_when_its_token_is_revoked(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        secret, token = await server.service.keys.make("test", "ann")
        name = await server.begin(user="ann")
        asks = {"json": {"content": "ask me"}, "headers": key("m-1")}
        async with (
            server.http(secret) as ann,
            events_of(ann, "POST", turns(name), **asks) as stream,
        ):
            await stream.until(lambda f: f["type"] == "assistant.request_input")
            await server.app.revoke(token.token_id)
            _, last = (await stream.all())[-1]
        assert (last["type"], last["payload"]["code"]) == ("session.error", "UNAUTHORIZED")
        audit = server.service.store.audit
        # It is written in the background.
        while "disconnected" not in [row.action for row in await audit(conversation_id=name)]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    play(tmp_path, scene)


def test_streams_count_as_connections_of_their_user(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        sent = {"json": {"content": "ask me"}, "headers": key("m-1")}
        async with events_of(http, "POST", turns(name), **sent) as stream:
            await stream.until(lambda f: f["type"] == "session.state")
            refused = await http.get(turns(name, "m-1"))
            assert (refused.status_code, refused.json()["error"]["code"]) == (429, "RATE_LIMITED")
        await until(lambda: not len(server.service.hub))
        assert (await http.get(turns(name, "m-1"))).status_code == 202

    play(tmp_path, scene, max_connections_per_user=1)


# --- one answer -----------------------------------------------------------------------------------


def test_one_answer_waits_for_the_end_of_the_turn(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        body = {"content": "use a tool"}
        first = await http.post(turns(name), json=body, headers=key('"m-1"'))
        assert first.status_code == 200
        told = first.json()
        assert (told["key"], told["state"], told["turn_id"]) == ("m-1", "ended", 1)
        assert told["text"]
        assert told["tools"][0]["result"]
        assert told["end"]["stop_reason"] == "end_turn"
        again = await http.post(turns(name), json=body, headers=key("m-1"))
        assert again.json() == told, "the same key is the same turn"
        assert (await http.get(first.headers["location"])).json() == told
        other = await http.post(turns(name), json={"content": "another"}, headers=key("m-1"))
        assert (other.status_code, other.json()["error"]["code"]) == (409, "IDEMPOTENCY_CONFLICT")
        unnamed = (await http.post(turns(name), json=body)).json()
        assert (unnamed["turn_id"], unnamed["state"]) == (2, "ended")
        assert unnamed["key"] not in ("", "m-1")

    play(tmp_path, scene)


def test_a_turn_that_asks_is_answered_at_once_and_can_be_waited_for(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        asked = await http.post(turns(name), json={"content": "ask me"}, headers=key("m-1"))
        assert asked.status_code == 202
        told = asked.json()
        assert told["state"] == "waiting"
        [request] = told["requests"]
        where = asked.headers["location"]
        polled = await http.get(where)
        assert (polled.status_code, polled.json()["requests"]) == (202, [request])
        waiting = asyncio.create_task(http.get(where, headers={"Prefer": "wait=60"}))
        await until(lambda: server.service.hub._taken == 1)
        answer = f"/api/inbox/{request['inbox_item_id']}/answer"
        assert (await http.post(answer, json={"answer": "Blue"})).status_code == 200
        ended = await waiting
        assert (ended.status_code, ended.json()["state"]) == (200, "ended")
        assert ended.headers["preference-applied"] == "wait=60"

    play(tmp_path, scene)


PREFER_BOTH = [("Prefer", "respond-async"), ("Prefer", "wait=1")]


def test_a_client_may_prefer_not_to_wait(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = (await server.service.engine.create("demo", options={"delay": 30})).id
        for number, wish in enumerate(("wait=0", "respond-async", "wait=1")):
            headers = key(f"m-{number}", Prefer=wish)
            answer = await http.post(turns(name), json={"content": "hello"}, headers=headers)
            assert answer.status_code == 202
            assert answer.json()["state"] == ("queued" if number else "running")
            assert answer.headers["preference-applied"] == wish
            assert answer.headers["location"] == turns(name, f"m-{number}")
        for wishes in ([("Prefer", "respond-async, wait=1")], PREFER_BOTH):
            answer = await http.get(turns(name, "m-0"), headers=wishes)
            assert answer.headers["preference-applied"] == "wait=1", "so long, then the rest later"

    play(tmp_path, scene)


# --- refusals -------------------------------------------------------------------------------------


def test_refusals_come_as_errors_before_any_event(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        events = {"Accept": "text/event-stream"}
        said = {"content": "hello"}
        wrong: list[tuple[str, str, dict[str, Any], int]] = [
            (turns("other"), "POST", {"json": said}, 404),
            (turns(name), "POST", {"json": {"content": ""}}, 400),
            (turns(name), "POST", {"json": {"text": "hello"}}, 400),
            (turns(name), "POST", {"content": b"hello"}, 400),
            (turns(name), "POST", {"json": said, "headers": key("a b")}, 400),
            (turns(name), "POST", {"json": said, "headers": key("x" * 201)}, 400),
            (turns(name), "GET", {}, 400),
            (turns(name, "never-sent"), "GET", {}, 404),
        ]
        for path, method, more, status in wrong:
            headers = {**events, **more.pop("headers", {})}
            refused = await http.request(method, path, headers=headers, **more)
            assert refused.status_code == status, path
            assert refused.json()["error"]["what_to_do"]
        assert (await http.get(f"/api/conversations/{name}")).json()["head"] == 0
        begun = await http.post(turns(name), json=said, headers=key("m-1"))
        assert begun.status_code == 200
        odd = {**events, "Last-Event-ID": "one"}
        assert (await http.get(turns(name, "m-1"), headers=odd)).status_code == 400
        async with server.http(await server.token_of("bob")) as bob:
            assert (await bob.get(turns(name, "m-1"))).status_code == 404
        assert (await http.head(turns(name, "m-1"), headers=events)).status_code == 200

    play(tmp_path, scene)


def test_without_protocol_v2_there_are_no_turns(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        refused = await http.post(turns(name), json={"content": "hello"})
        assert refused.json()["error"]["code"] == "CHAT_PROTOCOL_DISABLED"

    play(tmp_path, scene, protocol_v2=False)


def test_a_page_on_the_list_may_stream(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        page = {"Origin": "https://app.example"}
        asks = {"Access-Control-Request-Method": "POST"}
        allowed = await http.options(turns(name), headers={**page, **asks})
        for header in ("idempotency-key", "last-event-id", "prefer"):
            assert header in allowed.headers["access-control-allow-headers"].lower()
        sent = {"json": {"content": "hello"}, "headers": page}
        async with events_of(http, "POST", turns(name), **sent) as stream:
            assert stream.response.headers["access-control-allow-origin"] == page["Origin"]
            assert "Location" in stream.response.headers["access-control-expose-headers"]
            assert (await stream.all())[-1][1]["type"] == "assistant.complete"

    play(tmp_path, scene, origins=["https://app.example"])
