"""A server that cannot start gives the reason and advice in one line."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.cli.conftest import Tell
from tests.server.helpers.servers import free_port
from turnwire.server.discovery import remember_port
from turnwire.server.tcp.listen import Server

_ELSEWHERE = (
    "Choose another directory that you may write to: the setting data_dir (--data-dir DIR, or "
    "TURNWIRE_DATA_DIR)."
)


def _why(tell: Tell, *words: str | Path, **environ: str) -> str:
    said = tell("serve", "--no-open", "--port", "0", *words, **environ)
    assert said.exit_code == 2
    assert said.stdout == ""
    assert said.stderr.startswith("turnwire: ")
    assert said.stderr.count("\n") == 1
    return said.stderr


def test_an_unusable_data_directory_is_an_error(tell: Tell, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert f"{file} is a file, not a directory. {_ELSEWHERE}" in _why(tell, "--data-dir", file)
    below = _why(tell, "--data-dir", file / "below")
    assert f"{file} is a file, not a directory. {_ELSEWHERE}" in below
    nowhere = _why(tell, "--data-dir", "/proc/x")
    assert "cannot create the directory /proc/x" in nowhere
    assert _ELSEWHERE in nowhere
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "turnwire.db").write_bytes(b"no database" * 1000)
    said = _why(tell, "--data-dir", broken)
    assert f"{broken / 'turnwire.db'}: " in said
    assert _ELSEWHERE in said
    taken = tmp_path / "taken"
    (taken / "owner-token").mkdir(parents=True)
    assert f"the owner's token cannot be kept in {taken}" in _why(tell, "--data-dir", taken)


def test_an_unknown_agent_is_an_error(tell: Tell) -> None:
    said = _why(tell, TURNWIRE_AGENTS="nix:foo")
    assert "The agent 'nix:foo' cannot be imported: No module named 'nix'. Name one" in said


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1"])
def test_an_address_of_another_machine_is_an_error(tell: Tell, host: str) -> None:
    said = _why(tell, "--host", host)
    assert f"cannot listen on {host}: " in said
    assert "Name an address of this machine with --host" in said
    assert "MEND  cannot listen on" in tell("doctor", TURNWIRE_HOST=host).stdout


def test_an_invalid_setting_is_reported_with_its_source(tell: Tell) -> None:
    said = _why(tell, TURNWIRE_ORIGINS="app.example")
    assert "origins is ['app.example'] (TURNWIRE_ORIGINS): " in said
    assert "MEND" in tell("doctor", TURNWIRE_ORIGINS="app.example").output


def test_the_port_of_the_last_start_is_named_as_such(tell: Tell, home: Path) -> None:
    home.mkdir(mode=0o700, exist_ok=True)
    port = free_port()
    remember_port(home, port)
    doctor = tell("doctor").stdout.splitlines()
    (line,) = [each.split() for each in doctor if each.split()[:1] == ["port"]]
    assert line == ["port", str(port), "the", "last", "start"]
    assert f"  ok    127.0.0.1:{port} is free" in doctor
    chosen = tell("doctor", TURNWIRE_PORT="7499").stdout
    assert str(port) not in chosen


def test_doctor_shows_the_settings_in_columns(tell: Tell) -> None:
    _, _, settings = tell("doctor").stdout.partition("Settings\n")
    rows = [line for line in settings.splitlines() if line.endswith("  default")]
    names = [line.split()[0] for line in rows]
    assert "budget_usd_per_conversation" in names
    assert len({len(line) - len(line[2:].partition(" ")[2].lstrip()) for line in rows}) == 1


def _announce_and_stop(server: Server) -> None:
    async def announce() -> None:
        await server._app.start()
        assert server._announce is not None
        await server._announce()
        await server._app.stop()

    asyncio.run(announce())


def test_the_public_address_is_printed(tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Server, "run", _announce_and_stop)
    words = ["--no-open", "--port", "0", "--public-url", "https://chat.example/turnwire/"]
    said = tell("serve", *words).stdout
    assert "Turnwire is at http://127.0.0.1:" in said
    assert "  Open   https://chat.example/turnwire/enter?link=" in said


def test_users_without_isolation_are_reported(tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    def said_by(*words: str, **environ: str) -> str:
        chosen = {"ANTHROPIC_API_KEY": "sk-test", "TURNWIRE_AGENT_ISOLATION": "off", **environ}
        return " ".join(tell(*words, **chosen).output.split())

    monkeypatch.setattr(Server, "run", _announce_and_stop)
    serve = ("serve", "--no-open", "--port", "0", "--agent", "claude")
    warning = "Users are not isolated from the owner: commands that they have claude run"
    assert warning not in said_by(*serve), "there is only the owner"
    doctor = said_by("doctor")
    assert warning not in doctor
    assert "note agents are not kept away from the data directory: agent_isolation is off" in doctor
    created = said_by("token", "create", "--name", "laptop", "--user", "ann")
    assert f"turnwire: {warning}" in created
    assert f"Mind {warning}" in said_by(*serve)
    assert f"MEND {warning}" in said_by("doctor")
    enforced = said_by("doctor", TURNWIRE_AGENT_ISOLATION="auto")
    if os.geteuid() == 0:
        assert "MEND Users are not isolated from the owner" in enforced
        assert "are run by root" in enforced
    elif "this machine offers no way" not in enforced:
        assert "ok the data directory is hidden from agents" in enforced
        assert warning not in enforced
    unknown = said_by("doctor", TURNWIRE_AGENT_USER="no-such-user")
    assert "MEND agent_user is 'no-such-user', but this machine has no such user." in unknown
    wrong = said_by("doctor", TURNWIRE_AGENT_ISOLATION="perhaps")
    assert "agent_isolation is 'perhaps' (TURNWIRE_AGENT_ISOLATION)" in wrong
