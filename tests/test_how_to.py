"""The how-to pages, from top to bottom: their files are written, their commands are run.

"Write `name`:" before a block makes it a file. A block `sh` is run; a block `text` behind it is its
output, and "..." at its end leaves out the rest. A command that serves runs until the end of its
page. A block that shows what a reader has so far stands below the heading "Before".
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import connect

from tests.server.helpers.servers import ROOT, free_port

FOLDER = ROOT / "docs" / "how-to"
BLOCK = re.compile(
    r"(?:rite `(?P<file>[\w.-]+)`:\n\n)?^```(?P<language>\w+)\n(?P<body>.*?)^```$"
    r"(?:\n\n```text\n(?P<shown>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
NEEDS_A_DATABASE = "postgresql"
RUN = sorted(
    path.stem
    for path in FOLDER.glob("*.md")
    if "\n```sh\n" in path.read_text() and path.stem != NEEDS_A_DATABASE
)
BIN = Path(sys.executable).parent
BEFOREHAND = {  # what a reader has
    "upgrade": "turnwire run --agent demo --data-dir data hello",
    "postgresql": "env -u TURNWIRE_STORE turnwire run --agent demo hello",
}


class Reader:
    """A reader in an empty folder who does what a page says."""

    def __init__(self, page: str, folder: Path, servers: ExitStack, **env: str) -> None:
        self.port = free_port()
        self.folder = folder
        self._page = page
        self._servers = servers
        self._env = {
            **{name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ},
            "PATH": os.pathsep.join([str(BIN), "/usr/bin", "/bin"]),
            "HOME": str(folder),
            "NO_COLOR": "1",
            **env,
        }

    def read(self) -> None:
        text = (FOLDER / f"{self._page}.md").read_text()
        text = re.sub(r"^## Before\n.*?^## ", "## ", text, flags=re.MULTILINE | re.DOTALL)
        self._run(BEFOREHAND.get(self._page, "true"), None)
        for block in BLOCK.finditer(text):
            body = block["body"].replace("8000", str(self.port))
            if block["file"]:
                (self.folder / block["file"]).write_text(body)
            elif block["language"] == "sh" and re.match(r"python -m uvicorn|turnwire serve", body):
                self._servers.enter_context(self._serve(body))
            elif block["language"] == "sh":
                self._run(body, block["shown"])

    def _run(self, commands: str, shown: str | None) -> None:
        ran = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands],
            cwd=self.folder,
            env=self._env,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        assert ran.returncode == 0, f"{commands}\n{ran.stdout}\n{ran.stderr}"
        if shown is not None and shown.endswith("...\n"):
            assert ran.stdout.startswith(shown.removesuffix("...\n")), commands
        elif shown is not None:
            assert ran.stdout == shown, commands

    @contextmanager
    def _serve(self, command: str) -> Iterator[None]:
        with subprocess.Popen(
            command.split(),
            cwd=self.folder,
            env=self._env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as server:
            assert server.stdout is not None
            try:
                said = iter(server.stdout)
                assert any("Uvicorn running" in line or "Ctrl-C" in line for line in said)
                yield
            finally:
                server.kill()


@contextmanager
def reading(page: str, folder: Path, **env: str) -> Iterator[Reader]:
    """The servers of a page run until the end of the block."""
    with ExitStack() as servers:
        reader = Reader(page, folder, servers, **env)
        reader.read()
        yield reader


def test_a_page_with_a_database_does_what_it_says(tmp_path: Path, empty_database: str) -> None:
    with reading(NEEDS_A_DATABASE, tmp_path, TURNWIRE_STORE=empty_database):
        assert (tmp_path / "copy.db").exists()


@pytest.mark.parametrize("page", RUN)
def test_a_page_does_what_it_says(page: str, tmp_path: Path) -> None:
    with reading(page, tmp_path):
        pass


def test_every_program_of_a_page_is_run_or_shows_what_was_before() -> None:
    for path in FOLDER.glob("*.md"):
        text = re.sub(
            r"^## Before\n.*?^## ", "## ", path.read_text(), flags=re.MULTILINE | re.DOTALL
        )
        blocks = [block for block in BLOCK.finditer(text) if block["language"] == "python"]
        if path.stem not in ("mount-the-server", "translate-a-stream"):  # these have own tests
            assert all(block["file"] for block in blocks), path.name


def test_the_page_with_react_is_the_example_that_a_browser_test_opens() -> None:
    text = (FOLDER / "build-a-page.md").read_text()
    files = {block["file"]: block["body"] for block in BLOCK.finditer(text) if block["file"]}
    example = ROOT / "examples" / "react-chat"
    assert files == {name: (example / name).read_text() for name in files}
    assert sorted(files) == ["index.html", "main.jsx", "vite.config.js"]
    lines = len(files["main.jsx"].splitlines())
    assert lines <= 30
    assert f"in {lines} lines" in text


@pytest.mark.parametrize("number", [0, 1])
def test_an_application_with_the_server_mounted_in_it_runs(number: int, tmp_path: Path) -> None:
    text = (FOLDER / "mount-the-server.md").read_text()
    programs = [block["body"] for block in BLOCK.finditer(text) if block["language"] == "python"]
    (tmp_path / "app.py").write_text(programs[number])
    with ExitStack() as servers:
        reader = Reader("mount-the-server", tmp_path, servers)
        command = f"python -m uvicorn app:app --port {reader.port}"
        servers.enter_context(reader._serve(command))
        with urllib.request.urlopen(f"http://127.0.0.1:{reader.port}/chat/healthz") as answer:
            assert answer.status == 200


def test_a_login_opens_the_conversations_of_one_user_alone(tmp_path: Path) -> None:
    with reading("your-login", tmp_path) as reader:
        url = f"http://127.0.0.1:{reader.port}"
        page = {"Origin": url}
        with (
            httpx.Client(base_url=url, headers=page, trust_env=False) as ann,
            httpx.Client(base_url=url, headers=page, trust_env=False) as bob,
        ):
            wrong = {"name": "ann", "password": "green"}
            assert ann.post("/login", json=wrong).status_code == 401
            assert ann.post("/chat/api/conversations", json={}).status_code == 401
            ann.post("/login", json={"name": "ann", "password": "blue"}).raise_for_status()
            bob.post("/login", json={"name": "bob", "password": "green"}).raise_for_status()
            begun = ann.post("/chat/api/conversations", json={}).json()
            assert begun["user"] == "ann"
            place = f"/chat/api/conversations/{begun['id']}"
            assert ann.get(place).status_code == 200
            assert bob.get(place).status_code == 404

            cookie = f"session={ann.cookies['session']}"
            address = (
                f"ws://127.0.0.1:{reader.port}/chat/ws/conversations/{begun['id']}?protocol=v2"
            )
            headers = {**page, "Cookie": cookie}
            with connect(address, additional_headers=headers, proxy=None) as socket:
                assert '"session.connected"' in str(socket.recv())
                ann.post("/logout").raise_for_status()
                with suppress(ConnectionClosedError):
                    while socket.recv():
                        pass
                assert socket.close_code == 4502  # UNAUTHORIZED
            assert ann.get(place).status_code == 401


def test_the_service_starts_with_the_options_that_its_unit_names(tmp_path: Path) -> None:
    text = (FOLDER / "nginx-and-systemd.md").read_text()
    [command] = re.findall(r"^ExecStart=/srv/turnwire/.venv/bin/(.*)$", text, re.MULTILINE)
    [address] = re.findall(r"^Environment=TURNWIRE_PUBLIC_URL=(.*)$", text, re.MULTILINE)
    [proxied] = re.findall(r"proxy_pass http://127.0.0.1:(\d+)/;", text)
    assert f"--port {proxied} " in command
    with ExitStack() as servers:
        reader = Reader("nginx-and-systemd", tmp_path, servers)
        reader._env["TURNWIRE_PUBLIC_URL"] = address
        command = command.replace(proxied, str(reader.port)).replace("/srv/turnwire", str(tmp_path))
        servers.enter_context(reader._serve(command))
        for line in text.splitlines():
            if line.startswith("curl "):
                ready = line.split()[1].replace(proxied, str(reader.port))
                with urllib.request.urlopen(ready) as answer:
                    assert answer.status == 200
