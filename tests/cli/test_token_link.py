"""Commands that handle secrets do not trust the current directory."""

from __future__ import annotations

import json
import os
import socket
import threading
from pathlib import Path

from tests.cli.conftest import Start
from tests.server.helpers.servers import process


def test_a_link_leads_to_the_server_that_runs(start: Start, home: Path, tmp_path: Path) -> None:
    here = tmp_path / "foreign"
    here.mkdir()
    (here / "turnwire.toml").write_text('public_url = "https://evil.example"\n')
    with process(home) as server:
        said = start("token", "link", "--data-dir", home, cwd=here)
        assert said.stdout.decode().startswith(f"{server.url}/enter?link="), said
    with process(home, TURNWIRE_PUBLIC_URL="https://chat.example/turnwire/"):
        said = start("token", "link", "--data-dir", home, cwd=here)
        assert said.stdout.startswith(b"https://chat.example/turnwire/enter?link="), said
    said = start("token", "link", "--data-dir", home, cwd=here)
    assert (said.returncode, said.stdout) == (2, b"")
    assert b"no server runs on" in said.stderr


def test_a_link_leads_to_the_application_that_serves_the_page(start: Start, home: Path) -> None:
    with process(home):
        pass  # there is a log now
    said = start("token", "link", "--data-dir", home)
    assert b"add --url and its address" in said.stderr
    said = start("token", "link", "--data-dir", home, "--url", "https://team.example/chat/")
    assert said.stdout.startswith(b"https://team.example/chat/enter?link="), said


def test_a_directory_cannot_redirect_the_owners_token(
    start: Start, home: Path, tmp_path: Path
) -> None:
    """The directory's `turnwire.toml` names a data directory with a server and a link to a secret."""
    home.mkdir()
    (home / "owner-token").write_text("tw_secret\n")
    here = tmp_path / "foreign"
    data = here / "data"
    data.mkdir(parents=True)
    (here / "turnwire.toml").write_text('data_dir = "data"\n')
    (data / "owner-token").symlink_to(home / "owner-token")
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as evil:

        def listen() -> None:
            while True:
                try:
                    connection, _ = evil.accept()
                except OSError:
                    return
                with connection:
                    heard.append(connection.recv(65536))

        threading.Thread(target=listen, daemon=True).start()
        url = f"http://127.0.0.1:{evil.getsockname()[1]}"
        place = {"url": url, "pid": os.getpid()}
        (data / f"server.{os.getpid()}.json").write_text(json.dumps(place))
        for words in (["chat"], ["inbox", "--server", url]):
            said = start(*words, cwd=here, input=b"")
            assert said.returncode == 2
            assert b"owner-token is a link, and is not followed." in said.stderr, said
        evil.shutdown(socket.SHUT_RDWR)
    assert not [each for each in heard if b"tw_secret" in each]
