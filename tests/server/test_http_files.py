"""The names of the files below the working directory of a conversation, or of a new one, over HTTP."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.helpers.http_scenes import play
from tests.server.helpers.servers import Serving
from turnwire.server.api import files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Returns a root with a working directory, and a secret outside of it."""
    work = tmp_path / "root" / "work"
    for folder in ("src/inner", "node_modules/left", ".git", "empty"):
        (work / folder).mkdir(parents=True)
    for name in (
        "README.md",
        "src/main.py",
        "src/inner/main_window.py",
        "node_modules/left/main.js",
        ".git/main",
        ".env",
    ):
        (work / name).write_text("x")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "main.key").write_text("x")
    (work / "way-out").symlink_to(tmp_path / "secret")
    (work / "main-link").symlink_to(tmp_path / "secret" / "main.key")
    (work / "round").symlink_to(work)
    return tmp_path / "root"


async def _begin(http: httpx.AsyncClient, cwd: Path) -> str:
    begun = await http.post("/api/conversations", json={"cwd": str(cwd)})
    return str(begun.json()["id"])


async def _asked(http: httpx.AsyncClient, name: str, **params: Any) -> httpx.Response:
    return await http.get(f"/api/conversations/{name}/files", params=params)


def test_files_are_found_by_a_part_of_their_path_the_best_first(tmp_path: Path, root: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await _begin(http, root / "work")
        found = (await _asked(http, name, q="MAIN")).json()
        assert found == {"files": ["src/main.py", "src/inner/main_window.py"], "complete": True}
        found = (await _asked(http, name, q="inner/")).json()
        assert found["files"] == ["src/inner/main_window.py"]
        everything = (await _asked(http, name)).json()
        assert sorted(everything["files"]) == [
            ".env",
            "README.md",
            "src/inner/main_window.py",
            "src/main.py",
        ]
        first = (await _asked(http, name, limit="1")).json()
        assert (len(first["files"]), first["complete"]) == (1, False)

    play(tmp_path / "data", scene, roots=[str(root)])


@pytest.mark.parametrize(
    "sought",
    ["..", "../", "../secret", "/etc", "way-out/", "main.key", "~", "%2e%2e/", "\x00", "*"],
)
def test_no_text_leads_out_of_the_directory(tmp_path: Path, root: Path, sought: str) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await _begin(http, root / "work")
        assert (await _asked(http, name, q=sought)).json() == {"files": [], "complete": True}

    play(tmp_path / "data", scene, roots=[str(root)])


def test_a_directory_that_became_a_link_out_of_the_roots_is_refused(
    tmp_path: Path, root: Path
) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await _begin(http, root / "work" / "empty")
        (root / "work" / "empty").rmdir()
        assert (await _asked(http, name)).json() == {"files": [], "complete": True}
        (root / "work" / "empty").symlink_to(tmp_path / "secret")
        refused = await _asked(http, name)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "FORBIDDEN")
        assert "main.key" not in refused.text

    play(tmp_path / "data", scene, roots=[str(root)])


def test_only_users_of_the_conversation_see_names(tmp_path: Path, root: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await _begin(http, root / "work")
        async with server.http(await server.token_of("ann")) as hers:
            assert (await _asked(hers, name)).status_code == 404
        async with httpx.AsyncClient(base_url=str(http.base_url)) as stranger:
            assert (await _asked(stranger, name)).status_code == 401
        assert (await _asked(http, name, q="x" * 201)).status_code == 400
        assert (await _asked(http, name, limit="0")).status_code == 400

    play(tmp_path / "data", scene, roots=[str(root)])


def test_the_search_for_files_is_bounded(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_MOST_SEEN", 3)
    monkeypatch.setattr(files, "_DEEPEST", 1)
    undecodable = os.fsencode(root / "work") + b"/\xff.txt"
    Path(os.fsdecode(undecodable)).write_text("x")

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await _begin(http, root / "work")
        found = (await _asked(http, name)).json()
        assert len(found["files"]) <= 3
        assert not found["complete"]
        monkeypatch.setattr(files, "_MOST_SEEN", 100)
        found = (await _asked(http, name)).json()
        assert sorted(found["files"]) == [".env", "README.md", "src/main.py"]

    play(tmp_path / "data", scene, roots=[str(root)])


def test_a_conversation_without_a_directory_has_no_files(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        assert (await _asked(http, name)).json() == {"files": [], "complete": True}

    play(tmp_path / "data", scene, roots=[])


def test_files_are_found_before_there_is_a_conversation_below_the_roots_only(
    tmp_path: Path, root: Path
) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        async def asked(**params: str) -> httpx.Response:
            return await http.get("/api/directories/files", params=params)

        found = (await asked(path=str(root / "work"), q="MAIN")).json()
        assert found == {"files": ["src/main.py", "src/inner/main_window.py"], "complete": True}
        usual = (await asked(q="readme")).json()
        assert usual == {"files": ["work/README.md"], "complete": True}
        for outside in (
            "/",
            str(tmp_path / "secret"),
            str(root / ".."),
            str(root / "work/way-out"),
        ):
            refused = await asked(path=outside)
            assert (refused.status_code, refused.json()["error"]["code"]) == (403, "FORBIDDEN")
            assert "main.key" not in refused.text
        for invalid in ("work", str(root / "work/README.md"), str(root / "missing"), "/a\0b"):
            assert (await asked(path=invalid)).status_code == 400
        assert (await asked(q="x" * 201)).status_code == 400
        async with server.http(await server.token_of("ann")) as hers:
            theirs = await hers.get("/api/directories/files", params={"q": "readme"})
            assert theirs.json() == usual
        async with httpx.AsyncClient(base_url=str(http.base_url)) as stranger:
            assert (await stranger.get("/api/directories/files")).status_code == 401

    play(tmp_path / "data", scene, roots=[str(root)])


def test_without_roots_a_new_conversation_has_no_files(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        answer = await http.get("/api/directories/files")
        assert answer.json() == {"files": [], "complete": True}

    play(tmp_path / "data", scene, roots=[])
