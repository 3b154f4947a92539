"""Converts times between numbers and text. Reads no clock: the caller supplies every time."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["iso", "ms_of"]

_DAY = 86_400_000


@lru_cache(maxsize=16)  # simultaneous events share one time
def iso(ms: int) -> str:
    """Returns milliseconds since 1970 as ISO 8601 in UTC with `Z`."""
    seconds, ms = divmod(ms, 1000)
    return f"{_second(seconds)}.{ms:03}Z"


@lru_cache(maxsize=16)  # pieces of text come many times in a second
def _second(seconds: int) -> str:
    days, rest = divmod(seconds, _DAY // 1000)
    year, month, day = _date(days)
    minutes, second = divmod(rest, 60)
    hour, minute = divmod(minutes, 60)
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"


def _date(days: int) -> tuple[int, int, int]:
    """Returns the civil date. Years are counted from March, so that a leap day is the last day."""
    era, day_of_era = divmod(days + 719_468, 146_097)  # an era is 400 years
    year_of_era = (
        day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    from_march = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * from_march + 2) // 5 + 1
    month = from_march + 3 if from_march < 10 else from_march - 9
    return era * 400 + year_of_era + (month <= 2), month, day


def ms_of(text: str) -> int:
    """Returns the milliseconds since 1970 of a text that `iso` wrote, or of one without them."""
    year, month, day = int(text[:4]), int(text[5:7]), int(text[8:10])
    hour, minute, second, ms = (
        int(text[11:13]),
        int(text[14:16]),
        int(text[17:19]),
        int(text[20:23] or 0),
    )
    return _days(year, month, day) * _DAY + ((hour * 60 + minute) * 60 + second) * 1000 + ms


def _days(year: int, month: int, day: int) -> int:
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return (
        era * 146_097
        + year_of_era * 365
        + year_of_era // 4
        - year_of_era // 100
        + day_of_year
        - 719_468
    )
