"""Times as numbers and as text, equal to those of the standard library."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwire.core.times import iso, ms_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST = (datetime(1, 1, 1, tzinfo=UTC) - EPOCH) // timedelta(milliseconds=1)
LAST = (datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC) - EPOCH) // timedelta(
    milliseconds=1
)


def by_the_library(ms: int) -> str:
    """Returns the same text, made by datetime."""
    moment = EPOCH + timedelta(milliseconds=ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (951_868_799_999, "2000-02-29T23:59:59.999Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        (1_767_225_600_000, "2026-01-01T00:00:00.000Z"),
        (FIRST, "0001-01-01T00:00:00.000Z"),
        (LAST, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_a_time_is_written_and_read(ms: int, text: str) -> None:
    assert iso(ms) == text
    assert ms_of(text) == ms


@settings(max_examples=1000)
@given(st.integers(FIRST, LAST))
def test_any_time_is_written_as_the_library_writes_it_and_read_again(ms: int) -> None:
    assert iso(ms) == by_the_library(ms)
    assert ms_of(iso(ms)) == ms


@pytest.mark.no_cover  # a hundred thousand of them
def test_every_day_of_four_centuries_is_correct() -> None:
    day = 86_400_000  # after 400 years the calendar repeats itself
    start = (datetime(1800, 1, 1, tzinfo=UTC) - EPOCH) // timedelta(milliseconds=1)
    for ms in range(start, start + 146_097 * day, day):
        text = iso(ms)
        assert text == by_the_library(ms)
        assert ms_of(text) == ms


def test_a_time_without_a_fraction_of_a_second_is_read() -> None:
    assert ms_of("2026-11-15T09:01:00Z") == ms_of("2026-11-15T09:01:00.000Z")
