"""The files for the repository host, editors and pre-commit are complete and agree with the project.

No YAML library is among the requirements. The files keep to a small part of YAML, and `read_yaml`
reads only that part: a refused file has a mistake, or has to be written more simply.
"""

from __future__ import annotations

import configparser
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
MAKEFILE = (ROOT / "Makefile").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FORMS = sorted(path.name for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
PAGES = ["CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", ".github/pull_request_template.md"]


FOLDERS = [
    *(
        ".ci",
        ".github",
        "benchmarks",
        "docs",
        "examples",
        "requirements",
        "schema",
        "src",
        "tests",
        "tools",
    ),
    *("clients/typescript/src", "clients/typescript/test", "clients/typescript/tools"),
    *("clients/react/src", "clients/react/test", "clients/react/tools"),
    *("web/src", "web/tests", "web/tools"),
]
AT_ROOT = [
    "*.md",
    "*.toml",
    "*.yaml",
    ".editorconfig",
    ".gitattributes",
    ".gitignore",
    "LICENSE",
    "Makefile",
]
MADE = {"__pycache__", "dist", "node_modules"}


def files() -> list[Path]:
    """Returns the files that people write, without generated ones."""
    at_root = [path for pattern in AT_ROOT for path in ROOT.glob(pattern)]
    inside = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    return [path for path in (*at_root, *inside) if not MADE & {*path.relative_to(ROOT).parts}]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# --- a small part of YAML -------------------------------------------------------------------------

QUOTED = re.compile(r"'(?:[^']|'')*'|\"[^\"\\]*\"")
FLOW = re.compile(r"\[(.*)\]")
KEY = re.compile(r"([\w-]+):(?: +(.+))?")
Lines = list[tuple[int, str]]  # how far each is indented, and its text


def read_yaml(text: str) -> Any:
    """Returns the content of a file: mappings, lists and strings. Raises ValueError for anything else."""
    lines: Lines = []
    for number, line in enumerate(text.splitlines(), 1):
        if "\t" in line or line != line.rstrip():
            raise ValueError(f"line {number} has a tab, or ends with a space")
        lines.append((len(line) - len(line.lstrip()), line.strip()))
    _skip(lines)
    value = _value(lines, 0)
    _skip(lines)
    if lines:
        raise ValueError(f"{lines[0][1]!r} is indented otherwise than what it belongs to")
    return value


def _skip(lines: Lines) -> None:
    while lines and (not lines[0][1] or lines[0][1].startswith("#")):
        lines.pop(0)


def _value(lines: Lines, indent: int) -> Any:
    """Takes the mapping or the list that begins here."""
    is_list = lines[0][1].startswith("- ")
    items: list[Any] = []
    pairs: dict[str, Any] = {}
    while lines and lines[0][0] == indent and lines[0][1].startswith("- ") == is_list:
        if is_list:
            inner = lines[0][1][2:]
            if KEY.fullmatch(inner):  # a mapping whose first key follows the dash
                lines[0] = (indent + 2, inner)
                items.append(_value(lines, indent + 2))
            else:
                lines.pop(0)
                items.append(_scalar(inner))
        else:
            key, value = _pair(lines, indent)
            if key in pairs:
                raise ValueError(f"{key!r} is there twice")
            pairs[key] = value
        _skip(lines)
    return items if is_list else pairs


def _pair(lines: Lines, indent: int) -> tuple[str, Any]:
    _, text = lines.pop(0)
    found = KEY.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no key with a value")
    key, value = found.groups()
    if value == "|":
        return key, _literal(lines, indent)
    if value is not None:
        return key, _scalar(value)
    _skip(lines)
    return key, _value(lines, lines[0][0]) if lines and lines[0][0] > indent else ""


def _literal(lines: Lines, indent: int) -> str:
    taken = []
    while lines and (not lines[0][1] or lines[0][0] > indent):
        taken.append(lines.pop(0)[1])
    return "\n".join(taken).rstrip() + "\n"


def _scalar(text: str) -> Any:
    if QUOTED.fullmatch(text):
        return text[1:-1].replace("''", "'")
    if flow := FLOW.fullmatch(text):
        return [_scalar(each.strip()) for each in flow[1].split(",")]
    if text[0] in "[]{}&*!|>%@`'\"?," or ": " in text or " #" in text or text.endswith(":"):
        raise ValueError(f"{text!r} has to be in quotes")
    if re.fullmatch(r"[\d.]*\.[\d.]*", text):
        raise ValueError(f"{text} is a number, in which 3.10 is 3.1: put it in quotes")
    return text


def read(path: str) -> Any:
    return read_yaml((ROOT / path).read_text())


def test_the_yaml_reader_reads_the_forms_in_use() -> None:
    text = (
        "# said first\na: b c\n\nlist:\n  - one: 1\n    two: [x, \"3.1\"]\n  - 'it''s'\n"
        "text: |\n  first\n\n  second\nempty:\nlast: end\n"
    )
    assert read_yaml(text) == {
        "a": "b c",
        "list": [{"one": "1", "two": ["x", "3.1"]}, "it's"],
        "text": "first\n\nsecond\n",
        "empty": "",
        "last": "end",
    }


@pytest.mark.parametrize(
    "text",
    [
        "a: b\n  c: d\n",
        "a:\n  b: c\n d: e\n",
        "a: b\na: c\n",
        "a: b: c\n",
        "a: 3.10\n",
        "a: [b\n",
        "a: 'b\n",
        "a:\n\t- b\n",
        "a: @b\n",
        "a\n",
        "- a\nb: c\n",
    ],
)
def test_the_reader_refuses_a_broken_file(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read_yaml(text)


# --- every file is whole --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", [path for path in files() if path.suffix in (".yml", ".yaml")], ids=name_of
)
def test_every_yaml_file_can_be_read(path: Path) -> None:
    assert isinstance(read_yaml(path.read_text()), dict)


@pytest.mark.parametrize("path", [path for path in files() if path.suffix == ".toml"], ids=name_of)
def test_every_toml_file_can_be_read(path: Path) -> None:
    assert tomllib.loads(path.read_text())


def test_the_editor_settings_agree_with_the_formatters() -> None:
    settings = configparser.ConfigParser()
    settings.read_string("[top]\n" + (ROOT / ".editorconfig").read_text())
    assert settings["top"]["root"] == "true"
    ruff = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]
    assert settings["*.py"]["max_line_length"] == str(ruff["line-length"])
    assert settings["Makefile"]["indent_style"] == "tab"


