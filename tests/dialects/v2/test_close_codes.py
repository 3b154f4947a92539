"""Close codes: the number alone tells whether to reconnect."""

from __future__ import annotations

import pytest

from turnwire.core.error_codes import ERRORS
from turnwire.dialects.v2.close_codes import CLOSE_CODES, CLOSES_WITH, may_reconnect


@pytest.mark.parametrize("code", CLOSE_CODES)
def test_every_code_of_ours_says_by_its_number_whether_coming_back_can_help(code: int) -> None:
    assert may_reconnect(code) is (4000 <= code < 4500)


@pytest.mark.parametrize("code", [1000, 1001, 1006, 1011, 3000, 4499])
def test_any_other_code_may_be_a_broken_line(code: int) -> None:
    assert may_reconnect(code)


@pytest.mark.parametrize("code", [4500, 4999])
def test_from_4500_to_4999_it_cannot_help_even_if_the_code_is_new(code: int) -> None:
    assert not may_reconnect(code)


def test_every_code_is_said_in_sentences() -> None:
    assert [code for code, said in CLOSE_CODES.items() if not said.endswith(".")] == []


def test_an_error_that_ends_a_connection_has_a_code_that_names_it() -> None:
    assert set(CLOSES_WITH) <= set(ERRORS)
    assert [error for error, code in CLOSES_WITH.items() if error not in CLOSE_CODES[code]] == []
