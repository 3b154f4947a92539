"""The commands work with a database as they do with a data directory, and show no password."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

import pytest

from tests.helpers.owner_names import owner_with, pid_that_has_ended
from tests.stores.helpers.sql import rows_of
from turnwire.server.service import Service
from turnwire.settings import Settings
from turnwire.stores.postgres import PostgresStore

COMMAND = [sys.executable, "-c", "from turnwire.cli.entry import main; main()"]


def with_password(address: str) -> str:
    """Returns the address with a password."""
    parts = urlsplit(address)
    user, _, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user}:{quote(secret())}@{host}"))


def secret() -> str:
    """Returns the password of the server; the one of the tests does not ask for it."""
    return os.environ.get("PGPASSWORD", "s3cr3t-of-ann")


class Shell:
    """Runs `turnwire` with a database in its environment."""

    def __init__(self, address: str, folder: Path) -> None:
        self.folder = folder
        self.environ = {
            **os.environ,
            "TURNWIRE_STORE": with_password(address),
            "TURNWIRE_DATA_DIR": str(folder / "data"),
            "COLUMNS": "200",
        }

    def run(self, *words: str, code: int = 0) -> str:
        ran = subprocess.run(
            [*COMMAND, *words], env=self.environ, cwd=self.folder, capture_output=True, text=True
        )
        said = ran.stdout + ran.stderr
        assert ran.returncode == code, said
        assert secret() not in said
        return said


@pytest.fixture
def shell(empty_database: str, tmp_path: Path) -> Shell:
    return Shell(empty_database, tmp_path)


def test_a_database_is_made_used_and_copied(shell: Shell, tmp_path: Path) -> None:
    assert "Create them: turnwire db migrate" in shell.run("db", "status", code=1)
    assert "Create them: turnwire db migrate" in shell.run("list", code=2)
    assert "applied pre/0001" in shell.run("db", "migrate")
    assert shell.run("db", "migrate") == "The tables are up to date.\n"
    assert "The tables fit this version." in shell.run("db", "status")
    assert json.loads(shell.run("db", "status", "--json"))["found"] == {"pre": 7, "post": 0}
    shell.run("run", "--agent", "demo", "--cwd", str(tmp_path), "hello there")
    (listed,) = [json.loads(line) for line in shell.run("list", "--json").splitlines()]
    name = listed["conversation_id"]
    assert "hello there" in shell.run("show", name)
    assert name in shell.run("search", "there")
    assert "said" in shell.run("audit")
    shell.run("token", "create", "--name", "laptop", "--user", "ann")
    assert "laptop" in shell.run("token", "list")
    assert "Database" in shell.run("doctor")
    assert "No damage: 1 conversation" in shell.run("fsck")
    exported = shell.run("export", "--to", "jsonl", name)
    shell.run("backup", "copy.db")
    assert "1 conversations" in shell.run("copy", "--from", "copy.db", "--to", "restored")
    del shell.environ["TURNWIRE_STORE"]
    shell.environ["TURNWIRE_DATA_DIR"] = str(tmp_path / "restored")
    assert shell.run("export", "--to", "jsonl", name) == exported
    assert "No damage" in shell.run("fsck")


def test_damage_of_a_database_is_found_and_repaired(shell: Shell, empty_database: str) -> None:
    assert "Create them: turnwire db migrate" in shell.run("fsck", code=2)
    shell.run("db", "migrate")
    assert "No damage: 0 conversations" in shell.run("fsck")
    shell.run("run", "--agent", "demo", "--cwd", str(shell.folder), "hello there")
    [(name,)] = rows_of(empty_database, "SELECT conversation_id FROM conversations")
    rows_of(empty_database, "DELETE FROM messages WHERE sequence_num = 2")
    said = shell.run("fsck", code=1)
    assert f"gap  {name}  entry 2  Entry 2 is missing." in said
    assert "Make a backup: turnwire backup FILE" in said
    assert "Then repair:   turnwire fsck --repair" in said
    asked = shell.run("fsck", "--store", empty_database, code=1)
    assert f"Then repair:   turnwire fsck --store '{empty_database}' --repair" in asked
    until = time.time_ns() // 1_000_000 + 600_000
    owned = "UPDATE conversations SET owner = $1, lease_until = $2"
    rows_of(empty_database, owned, owner_with(os.getpid()), until)
    assert "left  A live process uses it: stop that process first." in shell.run(
        "fsck", "--repair", code=1
    )
    rows_of(empty_database, owned, owner_with(pid_that_has_ended()), until)
    told = [json.loads(line) for line in shell.run("fsck", "--repair", "--json").splitlines()]
    assert {each["kind"] for each in told} >= {"gap", "stale_owner"}
    assert all(each["repaired"] for each in told)
    assert shell.run("fsck", "--json") == ""


def test_a_newer_schema_is_not_called_up_to_date(shell: Shell, empty_database: str) -> None:
    shell.run("db", "migrate")
    rows_of(empty_database, "UPDATE meta SET value = '999' WHERE name = 'schema_pre'")
    said = shell.run("db", "migrate")
    assert "of a newer Turnwire: schema 999.0, this version knows " in said
    assert "up to date" not in said
    shell.run("list")
    rows_of(empty_database, "UPDATE meta SET value = '9' WHERE name = 'schema_post'")
    for words in (["db", "migrate"], ["db", "migrate", "--post"]):
        assert "Update Turnwire: pip install --upgrade turnwire" in shell.run(*words, code=2)


def test_a_backup_that_fsck_advises_for_older_tables_can_be_made(
    shell: Shell, empty_database: str
) -> None:
    shell.run("db", "migrate")
    rows_of(empty_database, "UPDATE meta SET value = '1' WHERE name = 'schema_pre'")
    said = shell.run("fsck", code=1)
    assert "turnwire db migrate" in shell.run("backup", "FILE", code=2), "it cannot read them"
    assert "turnwire backup" not in said
    assert "Make a backup: pg_dump" in said


def test_fsck_uses_the_store_of_the_settings_file(shell: Shell, empty_database: str) -> None:
    shell.run("db", "migrate")
    del shell.environ["TURNWIRE_STORE"]
    (shell.folder / "turnwire.toml").write_text(f"store = {json.dumps(empty_database)}\n")
    assert "No damage: 0 conversations" in shell.run("fsck")


def test_a_password_on_the_command_line_is_refused(shell: Shell, empty_database: str) -> None:
    for words in (
        ["list", "--store", with_password(empty_database)],
        ["copy", "--from", with_password(empty_database), "--to", "x"],
        ["serve", "--store", with_password(empty_database)],
    ):
        assert "PGPASSWORD" in shell.run(*words, code=2)


def test_a_server_shows_no_password(shell: Shell) -> None:
    shell.run("db", "migrate")
    with subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", "--no-open", "--agent", "demo"],
        env=shell.environ,
        cwd=shell.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as server:
        assert server.stdout is not None
        said = ""
        try:
            while "Stop" not in said:
                line = server.stdout.readline()
                assert line, said
                said += line
            process_list = subprocess.run(["ps", "axww"], capture_output=True, text=True).stdout
        finally:
            server.send_signal(signal.SIGINT)
            said += server.stdout.read()
    assert f"{urlsplit(shell.environ['TURNWIRE_STORE']).username}:***@" in said
    assert secret() not in said
    assert secret() not in process_list
    assert "Stopped. The conversations are kept in postgresql://" in said


async def test_settings_choose_the_store_of_a_server(postgres: str, tmp_path: Path) -> None:
    settings = Settings(store=postgres, synchronous_replication=True, data_dir=str(tmp_path / "d"))
    service = await Service.open(settings)
    try:
        assert isinstance(service.store, PostgresStore)
        await service.check_store()
        talk = await service.engine.create("demo", options={"delay": 0})
        await talk.send("hello")
    finally:
        await service.close()
    assert not (tmp_path / "d" / "turnwire.db").exists()
