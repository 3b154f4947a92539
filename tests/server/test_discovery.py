"""Discovery of servers, of which several may run on the same data."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.helpers.owner_names import pid_that_has_ended
from tests.server.helpers.servers import free_port, process
from turnwire.server.discovery import (
    ServerPlace,
    find_last_port,
    find_server,
    remember_port,
    told_server,
)

NOWHERE = "http://127.0.0.1:1"


@contextmanager
def listening() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def files(path: Path) -> set[str]:
    return {file.name for file in path.iterdir()}


def test_when_a_second_server_ends_the_first_is_found_again(tmp_path: Path) -> None:
    with listening() as url, told_server(tmp_path, url):
        (first,) = tmp_path.iterdir()
        os.utime(first, (0, 0))
        with told_server(tmp_path, url, "https://second"):
            found = find_server(tmp_path)
            assert found == ServerPlace(url, os.getpid(), "https://second", is_locked=True)
        found = find_server(tmp_path)
        assert found == ServerPlace(url, os.getpid(), is_locked=True)
    assert files(tmp_path) == set()


def test_servers_with_one_pid_in_two_containers_keep_their_own_files(tmp_path: Path) -> None:
    with told_server(tmp_path, NOWHERE):
        (one,) = files(tmp_path)
        with told_server(tmp_path, NOWHERE):
            assert len(files(tmp_path)) == 2
        assert files(tmp_path) == {one}


def test_a_server_whose_pid_cannot_be_seen_from_here_stays_known(tmp_path: Path) -> None:
    with listening() as url, told_server(tmp_path, url):
        (file,) = tmp_path.iterdir()
        place = json.loads(file.read_bytes())
        file.write_text(json.dumps({**place, "pid": pid_that_has_ended()}))
        with told_server(tmp_path, NOWHERE):
            found = find_server(tmp_path)
        assert found is not None
        assert found.url == url


def test_the_next_server_removes_the_files_of_a_killed_one(tmp_path: Path) -> None:
    with process(tmp_path) as server:
        (left,) = tmp_path.glob("server.*.json")
        server.kill()
    # In the next container another process has its pid.
    left.write_text(json.dumps({**json.loads(left.read_bytes()), "pid": os.getpid()}))
    (tmp_path / "server.nonsense.json").write_text("nonsense")
    with told_server(tmp_path, NOWHERE):
        assert not left.exists()
        assert find_server(tmp_path) is None, "no server listens there"


def test_the_pid_tells_whether_a_server_of_an_older_version_runs(tmp_path: Path) -> None:
    for pid in (os.getppid(), pid_that_has_ended()):
        place = {"url": NOWHERE, "pid": pid}
        (tmp_path / f"server.{pid}.json").write_text(json.dumps(place))
    with told_server(tmp_path, NOWHERE):
        pass
    assert files(tmp_path) == {f"server.{os.getppid()}.json"}


# --- the port of the next server --------------------------------------------------------------


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


def test_a_server_starts_again_on_the_port_of_the_last_one(tmp_path: Path) -> None:
    port = free_port()
    with process(tmp_path, port=port) as chosen:
        assert chosen.stop() == 0
    with process(tmp_path, port=None) as again:
        assert port_of(again.url) == port
        assert "is taken" not in again.banner
        again.kill()
    with process(tmp_path, port=None) as after_a_crash:
        assert port_of(after_a_crash.url) == port


def test_a_taken_port_is_replaced_once_and_used_again_at_the_next_start(
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
