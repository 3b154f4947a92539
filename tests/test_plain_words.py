"""Plain words: the subject of a sentence is a thing with a name. See docs/glossary.md."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# Pronouns that leave open who is meant. "Nobody may delete it" becomes "Only the owner may delete it".
RIDDLES = re.compile(r"\b(nobody|somebody|whoever|anybody|whomever)\b", re.IGNORECASE)

# Lines that may have such a word, by their file: a part of the line, and why.
EXCEPTIONS = {
    "docs/server.md": ["belong to `nobody`"],  # a user of the operating system
    "src/turnwire/agents/demo/texts.py": ["rivers of small pieces"],  # the demo says it
}

PLACES = ("src/turnwire", "docs", "examples", "tools", "benchmarks")
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "CHANGELOG.md")


def files() -> list[str]:
    """The files of the repository that people read, without what a build has made."""
    listed = subprocess.run(
        ["git", "ls-files", "--", *PLACES, *PAGES],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [
        name
        for name in listed.stdout.splitlines()
        if name.endswith((".py", ".md")) and not name.startswith("src/turnwire/web/")
    ]


@pytest.mark.parametrize("name", files())
def test_a_file_names_whom_it_speaks_of(name: str) -> None:
    allowed = EXCEPTIONS.get(name, [])
    found = [
        f"{name}:{number}: {line.strip()}"
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1)
        if RIDDLES.search(line) and not any(part in line for part in allowed)
    ]
    assert found == []


def test_an_exception_is_still_needed() -> None:
    for name, parts in EXCEPTIONS.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        assert all(part in text for part in parts), name
