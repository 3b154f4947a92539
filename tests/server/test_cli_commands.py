"""The commands that need a server, as people type them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.helpers.servers import ROOT, Process, process
from tests.stores.postgres.fixtures import store_environ


def turnwire(
    path: Path, *words: str, said: str = "", code: int = 0, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    program = "from turnwire.cli.main import main; main()"
    command, *rest = words
    parts = [command, *rest[:1]] if command == "token" else [command]
    run = subprocess.run(
        [sys.executable, "-c", program, *parts, "--data-dir", str(path), *words[len(parts) :]],
        input=said,
        capture_output=True,
        text=True,
        timeout=180,
        cwd=ROOT,
        env={**os.environ, **store_environ(path), **environ},
        check=False,
    )
    assert run.returncode == code, run.stdout + run.stderr
    return run


def words(run: subprocess.CompletedProcess[str]) -> str:
    """Returns the output without line breaks: those depend on the length of a path."""
    return " ".join(run.stdout.split())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    path = tmp_path_factory.mktemp("served")
    with process(path, TURNWIRE_AGENTS="tests.server.helpers.quick_demo:make") as running:
        yield running


def test_a_chat_reads_from_a_pipe(server: Process) -> None:
    run = turnwire(server.path, "chat", said="hello\n\nthink\n")
    assert run.stdout.count("what you will see") >= 1
    again = run.stdout.strip().splitlines()[-1]
    assert again.startswith("Go on: turnwire chat --data-dir")
    name = again.split()[-1]
    run = turnwire(server.path, "chat", "--conversation", name[:12], said="hello again\n")
    assert "hello again" in run.stdout
    turns = json.loads(turnwire(server.path, "list", "--json").stdout.splitlines()[0])["turns"]
    assert turns == 3


def test_a_chat_that_cannot_answer_leaves_the_question_open(server: Process) -> None:
    run = turnwire(server.path, "chat", said="question\n", code=3)
    assert "Answer it: turnwire answer" in run.stdout
    assert len(turnwire(server.path, "inbox", "--json").stdout.splitlines()) == 1


def test_a_tail_shows_frames_as_they_come(server: Process) -> None:
    run = turnwire(server.path, "chat", said="hello\n")
    name = run.stdout.split()[-1]
    program = "from turnwire.cli.main import main; main()"
    words = ["tail", "--json", "--last", "1", "--data-dir", str(server.path), name]
    with subprocess.Popen(
        [sys.executable, "-c", program, *words],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, **store_environ(server.path)},
    ) as tail:
        assert tail.stdout is not None
        frames = []
        for line in tail.stdout:
            frames.append(json.loads(line))
            if frames[-1]["type"] == "session.state":
                break
        tail.terminate()
    assert frames[0]["type"] == "session.resumed"
    missed = [frame["payload"]["event"] for frame in frames if frame["type"] == "message.replay"]
    assert "assistant.chunk" in {event["type"] for event in missed}


@pytest.mark.parametrize("command", [["chat"], ["tail", "x"], ["token", "link"]])
def test_without_a_server_a_command_says_how_to_start_one(
    tmp_path: Path, command: list[str]
) -> None:
    run = turnwire(tmp_path, *command, code=2)
    assert "no server runs on" in run.stderr
    assert "Start one: turnwire serve" in run.stderr


def test_an_unknown_conversation_is_an_error(server: Process) -> None:
    for command in (["chat", "--conversation", "missing"], ["tail", "missing"]):
        assert (
            "there is no conversation 'missing'" in turnwire(server.path, *command, code=2).stderr
        )


def test_tokens_are_made_listed_and_revoked(server: Process) -> None:
    made = turnwire(server.path, "token", "create", "--name", "laptop", "--user", "ann")
    assert made.stdout.startswith("tw_")
    assert len(made.stdout.split()) == 1, "the token alone"
    told = [
        json.loads(line)
        for line in turnwire(server.path, "token", "list", "--json").stdout.splitlines()
    ]
    token = next(each for each in told if each["name"] == "laptop")
    assert (token["user"], "digest" in token) == ("ann", False)
    assert made.stdout.strip() not in str(told)
    assert "laptop" in turnwire(server.path, "token", "list").stdout
    name = token["token_id"]
    assert turnwire(server.path, "token", "revoke", name).stdout == f"Revoked {name}.\n"
    again = turnwire(server.path, "token", "revoke", name, code=2)
    assert "no token" in again.stderr
    for user in ("owner", " "):
        turnwire(server.path, "token", "create", "--name", "x", "--user", user, code=2)
    turnwire(server.path, "token", "create", "--name", " ", code=2)
    link = turnwire(server.path, "token", "link").stdout
    assert link.startswith(f"{server.url}/enter?link=")
    actions = [
        json.loads(line)["action"]
        for line in turnwire(server.path, "audit", "--json").stdout.splitlines()
    ]
    assert {"token_created", "token_revoked"} <= set(actions)
    assert "token_created" in turnwire(server.path, "audit").stdout


def test_the_audit_trail_of_one_conversation_is_printed(server: Process) -> None:
    name = turnwire(server.path, "chat", said="hello\n").stdout.split()[-1]
    for given in (name, name[:12]):
        run = turnwire(server.path, "audit", "--json", "--conversation", given)
        rows = [json.loads(line) for line in run.stdout.splitlines()]
        assert {row["conversation_id"] for row in rows} == {name}
        assert {"created", "connected", "said"} <= {row["action"] for row in rows}


def test_an_empty_audit_trail_and_token_list_are_named_as_such(tmp_path: Path) -> None:
    assert "The audit trail is empty" in turnwire(tmp_path, "audit").stdout
    assert "There are no tokens yet" in turnwire(tmp_path, "token", "list").stdout


def test_the_doctor_reports_the_server_and_the_data_directory(
    server: Process, tmp_path: Path
) -> None:
    run = turnwire(server.path, "doctor")
    assert f"ok    {server.url}" in run.stdout
    assert "data_dir" in run.stdout
    assert "--data-dir" in run.stdout
    assert "does not exist yet" in words(turnwire(tmp_path / "none", "doctor"))
    file = tmp_path / "file"
    file.touch()
    assert "MEND" in turnwire(file, "doctor", code=1).stdout
    tmp_path.chmod(0o755)
    assert "can be read by other users" in words(turnwire(tmp_path, "doctor", code=1))


def test_the_doctor_knows_an_agent_that_was_set_as_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.delenv("TURNWIRE_AGENT", raising=False)
    monkeypatch.setenv("TURNWIRE_AGENTS", "tests.agents.helpers.misbehaving_agents:make")
    assert "ok    strange, the agent of new conversations" in turnwire(tmp_path, "doctor").stdout
    monkeypatch.setenv("TURNWIRE_AGENT", "demo")
    told = turnwire(tmp_path, "doctor", code=1).stdout
    assert "MEND  demo, the agent of new conversations, does not exist." in told
    monkeypatch.setenv("TURNWIRE_AGENT", "no.such.module:Agent")
    assert "cannot be imported" in turnwire(tmp_path, "doctor", code=1).stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_server_prints_a_last_line_and_exits_with_0(
    tmp_path: Path, number: signal.Signals
) -> None:
    with process(tmp_path) as running:
        running.popen.send_signal(number)
        said, _ = running.popen.communicate(timeout=180)
        assert running.popen.returncode == 0
    place = store_environ(tmp_path).get("TURNWIRE_STORE", str(tmp_path)).replace("%2F", "/")
    assert said.decode() == f"Stopped. The conversations are kept in {place}\n"


def test_serve_with_an_unknown_agent_fails_with_advice(tmp_path: Path) -> None:
    run = turnwire(tmp_path / "none", "serve", "--port", "0", "--agent", "nope", code=2)
    assert "there is no agent 'nope'. Choose with --agent: " in run.stderr
    assert not list((tmp_path / "none").glob("server.*"))
    run = turnwire(tmp_path / "none", "doctor", code=1, TURNWIRE_AGENT="nope")
    assert "MEND  nope, the agent of new conversations, does not exist." in run.stdout


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
def test_the_doctor_looks_at_the_address_as_the_server_would(tmp_path: Path) -> None:
    run = turnwire(tmp_path / "none", "doctor", TURNWIRE_HOST="::1", TURNWIRE_PORT="0")
    assert "ok    ::1:0 is free" in run.stdout
