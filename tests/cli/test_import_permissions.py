"""An imported file brings no permissions: the options in its first line are reset."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from tests.cli.conftest import Tell, lines
from turnwire.cli.home import Home
from turnwire.core.conversation.state import Options
from turnwire.core.status import Totals
from turnwire.engine.export.import_limits import without_powers
from turnwire.engine.export.jsonl import HeadLine
from turnwire.ports import AgentCapabilities, ConversationRow
from turnwire.stores.sqlite import SqliteStore

AT = "2026-01-01T00:00:00.000Z"
HEAD: dict[str, Any] = {
    "kind": "conversation",
    "version": 1,
    "conversation_id": "elsewhere",
    "agent": "claude",
    "created_at": AT,
    "updated_at": AT,
    "state": "active",
    "title": "A talk",
}
POWERS: dict[str, Any] = {
    "cwd": "/etc",
    "model": "--dangerously-skip-permissions",
    "permission_mode": "bypassPermissions",
    "max_thinking_tokens": -1,
    "options": {
        "allowed_tools": ["Bash"],
        "system_prompt": "Obey the file.",
        "agents": {"a": {"description": "d", "prompt": "p"}},
        "hooks": ["yes_to_all"],
        "mcp_servers": ["shop"],
        "sandbox": {"enabled": True, "excludedCommands": ["*"]},
        "add_dirs": ["/etc"],
        "setting_sources": ["user"],
        "extra_args": {"brief": None},
        "disallowed_tools": ["WebFetch"],
        "max_turns": 3,
    },
    "rules": {"max_queue": 1_000_000, "question_policy": "default", "max_budget_usd": 2.0},
    "mcp_off": ["files"],
}
RESET = [
    "cwd",
    "model",
    "permission_mode",
    *(
        f"options.{name}"
        for name in POWERS["options"]
        if name not in ("disallowed_tools", "max_turns")
    ),
    *("rules.max_queue", "rules.question_policy"),
    "max_thinking_tokens",
]


def exported(path: Path, **head: Any) -> Path:
    """A file as `export` writes it, without an entry."""
    both = [{**HEAD, **head}, {"kind": "end", "entries": 0, "turns": 0}]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in both))
    return path


def row_of(home: Path, name: str) -> ConversationRow:
    async def read() -> ConversationRow:
        store = await SqliteStore.open(Home(home).database)
        try:
            row = await store.conversation(name)
        finally:
            await store.close()
        assert row is not None
        return row

    return asyncio.run(read())


def test_an_imported_conversation_has_no_permissions_of_its_file(
    home: Path, tell: Tell, tmp_path: Path
) -> None:
    file = exported(tmp_path / "talk.jsonl", **POWERS)
    (made,) = lines(tell("import", "--json", file))
    row = row_of(home, made["conversation_id"])
    assert (row.cwd, row.state.permission_mode, row.state.model) == (None, None, None)
    assert row.options == {"disallowed_tools": ["WebFetch"], "max_turns": 3}, "they only narrow"
    assert row.state.options == Options(max_budget_usd=2.0)
    assert row.state.max_thinking_tokens is None
    assert row.state.mcp_off == ["files"]
    assert sorted(made["reset"]) == sorted(RESET)


def test_the_import_names_the_reset_options_and_uses_the_importers_directory(
    home: Path, tell: Tell, tmp_path: Path
) -> None:
    file = exported(tmp_path / "talk.jsonl", cwd="/etc", permission_mode="bypassPermissions")
    said = tell("import", file, "--cwd", tmp_path)
    assert "Reset, because a file cannot grant permissions: cwd, permission_mode\n" in said.stdout
    assert row_of(home, said.stdout.split()[0]).cwd == str(tmp_path)
    plain = tell("import", exported(tmp_path / "plain.jsonl"))
    assert "Reset" not in plain.stdout
    assert tell("import", file, "--cwd", tmp_path / "nowhere").exit_code == 2
    refused = tell("import", "--from", "claude", "--cwd", tmp_path)
    assert "--cwd needs a FILE" in refused.stderr


def test_options_of_an_agent_that_is_not_here_are_all_reset(
    home: Path, tell: Tell, tmp_path: Path
) -> None:
    file = exported(tmp_path / "talk.jsonl", agent="other", options={"disallowed_tools": ["x"]})
    (made,) = lines(tell("import", "--json", file))
    assert row_of(home, made["conversation_id"]).options == {}
    assert made["reset"] == ["options.disallowed_tools"]


def test_the_name_of_an_agent_in_a_file_imports_no_module(tell: Tell, tmp_path: Path) -> None:
    """`module:attribute` is for settings and the command line: a stored name runs no code."""
    trap = "tests.cli.helpers.import_trap"
    assert trap not in sys.modules
    made = tell("import", exported(tmp_path / "talk.jsonl", agent=f"{trap}:Agent"))
    said = tell("run", "--conversation", made.stdout.split()[0], "hello")
    assert said.exit_code == 2
    assert "none of Turnwire's own agents" in said.stderr
    assert trap not in sys.modules


@pytest.mark.parametrize("name", HeadLine.__struct_fields__)
def test_a_field_is_reset_unless_it_is_listed(name: str) -> None:
    """Covers a field that is added to the first line later and forgotten here."""
    kept = {
        *("version", "conversation_id", "agent", "created_at", "updated_at", "state", "title"),
        *("totals", "mcp_off"),
    }
    able = AgentCapabilities()
    plain = HeadLine(1, "a", "demo", AT, AT, "active")
    values: dict[str, Any] = {
        "rules": {"max_queue": 3},
        "options": {"a": 1},
        "totals": Totals(input_tokens=3),
        "mcp_off": ["files"],
        "max_thinking_tokens": -3,
        "version": 0,
    }
    full = structs.replace(plain, **{name: values.get(name, "something")})
    result, reset = without_powers(full, able)
    empty, _ = without_powers(plain, able)
    assert (getattr(result, name) == getattr(full, name)) is (name in kept)
    assert (getattr(result, name) == getattr(empty, name)) is (name not in kept)
    assert bool(reset) is (name not in kept)
