"""Conversations over HTTP: forks, budgets, pages of messages, exports, the inbox."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from msgspec import structs

from tests.helpers.owner_names import owner_with, pid_that_has_ended
from tests.server.helpers.frame_checks import Costly
from tests.server.helpers.http_scenes import QUICK, play
from tests.server.helpers.servers import Serving
from turnwire.client import Client
from turnwire.engine.export.jsonl import EndLine, EntryLine, HeadLine, read_line
from turnwire.server.access.limits import MOST_PAGE
from turnwire.server.api.conversations import conversation_json


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


def test_the_budget_of_a_user_is_returned(tmp_path: Path) -> None:
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


def test_without_a_limit_no_budget_is_returned(tmp_path: Path) -> None:
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
        for conversation, is_found in ((name, True), ("another", False)):
            asked = {"q": "hello", "conversation": conversation}
            assert bool((await http.get("/api/search", params=asked)).json()["hits"]) is is_found
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


def test_a_turn_of_a_killed_process_is_not_shown_as_running(tmp_path: Path) -> None:
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


def test_messages_are_read_page_by_page(tmp_path: Path) -> None:
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
            # A turn's end has no number, and comes after the entry that it follows.
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


def test_a_page_has_at_least_one_message_of_any_size(tmp_path: Path) -> None:
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
