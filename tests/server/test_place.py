"""Where servers are found, of which several may run on the same data."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.serving import free_port, process
from turnwire.server.place import (
    ServerPlace,
    find_last_port,
    find_server,
    forget_server,
    remember_port,
    tell_server,
)


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


# --- the port of the next server --------------------------------------------------------------


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


def test_a_server_comes_back_at_the_port_of_the_last_one(tmp_path: Path) -> None:
    port = free_port()
    with process(tmp_path, port=port) as chosen:
        assert chosen.stop() == 0
    with process(tmp_path, port=None) as again:
        assert port_of(again.url) == port
        assert "is taken" not in again.banner
        again.kill()
    with process(tmp_path, port=None) as after_a_crash:
        assert port_of(after_a_crash.url) == port


def test_if_that_port_is_taken_another_is_told_and_the_next_start_has_it_again(
    tmp_path: Path,
) -> None:
    port = free_port()
    remember_port(tmp_path, port)
    with (
        socket.create_server(("127.0.0.1", port)),
        process(tmp_path, port=None) as moved,
    ):
        assert port_of(moved.url) != port
        assert f"Turnwire is at {moved.url}  (port {port} is taken)" in moved.banner
        said = " ".join(moved.banner.split())
        assert f"Mind The last server of this data was at port {port}." in said
        assert moved.stop() == 0
    assert find_last_port(tmp_path) == port, "pages that are open look for the server there"
    other = free_port()
    with process(tmp_path, port=other) as chosen:
        assert port_of(chosen.url) == other
    assert find_last_port(tmp_path) == other


def test_a_second_server_leaves_the_first_one_its_port(tmp_path: Path) -> None:
    with process(tmp_path) as first, process(tmp_path, port=None) as second:
        assert second.url != first.url
        assert "The last server of this data was" not in second.banner, "it is still there"
        assert find_last_port(tmp_path) == port_of(first.url)


@pytest.mark.parametrize("written", ["", "nonsense", "0", "70000", "-1", "9" * 5000])
def test_a_port_that_is_none_is_not_remembered(tmp_path: Path, written: str) -> None:
    (tmp_path / "last-port").write_text(written)
    assert find_last_port(tmp_path) is None
