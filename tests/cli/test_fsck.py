"""`turnwire fsck`: its output, its repairs, and its exit codes."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Tell, lines
from tests.cli.helpers.agents import QUICK
from tests.cli.helpers.terminal_output import on_terminal
from tests.helpers.owner_names import owner_with, pid_that_has_ended
from tests.stores.helpers.sql import rows_of
from turnwire.stores.fsck import KINDS


@pytest.fixture
def database(tell: Tell, home: Path) -> Path:
    """Makes a file with one undamaged conversation."""
    tell("run", "--agent", QUICK, "think tool")
    return home / "turnwire.db"


def lose_an_entry(database: Path) -> str:
    rows_of(database, "DELETE FROM messages WHERE sequence_num = 3")
    [(name,)] = rows_of(database, "SELECT conversation_id FROM conversations")
    return str(name)


def test_without_conversations_fsck_checks_nothing(tell: Tell, home: Path) -> None:
    ran = tell("fsck")
    assert ran.exit_code == 0
    assert "nothing was checked" in ran.stdout
    assert tell("fsck", "--json").stdout == ""
    assert not home.exists()


def test_a_sound_log_is_exit_code_0(database: Path, tell: Tell) -> None:
    ran = tell("fsck")
    assert ran.exit_code == 0
    assert re.fullmatch(r"No damage: 1 conversation, \d+ entries\.\n", ran.stdout)
    assert lines(tell("fsck", "--json")) == []


def test_damage_is_exit_code_1_with_advice(database: Path, tell: Tell) -> None:
    name = lose_an_entry(database)
    ran = tell("fsck")
    assert ran.exit_code == 1
    assert f"gap  {name}  entry 3  Entry 3 is missing." in ran.stdout
    assert "repair  Each missing number gets an entry that says that it was lost" in ran.stdout
    assert "Then repair:   turnwire fsck --repair" in ran.stdout
    repaired = tell("fsck", "--repair")
    assert repaired.exit_code == 0
    assert "all repaired." in repaired.stdout
    assert tell("fsck").exit_code == 0


def test_json_is_one_finding_a_line(database: Path, tell: Tell) -> None:
    name = lose_an_entry(database)
    ran = tell("fsck", "--json")
    assert ran.exit_code == 1
    told = lines(ran)
    assert told[0] == {
        "kind": "gap",
        "conversation_id": name,
        "place": "entry 3",
        "what": "Entry 3 is missing.",
        "repair": "Each missing number gets an entry that says that it was lost (`entries_lost`).",
        "repaired": False,
        "left": None,
    }
    repaired = tell("fsck", "--repair", "--json")
    assert repaired.exit_code == 0
    assert all(each["repaired"] for each in lines(repaired))


def test_conversations_of_a_live_process_are_left_and_those_of_a_dead_one_repaired(
    database: Path, tell: Tell
) -> None:
    lose_an_entry(database)
    until = time.time_ns() // 1_000_000 + 600_000

    def own(process: int) -> None:
        sql = "UPDATE conversations SET owner = ?, lease_until = ?"
        rows_of(database, sql, owner_with(process), until)

    own(os.getpid())
    ran = tell("fsck", "--repair")
    assert ran.exit_code == 1
    assert "left  A live process uses it: stop that process first." in ran.stdout
    own(pid_that_has_ended())
    assert tell("fsck", "--repair").exit_code == 0
    assert tell("fsck").exit_code == 0


def test_a_newer_file_is_exit_code_2(database: Path, tell: Tell) -> None:
    rows_of(database, "UPDATE meta SET value = 999 WHERE name = 'schema_version'")
    ran = tell("fsck")
    assert ran.exit_code == 2
    assert "Update Turnwire" in ran.stderr
    assert tell("fsck", "--mend").exit_code == 2


def test_a_file_that_is_no_database_is_damage(home: Path, tell: Tell) -> None:
    home.mkdir()
    (home / "turnwire.db").write_bytes(b"nothing of ours" * 100)
    ran = tell("fsck", "--repair")
    assert ran.exit_code == 1
    assert "Restore a backup." in ran.stdout


def test_a_check_of_a_long_log_shows_its_progress(database: Path, tell: Tell, home: Path) -> None:
    [(head,)] = rows_of(database, "SELECT head FROM conversations")
    rows_of(
        database,
        "WITH RECURSIVE n(i) AS (SELECT ?1 + 1 UNION ALL SELECT i + 1 FROM n WHERE i < 25000)"
        " INSERT INTO messages (conversation_id, sequence_num, role, message_type, message_json,"
        " turn_id, trace_id, created_at) SELECT conversation_id, i, role, message_type,"
        " message_json, turn_id, trace_id, created_at FROM n, messages WHERE sequence_num = 2",
        head,
    )
    rows_of(
        database,
        "UPDATE conversations SET head = 25000, state_json = json_set(state_json, '$.head', 25000)",
    )
    shown = on_terminal("fsck", TURNWIRE_DATA_DIR=str(home))
    assert b"checking" in shown
    assert b"\xe2\x94\x81" in shown
    assert b"No damage: 1 conversation, 25,000 entries." in shown
    assert b"checking" not in on_terminal("fsck", "--json", TURNWIRE_DATA_DIR=str(home))


def test_the_page_lists_every_kind_of_damage() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "reference" / "fsck.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert rows == [f"| `{name}` | {k.meaning} | {k.repair} |" for name, k in KINDS.items()]


def test_the_list_marks_unreadable_conversations_and_names_fsck(tell: Tell, database: Path) -> None:
    rows_of(database, "UPDATE conversations SET state_json = '{}'")
    tell("run", "--agent", QUICK, "hello")
    ran = tell("list")
    assert ran.exit_code == 0
    assert "damaged" in ran.stdout
    assert "1 conversation cannot be read. See why: turnwire fsck" in ran.stderr
    assert [bool(row.get("damage")) for row in lines(tell("list", "--json"))] == [False, True]
    assert tell("fsck", "--repair").exit_code == 0
    assert "damaged" not in tell("list").stdout
