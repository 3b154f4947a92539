"""Directories below the roots are listed for a person who chooses one, and no others."""

from __future__ import annotations

from pathlib import Path

from tests.server.helpers.frame_checks import play
from tests.server.helpers.servers import Serving


def test_directories_below_the_roots_are_listed_and_completed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for name in ("apple", "apricot", "banana/inside", ".hidden"):
        (root / name).mkdir(parents=True)
    (root / "a-file").write_text("x")

    async def scene(server: Serving) -> None:
        async with server.http() as http:

            async def listed(path: str) -> dict[str, object]:
                answer = await http.get("/api/directories", params={"path": path})
                assert answer.status_code == 200, answer.text
                said: dict[str, object] = answer.json()
                return said

            assert await listed("") == {"directories": [str(root)], "has_more": False}
            whole = [str(root / name) for name in ("apple", "apricot", "banana")]
            for path in (str(root), f"{root}/"):
                assert await listed(path) == {
                    "directories": whole,
                    "has_more": False,
                    "path": str(root),
                }
            assert (await listed(f"{root}/ap"))["directories"] == whole[:2]
            assert (await listed(f"{root}/."))["directories"] == whole  # the root itself
            assert (await listed(f"{root}/.h"))["directories"] == [str(root / ".hidden")]
            assert (await listed(f"{root}/banana/"))["parent"] == str(root)

    play(tmp_path, scene, roots=[str(root)])


def test_no_path_leads_out_of_the_roots(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "in").mkdir(parents=True)
    (outside / "secret").mkdir(parents=True)
    (root / "link").symlink_to(outside)
    (root / "own").symlink_to(root / "in")

    async def scene(server: Serving) -> None:
        async with server.http() as http:

            async def status(path: str) -> int:
                return (await http.get("/api/directories", params={"path": path})).status_code

            for path in (
                "/",
                "/etc/",
                str(outside),
                f"{root}/../outside",
                f"{root}/in/../../outside/",
                f"{root}/link",
                f"{root}/link/",
                f"{root}/link/sec",
                f"{root}2",
                "~root/",
            ):
                assert await status(path) == 403, path
            for path in ("relative", "../", "x\0y", f"{root}/missing/", "/" + "x" * 5000):
                assert await status(path) in (400, 403), path
            listed = (await http.get("/api/directories", params={"path": f"{root}/"})).json()
            assert listed["directories"] == [str(root / "in"), str(root / "own")]
        async with server.http(token="wrong") as guest:
            assert (await guest.get("/api/directories")).status_code == 401

    play(tmp_path, scene, roots=[str(root)])


def test_a_directory_with_very_many_is_listed_in_part(tmp_path: Path) -> None:
    for number in range(205):
        (tmp_path / "many" / f"d{number:03}").mkdir(parents=True)

    async def scene(server: Serving) -> None:
        async with server.http() as http:
            path = f"{tmp_path}/many/"
            listed = (await http.get("/api/directories", params={"path": path})).json()
            assert len(listed["directories"]) == 200
            assert listed["has_more"]

    play(tmp_path, scene, roots=[str(tmp_path / "many")])
