"""Where servers are found, of which several may run on the same data."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from turnwire.server.place import ServerPlace, find_server, forget_server, tell_server


def test_when_a_second_server_ends_the_first_is_found_again(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        first = ServerPlace(url, os.getppid())
        written = tmp_path / f"server.{first.pid}.json"
        written.write_text(json.dumps({"url": url, "pid": first.pid}))
        os.utime(written, (0, 0))
        assert find_server(tmp_path) == first
        tell_server(tmp_path, url)
        assert find_server(tmp_path) == ServerPlace(url, os.getpid())
        forget_server(tmp_path)
        assert find_server(tmp_path) == first


def test_what_a_killed_server_left_is_tidied_up_by_the_next(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left = tmp_path / f"server.{gone.pid}.json"
    left.write_text(json.dumps({"url": "http://127.0.0.1:1", "pid": gone.pid}))
    (tmp_path / "server.nonsense.json").write_text("nonsense")
    tell_server(tmp_path, "http://127.0.0.1:1")
    assert not left.exists()
    assert find_server(tmp_path) is None, "nobody listens there"