# --- agreement with the project -------------------------------------------------------------------


def test_ci_tries_every_version_of_python_that_the_package_names() -> None:
    named = [
        line.rpartition(" ")[2] for line in PROJECT["classifiers"] if ":: Python :: 3." in line
    ]
    matrix = read(".github/workflows/ci.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == named
    assert matrix["os"] == ["ubuntu-latest", "macos-latest"]


def test_ci_runs_the_targets_that_everyone_runs() -> None:
    jobs = read(".github/workflows/ci.yml")["jobs"].values()
    commands = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    assert [command for command in commands if "make " in command] == [
        "make check docs-site",
        "make test",
    ]


@pytest.mark.parametrize("name", [name for name in FORMS if name != "config.yml"])
def test_every_form_asks_something(name: str) -> None:
    form = read(f".github/ISSUE_TEMPLATE/{name}")
    assert {"name", "description", "body"} <= form.keys()
    asked = [field for field in form["body"] if field["type"] != "markdown"]
    assert asked
    assert all(field["attributes"]["label"] for field in asked)
    assert len({field["id"] for field in asked}) == len(asked)


def hooks() -> list[dict[str, Any]]:
    (local,) = read(".pre-commit-config.yaml")["repos"]
    assert local["repo"] == "local"
    return list(local["hooks"])


def test_hooks_use_programs_that_make_check_installs() -> None:
    installed = (ROOT / "requirements" / "check.in").read_text().split()
    program_of = {"lint-imports": "import-linter"}
    used = [hook["entry"].split()[0] for hook in hooks() if hook["language"] == "system"]
    assert used
    for path in used:
        folder, _, program = path.rpartition("/")
        assert folder == ".venv/bin"
        assert program_of.get(program, program) in installed


def test_every_file_keeps_the_rules_of_the_hooks_that_look_for_a_pattern() -> None:
    left_out = re.compile(read(".pre-commit-config.yaml")["exclude"])
    patterns = [
        re.compile(h["entry"].encode(), re.MULTILINE) for h in hooks() if h["language"] == "pygrep"
    ]
    assert [bool(pattern.search(b"a \nb")) for pattern in patterns] == [True, True]
    assert not any(pattern.search(b"a\nb\n") for pattern in patterns)
    for path in files():
        if not left_out.search(name_of(path)):
            content = path.read_bytes()
            assert not any(pattern.search(content) for pattern in patterns), path


@pytest.mark.parametrize("page", PAGES)
def test_every_link_and_every_target_of_a_page_exists(page: str) -> None:
    text = (ROOT / page).read_text()
    for link in re.findall(r"\]\((?!https://)([^)#\s]+)", text):
        assert (ROOT / link).exists(), link
    targets = set(re.findall(r"^([a-z-]+):.*##", MAKEFILE, re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)", text)) <= targets


def test_the_projects_addresses_lead_to_files_that_exist() -> None:
    home = PROJECT["urls"]["Homepage"]
    for address in PROJECT["urls"].values():
        assert address.startswith(home)
        if file := re.search(r"/(?:blob|tree)/main/(.+)", address):
            assert (ROOT / file[1]).exists()
