"""The tutorial, step by step: its files are written and its commands run, as a reader would.

The environment has what the page's `pip install` brings, and nothing else. Step 5 is opened in a
real browser.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from websockets.sync.client import ClientConnection, connect

from tests.server.helpers.servers import ROOT, free_port
from tests.test_light_install import Environment, environment, required
from turnwire import Engine, SqliteStore

PAGE = (ROOT / "docs" / "tutorial" / "README.md").read_text()
FILES = dict(re.findall(r"rite `([\w.]+)`:\n\n```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
COMMANDS = [
    line
    for body in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for line in body.splitlines()
]
SHOWN = dict(
    re.findall(
        r"^```sh\n(python \w+\.py)\n```\n\n```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL
    )
)
PLACES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]
CHROMIUM = os.environ.get("CHROMIUM") or next(
    (place for name in PLACES if Path(place := f"/usr/bin/{name}").exists()), ""
)
PATIENCE = 60.0


@pytest.fixture(scope="module")
def restaurant(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The folder of a reader who has installed what step 1 says, and has written all files."""
    from hatchling.builders.wheel import WheelBuilder

    folder = tmp_path_factory.mktemp("tutorial")
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    (install,) = [line for line in COMMANDS if line.startswith("pip install")]
    ours, *others = shlex.split(install)[2:]
    extras = Requirement(ours.replace("/path/to/clone", "turnwire")).extras
    made = environment(Path(wheel), folder / "restaurant", *extras)
    for package in required(others):
        made.link(package)
    for name, body in FILES.items():
        (made.folder / name).write_text(body)
    return made


def test_every_command_and_every_file_of_the_page_is_used() -> None:
    setting_up = ["mkdir restaurant", "cd restaurant", "python3 -m venv .venv"]
    setting_up += ["source .venv/bin/activate", "pip install '/path/to/clone[server]' fastapi"]
    assert COMMANDS[:5] == setting_up
    assert [*COMMANDS[5:8]] == [*SHOWN]
    assert COMMANDS[8:] == ["python -m uvicorn app:app --port 8000"]
    assert [*FILES] == ["first.py", "second.py", "waiter.py", "check.py", "app.py", "page.html"]
    assert PAGE.count("```python") + PAGE.count("```html") == len(FILES)


def test_the_programs_print_what_the_page_shows(restaurant: Environment) -> None:
    for command, shown in SHOWN.items():
        ran = restaurant.run(*command.split())
        assert (ran.returncode, ran.stderr, ran.stdout) == (0, "", shown), command


def test_a_complete_agent_has_at_most_forty_lines(tmp_path: Path) -> None:
    source = FILES["waiter.py"]
    written = len(source.splitlines())
    assert written <= 40
    assert f"These {written} lines" in PAGE
    names: dict[str, Any] = {}
    exec(compile(source, "waiter.py", "exec"), names)  # what a reader would import

    async def run() -> None:
        store = tmp_path / "talk.db"
        async with serving(store, names["waiter"]) as engine:
            talk = await engine.create("waiter", conversation_id="table")
            reply = await talk.ask("One soup, please")
            assert [(each.tool_name, each.result) for each in reply.tools] == [
                ("look_into_the_kitchen", "There is enough soup for today."),
            ]
            assert names["BUSY"] == {"table"}
            await talk.interrupt(reply.turn_id)
            reply = await talk.wait(reply)
            assert reply.end is not None
            assert reply.end.interrupted
            assert names["BUSY"] == set()
            reply = await talk.ask("One pasta, please", client_message_id="pasta")
            assert reply.requests[0].questions[0].question == "Which size?"
        async with serving(store, names["waiter"]) as engine:
            talk = await engine.open("table")
            reply = await talk.ask("One pasta, please", client_message_id="pasta")
            await talk.answer(reply.requests[0].request_id, "large")
            reply = await talk.wait(reply)
            assert "A large one it is." in reply.text

    asyncio.run(run())


def test_the_page_has_at_most_ninety_lines() -> None:
    written = len(FILES["page.html"].splitlines())
    assert written <= 90
    assert f"These {written} lines know" in PAGE


@asynccontextmanager
async def serving(path: Path, waiter: Any) -> AsyncIterator[Engine]:
    async with SqliteStore.open(path) as store, Engine(store, {"waiter": waiter}) as engine:
        yield engine


@pytest.mark.parametrize("name", ["waiter.py", "check.py", "app.py", "page.html"])
def test_the_files_of_a_new_project_are_those_of_the_page(name: str) -> None:
    project = ROOT / "src" / "turnwire" / "cli" / "project"
    assert (project / f"{name}.txt").read_text() == FILES[name]


