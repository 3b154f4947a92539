"""Options, hooks and Hypothesis profiles of all tests."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from tests.helpers.time_limit import time_limit
from tests.tiers import is_volume

pytest_plugins = ["tests.stores.postgres.fixtures"]

TESTS = Path(__file__).parent

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# CI tries the same cases every time: a red run there has to mean that the change is bad.
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True)
os.environ["TURNWIRE_AGENT"] = "demo"  # a developer may have a key, and real turns cost money
settings.load_profile("ci" if os.environ.get("CI") else "default")

# A shell without job control makes its background programs ignore Ctrl-C, and so would every
# program that a test starts and stops with it.
signal.signal(signal.SIGINT, signal.default_int_handler)


# Core, dialects and turn streams are covered by their own tests with fixed examples, not by random ones; counting
# would make the others two or three times as slow.
COVERS = {"core", "dialects", "flow", "testing", "turn_streams"}


def pytest_xdist_auto_num_workers() -> int:
    """Returns more workers than processors: most tests wait for a disk, a process or a timer."""
    return 2 * (os.cpu_count() or 1)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Stops pytest-cov's second counter in a worker, which would end the first one too early."""
    counts = session.config.pluginmanager.getplugin("_cov")
    if counts is not None and hasattr(session.config, "workerinput"):
        counts.cov_controller.cov.stop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0]
        by_chance = is_hypothesis_test(getattr(item, "obj", None))
        if by_chance or folder not in COVERS:
            item.add_marker("no_cover")
        if is_volume(
            f"{item.path.relative_to(TESTS).as_posix()}::{item.nodeid.partition('::')[2]}"
        ):
            item.add_marker("volume")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fails a skipped test if TURNWIRE_NO_SKIPS is set: there everything that tests need is installed."""
    report = yield
    if report.skipped and os.environ.get("TURNWIRE_NO_SKIPS") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a whole module that is skipped, because a package is missing."""
    report = yield
    if report.skipped and os.environ.get("TURNWIRE_NO_SKIPS"):
        report.outcome = "failed"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Ends a test that hangs, its fixtures included."""
    with time_limit():
        return (yield)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-expected",
        action="store_true",
        help="write the expected output of every stage anew; look at the difference before a commit",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that is `async` runs in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    given = {name: value for name, value in pyfuncitem.funcargs.items() if name in wanted}
    asyncio.run(pyfuncitem.obj(**given))
    return True
