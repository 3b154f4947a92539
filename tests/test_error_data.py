"""The documented `data` of errors is what the server sends."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent
IDS = {"id", "client_message_id", "requestId"}  # of the refused frame: they are next to `data`
ROW = re.compile(r"^\| ([A-Z_, ]+) \| (.+) \|$")
NAME = re.compile(r"`([a-z_]+)`")


def raised() -> dict[str, set[str]]:
    """Returns the names of `data` that the server uses, by code."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in (ROOT / "src" / "turnwire").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Name(id="Refused"), args=[code, *_], keywords=keywords):
                    names = {each.arg for each in keywords if each.arg is not None} - IDS
                    for part in ast.walk(code) if names else ():
                        if isinstance(part, ast.Constant) and isinstance(part.value, str):
                            found[part.value] |= names
                case _:
                    pass
    return found


def documented() -> dict[str, set[str]]:
    """Returns the names in the table of section 12, by code."""
    page = (ROOT / "docs" / "reference" / "protocol" / "v2.md").read_text()
    table = page.partition("What `data` holds")[2].partition("Close codes")[0]
    rows = [match for line in table.splitlines() if (match := ROW.match(line))]
    return {code: set(NAME.findall(row[2])) for row in rows for code in row[1].split(", ")}


def test_every_particular_of_an_error_is_on_the_page() -> None:
    said = documented()
    missing = {code: names - said.get(code, set()) for code, names in raised().items()}
    assert not {code: names for code, names in missing.items() if names}


def test_the_page_names_no_particular_that_no_code_has() -> None:
    known = set().union(*raised().values()) | {"conversation", "user", "question_id"}
    assert not {name for names in documented().values() for name in names} - known


def test_an_answer_that_comes_too_late_names_its_request() -> None:
    said = documented()
    late = ("DUPLICATE_INPUT_RESPONSE", "INPUT_TIMEOUT", "CONVERSATION_INTERRUPTED")
    assert all("request_id" in said[code] for code in late)
