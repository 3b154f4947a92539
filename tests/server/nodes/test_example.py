"""The example of two nodes: a conversation over the death of the server that runs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.server.helpers.servers import ROOT


@pytest.mark.volume
@pytest.mark.needs_sqlite(reason="starts a database of its own")
def test_the_example_loses_nothing_when_a_node_is_killed() -> None:
    ran = subprocess.run(
        [sys.executable, "examples/two_nodes.py", "--offline"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "without a gap, and each of your messages once" in ran.stdout
