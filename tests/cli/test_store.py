"""Every command that opens a data directory uses a database in the same way, however it is named."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.cli.conftest import TURNWIRE, lines
from tests.stores.postgres.server import TestServer
from turnwire.cli.main import main
from turnwire.stores.address import Address
from turnwire.stores.postgres import migrate

SECRET = "s3cr3t-of-ann"
WAYS = ["--store", "TURNWIRE_STORE", "turnwire.toml"]


class Commands:
    """Runs commands on a database that is named in one of the ways."""

    def __init__(self, folder: Path, address: str, way: str) -> None:
        self._flag = ["--store", address] if way == "--store" else []
        self.environ = {"TURNWIRE_DATA_DIR": str(folder / "data")}
        if way == "TURNWIRE_STORE":
            self.environ["TURNWIRE_STORE"] = address
        if way == "turnwire.toml":
            (folder / "turnwire.toml").write_text(f'store = "{address}"\n')
            self.environ["TURNWIRE_CONFIG"] = str(folder / "turnwire.toml")

    def words(self, *args: str) -> list[str]:
        """Returns the words of a command line; the option follows the command."""
        command = 2 if args[0] in ("token", "db") else 1
        return [*args[:command], *self._flag, *args[command:]]

    def run(self, *args: str, code: int = 0) -> Result:
        result = CliRunner().invoke(main, self.words(*args), env=self.environ)
        assert result.exit_code == code, result.output
        return result


@pytest.fixture(params=WAYS)
def commands(request: pytest.FixtureRequest, tmp_path: Path, postgres: str) -> Commands:
    return Commands(tmp_path, postgres, request.param)


def test_every_command_uses_the_database(commands: Commands, tmp_path: Path) -> None:
    run = commands.run
    assert "There are no conversations in postgresql://" in run("list").output
    run("run", "--agent", "demo", "--cwd", str(tmp_path), "hello there 会议")
    [listed] = lines(run("list", "--json"))
    name = listed["conversation_id"]
    assert "hello there" in run("show", name).output
    assert name in run("search", "会议").output
    exported = run("export", "--to", "jsonl", name).stdout_bytes
    (tmp_path / "one.jsonl").write_bytes(exported)
    imported = json.loads(run("import", "--json", str(tmp_path / "one.jsonl")).output)
    assert imported["entries"] == listed["entries"]
    again = run("export", "--to", "jsonl", imported["conversation_id"]).stdout_bytes
    assert _entries(again, imported["conversation_id"]) == _entries(exported, name)
    assert "hello there" in run("export", "--to", "markdown", name).output
    run("fork", name)
    assert len(lines(run("list", "--json"))) == 3
    assert "said" in run("audit").output
    run("token", "create", "--name", "laptop", "--user", "ann")
    [token] = lines(run("token", "list", "--json"))
    run("token", "revoke", token["token_id"])
    run("run", "--agent", "demo", "--cwd", str(tmp_path), "question", code=3)
    [item] = lines(run("inbox", "--json"))
    assert item["conversation_id"] != name
    run("answer", item["conversation_id"], "Blue")
    assert "Nothing waits" in run("inbox").output
    assert "The tables fit this version" in run("db", "status").output
    assert "postgresql://" in run("doctor").output
    run("backup", str(tmp_path / "copy.db"))
    assert not (tmp_path / "data" / "turnwire.db").exists(), "no command has used a file"
    kept = CliRunner().invoke(main, ["list", "--json", "--data-dir", str(_restored(tmp_path))])
    assert len(lines(kept)) == 4


def _entries(exported: bytes, name: str) -> list[str]:
    """Returns the entries of an export, without the name of the conversation."""
    said = [line for line in exported.decode().splitlines() if '"sequence"' in line]
    return [line.replace(name, "") for line in said]


def _restored(folder: Path) -> Path:
    (folder / "restored").mkdir(mode=0o700)
    (folder / "copy.db").rename(folder / "restored" / "turnwire.db")
    return folder / "restored"


def test_a_command_within_a_command_uses_the_database(postgres: str, tmp_path: Path) -> None:
    commands = Commands(tmp_path, postgres, "--store")
    commands.run("run", "--agent", "demo", "--cwd", str(tmp_path), "question", code=3)
    [item] = lines(commands.run("inbox", "--json"))
    words = ["inbox", "answer", "--store", postgres, item["conversation_id"], "Blue"]
    answered = CliRunner().invoke(main, words, env=commands.environ)
    assert answered.exit_code == 0, answered.output
    assert "Nothing waits" in commands.run("inbox").output


def test_a_file_that_is_cut_off_leaves_nothing_in_the_database(
    postgres: str, tmp_path: Path
) -> None:
    commands = Commands(tmp_path, postgres, "TURNWIRE_STORE")
    commands.run("run", "--agent", "demo", "--cwd", str(tmp_path), "hello")
    [listed] = lines(commands.run("list", "--json"))
    exported = commands.run("export", "--to", "jsonl", listed["conversation_id"]).stdout_bytes
    (tmp_path / "half.jsonl").write_bytes(exported[: len(exported) // 2].rpartition(b"\n")[0])
    refused = commands.run("import", str(tmp_path / "half.jsonl"), code=2)
    assert "Nothing was imported" in refused.output
    assert len(lines(commands.run("list", "--json"))) == 1


def test_a_server_uses_the_database(commands: Commands, tmp_path: Path) -> None:
    words = commands.words("serve", "--port", "0", "--no-open", "--agent", "demo")
    environ = {**os.environ, **commands.environ}
    with subprocess.Popen(
        [*TURNWIRE, *words], env=environ, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        while "Ctrl-C" not in (line := server.stdout.readline()):
            assert line
        chat = subprocess.run(
            [*TURNWIRE, *commands.words("chat", "--agent", "demo")],
            env=environ,
            input="hello\n",
            capture_output=True,
            text=True,
        )
        server.send_signal(signal.SIGINT)
        said = server.stdout.read()
    assert chat.returncode == 0, chat.stderr
    assert "Stopped. The conversations are kept in postgresql://" in said
    assert len(lines(commands.run("list", "--json"))) == 1


# --- what cannot be used --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def locked() -> Iterator[TestServer]:
    """A server on which the role `ann` needs a password, and `guest` owns nothing."""
    server = TestServer()
    hba = server.data / "pg_hba.conf"
    hba.write_text("local all ann scram-sha-256\n" + hba.read_text())

    async def set_up() -> None:
        await server.run(f"CREATE ROLE ann LOGIN PASSWORD '{SECRET}'")
        await server.run("CREATE ROLE guest LOGIN")
        await server.run("CREATE DATABASE anns OWNER ann")
        await server.run("SELECT pg_reload_conf()")

    asyncio.run(set_up())
    yield server
    server.stop()


def ran(folder: Path, *words: str, **environ: str) -> str:
    """Runs a command that fails; returns what it says, which is one line and has no password."""
    hidden = {"PGPASSFILE": str(folder / "none"), "TURNWIRE_DATA_DIR": str(folder / "data")}
    others = {name: value for name, value in os.environ.items() if name != "PGPASSWORD"}
    run = subprocess.run(
        [*TURNWIRE, *words],
        env={**others, **hidden, **environ},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 2, run.stdout + run.stderr
    assert run.stdout == ""
    assert len(run.stderr.splitlines()) == 1
    assert SECRET not in run.stderr
    assert "disk" not in run.stderr
    return run.stderr


def with_password(address: str, password: str) -> str:
    return re.sub("//(.*?)@", rf"//\1:{password}@", address)


def test_a_wrong_password_is_one_line_that_says_where_the_right_one_belongs(
    locked: TestServer, tmp_path: Path
) -> None:
    address = locked.address("anns", role="ann")
    for environ in (
        {"PGPASSWORD": f"{SECRET}-no"},
        {"TURNWIRE_STORE": with_password(address, f"{SECRET}-no")},
    ):
        words = [] if "TURNWIRE_STORE" in environ else ["--store", address]
        said = ran(tmp_path, "list", *words, **environ)
        assert "password authentication failed" in said
        assert "PGPASSWORD, ~/.pgpass or TURNWIRE_STORE" in said
    assert "Create them: turnwire db migrate" in ran(
        tmp_path, "list", "--store", address, PGPASSWORD=SECRET
    )


def test_a_password_in_a_file_is_used(locked: TestServer, tmp_path: Path) -> None:
    passwords = tmp_path / "passwords"
    passwords.write_text(f"*:*:*:ann:{SECRET}\n")
    passwords.chmod(0o600)
    address = locked.address("anns", role="ann")
    said = ran(tmp_path, "list", "--store", address, PGPASSFILE=str(passwords))
    assert "Create them: turnwire db migrate" in said


def test_a_database_that_cannot_be_used_is_named_with_what_to_do(
    locked: TestServer, tmp_path: Path
) -> None:
    missing = ran(tmp_path, "list", "--store", locked.address("nowhere", role="guest"))
    assert 'database "nowhere" does not exist. Create it with `createdb' in missing
    unreachable = ran(
        tmp_path, "list", TURNWIRE_STORE=f"postgresql://ann:{SECRET}@127.0.0.1:1/turnwire"
    )
    assert "Start the server, or correct the host and the port" in unreachable
    assert "postgresql://ann:***@127.0.0.1:1/turnwire" in unreachable
    no_rights = ran(tmp_path, "db", "migrate", "--store", locked.address("anns", role="guest"))
    assert "permission denied for schema public. Use the role that owns the database" in no_rights
    odd = ran(tmp_path, "list", "--store", "postgresql://ann@127.0.0.1:1/x?sslmode=odd")
    assert "Correct the address" in odd


def test_a_role_without_rights_on_the_tables_is_told_so(locked: TestServer, tmp_path: Path) -> None:
    asyncio.run(locked.run("CREATE DATABASE full_of_tables"))
    asyncio.run(migrate(Address(locked.address("full_of_tables"))))
    said = ran(tmp_path, "list", "--store", locked.address("full_of_tables", role="guest"))
    assert "permission denied for table meta. Use the role that owns the database" in said


def test_the_doctor_reports_a_database_that_cannot_be_used(
    locked: TestServer, tmp_path: Path
) -> None:
    address = with_password(locked.address("anns", role="ann"), f"{SECRET}-no")
    environ = {"TURNWIRE_STORE": address, "TURNWIRE_DATA_DIR": str(tmp_path / "data")}
    said = CliRunner().invoke(main, ["doctor"], env=environ)
    assert said.exit_code == 1
    assert "MEND  The database postgresql://ann:***@" in said.output
    assert SECRET not in said.output
