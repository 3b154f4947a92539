"""The lines at which a requested edit would replace text, over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.helpers.http_scenes import play
from tests.server.helpers.servers import Serving
from turnwire import AgentTurn, agent
from turnwire.server.api import places


@agent("editor")
async def editor(turn: AgentTurn) -> AsyncGenerator[str, str]:
    """Asks for the permission for a call of `Edit`, whose input is the message."""
    async with turn.tool("Edit", json.loads(turn.text), needs_permission=True) as call:
        call.result = "edited"
    yield "Done."


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Returns a directory to work in, next to a secret and the data of the server."""
    work = tmp_path / "root" / "work"
    work.mkdir(parents=True)
    (work / "a.py").write_bytes(b"one\r\ntwo\r\nthree\r\ntwo\r\nfour five\r\n")
    (tmp_path / "secret").write_text("first\nsecret\n")
    (work / "link").symlink_to(tmp_path / "secret")
    return work


async def _places(server: Serving, work: Path, given: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the answer for an open request with this input."""
    async with server.http() as http:
        body = {"agent": "editor", "cwd": str(work)}
        name = (await http.post("/api/conversations", json=body)).json()["id"]
        async with server.client(name) as client:
            await client.say(json.dumps(given), "m-1")
            asked = (await client.until("assistant.permission_request"))["payload"]
            found = await http.get(f"{_of(name)}/{asked['request_id']}/places")
            assert found.status_code == 200
            answer = {"request_id": asked["request_id"], "decision": "allow"}
            await client.send("user.permission_response", "m-2", **answer)
            await client.end_of(1)
    return list(found.json()["places"])


def _of(name: str) -> str:
    return f"/api/conversations/{name}/requests"


def _play(tmp_path: Path, scene: Any, **more: Any) -> None:
    data, roots = tmp_path / "root" / "data", [str(tmp_path / "root")]
    play(data, scene, agents={"editor": editor}, roots=roots, **more)


def test_the_line_of_a_text_that_is_once_in_its_file_is_told(tmp_path: Path, work: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        path = str(work / "a.py")
        for name in (path, "a.py"):
            told = await _places(server, work, {"file_path": name, "old_string": "three\ntwo"})
            assert told == [{"path": name, "text": "three\ntwo", "line": 3}]
        edits = [{"old_string": "five"}, {"old_string": "two"}, "odd", {"old_string": "gone"}]
        told = await _places(server, work, {"file_path": path, "edits": edits})
        assert told == [{"path": path, "text": "five", "line": 5}], "`two` is there twice"
        content = [{"type": "diff", "path": path, "oldText": "one\n", "newText": ""}, {}]
        told = await _places(server, work, {"content": content})
        assert told == [{"path": path, "text": "one\n", "line": 1}]
        for nothing in ({}, {"old_string": "one"}, {"file_path": path, "old_string": 1}):
            assert await _places(server, work, nothing) == []

    _play(tmp_path, scene)


def test_no_file_outside_of_the_directory_is_read_and_none_of_the_server(
    tmp_path: Path, work: Path
) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        root = work.parent
        token = root / "data" / "owner-token"
        assert token.read_text().strip() == server.token
        for cwd, path, text in [
            (work, str(tmp_path / "secret"), "secret"),
            (work, "../../secret", "secret"),
            (work, str(work / ".." / ".." / "secret"), "secret"),
            (work, "link", "secret"),
            (work, str(work), "a"),
            (work, "nothing", "secret"),
            (work, "no\0name", "secret"),
            (root, "data/owner-token", server.token[:9]),
            (root, str(token), server.token[:9]),
        ]:
            assert await _places(server, cwd, {"path": path, "old_string": text}) == [], path

    _play(tmp_path, scene)


def test_a_directory_that_became_a_link_out_of_the_roots_is_not_read(
    tmp_path: Path, work: Path
) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        away = tmp_path / "away"
        away.mkdir()
        (away / "a.py").write_text("secret\n")
        body = {"agent": "editor", "cwd": str(work)}
        name = (await http.post("/api/conversations", json=body)).json()["id"]
        async with server.client(name) as client:
            await client.say(json.dumps({"path": "a.py", "old_string": "secret"}), "m-1")
            asked = (await client.until("assistant.permission_request"))["payload"]
            address = f"{_of(name)}/{asked['request_id']}/places"
            await asyncio.to_thread(work.rename, work.parent / "moved")
            assert (await http.get(address)).json() == {"places": []}, "it is gone"
            await asyncio.to_thread(work.symlink_to, away)
            assert (await http.get(address)).json() == {"places": []}
            answer = {"request_id": asked["request_id"], "decision": "allow"}
            await client.send("user.permission_response", "m-2", **answer)
            await client.end_of(1)
            assert (await http.get(address)).json() == {"places": []}, "it is not open"
        ann = await server.token_of("ann")
        async with server.http(ann) as other:
            assert (await other.get(address)).status_code == 404

    _play(tmp_path, scene)


def test_a_large_file_and_many_texts_are_left_out(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "_MOST_TEXTS", 1)

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        edits = [{"old_string": "one"}, {"old_string": "three"}]
        given = {"path": "a.py", "edits": edits}
        assert [each["line"] for each in await _places(server, work, given)] == [1]
        (work / "a.py").write_bytes(b"one\n" + b"x" * 2_000_000)
        assert await _places(server, work, given) == []
        (work / "a.py").write_bytes(b"one\n\xff")
        assert await _places(server, work, given) == []

    _play(tmp_path, scene)