@pytest.mark.skipif(not CHROMIUM, reason="needs Chromium; CHROMIUM=/path says where it is")
def test_the_page_streams_asks_and_survives_the_death_of_the_server(
    restaurant: Environment, tmp_path: Path
) -> None:
    port = free_port()
    with browsing(tmp_path) as browser:
        with served(restaurant, port):
            browser.open(f"http://127.0.0.1:{port}/")
            browser.send("Good evening")
            browser.until(lambda text: "We have soup, salad, pasta." in text)
            browser.send("One soup, please")
            browser.until(lambda text: "Which size?" in text)
        browser.until(lambda text: "Connecting ..." in text)  # the server was killed
        with served(restaurant, port):
            browser.until(lambda text: "Which size?" in text)
            browser.run("[...document.querySelectorAll('#question button')].at(-1).click()")
            text = browser.until(lambda text: "with you soon!" in text)
            browser.until(lambda text: "Which size?" not in text)
            browser.send("One pasta, please")
            browser.until(lambda shown: "Which size?" in shown)
            browser.run("stop.click()")
            browser.until(lambda shown: "Which size?" not in shown)
            browser.until(lambda _: browser.run("stop.hidden"))
            failed = {
                "type": "assistant.complete",
                "turn_id": 9,
                "payload": {"error": {"message": "No."}},
            }
            browser.run(f"show({json.dumps(failed)})")
            browser.until(lambda shown: "Failed: No." in shown)
    rows = [row.strip() for row in text.splitlines() if row.strip()]
    assert rows[:7] == [
        "Restaurant",
        "Welcome! What would you like to eat?",
        "You: Good evening",
        "Good evening! We have soup, salad, pasta.",
        "You: One soup, please",
        "One soup, with pleasure.",
        "A large one it is. It will be with you soon!",
    ]


@pytest.mark.skipif(not CHROMIUM, reason="needs Chromium; CHROMIUM=/path says where it is")
def test_the_page_puts_a_refused_text_back_and_begins_anew_if_its_conversation_is_gone(
    restaurant: Environment, tmp_path: Path
) -> None:
    port = free_port()
    large, unread = (
        "soup " * 250_000,
        "soup " * 1_000_000,
    )  # over the limit, and over four times the limit
    with browsing(tmp_path) as browser:
        with served(restaurant, port):
            browser.open(f"http://127.0.0.1:{port}/")
            browser.send("   ")
            assert browser.run("text.value") == ""
            browser.send(large)
            browser.until(lambda text: "Refused: " in text)
            assert browser.run("text.value") == large
            assert "max_frame_bytes" in browser.run("log.innerText")
            browser.send(unread)
            browser.until(lambda _: browser.run("text.value.length") == len(unread))
            browser.send("Good evening")
            text = browser.until(lambda text: "We have soup, salad, pasta." in text)
            assert text.count("You: ") == 1  # the empty message was not sent
            before = browser.run("localStorage.conversation")
        browser.until(lambda text: "Connecting ..." in text)
        shutil.rmtree(restaurant.folder / "data")
        with served(restaurant, port):
            browser.until(lambda text: "Connecting ..." not in text)
            browser.send("One soup, please")
            browser.until(lambda text: "Which size?" in text)
            assert browser.run("localStorage.conversation") != before


@contextmanager
def served(restaurant: Environment, port: int) -> Iterator[None]:
    """The command of step 5, at another port. The server is killed at the end."""
    program, *arguments = COMMANDS[-1].replace("8000", str(port)).split()
    with subprocess.Popen(
        [restaurant.folder / "bin" / program, *arguments],
        cwd=restaurant.folder,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stderr is not None
        try:
            assert any("Uvicorn running" in line for line in server.stderr), "it has started"
            yield
        finally:
            server.send_signal(signal.SIGKILL)


@contextmanager
def browsing(folder: Path) -> Iterator[Tab]:
    """A real browser with one tab, steered over its DevTools."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]
    options += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    with subprocess.Popen(
        [CHROMIUM, *options, f"--user-data-dir={folder}/profile", "about:blank"],
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # the program may be a script that starts the browser
    ) as program:
        try:
            with connect(address_of(folder / "profile"), max_size=None, proxy=None) as line:
                yield Tab(line)
        finally:
            os.killpg(program.pid, signal.SIGKILL)


def address_of(profile: Path) -> str:
    """Waits until the browser has written where its DevTools listen."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with suppress(FileNotFoundError):
            port, _, path = (profile / "DevToolsActivePort").read_text().partition("\n")
            if path:
                return f"ws://127.0.0.1:{port}{path.strip()}"
        time.sleep(0.02)
    raise AssertionError(f"the browser has not started within {PATIENCE} seconds")


class Tab:
    """A tab of a browser."""

    def __init__(self, line: ClientConnection) -> None:
        self._line = line
        self._ids = 0
        self._session: dict[str, str] = {}
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = {"sessionId": attached["sessionId"]}

    def open(self, url: str) -> None:
        self._call("Page.navigate", url=url)

    def run(self, script: str) -> Any:
        told = self._call("Runtime.evaluate", expression=script, returnByValue=True)
        return told["result"].get("value")

    def send(self, text: str) -> None:
        """Types a message and sends it, as soon as the page is connected."""
        self.until(lambda _: self.run("socket?.readyState") == 1)
        self.run(f"text.value = {json.dumps(text)}; form.requestSubmit()")

    def until(self, is_so: Callable[[str], bool]) -> str:
        """Waits for the text of the page."""
        end = time.monotonic() + PATIENCE
        text = ""
        while time.monotonic() < end:
            text = self.run("document.body?.innerText") or ""
            if is_so(text):
                return text
            time.sleep(0.02)
        raise AssertionError(f"not within {PATIENCE} seconds; the page shows: {text}")

    def _call(self, method: str, **params: Any) -> Any:
        self._ids += 1
        call = {"id": self._ids, "method": method, "params": params, **self._session}
        self._line.send(json.dumps(call))
        while (told := json.loads(self._line.recv(PATIENCE))).get("id") != self._ids:
            pass
        return told["result"]
