"""The HTTP interface, over a real socket."""

from __future__ import annotations

import asyncio
import random
import re
import string
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import msgspec
import pytest
from msgspec import structs

from tests.owner_names import owner_with, pid_that_has_ended
from tests.server.scenes import Broken, Costly
from tests.server.serving import Serving, serving
from tests.stores.test_full_disk import no_file_may_grow_beyond
from turnwire.agents.demo import DemoAgent
from turnwire.client import Client
from turnwire.core.error_codes import Refused
from turnwire.engine.export.jsonl import EndLine, EntryLine, HeadLine, read_line
from turnwire.ports import AgentCapabilities
from turnwire.server import service
from turnwire.server.access.limits import MOST_PAGE
from turnwire.server.api.conversations import conversation_json
from turnwire.server.api.problems import STATUS, error_body
from turnwire.server.api.routes import API
from turnwire.stores.sqlite import ballast

Scene = Callable[[Serving, httpx.AsyncClient], Awaitable[None]]
QUICK = {"delay": 0}
PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


def play(path: Path, scene: Scene, **settings: Any) -> None:
    async def run() -> None:
        async with serving(path, **settings) as server, server.http() as http:
            await scene(server, http)

    asyncio.run(run())


def test_a_conversation_is_forked(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        begun = await http.post("/api/conversations", json={"options": QUICK})
        name = begun.json()["id"]
        async with server.client(name) as client:
            assert client.frames[0]["payload"]["capabilities"]["fork"]
            await client.say("hello", "m-1")
            await client.end_of(1)
            await client.state("active")
        place = client.cursor
        forked = await http.post(f"/api/conversations/{name}/fork", json={"at_sequence": place})
        assert forked.status_code == 201
        fork = forked.json()
        assert fork["forked_from"] == {"id": name, "at_sequence": place}
        assert (fork["head"], fork["title"]) == (place, "hello")
        async with server.client(fork["id"]) as client:
            assert client.cursor == place, "what was said before is replayed under its numbers"
            await client.say("tool", "m-1")
            await client.end_of(2)
        listed = (await http.get("/api/conversations")).json()["conversations"]
        assert [each.get("forked_from") for each in listed] == [fork["forked_from"], None]
        refused = await http.post(f"/api/conversations/{name}/fork", json={"at_sequence": 1})
        assert refused.status_code == 409
        error = refused.json()["error"]
        assert (error["code"], error["data"]["nearest"]) == ("NOT_A_FORK_POINT", [0, place])
        bad = await http.post(f"/api/conversations/{name}/fork", json={"at_sequence": -1})
        assert (bad.status_code, bad.json()["error"]["code"]) == (400, "INVALID_PAYLOAD")
        nowhere = await http.post("/api/conversations/other/fork", json={})
        assert nowhere.status_code == 404
        client_of_it = Client(server.url, server.token)
        again = await client_of_it.fork(name, 0, title="From the beginning")
        shown = (await http.get(f"/api/conversations/{again}")).json()
        assert (shown["title"], shown["head"]) == ("From the beginning", 0)

    play(tmp_path, scene)


def test_what_may_be_spent_is_told(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        for wanted, limit in ((0.5, 0.5), (9, 2.0)):
            options = {"max_budget_usd": wanted}
            less = await http.post("/api/conversations", json={"options": options})
            assert less.json()["status"]["budget"] == {"spent": 0.0, "limit": limit}
        begun = await http.post("/api/conversations", json={})
        assert begun.json()["status"]["budget"] == {"spent": 0.0, "limit": 2.0}
        strange = {"options": {"max_budget_usd": "much"}}
        assert (await http.post("/api/conversations", json=strange)).status_code == 400
        told = (await http.get("/api/budget")).json()["budget"]
        assert (told["spent"], told["limit"], told["period"]) == (0.0, 0.0, "day")
        refused = await http.post(f"/api/conversations/{begun.json()['id']}/fork", json={})
        assert refused.status_code == 201, "that costs nothing"
        async with server.client(begun.json()["id"]) as client:
            await client.say("hello", "m-1")
            error = (await client.answer("m-1"))["payload"]
        assert (error["code"], error["data"]["of"]) == ("BUDGET_EXCEEDED", "user")

    limits = {"budget_usd_per_conversation": 2.0, "budget_usd_per_user": 0.0}
    play(tmp_path, scene, **limits, budget_period="day", made_agents={"demo": Costly()})


def test_without_a_limit_there_is_no_budget(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        assert (await http.get("/api/budget")).json() == {"budget": None}

    play(tmp_path, scene)


def test_a_conversation_from_beginning_to_end(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        begun = await http.post(
            "/api/conversations", json={"title": " Plans ", "options": {"delay": 0}}
        )
        assert begun.status_code == 201
        told = begun.json()
        assert (told["agent"], told["title"], told["head"]) == ("demo", "Plans", 0)
        assert told["status"]["state"] == "active"
        name = told["id"]
        async with server.client(name) as client:
            await client.say("hello", "m-1")
            await client.end_of(1)
            await client.state("active")
        shown = (await http.get(f"/api/conversations/{name}")).json()
        assert shown["head"] == client.cursor
        assert shown["status"]["last_turn_id"] == 1
        listed = (await http.get("/api/conversations")).json()["conversations"]
        assert [each["id"] for each in listed] == [name]
        changed = await http.patch(f"/api/conversations/{name}", json={"title": "Other plans"})
        assert changed.json()["title"] == "Other plans"
        assert (await http.get("/api/search", params={"q": "hello"})).json()["hits"]
        await http.patch(f"/api/conversations/{name}", json={"archived": True})
        assert (await http.get("/api/conversations")).json()["conversations"] == []
        archived = (await http.get("/api/conversations?archived=true")).json()["conversations"]
        assert [each["id"] for each in archived] == [name]
        assert (await http.delete(f"/api/conversations/{name}")).status_code == 204
        assert (await http.get(f"/api/conversations/{name}")).status_code == 404
        trail = (await http.get(f"/api/audit?conversation={name}")).json()["audit"]
        actions = [row["action"] for row in trail]
        assert {"created", "renamed", "archived", "deleted"} <= set(actions)

    play(tmp_path, scene)


def test_what_a_killed_process_left_does_not_seem_to_run(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin(delay=0.01)
        async with server.client(name) as client:
            await client.say("long", "m-1")
            await client.until("assistant.chunk")
            shown = (await http.get(f"/api/conversations/{name}")).json()
            assert shown["status"]["running"]
            row = (await server.service.engine.open(name)).row
            left = structs.replace(row, owner=owner_with(pid_that_has_ended()))
            assert left.lease_until > server.service.engine.clock.now()
            assert not conversation_json(server.service, left).status.running
            await client.send("user.interrupt", "s-1", turn_id=1)
            await client.state("interrupted")

    play(tmp_path, scene)


def test_messages_page_by_page(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        async with server.client(name) as client:
            for number in range(1, 4):
                await client.say("hello", f"m-{number}")
                await client.end_of(number)
            await client.state("active")
            head = client.cursor

        async def numbers(**given: int) -> list[int]:
            answer = await http.get(f"/api/conversations/{name}/messages", params=given)
            told = answer.json()
            assert (told["head"], told["epoch"]) == (head, client.epoch)
            # A turn's end has no number, and stands behind the entry that it follows.
            behind = 0
            for each in told["messages"]:
                if (number := each["message_sequence"]) is None:
                    assert each["event"]["type"] == "assistant.complete"
                    assert each["event"]["payload"]["after_sequence"] == behind
                    ends.add(each["event"]["turn_id"])
                else:
                    behind = number
            found = [each["message_sequence"] for each in told["messages"]]
            return [number for number in found if number is not None]

        ends: set[int] = set()
        every = list(range(1, head + 1))
        assert await numbers() == every
        assert ends == {1, 2, 3}
        assert await numbers(limit=2) == every[-2:]
        assert await numbers(before=4, limit=2) == [2, 3]
        assert await numbers(after=1, limit=2) == [2, 3]
        assert await numbers(after=0, limit=1) == [1]
        assert await numbers(after=1, before=3) == [2]
        assert await numbers(after=head) == []

    play(tmp_path, scene)


@pytest.mark.parametrize("newest_first", [True, False])
def test_a_page_of_large_messages_is_short_and_the_next_one_goes_on(
    tmp_path: Path, newest_first: bool
) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        async with server.client(name) as client:
            for number in range(1, 5):
                await client.say("hello" + " " * (MOST_PAGE * 2 // 5), f"m-{number}")
                await client.end_of(number)
            head = client.cursor
        pages: list[list[int]] = []
        where: dict[str, int] = {} if newest_first else {"after": 0}
        has_more = True
        while has_more:
            given = {"limit": 500, **where}
            answer = await http.get(f"/api/conversations/{name}/messages", params=given)
            assert len(answer.content) < MOST_PAGE * 1.1
            told = answer.json()
            has_more = told["has_more"]
            pages.append([n for each in told["messages"] if (n := each["message_sequence"])])
            where = {"before": pages[-1][0]} if newest_first else {"after": pages[-1][-1]}
        assert len(pages) > 1
        in_order = pages[::-1] if newest_first else pages
        assert [number for page in in_order for number in page] == list(range(1, head + 1))
        answer = await http.get(f"/api/conversations/{name}/messages?after=0&before=3")
        assert answer.json()["has_more"] is False, "the page has all that was asked for"

    play(tmp_path, scene)


def test_a_page_has_one_message_however_large_it_is(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        large = "hello" + " " * (2 * MOST_PAGE)
        talk = await server.service.engine.open(name)
        for number in (1, 2):
            await talk.send(large, client_message_id=f"m-{number}")
        async with server.client(name) as client:
            await client.end_of(2)
        answer = await http.get(f"/api/conversations/{name}/messages?after=0&limit=500")
        (first,) = answer.json()["messages"]
        assert (first["message_sequence"], answer.json()["has_more"]) == (1, True)

    play(tmp_path, scene)


def test_an_export_can_be_imported(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        async with server.client(name) as client:
            await client.say("use a tool", "m-1")
            await client.end_of(1)
            await client.state("active")
        answer = await http.get(f"/api/conversations/{name}/export")
        assert answer.headers["content-disposition"].startswith("attachment")
        lines = [read_line(line) for line in answer.content.splitlines()]
        assert isinstance(lines[0], HeadLine)
        assert lines[-1] == EndLine(client.cursor, 1)
        assert sum(isinstance(line, EntryLine) for line in lines) == client.cursor
        wrong = await http.get(f"/api/conversations/{name}/export?format=pdf")
        assert wrong.status_code == 400

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("title", "named"),
    [
        ('../a "b"\r\nX: \u202ec', 'filename="a b X c.jsonl"'),
        ("...", 'filename="conversation.jsonl"'),
        ("计划", "filename=\"conversation.jsonl\"; filename*=UTF-8''%E8%AE%A1%E5%88%92.jsonl"),
        ("x" * 200, f'filename="{"x" * 60}.jsonl"'),
    ],
)
def test_an_export_is_called_by_its_title(tmp_path: Path, title: str, named: str) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        begun = await http.post("/api/conversations", json={"title": title})
        answer = await http.get(f"/api/conversations/{begun.json()['id']}/export")
        assert answer.headers["content-disposition"] == f"attachment; {named}"

    play(tmp_path, scene)


def test_an_export_for_people(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        begun = await http.post("/api/conversations", json={"title": "Plans", "options": QUICK})
        name = begun.json()["id"]
        async with server.client(name) as client:
            await client.say("think, use a tool, and a question", "m-1")
            question = (await client.until("assistant.request_input"))["payload"]["question_id"]
            await client.send("user.input_response", "a-1", question_id=question, answer="Blue")
            await client.end_of(1)
            await client.state("active")
        answer = await http.get(f"/api/conversations/{name}/export?format=markdown")
        assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
        assert answer.headers["content-disposition"] == 'attachment; filename="Plans.md"'
        text = answer.text
        assert text.startswith(f"# Plans\n\nConversation {name} with demo, ")
        assert "\n## You\n\nthink, use a tool, and a question\n" in text
        assert "\n## demo\n" in text
        assert "> *Thinking:*" in text
        assert "*answered*: Blue" in text
        assert "*ok*" in text
        assert text.count("\n```") % 2 == 0
        empty = await server.begin()
        answer = await http.get(f"/api/conversations/{empty}/export?format=markdown")
        assert answer.text.startswith(f"# {empty}\n")
        assert 'filename="conversation.md"' in answer.headers["content-disposition"]

    play(tmp_path, scene)


def test_too_many_requests_have_to_wait(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        answers = [await http.get("/api/agents") for _ in range(4)]
        assert [each.status_code for each in answers] == [200, 200, 200, 429]
        assert answers[3].json()["error"]["code"] == "RATE_LIMITED"
        assert int(answers[3].headers["retry-after"]) >= 1
        assert (await http.get("/healthz")).status_code == 200
        async with server.http(await server.token_of("ann")) as anns:
            assert (await anns.get("/api/agents")).status_code == 200, "others feel nothing"

    play(tmp_path, scene, requests_at_once=3, requests_per_second=0.01)


def test_the_inbox_is_answered_without_a_page(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        async with server.client(name) as client:
            await client.say("question and permission", "m-1")
            await client.state("waiting_input")
            [item] = (await http.get("/api/inbox")).json()["items"]
            assert item["source_id"].startswith(f"conversation:{name}:question:")
            address = f"/api/inbox/{item['inbox_item_id']}/answer"
            empty = await http.post(address, json={"answer": ""})
            assert (empty.status_code, empty.json()["error"]["code"]) == (400, "INPUT_REQUIRED")
            body = {"answer": "Blue", "client_message_id": "a-1"}
            given = await http.post(address, json=body)
            assert given.json()["delivered_as"] == "tool_result"
            assert (await http.post(address, json=body)).json()["duplicate"]
            late = await http.post(address, json={"answer": "Red"})
            assert late.json()["error"]["code"] == "DUPLICATE_INPUT_RESPONSE"
            await client.until("assistant.permission_request")
            await client.state("waiting_input")
            [item] = (await http.get("/api/inbox")).json()["items"]
            address = f"/api/inbox/{item['inbox_item_id']}/answer"
            wrong = await http.post(address, json={"answer": "yes"})
            assert wrong.json()["error"]["code"] == "INVALID_PAYLOAD"
            given = await http.post(address, json={"decision": "allow"})
            assert given.json()["delivered_as"] == "decision"
            await client.end_of(1)
            await client.state("active")
        assert (await http.post("/api/inbox/none/answer", json={})).status_code == 404

    play(tmp_path, scene)


def test_the_inbox_has_nothing_of_an_archived_conversation(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        async with server.client(name) as client:
            await client.say("question", "m-1")
            await client.state("waiting_input")
        [item] = (await http.get("/api/inbox")).json()["items"]
        await http.patch(f"/api/conversations/{name}", json={"archived": True})
        assert (await http.get("/api/inbox")).json()["items"] == []
        answer = f"/api/inbox/{item['inbox_item_id']}/answer"
        refused = await http.post(answer, json={"answer": "Blue"})
        assert refused.json()["error"]["code"] == "CONVERSATION_CLOSED"
        await http.patch(f"/api/conversations/{name}", json={"archived": False})
        assert (await http.get("/api/inbox")).json()["items"] == [item]
        assert (await http.post(answer, json={"answer": "Blue"})).status_code == 200

    play(tmp_path, scene)


def test_agents_and_what_they_can_do(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        [agent] = (await http.get("/api/agents")).json()["agents"]
        assert (agent["name"], agent["ready"], agent["default"]) == ("demo", True, True)
        assert "user.message" in agent["capabilities"]["commands"]
        assert "delay" in agent["options"]

    play(tmp_path, scene)


def test_an_agent_that_was_set_as_a_module_is_the_one_of_conversations_that_name_none(
    tmp_path: Path,
) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        told = {each["name"]: each for each in (await http.get("/api/agents")).json()["agents"]}
        assert told["strange"]["default"]
        begun = await http.post("/api/conversations", json={})
        assert (begun.status_code, begun.json()["agent"]) == (201, "strange")

    play(tmp_path, scene, made_agents=None, agent="tests.agents.strange:make")


def test_an_agent_that_is_broken_is_listed_beside_the_others(tmp_path: Path) -> None:
    broken = Broken()
    broken.broken = True

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        told = {each["name"]: each for each in (await http.get("/api/agents")).json()["agents"]}
        assert told["demo"]["ready"]
        assert not told["broken"]["ready"]
        assert "ZeroDivisionError" in told["broken"]["unavailable"]
        begun = await http.post("/api/conversations", json={"agent": "broken"})
        assert (begun.status_code, begun.json()["error"]["code"]) == (502, "AGENT_ERROR")

    play(tmp_path, scene, agents={"demo": DemoAgent(), "broken": broken})


def test_blobs(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        png = {"Content-Type": "image/png"}
        kept = await http.post("/api/blobs", content=PNG, headers=png)
        assert kept.status_code == 201
        blob = kept.json()
        assert (blob["mime_type"], blob["size"]) == ("image/png", len(PNG))
        got = await http.get(f"/api/blobs/{blob['blob_id']}")
        assert (got.content, got.headers["content-type"]) == (PNG, "image/png")
        assert got.headers["x-content-type-options"] == "nosniff"
        page = {"Content-Type": "text/html"}
        evil = (await http.post("/api/blobs", content=b"<script>", headers=page)).json()
        got = await http.get(f"/api/blobs/{evil['blob_id']}")
        assert got.headers["content-type"] == "application/octet-stream"
        assert got.headers["content-disposition"] == "attachment"
        ann, ben = await server.token_of("ann"), await server.token_of("ben")
        name = await server.begin(user="ann")
        shared = await http.post(f"/api/blobs?conversation={name}", content=PNG, headers=png)
        async with server.http(ann) as hers, server.http(ben) as his:
            address = f"/api/blobs/{shared.json()['blob_id']}"
            assert (await hers.get(address)).status_code == 200
            assert (await his.get(address)).status_code == 404
            assert (await hers.get(f"/api/blobs/{blob['blob_id']}")).status_code == 404
            own = (await his.post("/api/blobs", content=PNG, headers=png)).json()
            assert (await his.get(f"/api/blobs/{own['blob_id']}")).status_code == 200
            assert (await hers.get(f"/api/blobs/{own['blob_id']}")).status_code == 404
            theirs = await his.post(f"/api/blobs?conversation={name}", content=PNG, headers=png)
            assert theirs.status_code == 404
            more = await his.post("/api/blobs", content=bytes(950), headers=png)
            assert (more.status_code, more.json()["error"]["code"]) == (413, "PAYLOAD_TOO_LARGE")
            assert (
                "more than 1,000 (max_user_blob_bytes). Delete" in more.json()["error"]["message"]
            )
            assert more.json()["error"]["data"] == {"kept": len(PNG), "quota": 1000}
            assert (await http.post("/api/blobs", content=bytes(950), headers=png)).is_success
        large = await http.post("/api/blobs", content=bytes(2000), headers=png)
        assert (large.status_code, large.json()["error"]["code"]) == (413, "PAYLOAD_TOO_LARGE")
        for odd in ("", "nonsense", "image/png\x01", "a/b/c"):
            answer = await http.post("/api/blobs", content=PNG, headers={"Content-Type": odd})
            assert answer.status_code == 400, odd
        assert (await http.post("/api/blobs", content=b"", headers=png)).status_code == 400
        for path in ("../../etc/passwd", "..%2f..%2fetc%2fpasswd", "none"):
            assert (await http.get(f"/api/blobs/{path}")).status_code == 404

    play(tmp_path, scene, max_blob_bytes=1000, max_user_blob_bytes=1000)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"agent": "none"}, 400),
        ({"agent": 1}, 400),
        ({"extra": 1}, 400),
        ({"title": ""}, 400),
        ({"title": "x" * 501}, 400),
        ({"model": "none"}, 400),
        ({"permission_mode": "none"}, 400),
        ({"options": {"flood": 1000}}, 400),
        ({"options": {"command": "rm"}}, 400),
        ({"cwd": "/etc"}, 403),
        ({"cwd": "relative"}, 400),
        ({"cwd": "/a\0b"}, 400),
        ({"cwd": "ROOT/../.."}, 403),
        ({"cwd": "ROOT/link"}, 403),
        ({"cwd": "ROOT/missing"}, 400),
        ({"cwd": "~nosuchuser/x"}, 400),
        ({"cwd": "ROOT/" + "x" * 5000}, 400),
        ({"cwd": "ROOT/circle/x"}, 400),
        ({"cwd": "ROOT"}, 201),
        ({"cwd": "ROOT/inner"}, 201),
        ([], 400),
        ("text", 400),
    ],
)
def test_what_a_conversation_may_begin_with(tmp_path: Path, body: Any, status: int) -> None:
    """CVE-2026-31975, CVE-2026-33718: no command of a client's, and no directory of its choice."""
    root = tmp_path / "root"
    (root / "inner").mkdir(parents=True)
    (root / "link").symlink_to("/etc")
    (root / "circle").symlink_to(root / "circle")
    if isinstance(body, dict) and "cwd" in body:
        body = {"cwd": body["cwd"].replace("ROOT", str(root))}

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        answer = await http.post("/api/conversations", json=body)
        assert answer.status_code == status, answer.text
        if status != 201:
            error = answer.json()["error"]
            assert error["message"]
            assert error["what_to_do"]

    play(tmp_path / "data", scene, roots=[str(root)])


@pytest.mark.parametrize(
    "address",
    [
        "/api/conversations?limit=x",
        "/api/conversations?limit=0",
        "/api/conversations?limit=501",
        "/api/conversations?limit=1&limit=2",
        "/api/conversations?offset=-1",
        "/api/search",
        "/api/audit?after=x",
        f"/api/audit?after={'9' * 30}",
    ],
)
def test_addresses_that_make_no_sense(tmp_path: Path, address: str) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        answer = await http.get(address)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_PAYLOAD")

    play(tmp_path, scene)


class Seeing(DemoAgent):
    """Takes pictures."""

    capabilities = AgentCapabilities(images=True, questions_survive=True)


def test_no_address_is_fetched(tmp_path: Path) -> None:
    """CVE-2026-22218, CVE-2026-22219: a picture's address is for the agent, and no blob is one."""

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        knocked = []

        async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            knocked.append(await reader.readline())
            writer.close()

        inside = await asyncio.start_server(hear, "127.0.0.1", 0)
        port = inside.sockets[0].getsockname()[1]
        name = await server.begin()
        async with inside, server.client(name) as client:
            for scheme in (f"http://127.0.0.1:{port}", "file://"):
                address = f"{scheme}/etc/passwd"
                for number, blob in enumerate((address, "../owner-token", "/etc/passwd")):
                    own_id = f"{scheme}-{number}"
                    picture = {"type": "image", "blob": {"blob_id": blob}}
                    await client.send("user.message", own_id, content=[picture])
                    assert (await client.answer(own_id))["payload"]["code"] == "INVALID_PAYLOAD"
                    assert (await http.get(f"/api/blobs/{quote(blob, safe='')}")).status_code == 404
            told = [
                {"type": "text", "text": "hello"},
                {"type": "image", "url": f"http://127.0.0.1:{port}/picture.png"},
            ]
            await client.send("user.message", "m-1", content=told)
            await client.end_of(1)
            await client.state("active")
            log = (await http.get(f"/api/conversations/{name}/messages")).json()["messages"]
            assert log, "it is written down as it was sent"
        assert knocked == []

    play(tmp_path, scene, agents={"demo": Seeing()})


@pytest.mark.parametrize(
    "words",
    ["' OR 1=1 --", "'; DROP TABLE entries; --", '" OR user IS NULL --', "x') UNION SELECT 1 --"],
)
def test_words_are_no_commands_for_the_store(tmp_path: Path, words: str) -> None:
    """CVE-2025-67644, CVE-2025-64439: parameters are bound, and nobody chooses what is filtered by."""

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        secret = await server.begin()
        async with server.client(secret) as client:
            await client.say("hello", "m-1")
            await client.end_of(1)
        ann = await server.token_of("ann")
        async with server.http(ann) as hers:
            found = await hers.get("/api/search", params={"q": words})
            assert found.json() == {"hits": []}
            # What is no parameter of an address is not looked at.
            for key in ("user", "owner", words, f"user = '{words}'"):
                asked = {key: words, "q": "hello"}
                assert (await hers.get("/api/search", params=asked)).json() == {"hits": []}
                listed = await hers.get("/api/conversations", params={key: words})
                assert listed.json() == {"conversations": []}
                assert (await hers.get("/api/inbox", params={key: words})).json() == {"items": []}
            for key in ("limit", "offset"):
                refused = await hers.get("/api/conversations", params={key: words})
                assert refused.json()["error"]["code"] == "INVALID_PAYLOAD"
            gone = await hers.delete(f"/api/conversations/{quote(words, safe='')}")
            assert gone.status_code == 404
        assert (await http.get("/api/search", params={"q": "hello"})).json()["hits"]

    play(tmp_path, scene)


def test_only_json_is_read_as_json(tmp_path: Path) -> None:
    """CVE-2025-64439: and a form of a page from elsewhere is none."""

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        for kind in ("text/plain", "application/x-www-form-urlencoded", "application/x-pickle"):
            answer = await http.post(
                "/api/conversations", content=b"{}", headers={"Content-Type": kind}
            )
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_FORMAT")
        for body in (b"", b"{", b"\xff"):
            answer = await http.post(
                "/api/conversations", content=body, headers={"Content-Type": "application/json"}
            )
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_FORMAT")

    play(tmp_path, scene)


@pytest.mark.parametrize(("lists", "is_refused"), [(62, False), (63, True), (400, True)])
def test_no_body_is_deeper_than_a_frame_may_be(
    tmp_path: Path, lists: int, is_refused: bool
) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        nested = b"[" * lists + b"]" * lists
        answer = await http.post(
            "/api/conversations",
            content=b'{"options": {"strange": ' + nested + b"}}",
            headers={"Content-Type": "application/json"},
        )
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (400, "INVALID_PAYLOAD")
        assert ("No more than 64 levels of objects and lists" in error["message"]) is is_refused

    play(tmp_path, scene)


@pytest.mark.parametrize("end", [b"]}}", b""])
def test_a_body_of_too_many_values_is_refused_before_it_is_decoded(
    tmp_path: Path, end: bytes
) -> None:
    """Where its end is missing it is no JSON: a decoder would say so."""

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        answer = await http.post(
            "/api/conversations",
            content=b'{"options": {"a": [' + b",".join([b"[]"] * 10_001) + end,
            headers={"Content-Type": "application/json"},
        )
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (400, "INVALID_PAYLOAD")
        assert "No more than 20000 objects, lists and entries" in error["message"]

    play(tmp_path, scene)


def test_an_address_of_too_many_parameters_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        many = "&".join(["a=1"] * 100)
        assert (await http.get(f"/api/audit?{many}")).status_code == 200
        for path in ("/api/audit", "/enter", "/healthz", "/nowhere"):
            answer = await http.get(f"{path}?{many}&a=1")
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_PAYLOAD")

    play(tmp_path, scene)


def test_a_path_that_is_too_long_is_not_followed(tmp_path: Path) -> None:
    """To follow one of a megabyte took minutes: the system refuses each of its names, one by one."""

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        answer = await http.post("/api/conversations", json={"cwd": "/a" * 2049})
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (400, "INVALID_PAYLOAD")
        assert "more than 4096 characters" in error["message"]

    play(tmp_path, scene, roots=[str(tmp_path)])


def test_anybody_may_ask_whether_it_is_there(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        http.headers.pop("Authorization")
        healthy = (await http.get("/healthz")).json()
        assert healthy.pop("longest_pause_ms") >= 0
        assert healthy == {"status": "ok"}
        assert (await http.get("/readyz")).json() == {"status": "ready"}
        assert "Turnwire" in (await http.get("/")).text
        assert (await http.get("/nowhere")).status_code == 404

    play(tmp_path, scene)


def test_asking_whether_it_is_ready_costs_the_store_nothing(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        store, asked = server.service.store, 0
        check = store.check_writable

        async def count() -> None:
            nonlocal asked
            asked += 1
            await check()

        store.check_writable = count  # type: ignore[method-assign]
        began = asyncio.get_running_loop().time()
        answers = await asyncio.gather(*(http.get("/readyz") for _ in range(50)))
        took = asyncio.get_running_loop().time() - began
        assert {answer.status_code for answer in answers} == {200}
        assert 1 <= asked <= 1 + took

    play(tmp_path, scene)


def test_what_was_deleted_is_in_no_file_of_the_server(tmp_path: Path) -> None:
    planted = {
        kind: "".join(random.choices(string.ascii_lowercase, k=24))
        for kind in ("message", "later", "title", "blob", "answer")
    }

    def found() -> set[str]:
        out = set()
        for path in tmp_path.rglob("turnwire.db*"):
            data = b"" if path.name.endswith("-ballast") else path.read_bytes()
            out |= {kind for kind, word in planted.items() if word[-14:].encode() in data}
        return out

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin(delay=0)
        text = {"Content-Type": "text/plain"}
        address = f"/api/blobs?conversation={name}"
        await http.post(address, content=planted["blob"].encode(), headers=text)
        async with server.client(name) as client:
            await client.say(f"question {planted['message']}", "m-1")
            asked = await client.until("assistant.request_input")
            await client.say(planted["later"], "m-2")
            await client.answer("m-2")
            question = asked["payload"]["question_id"]
            answer = {"question_id": question, "answer": planted["answer"]}
            await client.send("user.input_response", "m-3", **answer)
            await client.end_of(2)
        where = f"/api/conversations/{name}"
        assert (await http.patch(where, json={"title": planted["title"]})).is_success
        assert found() == set(planted)
        assert (await http.delete(where)).status_code == 204
        async with asyncio.timeout(60):
            while found():  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        actions = {row.action for row in await server.service.store.audit(conversation_id=name)}
        assert {"said", "asked", "renamed", "deleted"} <= actions, "the trail stays"

    play(tmp_path, scene)


def test_a_server_that_cannot_write_is_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a real error of the operating system, and on a disk that has no room left."""

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        monkeypatch.setattr(service, "_TRY_SECONDS", 0.0)
        assert (await http.get("/readyz")).status_code == 200
        with no_file_may_grow_beyond(1000):
            refused = await http.get("/readyz")
        assert refused.status_code == 503
        assert refused.json()["error"]["code"] == "STORAGE_UNAVAILABLE"
        assert (await http.get("/readyz")).status_code == 200
        monkeypatch.setattr(ballast, "free_bytes", lambda folder: 4096)
        full = await http.get("/readyz")
        assert full.status_code == 503
        assert "Free some space" in full.json()["error"]["message"]
        monkeypatch.undo()
        monkeypatch.setattr(service, "_TRY_SECONDS", 0.0)
        assert (await http.get("/readyz")).status_code == 200

    play(tmp_path, scene)


def test_what_an_address_cannot_do_is_said_as_everything_else(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        answer = await http.put("/api/conversations")
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST, GET")
        assert answer.json()["error"]["code"] == "METHOD_NOT_ALLOWED"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert (await http.head("/healthz")).status_code == 200

    play(tmp_path, scene)


@pytest.mark.parametrize(("path", "method"), [(path, method) for path, method, _ in API])
def test_no_address_is_open_to_all(tmp_path: Path, path: str, method: str) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        http.headers.pop("Authorization")
        answer = await http.request(method, path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "UNAUTHORIZED")
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")

    play(tmp_path, scene)


@pytest.mark.parametrize("path", ["/", "/enter", "/healthz", "/nowhere", "/api/agents"])
def test_nothing_that_is_answered_can_run_in_a_browser(tmp_path: Path, path: str) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        headers = (await http.get(path)).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"

    play(tmp_path, scene)


OF_A_CONVERSATION = [(path, method) for path, method, _ in API if "{id}" in path]


@pytest.mark.parametrize(("path", "method"), OF_A_CONVERSATION)
def test_no_address_of_a_conversation_is_there_for_others(
    tmp_path: Path, path: str, method: str
) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin(user="ann")
        async with server.http(await server.token_of("bob")) as bobs:
            body = {"title": "mine"} if method == "PATCH" else None
            answer = await bobs.request(method, path.format(id=name, sequence=1), json=body)
            assert answer.status_code == 404
            assert answer.json()["error"]["code"] == "CONVERSATION_NOT_FOUND"
        shown = (await http.get(f"/api/conversations/{name}")).json()
        assert "title" not in shown, "and nothing has happened to it"

    play(tmp_path, scene)


@pytest.mark.parametrize("code", [code for code in STATUS if code != "UNKNOWN_MESSAGE_TYPE"])
def test_an_answer_does_not_speak_of_frames(code: Any) -> None:
    told = msgspec.json.decode(error_body(Refused(code, "No.")))["error"]["what_to_do"]
    assert told
    assert not re.search(
        r"frame|session\.|user\.|assistant\.|capabilities\.|[Cc]onnect|last_sequence", told
    )
    assert "conversation's owner" not in told


def test_an_error_says_whether_to_try_again_and_what_to_do(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        new = "/api/conversations"
        answers = {
            (404, "NOT_FOUND"): await http.get("/api/nope"),
            (405, "METHOD_NOT_ALLOWED"): await http.put("/api/agents"),
            (400, "INVALID_PAYLOAD"): await http.post(new, json={"agent": "nobody"}),
            (413, "PAYLOAD_TOO_LARGE"): await http.post(
                "/api/blobs", content=b"x" * 2001, headers={"Content-Type": "text/plain"}
            ),
            (404, "INVALID_QUESTION_ID"): await http.post("/api/inbox/none/answer", json={}),
        }
        for (status, code), answer in answers.items():
            error = answer.json()["error"]
            assert (answer.status_code, error["code"]) == (status, code)
            assert error["retryable"] is False
            assert error["what_to_do"]
        unknown = answers[400, "INVALID_PAYLOAD"].json()["error"]["message"]
        assert unknown == "There is no agent 'nobody'; there is: demo."
        assert "POST /api/blobs" not in answers[413, "PAYLOAD_TOO_LARGE"].text
        long = await http.post(new, json={"title": "x" * 2000})
        assert "POST /api/blobs" in long.json()["error"]["message"]

    play(tmp_path, scene, max_blob_bytes=2000, max_body_bytes=1024)


def test_the_words_of_a_hit_are_marked(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        async with server.client(await server.begin()) as client:
            await client.say("a red fox", "m-1")
            await client.end_of(1)
        hits = (await http.get("/api/search?q=fox")).json()["hits"]
        assert any("\x02fox\x03" in hit["snippet"] for hit in hits)

    play(tmp_path, scene)


def test_of_a_pasted_sentence_the_first_words_are_searched(tmp_path: Path) -> None:
    sentence = " ".join(f"word{number}" for number in range(60))

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        async with server.client(await server.begin()) as client:
            await client.say(f"{sentence}.", "m-1")
            await client.end_of(1)
        answer = (await http.get("/api/search", params={"q": sentence})).json()
        assert answer["ignored_words"] == 10
        assert answer["hits"], "it is found, as it was pasted"
        answer = (await http.get("/api/search", params={"q": sentence[:200]})).json()
        assert "ignored_words" not in answer

    play(tmp_path, scene)


def test_a_search_for_too_much_is_refused_with_its_limit(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        refused = await http.get("/api/search", params={"q": "a.b " * 4000})
        assert refused.status_code == 400
        error = refused.json()["error"]
        assert error["code"] == "INVALID_PAYLOAD"
        assert "it may have 1000." in error["message"]

    play(tmp_path, scene)
