"""Share links: what they show, to whom, and which addresses refuse their secret."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from msgspec import structs

from tests.server.helpers.browser_page import host_of
from tests.server.helpers.http_scenes import PNG, play
from tests.server.helpers.raw_http import Headers, upgrade
from tests.server.helpers.servers import Serving, serving
from tests.server.helpers.socket_access import connect
from turnwire.agents.demo import DemoAgent
from turnwire.core.blocks import CommandExecutionBlock, ThinkingBlock, ToolUseBlock, UnknownBlock
from turnwire.core.entries import entry_of, event_entry
from turnwire.core.message import (
    BlobRef,
    Message,
    TextPart,
    TextPayload,
    ToolResultPart,
    ToolResultPayload,
)
from turnwire.core.status import TurnEnd, TurnError
from turnwire.core.usage import Usage
from turnwire.engine.clock import SystemClock
from turnwire.ports import StoredEntry, StoredTurn
from turnwire.server.access.keys import SHARE, Keys
from turnwire.server.access.share_links import MOST_DAYS
from turnwire.server.api.routes import API, OPEN
from turnwire.server.service import Service
from turnwire.server.shared_frames import shared_blobs, shared_frame
from turnwire.settings import Settings

DAY_MS = 24 * 3600_000
AT = "2026-01-01T00:00:00.000Z"


class Seeing(DemoAgent):
    capabilities = structs.replace(DemoAgent.capabilities, images=True)


READS = ("/api/shared", "/api/shared/messages", "/api/shared/blobs/any")


async def say(server: Serving, name: str, text: str | list[Any], turn: int = 1) -> None:
    async with server.client(name) as client:
        await client.send("user.message", f"m-{turn}", content=text)
        await client.end_of(turn)


async def share(http: httpx.AsyncClient, name: str, **body: Any) -> dict[str, Any]:
    made = await http.post(f"/api/conversations/{name}/shares", json=body)
    assert made.status_code == 201, made.text
    told: dict[str, Any] = made.json()
    told["secret"] = told["link"].partition("#")[2]
    return told


def reader(server: Serving, secret: str, **options: Any) -> httpx.AsyncClient:
    """Returns the requests of a person with a link, and without an account."""
    return server.http(secret, **options)


def play_shared(path: Path, scene: Any, **settings: Any) -> None:
    play(path, scene, **{"sharing": True, **settings})


async def upload(http: httpx.AsyncClient, data: bytes = PNG, **query: str) -> str:
    png = {"Content-Type": "image/png"}
    kept = await http.post("/api/blobs", content=data, headers=png, params=query)
    return str(kept.json()["blob_id"])


def picture(blob_id: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": "see"}, {"type": "image", "blob": {"blob_id": blob_id}}]


def texts(page: dict[str, Any]) -> str:
    return msgspec.json.encode(page["messages"]).decode()


# --- what a link shows --------------------------------------------------------------------------


def test_a_link_shows_what_was_said_until_it_was_made(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        await say(server, name, "the first words")
        made = await share(http, name)
        await say(server, name, "the second words", 2)
        assert made["link"].startswith(f"{server.url}/shared#tw_")
        async with reader(server, made["secret"]) as guest:
            about = (await guest.get("/api/shared")).json()
            assert about["through"] == made["through"]
            assert about["expires_at"] == made["expires_at"]
            assert (about["agent"], about["title"]) == ("demo", "the first words")
            assert set(about) == {"agent", "title", "created_at", "through", "expires_at"}
            page = (await guest.get("/api/shared/messages?limit=500")).json()
            assert "the first words" in texts(page)
            assert "the second words" not in texts(page)
            assert page["has_more"] is False
            beyond = await guest.get("/api/shared/messages?limit=500&before=100000")
            assert beyond.json() == page, "no number leads beyond the end"
            assert (await guest.get("/api/shared/messages?before=0")).json()["messages"] == []

    play_shared(tmp_path, scene)


def test_older_messages_are_read_page_by_page(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        for turn in range(1, 5):
            await say(server, name, f"words of turn {turn}", turn)
        made = await share(http, name)
        async with reader(server, made["secret"]) as guest:
            whole = (await guest.get("/api/shared/messages?limit=500")).json()["messages"]
            found: list[Any] = []
            before, has_more = made["through"] + 1, True
            while has_more:
                address = f"/api/shared/messages?limit=3&before={before}"
                page = (await guest.get(address)).json()
                assert page["through"] == made["through"]
                found = page["messages"] + found
                before, has_more = page["first"], page["has_more"]
        assert found == whole
        numbers = [each["message_sequence"] for each in whole if each["message_sequence"]]
        assert numbers == sorted(numbers)

    play_shared(tmp_path, scene)


def entry(message: Message, number: int = 1) -> StoredEntry:
    return StoredEntry(number, message, 1, "trace-SECRET")


RUN = {"run_id": "c-SECRET:turn-1", "timestamp": AT}
BLOB = BlobRef("blob-SECRET", "text/plain", 5)


def told(message: Message) -> str | None:
    frame = shared_frame(entry(message), frozenset({"hidden"}))
    return None if frame is None else msgspec.json.encode(frame).decode()


SHOWN = {
    "a message of a person": entry_of(
        "user", [], **RUN, by="SECRET", client_message_id="SECRET", blocks=None
    ),
    "reasoning": entry_of(
        "assistant", [ThinkingBlock("shown", "completed", "SECRET", "SECRET")], **RUN
    ),
    "a tool call": entry_of(
        "assistant",
        [ToolUseBlock("t", "Bash", "BASH", {"command": "shown", "cwd": "SECRET"}, "completed")],
        **RUN,
    ),
    "a command": entry_of(
        "assistant",
        [CommandExecutionBlock("t", "shown", "completed", cwd="SECRET", output="shown")],
        **RUN,
    ),
    "a result": Message(
        "c-SECRET:turn-1",
        "tool",
        [
            ToolResultPart(
                ToolResultPayload("t", False, "shown", msgspec.Raw(b'{"a":"SECRET"}'), None, BLOB)
            )
        ],
        AT,
        {},
    ),
    "an interruption": event_entry(
        "interrupted",
        "",
        **RUN,
        data={
            "reason": "user",
            "by": "SECRET",
            "requested_at": AT,
            "processes": [{"pid": 1, "name": "SECRET"}],
        },
    ),
    "an answer": event_entry(
        "request_resolved",
        "",
        **RUN,
        data={"request_id": "q", "outcome": "answered", "by": "SECRET", "answer": "shown"},
    ),
}
HIDDEN = {
    "a reminder": entry_of("user", [], **RUN, origin="synthetic"),
    "settings of the agent": event_entry(
        "system", "", **RUN, data={"subtype": "init", "data": {"cwd": "SECRET"}}
    ),
    "other news": event_entry("rewind", "SECRET", **RUN, data={"by": "SECRET"}),
    "an error of the provider": Message(
        RUN["run_id"],
        "assistant",
        [TextPart(TextPayload("The account SECRET has no credit."))],
        AT,
        {"error": "billing_error"},
    ),
    "a permission": event_entry(
        "permission_request",
        "",
        **RUN,
        data={"request_id": "p", "tool_use_id": "t", "tool_name": "Bash", "input": "SECRET"},
    ),
    "a decision": event_entry(
        "request_resolved",
        "",
        **RUN,
        data={"request_id": "p", "outcome": "answered", "decision": "allow"},
    ),
    "a call that waits": entry_of(
        "assistant", [ToolUseBlock("hidden", "Bash", "BASH", {}, "completed")], **RUN
    ),
    "an unknown block": entry_of("assistant", [UnknownBlock("new", {"a": "SECRET"})], **RUN),
}


@pytest.mark.parametrize("kind", SHOWN)
def test_an_entry_is_shown_without_places_people_and_raw_data(kind: str) -> None:
    shown = told(SHOWN[kind])
    assert shown is not None
    assert "SECRET" not in shown
    assert '"conversation_id":"shared"' in shown


@pytest.mark.parametrize("kind", HIDDEN)
def test_an_entry_of_the_session_is_not_shown(kind: str) -> None:
    assert told(HIDDEN[kind]) is None


def test_the_end_of_a_turn_has_no_costs_and_no_message_of_the_agent() -> None:
    end = TurnEnd(
        True, False, None, TurnError("api_error", "SECRET"), usage=Usage(1, 2), cost_usd=0.5
    )
    turn = StoredTurn(1, "trace", AT, end)
    frame = shared_frame(turn, frozenset())
    assert frame is not None
    shown = msgspec.to_builtins(frame)["payload"]
    assert shown["error"] == {"code": "api_error", "message": ""}
    assert not {"usage", "cost_usd", "duration_ms"} & set(shown)


def test_content_of_an_agent_cannot_name_a_blob() -> None:
    forged = {"blob": {"blob_id": "theirs"}, "blobId": "theirs", "blob_id": "theirs"}
    block = ToolUseBlock("t", "Bash", "BASH", {**forged, "deep": forged}, "completed")
    assert not [*shared_blobs(entry(entry_of("assistant", [block], **RUN)), frozenset())]
    said = Message("c:turn-1", "assistant", [TextPart(TextPayload("x", None, BLOB))], AT, {})
    assert [*shared_blobs(entry(said), frozenset())] == [BLOB.blob_id]
    assert not [*shared_blobs(entry(SHOWN["a result"]), frozenset())], "details are not shown"


def test_nothing_of_the_session_is_shown_of_a_whole_tour(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        await say(server, name, "think tool plan subagent error")
        async with server.client(name) as client:
            await client.send("user.message", "m-2", content="ask")
            asked = await client.until("assistant.request_input")
            made = await share(http, name)
            question = asked["payload"]["question_id"]
            await client.send(
                "user.input_response", "a-1", question_id=question, answer="something"
            )
            await client.end_of(2)
        later = await share(http, name)
        async with reader(server, made["secret"]) as guest:
            page = (await guest.get("/api/shared/messages?limit=500")).json()
            kinds = {each["event"]["type"] for each in page["messages"]}
            assert {"assistant.thinking", "assistant.tool_call", "assistant.chunk"} <= kinds
            assert "session.system_event" not in kinds
            assert question not in texts(page), "an open request is not shown"
            assert not re.search(r'"(cwd|by|cost_usd|usage|inbox_item_id)":"', texts(page))
            assert name not in texts(page)
        async with reader(server, later["secret"]) as guest:
            page = (await guest.get("/api/shared/messages?limit=500")).json()
            assert question in texts(page), "it is shown after its answer"
            assert "something" in texts(page)
        async with reader(server, made["secret"]) as guest:
            page = (await guest.get("/api/shared/messages?limit=500")).json()
            assert question not in texts(page), "and the older link stays as it was"

    play_shared(tmp_path, scene)


def test_a_link_shows_the_blobs_of_its_messages_and_no_others(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name, other = await server.begin(), await server.begin()
        shown, later, unsent = [await upload(http, PNG + bytes([each])) for each in range(3)]
        theirs = await upload(http, PNG + b"x", conversation=other)
        await say(server, name, picture(shown))
        made = await share(http, name)
        await say(server, name, picture(later), 2)
        await say(server, other, picture(theirs))
        async with reader(server, made["secret"]) as guest:
            got = await guest.get(f"/api/shared/blobs/{shown}")
            assert (got.status_code, got.content) == (200, PNG + bytes([0]))
            assert got.headers["cache-control"] == "no-store"
            for blob in (later, unsent, theirs, "nonsense"):
                assert (await guest.get(f"/api/shared/blobs/{blob}")).status_code == 404
            answers = [guest.get(f"/api/shared/blobs/{shown}") for _ in range(30)]
            assert {each.status_code for each in await asyncio.gather(*answers)} == {200}

    play_shared(tmp_path, scene, agents={"demo": Seeing()})


def test_answers_to_readers_are_neither_indexed_nor_cached(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        made = await share(http, await server.begin())
        for secret in (made["secret"], "wrong"):
            async with reader(server, secret) as guest:
                for path in READS:
                    headers = (await guest.get(path)).headers
                    assert headers["x-robots-tag"] == "noindex"
                    assert headers["referrer-policy"] == "no-referrer"
                    assert headers["cache-control"] == "no-store"
        page = await http.get("/shared")
        assert page.headers["x-robots-tag"] == "noindex"
        assert page.headers["referrer-policy"] == "no-referrer"
        assert "x-robots-tag" not in (await http.get("/")).headers

    play_shared(tmp_path, scene)


# --- whom it lets in ----------------------------------------------------------------------------


def test_only_who_may_see_a_conversation_may_share_it(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        anns, owners = await server.begin(user="ann"), await server.begin()
        made = await share(http, anns)
        async with (
            server.http(await server.token_of("ann")) as ann,
            server.http(await server.token_of("bob")) as bob,
        ):
            own = await share(ann, anns)
            listed = (await ann.get(f"/api/conversations/{anns}/shares")).json()["shares"]
            assert [each["share_id"] for each in listed] == [made["share_id"], own["share_id"]]
            assert "tw_" not in str(listed)
            for name in (anns, owners):
                path = f"/api/conversations/{name}/shares"
                answers = [
                    await bob.post(path, json={}),
                    await bob.get(path),
                    await bob.delete(f"{path}/{made['share_id']}"),
                ]
                assert [each.status_code for each in answers] == [404, 404, 404]
            # The address of an own conversation does not end a link of another one.
            other = await share(http, owners)
            ended = await ann.delete(f"/api/conversations/{anns}/shares/{other['share_id']}")
            assert ended.status_code == 204
        for each in (made, own, other):
            async with reader(server, each["secret"]) as guest:
                assert (await guest.get("/api/shared")).status_code == 200

    play_shared(tmp_path, scene)


def filled(path: str) -> str:
    return re.sub(r"\{(\w+)\}", lambda part: "1" if part[1] == "sequence" else "any", path)


def test_no_other_address_takes_the_secret_of_a_link(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        made = await share(http, name)
        async with reader(server, made["secret"]) as guest:
            for path, method, _ in API:
                address = filled(path.replace("{id}", name))
                answer = await guest.request(method, address, json={})
                assert answer.status_code == 401, (method, path)
            entered = await guest.post("/enter", json={"link": made["secret"]})
            assert entered.status_code in (401, 403)
            for path in READS:
                for method in ("POST", "PUT", "PATCH", "DELETE"):
                    assert (await guest.request(method, path)).status_code == 405
        [token] = [each for each in await server.service.store.tokens() if each.kind == SHARE]
        assert token.token_id == made["share_id"]
        assert made["secret"] not in str(token)

    play_shared(tmp_path, scene)


def test_no_socket_takes_the_secret_of_a_link(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        secret = (await share(http, name))["secret"]
        here, origin = ("Host", host_of(server)), ("Origin", server.url)
        cookie = ("Cookie", f"turnwire_{server.url.rpartition(':')[2]}={secret}")
        by_header: Headers = [here, ("Authorization", f"Bearer {secret}")]
        for protocol in ("turnwire.v2", "turnwire.rpc", "turnwire.chat"):
            ticket = ("Sec-WebSocket-Protocol", f"{protocol}, ticket.{secret}")
            page = ("Sec-WebSocket-Protocol", f"{protocol}, page.{secret}")
            for headers in (by_header, [here, origin, ticket], [here, origin, cookie, page]):
                assert await connect(server, name, headers) == "UNAUTHORIZED"
                for path in ("/ws/rpc", "/ws", "/ws/chat"):
                    frames, code, _ = await upgrade(server.url, path, headers)
                    assert code
                    assert re.search(r"UNAUTHORIZED|not authenticated", str(frames)), path

    play_shared(tmp_path, scene)


def test_other_credentials_read_no_shared_address(tmp_path: Path) -> None:
    async def by_header(scope: Any) -> str | None:
        return dict(scope["headers"]).get(b"x-user", b"").decode() or None

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        made = await share(http, await server.begin())
        for path in READS:
            assert (await http.get(path)).status_code == 401, "the owner's token is no link"
        async with server.http("x") as guest:
            del guest.headers["Authorization"]
            cookie = f"turnwire_{server.url.rpartition(':')[2]}={made['secret']}"
            for headers in ({}, {"X-User": "ann"}, {"Cookie": cookie}):
                for path in (*READS, f"/api/shared?token={made['secret']}"):
                    answer = await guest.get(path, headers=headers)
                    assert answer.status_code == 401

    play_shared(tmp_path, scene, authenticate=by_header)


def test_pages_of_other_origins_and_other_hosts_are_refused(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        made = await share(http, await server.begin())
        async with reader(server, made["secret"]) as guest:
            for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
                answer = await guest.get("/api/shared", headers=headers)
                assert answer.status_code == 403
            own = await guest.get("/api/shared", headers={"Origin": server.url})
            assert own.status_code == 200

    play_shared(tmp_path, scene)


def test_the_readers_of_links_have_limits_of_their_own(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        made = await share(http, name)
        async with reader(server, made["secret"]) as guest:
            codes = [(await guest.get("/api/shared")).status_code for _ in range(30)]
        assert codes.count(429) >= 10
        assert (await http.get(f"/api/conversations/{name}")).status_code == 200

    play_shared(tmp_path, scene, requests_per_second=0.01, requests_at_once=15)


# --- when it ends -------------------------------------------------------------------------------


def later_by(ms: int) -> Any:
    class Later(SystemClock):
        def now(self) -> int:
            return super().now() + ms

    return Later()


def test_a_link_expires_after_thirty_days_or_as_many_as_were_asked_for(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        usual, short = await share(http, name), await share(http, name, days=1)
        store = server.service.store
        after = {days: Keys(store, later_by(days * DAY_MS)) for days in (1, 29, 30)}
        assert await Keys(store, later_by(0)).valid(short["secret"], SHARE)
        assert not await after[1].valid(short["secret"], SHARE)
        assert await after[29].valid(usual["secret"], SHARE)
        assert not await after[30].valid(usual["secret"], SHARE)
        for days in (0, -1, MOST_DAYS + 1, "many", None, 1.5):
            path = f"/api/conversations/{name}/shares"
            assert (await http.post(path, json={"days": days})).status_code == 400

    play_shared(tmp_path, scene)


def test_an_ended_link_shows_nothing_and_ending_it_again_is_harmless(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        made, kept = await share(http, name), await share(http, name)
        path = f"/api/conversations/{name}/shares"
        async with reader(server, made["secret"]) as guest:
            assert (await guest.get("/api/shared")).status_code == 200
            for _ in range(2):
                assert (await http.delete(f"{path}/{made['share_id']}")).status_code == 204
            for address in READS:
                answer = await guest.get(address)
                assert answer.status_code == 401
                assert "has ended" in answer.json()["error"]["message"]
        async with reader(server, kept["secret"]) as guest:
            assert (await guest.get("/api/shared")).status_code == 200
        [left] = (await http.get(path)).json()["shares"]
        assert left["share_id"] == kept["share_id"]
        rows = (await http.get(f"/api/audit?conversation={name}")).json()["audit"]
        told = [row["action"] for row in rows if row["action"].startswith("share")]
        assert told == ["shared", "shared", "share_ended"]

    play_shared(tmp_path, scene)


def test_a_link_is_revoked_like_any_token(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        made = await share(http, await server.begin())
        assert await server.app.revoke(made["share_id"])
        async with reader(server, made["secret"]) as guest:
            assert (await guest.get("/api/shared")).status_code == 401

    play_shared(tmp_path, scene)


def test_an_archived_conversation_stays_shared_and_a_deleted_one_does_not(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        await say(server, name, "hello")
        made = await share(http, name)
        await http.patch(f"/api/conversations/{name}", json={"archived": True})
        assert await share(http, name), "an archived conversation can be shared"
        async with reader(server, made["secret"]) as guest:
            assert (await guest.get("/api/shared/messages")).status_code == 200
            assert (await http.delete(f"/api/conversations/{name}")).status_code == 204
            for address in READS:
                assert (await guest.get(address)).status_code == 401
        tokens = [each for each in await server.service.store.tokens() if each.kind == SHARE]
        assert all(each.revoked_at for each in tokens)

    play_shared(tmp_path, scene)


def test_a_conversation_with_the_id_of_a_deleted_one_is_not_shown(tmp_path: Path) -> None:
    """A delete by another program ends no links; the link still does not show the new one."""

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        engine = server.service.engine
        first = await engine.create("demo", conversation_id="same")
        made = await share(http, first.id)
        await engine.remove("same")
        await asyncio.sleep(0.01)  # the time of its creation is in milliseconds
        await engine.create("demo", conversation_id="same")
        async with reader(server, made["secret"]) as guest:
            assert (await guest.get("/api/shared")).status_code == 401
        assert (await http.get("/api/conversations/same/shares")).json() == {"shares": []}

    play_shared(tmp_path, scene)


def test_a_conversation_has_at_most_twenty_links(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        path = f"/api/conversations/{name}/shares"
        answers = await asyncio.gather(*(http.post(path, json={}) for _ in range(25)))
        assert sorted(each.status_code for each in answers) == [201] * 20 + [403] * 5
        [refused, *_] = [each.json() for each in answers if each.status_code == 403]
        assert "End one of them" in refused["error"]["message"]
        [one, *_] = (await http.get(path)).json()["shares"]
        await http.delete(f"{path}/{one['share_id']}")
        assert (await http.post(path, json={})).status_code == 201

    play_shared(tmp_path, scene)


# --- the setting --------------------------------------------------------------------------------


def test_sharing_is_off_for_applications_unless_they_allow_it(tmp_path: Path) -> None:
    assert Settings().sharing is False

    async def run() -> None:
        async with serving(tmp_path, sharing=True) as server, server.http() as http:
            name = await server.begin()
            made = await share(http, name)
        async with serving(tmp_path) as server, server.http() as http:
            path = f"/api/conversations/{name}/shares"
            refused = await http.post(path, json={})
            assert refused.status_code == 403
            assert "`sharing`" in refused.json()["error"]["message"]
            async with reader(server, made["secret"]) as guest:
                for address in READS:
                    assert (await guest.get(address)).status_code == 403
            assert len((await http.get(path)).json()["shares"]) == 1, "it can still be ended"
            assert (await http.delete(f"{path}/{made['share_id']}")).status_code == 204

    asyncio.run(run())


def test_the_address_of_a_link_is_the_public_one(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        made = await share(http, await server.begin())
        assert made["link"].startswith("https://chat.example/below/shared#tw_")
        async with reader(server, made["secret"]) as guest:
            assert (await guest.get("/below/api/shared")).status_code == 200
            page = await guest.get("/below/shared")
            assert page.headers["x-robots-tag"] == "noindex"

    play_shared(tmp_path, scene, public_url="https://chat.example/below")


def test_links_of_users_do_not_count_as_users(tmp_path: Path) -> None:
    from turnwire.server.access.isolation import has_other_users

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        service: Service = server.service
        await service.keys.make("{}", "ann", SHARE, good_for=DAY_MS)
        now = service.engine.clock.now()
        assert not await has_other_users(service.settings, service.store, now)
        await server.token_of("ann")
        assert await has_other_users(service.settings, service.store, now)

    play_shared(tmp_path, scene)


def test_a_share_token_in_another_form_opens_nothing(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        for name in ("", "{}", "[1]", '{"conversation": "c"}'):
            secret, _ = await server.service.keys.make(name, None, SHARE, good_for=DAY_MS)
            async with reader(server, secret) as guest:
                assert (await guest.get("/api/shared")).status_code == 401

    play_shared(tmp_path, scene)


def test_every_address_for_readers_is_tested_here() -> None:
    shared = {filled(path) for path, _, _ in OPEN if path.startswith("/api/shared")}
    assert shared == set(READS)
