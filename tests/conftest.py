"""Options and Hypothesis profiles for all tests."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# CI tries the same cases every time: a red run there has to mean that the change is bad.
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

# A shell without job control has what it runs beside itself ignore Ctrl-C, and so would every
# program that a test starts and stops with it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-expected",
        action="store_true",
        help="write the expected output of every stage anew; look at the difference before a commit",
    )
