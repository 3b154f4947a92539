"""The page about RPC is true: its program runs, and its lists are complete."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.server.helpers.servers import ROOT, process
from turnwire.dialects.rpc.methods import METHODS

PAGE = (ROOT / "docs" / "reference" / "protocol" / "rpc.md").read_text()
PROGRAM = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)


def test_the_program_on_the_page_prints_the_output_on_the_page(tmp_path: Path) -> None:
    ((program, shown),) = PROGRAM.findall(PAGE)
    with process(tmp_path / "data") as server:
        run = subprocess.run(
            [sys.executable, "-W", "error", "-c", program],
            env={"TURNWIRE_URL": server.url, "TURNWIRE_TOKEN": server.token},
            capture_output=True,
            text=True,
            check=True,
        )
    assert run.stderr == ""
    assert run.stdout == shown


def test_every_method_is_in_the_table() -> None:
    table = PAGE.partition("### 6.2 ")[2].partition("### 6.3 ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [*METHODS]
