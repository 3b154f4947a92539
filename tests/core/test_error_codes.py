"""The registry of errors is complete, and a refusal has its code, message and data."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from turnwire.core.error_codes import ERRORS, ErrorCode, Refused
from turnwire.errors import TurnwireError

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "protocol" / "v2.md"


def test_every_code_has_a_rule_and_every_rule_a_code() -> None:
    assert set(get_args(ErrorCode)) == set(ERRORS)


def test_codes_are_listed_in_order() -> None:
    assert list(get_args(ErrorCode)) == sorted(get_args(ErrorCode))


@pytest.mark.parametrize("code", ERRORS)
def test_every_rule_is_written_in_sentences(code: ErrorCode) -> None:
    rule = ERRORS[code]
    for sentence in (rule.meaning, rule.what_to_do):
        assert sentence[0].isupper()
        assert sentence.endswith(".")


@pytest.mark.parametrize("code", ERRORS)
def test_every_code_is_on_the_page(code: ErrorCode) -> None:
    rule = ERRORS[code]
    again = "yes" if rule.retryable else "no"
    row = f"| `{code}` | {rule.meaning} | {again} | {rule.what_to_do} |"
    assert row in PAGE.read_text()


def test_a_refusal_has_the_message_of_the_registry() -> None:
    refused = Refused("TURN_QUEUE_FULL")
    assert isinstance(refused, TurnwireError)
    assert refused.message == "A turn runs and its queue is full. Nothing was written."
    assert (refused.code, refused.retryable) == ("TURN_QUEUE_FULL", True)
    assert refused.what_to_do == ERRORS["TURN_QUEUE_FULL"].what_to_do


def test_a_refusal_may_say_it_more_exactly_and_has_particulars() -> None:
    refused = Refused("TURN_QUEUE_FULL", "16 messages wait already.", max_queue=16)
    assert (refused.message, refused.data) == ("16 messages wait already.", {"max_queue": 16})
    assert not Refused("NOT_SUPPORTED").retryable
