"""Plain words: the subject of a sentence is a thing with a name. See docs/reference/glossary.md."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# Pronouns that leave open who is meant. "nobody may delete it" becomes "Only the owner may delete it".
# Also within a name: `test_what_nobody_said` tells no more than the sentence.
RIDDLES = re.compile(
    r"(?<![a-z])(nobody|somebody|whoever|anybody|whomever)s?(?![a-z])", re.IGNORECASE
)

# Lines that may have such a word, by their file: a part of the line, and why.
EXCEPTIONS = {
    "docs/explanation/isolation.md": ["belong to `nobody`"],  # a user of the operating system
    "src/turnwire/agents/demo/texts.py": ["rivers of small pieces"],  # the demo says it
    "tests/agents/helpers/isolation_probe.py": ['= "nobody"'],  # a user of the operating system
    "tests/stores/postgres/server.py": ['= "nobody"'],  # a user of the operating system
    "tests/test_plain_words.py": ["nobody"],  # these words themselves
}

PLACES = ("src/turnwire", "docs", "examples", "tools", "benchmarks", "tests", "web", "clients")
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "CHANGELOG.md")


def files(place: str) -> list[str]:
    """Returns the files of a place that people read, without build results."""
    listed = subprocess.run(
        ["git", "ls-files", "--", place], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [
        name
        for name in listed.stdout.splitlines()
        if name.endswith((".py", ".md", ".ts", ".tsx", ".mjs"))
        and not name.startswith("src/turnwire/web/")
    ]


@pytest.mark.parametrize("place", [*PLACES, *PAGES])
def test_a_file_has_no_pronoun_that_hides_its_subject(place: str) -> None:
    found = [
        f"{name}:{number}: {line.strip()}"
        for name in files(place)
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1)
        if RIDDLES.search(line) and not any(part in line for part in EXCEPTIONS.get(name, []))
    ]
    assert found == []


# A test name begins with its subject, not with a pronoun.
NAMES = re.compile(
    r"^(?:async )?def (test_(?:what|whatever|who|whom|it|its|they|those)_\w*)", re.MULTILINE
)


def test_a_test_name_begins_with_its_subject() -> None:
    found = {
        name: NAMES.findall((ROOT / name).read_text(encoding="utf-8"))
        for name in files("tests")
        if name.endswith(".py")
    }
    assert {name: names for name, names in found.items() if names} == {}


def test_an_exception_is_still_needed() -> None:
    for name, parts in EXCEPTIONS.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        assert all(part in text for part in parts), name
