"""The tables on Claude's page are complete, and true."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest

from tests.agents.claude.becoming import TABLES, cells
from tools.docs import ROOT

PAGE = (ROOT / "docs" / "agents" / "claude.md").read_text()


def rows(heading: str) -> dict[str, list[str]]:
    """The rows of the table under a heading, by what is in the first column."""
    table = PAGE.partition(f"\n### {heading}\n")[2].partition("\n#")[0]
    found = re.findall(r"^\| (?!what |event )(.+) \|$", table, re.MULTILINE)
    split = [row.split(" | ") for row in found]
    return {name.strip("`"): rest for name, *rest in split}


@pytest.mark.parametrize("table", TABLES)
def test_the_page_says_what_becomes_of_each_kind(table: str) -> None:
    real = {name: list(cells(what)) for name, what in TABLES[table]().items()}
    shown = rows(table.capitalize())
    assert {name: rest[1:] for name, rest in shown.items()} == real
    assert all(rest[0] for rest in shown.values()), "each is explained"


def test_the_page_names_each_hook_event_of_the_sdk() -> None:
    types: Any = pytest.importorskip("claude_agent_sdk.types")
    events = {name for each in get_args(types.HookEvent) for name in get_args(each)}
    assert set(rows("Hooks")) == events
