"""The HTTP interface over a real socket: agents, blobs, health, errors, search, access."""

from __future__ import annotations

import asyncio
import random
import re
import string
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from tests.server.helpers.frame_checks import Broken
from tests.server.helpers.http_scenes import PNG, play
from tests.server.helpers.servers import Serving
from tests.stores.helpers.file_size_limit import no_file_may_grow_beyond
from turnwire.agents.demo import DemoAgent
from turnwire.core.error_codes import Refused
from turnwire.server import service
from turnwire.server.api.problems import STATUS, error_body
from turnwire.server.api.routes import API
from turnwire.stores.sqlite import ballast


def test_agents_are_listed_with_their_capabilities(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        [agent] = (await http.get("/api/agents")).json()["agents"]
        assert (agent["name"], agent["ready"], agent["default"]) == ("demo", True, True)
        assert "user.message" in agent["capabilities"]["commands"]
        assert "delay" in agent["options"]

    play(tmp_path, scene)


def test_an_agent_set_as_a_module_is_the_default_of_new_conversations(
    tmp_path: Path,
) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        told = {each["name"]: each for each in (await http.get("/api/agents")).json()["agents"]}
        assert told["strange"]["default"]
        begun = await http.post("/api/conversations", json={})
        assert (begun.status_code, begun.json()["agent"]) == (201, "strange")

    play(tmp_path, scene, made_agents=None, agent="tests.agents.helpers.misbehaving_agents:make")


def test_a_broken_agent_is_listed_with_the_others(tmp_path: Path) -> None:
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


def test_blobs_are_uploaded_and_downloaded(tmp_path: Path) -> None:
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


def test_the_health_check_needs_no_key(tmp_path: Path) -> None:
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


@pytest.mark.needs_sqlite(reason="looks into the file")
def test_a_deleted_conversation_is_in_no_file_of_the_server(tmp_path: Path) -> None:
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


@pytest.mark.needs_sqlite(reason="the disk of the file is full")
def test_a_server_that_cannot_write_is_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Uses a real error of the operating system, and a full disk."""

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


def test_a_method_that_an_address_does_not_have_is_refused_as_a_problem(tmp_path: Path) -> None:
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
def test_no_response_can_run_in_a_browser(tmp_path: Path, path: str) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        headers = (await http.get(path)).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"

    play(tmp_path, scene)


OF_A_CONVERSATION = [(path, method) for path, method, _ in API if "{id}" in path]
# The other parts of their paths.
PARTS = {"sequence": "1", "share_id": "none", "rule_id": "none", "request_id": "none"}


@pytest.mark.parametrize(("path", "method"), OF_A_CONVERSATION)
def test_every_address_of_a_conversation_is_closed_to_other_users(
    tmp_path: Path, path: str, method: str
) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin(user="ann")
        async with server.http(await server.token_of("bob")) as bobs:
            body = {"title": "mine"} if method == "PATCH" else None
            answer = await bobs.request(method, path.format(id=name, **PARTS), json=body)
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
            (400, "INVALID_PAYLOAD"): await http.post(new, json={"agent": "missing"}),
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
        assert unknown == "There is no agent 'missing'; there is: demo."
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


def test_a_search_for_a_long_sentence_uses_its_first_words(tmp_path: Path) -> None:
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
