"""The options --server and --token: commands talk to an application that mounts Turnwire."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from tests.cli.conftest import TURNWIRE, Start, Tell, lines
from turnwire import Settings, create_app
from turnwire.agents.demo import DemoAgent
from turnwire.server.access.keys import owner_file


class _Application(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        finally:
            self.ready.set()


@contextmanager
def application(home: Path) -> Iterator[str]:
    """Runs an application with Turnwire below /chat, in a thread of this process."""
    agents = {"demo": DemoAgent(delay=0)}
    chat = create_app(
        Settings(data_dir=str(home), protocol_v2=True, on_disconnect="continue", made_agents=agents)
    )
    app = Starlette(lifespan=chat.lifespan, routes=[Mount("/chat", chat)])
    config = uvicorn.Config(app, log_level="warning", ws="websockets-sansio")
    server = _Application(config)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=lambda: asyncio.run(server._serve([listener])))
        thread.start()
        try:
            server.ready.wait()
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/chat"
        finally:
            server.should_exit = True
            thread.join()


def test_an_application_with_turnwire_in_it_is_talked_to(
    home: Path, tell: Tell, start: Start, tmp_path: Path
) -> None:
    here = {"TURNWIRE_DATA_DIR": str(home)}
    with application(home) as url:
        # Its owner's token is in the data directory, and goes to no other machine.
        asked = start("chat", "--server", url, env=here, input=b"ask")
        assert asked.returncode == 3, asked
        (item,) = lines(tell("inbox", "--json", TURNWIRE_URL=url))
        name = item["conversation_id"]
        assert f"turnwire answer --server {url} {name}" in asked.stdout.decode()
        shown = tell("inbox", "--server", url)
        assert f"Answer it: turnwire answer --server {url} {name}" in shown.stdout

        # A token in a file is named with its place, one that was typed is not shown again.
        own = tmp_path / "owner"
        own.write_text(owner_file(home).read_text())
        shown = tell("inbox", "--server", url, "--token-file", own)
        assert f"turnwire answer --server {url} --token-file {own} {name}" in shown.stdout
        shown = tell("inbox", "--server", url, "--token", own.read_text().strip())
        assert f"turnwire answer --server {url} --token TOKEN {name}" in shown.stdout

        # Without its address there is a way out, and it is named.
        stuck = tell("answer", name, "blue")
        assert stuck.exit_code == 2
        assert f"connect to it: turnwire chat --server URL --conversation {name}" in stuck.stderr

        # Another user, whose token is in a file, sees nothing of it.
        anns = tell("token", "create", "--name", "laptop", "--user", "ann").stdout
        file = tmp_path / "token"
        file.write_text(anns)
        far = ("--server", url, "--token-file", file)
        assert tell("inbox", *far).stdout == "Nothing waits for an answer.\n"
        hidden = tell("answer", *far, name, "blue")
        assert f"you have no conversation '{name}' at {url}." in hidden.stderr
        refused = tell("inbox", "--server", url, TURNWIRE_TOKEN="tw_wrong")
        assert refused.exit_code == 2
        assert "The client is not authenticated." in refused.stderr

        answered = tell("inbox", "--server", url, "answer", item["inbox_item_id"][:8], "blue")
        assert answered.exit_code == 0, answered.output
        assert f"turnwire chat --server {url} --conversation {name}" in answered.stdout
        again = start(
            "chat", "--conversation", name[:6], env={**here, "TURNWIRE_URL": url}, input=b"think"
        )
        assert again.returncode == 0, again

        printed = _tail(url, home, name)
        assert [frame["sequence"] for frame in printed] == list(range(1, len(printed) + 1))
        assert "message.replay" in {frame["type"] for frame in printed}
        written = tmp_path / "tail.jsonl"
        written.write_text("".join(f"{json.dumps(frame)}\n" for frame in printed))
        checked = tell("validate", "--from", "v2", written)
        assert checked.exit_code == 0, checked.output


def _tail(url: str, home: Path, name: str) -> list[dict[str, object]]:
    """Returns the output of `tail --json` until it has caught up."""
    words = ["tail", "--json", "--last", "1000", "--server", url, "--data-dir", str(home), name]
    with subprocess.Popen([*TURNWIRE, *words], stdout=subprocess.PIPE) as tail:
        assert tail.stdout is not None
        printed = []
        for line in tail.stdout:
            printed.append(json.loads(line))
            if printed[-1]["type"] == "session.state":
                break
        tail.send_signal(signal.SIGINT)
        assert tail.wait() == 130
    return printed


@pytest.mark.parametrize("command", ["chat", "inbox", "tail"])
def test_no_other_machine_is_shown_the_owners_token(home: Path, tell: Tell, command: str) -> None:
    home.mkdir()
    owner_file(home).write_text("tw_secret")
    words = ["x"] if command == "tail" else []
    said = tell(command, "--server", "https://chat.example", *words)
    assert said.exit_code == 2
    assert "https://chat.example needs a token." in said.stderr
    assert "--token-file" in said.stderr


def test_an_unusable_address_or_token_is_an_error(home: Path, tell: Tell, tmp_path: Path) -> None:
    assert "A token needs --server." in tell("inbox", "--token", "tw_x").stderr
    missing = tmp_path / "missing"
    said = tell("inbox", "--server", "http://127.0.0.1:1", "--token-file", missing)
    assert f"cannot read the token from {missing}: No such file" in said.stderr
    said = tell("inbox", "--server", "chat.example", "--token", "tw_x")
    assert "'chat.example' is not the address of a server." in said.stderr
    said = tell("inbox", "--server", "http://127.0.0.1:1", "--token", "tw_x")
    assert "cannot be reached" in said.stderr
    assert "Start the server with `turnwire serve`" in said.stderr
    # A directory that is named goes before an address that is only in the environment.
    there = tell("inbox", "--data-dir", home, TURNWIRE_URL="http://127.0.0.1:1")
    assert there.stdout == "Nothing waits for an answer.\n"
