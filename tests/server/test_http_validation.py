"""Validation of HTTP requests: bodies, addresses, parameters and their limits."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.server.helpers.http_scenes import play
from tests.server.helpers.servers import Serving
from turnwire.agents.demo import DemoAgent
from turnwire.ports import AgentCapabilities


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
def test_the_body_of_a_new_conversation_is_validated(
    tmp_path: Path, body: Any, status: int
) -> None:
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
def test_a_search_text_is_never_a_query_of_the_store(tmp_path: Path, words: str) -> None:
    """CVE-2025-67644, CVE-2025-64439: parameters are bound, and no client chooses the filter."""

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        secret = await server.begin()
        async with server.client(secret) as client:
            await client.say("hello", "m-1")
            await client.end_of(1)
        ann = await server.token_of("ann")
        async with server.http(ann) as hers:
            found = await hers.get("/api/search", params={"q": words})
            assert found.json() == {"hits": []}
            # Unknown parameters of an address are ignored.
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
    """CVE-2025-64439: a form of another origin's page is not read as JSON."""

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
    """The body has no end, so a decoder would report invalid JSON."""

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
    """Resolving a path of a megabyte took minutes: the system refuses each of its names."""

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        answer = await http.post("/api/conversations", json={"cwd": "/a" * 2049})
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (400, "INVALID_PAYLOAD")
        assert "more than 4096 characters" in error["message"]

    play(tmp_path, scene, roots=[str(tmp_path)])
