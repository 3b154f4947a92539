"""Limits: the rate of a bucket, and the size of JSON before it is decoded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from turnwire.server.access.limits import (
    MOST_ID,
    MOST_PATH,
    MOST_PATHS,
    Bucket,
    Buckets,
    check_shape,
)

TEXTS = st.text(st.sampled_from('[]{},:"\\\n\u0001aé漢🙂'), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


# --- buckets --------------------------------------------------------------------------------------


def test_a_bucket_gives_its_content_at_once_and_then_refills_at_its_rate() -> None:
    bucket = Bucket(rate=2, most=3)
    assert [bucket.take(100.0) for _ in range(4)] == [0, 0, 0, 0.5]
    assert bucket.take(100.25) == 0.25, "a refusal takes nothing"
    assert bucket.take(100.5) == 0
    assert bucket.take(100.5) == 0.5


def test_a_bucket_never_holds_more_than_at_first() -> None:
    bucket = Bucket(rate=2, most=3)
    assert [bucket.take(0.0) for _ in range(3)] == [0, 0, 0]
    assert [bucket.take(1000.0) for _ in range(4)] == [0, 0, 0, 0.5]


def test_a_part_of_one_is_not_enough() -> None:
    assert Bucket(rate=1, most=0.5).take(0.0) == 0.5


def test_a_bucket_without_a_rate_is_never_filled_again() -> None:
    bucket = Bucket(rate=0, most=1)
    assert bucket.take(0.0) == 0
    assert bucket.take(1000.0) == 60
    assert bucket.wait(2000.0) == 60


def test_a_cost_above_the_content_is_a_debt_that_time_reduces() -> None:
    bucket = Bucket(rate=2, most=10)
    assert bucket.wait(0.0) == 0
    bucket.charge(0.0, 14)
    assert bucket.wait(0.0) == 2
    assert bucket.wait(1.5) == 0.5
    assert bucket.take(1.5) == 1, "until there is a whole one"
    assert bucket.wait(2.0) == 0.01, "out of debt, but nothing is left"
    assert bucket.wait(2.25) == 0


def test_a_charge_counts_after_the_refill_until_then() -> None:
    bucket = Bucket(rate=2, most=10)
    bucket.charge(0.0, 10)
    bucket.charge(3.0, 8)
    assert bucket.wait(3.0) == 1


def test_a_debt_is_at_most_one_full_bucket() -> None:
    bucket = Bucket(rate=2, most=10)
    bucket.charge(0.0, 1_000_000)
    assert bucket.wait(0.0) == 5


def test_each_name_has_a_bucket_of_its_own() -> None:
    buckets = Buckets(rate=2, most=1)
    assert [buckets.take("ann", 0.0), buckets.take("bob", 0.0)] == [0, 0]
    assert buckets.take("ann", 0.0) == 0.5
    assert buckets.take("ann", 0.5) == 0


def test_the_limiter_forgets_the_oldest_of_ten_thousand_names() -> None:
    buckets = Buckets(rate=0, most=1)
    for number in range(10_000):
        assert buckets.take(str(number), 0.0) == 0
    assert buckets.take("0", 0.0) > 0, "all are still known"
    assert buckets.take("new", 0.0) == 0
    assert buckets.take("1", 0.0) > 0
    assert buckets.take("0", 0.0) == 0, "forgotten, so it has a full one again"


def test_the_longest_texts_that_are_taken() -> None:
    """Part of the protocol: clients may rely on these sizes."""
    assert (MOST_ID, MOST_PATH, MOST_PATHS) == (200, 4096, 65_536)


# --- the shape of JSON ----------------------------------------------------------------------------


def items_in(value: Any) -> int:
    """Count as the limit does: each list or object, and each comma between its entries."""
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(0, len(value) - 1) + sum(map(items_in, inner))


def depth_of(value: Any) -> int:
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(depth_of, inner), default=0)


@given(VALUES, st.booleans(), st.booleans())
@example(["\\"], False, False)
@example(['\\"[', [[]]], False, True)
@example({"a\\\\": "[[["}, True, True)
def test_the_count_of_values_equals_that_of_the_decoded_json(
    value: Any, is_ascii: bool, is_bytes: bool
) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii)
    raw = text.encode() if is_bytes else text
    items, depth = items_in(value), depth_of(value)
    assert check_shape(raw, items, depth) is None
    if items > 0:
        assert "objects, lists and entries" in str(check_shape(raw, items - 1, depth))
        assert "in one another" in str(check_shape(raw, items, depth - 1))


@pytest.mark.parametrize(
    ("text", "items", "depth"),
    [
        ("0", 0, 0),
        ('""', 0, 0),
        ('"[,{"', 0, 0),
        ("[]", 1, 1),
        ("[0]", 1, 1),
        ("[0,0,0]", 3, 1),
        ("[[],[],[]]", 6, 2),
        ("[{},{},{}]", 6, 2),
        ('{"a":{"b":{}}}', 3, 3),
        ('{"a":"b","c":"d"}', 2, 1),
        ('["[","]","{","}"]', 4, 1),
        ('["\\"[",[],"\\\\"]', 4, 2),
        ('["\ud800[",[]]', 3, 2),
    ],
)
def test_examples_have_the_expected_number_of_values_and_levels(
    text: str, items: int, depth: int
) -> None:
    for raw in (text, text.encode(errors="replace")):
        assert check_shape(raw, items, depth) is None
        if items:
            assert check_shape(raw, items - 1, depth) is not None
            assert check_shape(raw, items, depth - 1) is not None


def test_more_texts_than_the_limit_allows_values_are_refused_before_they_are_taken_apart() -> None:
    """A comma, a colon or a bracket precedes each text, so their number is bounded."""
    assert check_shape('"[" ' * 21, 10, 64) is None, "no JSON, but not too large"
    assert check_shape('"[" ' * 22, 10, 64) is not None


@pytest.mark.parametrize("piece", ["[]", "{}", "0", '""', '{"a":0}', '"a,b"'])
def test_too_many_values_are_refused(piece: str) -> None:
    assert check_shape(f"[{','.join([piece] * 200)}]", 1000, 64) is None
    assert check_shape(f"[{','.join([piece] * 2000)}]", 1000, 64) is not None


@pytest.mark.parametrize("piece", ["[", "{,", '\\"[', "\\\\[", "中[", "\\u0022,["])
def test_a_text_is_one_value_even_with_brackets_in_it(piece: str) -> None:
    for end in ("", "\\\\", '\\"'):
        text = f'{{"a": "{piece * 5000}{end}"}}'
        assert json.loads(text)
        assert check_shape(text, 256, 8) is None
        assert check_shape(text.encode(), 256, 8) is None
