"""The documentation of the server is true and complete."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path

from tests.server.helpers.servers import ROOT, Process, process
from turnwire.client import Client
from turnwire.core.error_codes import ERRORS
from turnwire.server.api.problems import STATUS
from turnwire.server.api.routes import API
from turnwire.settings import _NAMES, Settings

DOCS = ROOT / "docs"


def rows(page: str, until: str = "") -> list[list[str]]:
    """Returns every row of every table, up to a heading."""
    text = (DOCS / page).read_text()
    lines = (text.partition(until)[0] if until else text).splitlines()
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines if line[:1] == "|"]


def test_every_setting_is_on_the_page_with_its_default() -> None:
    told = {row[0].strip("`"): row[1] for row in rows("reference/settings.md") if len(row) == 3}
    assert {*_NAMES} <= {*told}
    for name in _NAMES:
        default = getattr(Settings(), name)
        if default and name != "protocol_v2":
            words = told[name].split(";")[0].strip("`").replace(",", "")
            if isinstance(default, float):
                assert float(words) == default, name
            else:
                assert words == str(default), name


def test_every_address_is_on_the_page() -> None:
    told = {row[0].strip("`").split("?")[0] for row in rows("reference/http.md")}
    assert {f"{method} {path}" for path, method, _ in API} <= told


def test_every_error_code_has_the_status_that_the_page_gives() -> None:
    assert {*STATUS} == {*ERRORS}
    for row in rows("reference/http.md"):
        if row[0].isdecimal():
            for code in row[1].split(":")[0].split(", "):
                assert STATUS.get(code, 404) == int(row[0]), code


def test_every_threat_names_a_test_or_says_that_it_is_not_prevented() -> None:
    threats = [
        row for row in rows("explanation/security.md", "## Who comes in") if row[2] != "shown by"
    ]
    assert len(threats) > 30, "the tables were found"
    for row in threats:
        if row[0] == "---":
            continue
        assert re.search(r"`(?:test_|Test)\w+`", row[2]) or "**nothing**" in row[1], row[0]


def test_every_test_that_the_security_page_names_exists() -> None:
    named = set(
        re.findall(r"`((?:test_|Test)\w+)`", (DOCS / "explanation" / "security.md").read_text())
    )
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    there = set(re.findall(r"^ *(?:async )?(?:def|class) (\w+)", tests, re.MULTILINE))
    assert named <= there, named - there


def say(server: Process, name: str, *prompts: str) -> str:
    """Returns the output of the client on the protocol's page."""
    page = (DOCS / "reference" / "protocol" / "v2.md").read_text()
    [program] = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    command = [sys.executable, "-c", program, server.url.replace("http", "ws"), server.token, name]
    run = subprocess.run([*command, *prompts], capture_output=True, timeout=180, check=True)
    assert not run.stderr
    return run.stdout.decode()


def test_the_program_on_the_page_of_the_python_client_runs(tmp_path: Path) -> None:
    page = (DOCS / "reference" / "python-client.md").read_text()
    [program] = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    with process(tmp_path) as server:
        command = [sys.executable, "-W", "error", "-c", program, server.url, server.token]
        run = subprocess.run(command, capture_output=True, timeout=180, check=True, text=True)
    assert run.stdout
    assert not run.stderr


def test_the_client_on_the_page_leaves_old_questions_alone(tmp_path: Path) -> None:
    with process(tmp_path) as server:
        name = asyncio.run(Client(server.url, server.token).create(options={"delay": 0}))
        assert "assistant.request_resolved" in say(server, name, "ask me")
        again = say(server, name, "think", "ask me")
    assert again.count("assistant.request_input") == 2
    assert again.count("user.message ") == 3


def test_the_client_on_the_page_accepts_frames_of_the_maximum_size(tmp_path: Path) -> None:
    async def fill(server: Process) -> str:
        client = Client(server.url, server.token)
        name = await client.create(options={"delay": 0})
        async with client.conversation(name) as talk, asyncio.timeout(180):
            await talk.send("x" * ((1 << 20) - 200))
        return name

    with process(tmp_path) as server:
        name = asyncio.run(fill(server))
        assert say(server, name, "think").count("user.message ") == 2
