"""Numbers, times and names in words."""

from __future__ import annotations

from turnwire.cli.terminal.words import amount, counted, duration, money, plain, readable, some


def test_things_are_counted() -> None:
    assert [counted(n, "line") for n in (0, 1, 2, 1234)] == [
        "0 lines",
        "1 line",
        "2 lines",
        "1,234 lines",
    ]


def test_many_things_are_cut_short() -> None:
    assert some(["a", "b"], 2) == "a, b"
    assert some(["a", "b", "c"], 1) == "a, and 2 more"


def test_times_are_as_exact_as_a_person_wants_them() -> None:
    times = {
        0.0044: "4 ms",
        0.9994: "999 ms",
        0.9996: "1.0 s",
        9.94: "9.9 s",
        9.96: "10 s",
        59.6: "1 min 0 s",
        200: "3 min 20 s",
        7500: "2 h 5 min",
    }
    assert {seconds: duration(seconds) for seconds in times} == times


def test_small_sums_are_not_rounded_away() -> None:
    assert [money(0.0006), money(0.5), money(1234.5)] == ["$0.0006", "$0.5000", "$1,234.50"]


def test_large_amounts_are_short() -> None:
    assert [amount(n) for n in (9_999, 12_345, 1_200_000)] == ["9,999", "12.3k", "1.2M"]


def test_control_characters_of_a_stream_are_made_harmless() -> None:
    assert plain(" a\n\tb\x1b[31mc\x00\u202ed ") == "a b [31mc d"


def test_every_file_name_can_be_written() -> None:
    assert readable("naïve 你好.jsonl") == "naïve 你好.jsonl"
    assert readable("a\udcff.jsonl") == "a\ufffd.jsonl"
