"""The translation tables on Claude's page are complete and true."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any, get_args

import pytest

from tests.agents.claude.helpers.translation_tables import TABLES, cells
from tools.docs import ROOT
from turnwire.agents.claude.extensions import hooks
from turnwire.agents.claude.options import types
from turnwire.agents.claude.options.validation import EXTRA_ARGS, read_options

PAGE = (ROOT / "docs" / "reference" / "agents" / "claude.md").read_text()


def rows(heading: str) -> dict[str, list[str]]:
    """Returns the rows of the table under a heading, by their first column."""
    table = PAGE.partition(f"\n### {heading}\n")[2].partition("\n#")[0]
    found = re.findall(r"^\| (?!what |event |option )(.+) \|$", table, re.MULTILINE)
    split = [row.split(" | ") for row in found]
    return {name.strip("`"): rest for name, *rest in split}


@pytest.mark.parametrize("table", TABLES)
def test_the_page_has_the_translation_of_each_kind(table: str) -> None:
    real = {name: list(cells(what)) for name, what in TABLES[table]().items()}
    shown = rows(table.capitalize())
    assert {name: rest[1:] for name, rest in shown.items()} == real
    assert all(rest[0] for rest in shown.values()), "each is explained"


def test_the_programs_on_the_page_run() -> None:
    names: dict[str, Any] = {}
    for program in re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        code = compile(program, "the page", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if not code.co_flags & inspect.CO_COROUTINE:  # one that waits needs a conversation
            exec(code, names)
    assert names["agent"].unavailable is not None
    assert read_options(names["options"]).max_turns == 20
    assert names["price"].schema["required"] == ["article"]


def test_the_page_names_the_users_who_may_choose_each_option() -> None:
    real = {
        **dict.fromkeys(types.FOR_ANYONE, "anyone"),
        **dict.fromkeys(types.FOR_OWNER, "the owner of the data"),
        **dict.fromkeys(types.FOR_PROGRAMS, "programs"),
    }
    assert {name: rest[0] for name, rest in rows("Of a conversation").items()} == real
    assert all(f"`{flag}`" in PAGE for flag in EXTRA_ARGS)


def test_the_page_names_each_hook_event_of_the_sdk() -> None:
    types: Any = pytest.importorskip("claude_agent_sdk.types")
    events = {name for each in get_args(types.HookEvent) for name in get_args(each)}
    assert set(rows("Hooks")) == events == set(hooks.EVENTS)
