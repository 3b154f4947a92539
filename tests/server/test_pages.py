"""What the pages say about the server is true, and all of it is there."""

from __future__ import annotations

import re

import pytest

from tests.server.serving import ROOT
from turnwire.core.error_codes import ERRORS
from turnwire.server.http import API
from turnwire.server.problems import STATUS
from turnwire.settings import _NAMES, Settings

DOCS = ROOT / "docs"


def rows(page: str) -> list[list[str]]:
    """Every row of every table."""
    lines = (DOCS / page).read_text().splitlines()
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines if line[:1] == "|"]


def test_every_setting_is_on_the_page_with_its_default() -> None:
    told = {row[0].strip("`"): row[1] for row in rows("server.md") if len(row) == 3}
    assert {*_NAMES} <= {*told}
    for name in _NAMES:
        default = getattr(Settings(), name)
        if default and name != "protocol_v2":
            words = told[name].split(";")[0].strip("`").replace(",", "")
            assert words == f"{default:g}" if isinstance(default, float) else str(default), name


def test_every_address_is_on_the_page() -> None:
    told = {row[0].strip("`").split("?")[0] for row in rows("http.md")}
    assert {f"{method} {path}" for path, method, _ in API} <= told


def test_every_code_has_a_status_and_what_the_page_says_of_it_is_true() -> None:
    assert {*STATUS} == {*ERRORS}
    for row in rows("http.md"):
        if row[0].isdecimal():
            for code in row[1].split(":")[0].split(", "):
                assert STATUS.get(code, 404) == int(row[0]), code


@pytest.mark.parametrize("row", [row for row in rows("security.md") if "CVE-" in row[1]])
def test_every_control_has_its_test(row: list[str]) -> None:
    tests = "".join(path.read_text() for path in (ROOT / "tests" / "server").glob("test_*.py"))
    names = re.findall(r"`(test_\w+)`", row[2])
    assert names
    for name in names:
        assert f"def {name}(" in tests
