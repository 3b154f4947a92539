"""The documentation is complete, up to date and true."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import click
import msgspec
import pytest
from msgspec import Struct

import turnwire
from tools import docs
from turnwire.cli.main import main as cli
from turnwire.core import message_codec
from turnwire.core.blocks import ContentBlock
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.ui import UiStreamEvent
from turnwire.core.view import View
from turnwire.dialects import claude, rpc
from turnwire.dialects.v2 import codec as v2
from turnwire.dialects.v2.frames import UnknownFrame
from turnwire.dialects.v2.validator.check import SESSION_RULES, SessionCheck
from turnwire.testing.model_api import Script

ROOT = docs.ROOT
PAGES = {
    path.relative_to(ROOT).as_posix(): path
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
}

VOCABULARIES = {
    "turnwire.core.blocks": "docs/reference/protocol/blocks.md",
    "turnwire.core.events": "docs/reference/protocol/events.md",
    "turnwire.core.usage": "docs/reference/protocol/events.md",
    "turnwire.core.ui": "docs/reference/protocol/ui.md",
    "turnwire.core.message": "docs/reference/protocol/messages.md",
    "turnwire.core.message_deltas": "docs/reference/protocol/messages.md",
    "turnwire.core.assembler": "docs/reference/protocol/messages.md",
    "turnwire.dialects.rpc.classic.frames": "docs/reference/protocol/rpc-classic.md",
    "turnwire.dialects.rpc.classic.methods": "docs/reference/protocol/rpc-classic.md",
    "turnwire.dialects.rpc.classic.requests": "docs/reference/protocol/rpc-classic.md",
    "turnwire.dialects.rpc.frames": "docs/reference/protocol/rpc.md",
    "turnwire.dialects.rpc.messages": "docs/reference/protocol/rpc.md",
    "turnwire.dialects.rpc.methods": "docs/reference/protocol/rpc.md",
    "turnwire.dialects.claude.answers": "docs/reference/protocol/claude.md",
    "turnwire.dialects.claude.messages": "docs/reference/protocol/claude.md",
    "turnwire.dialects.claude.stream": "docs/reference/protocol/claude.md",
    "turnwire.dialects.claude.blocks": "docs/reference/protocol/claude.md",
    "turnwire.dialects.claude.system": "docs/reference/protocol/claude.md",
    "turnwire.dialects.claude.control": "docs/reference/protocol/claude.md",
    "turnwire.core.content": "docs/reference/protocol/v2.md",
    "turnwire.core.error_codes": "docs/reference/protocol/v2.md",
    "turnwire.core.status": "docs/reference/protocol/v2.md",
    "turnwire.core.view": "docs/reference/protocol/view.md",
    "turnwire.dialects.v2.close_codes": "docs/reference/protocol/v2.md",
    "turnwire.dialects.v2.commands": "docs/reference/protocol/v2.md",
    "turnwire.dialects.v2.frames": "docs/reference/protocol/v2.md",
    "turnwire.dialects.v2.payloads": "docs/reference/protocol/v2.md",
    "turnwire.core.violations": "docs/reference/cli.md",
    "turnwire.dialects.claude.check": "docs/reference/cli.md",
    "turnwire.dialects.v2.validator.check": "docs/reference/cli.md",
    "turnwire.engine.export.jsonl": "docs/reference/cli.md",
    "turnwire.cli.recordings.summary": "docs/reference/cli.md",
}

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def fences(page: str, language: str) -> list[str]:
    """The code blocks of one language on a page."""
    return [body for name, body in FENCE.findall(PAGES[page].read_text()) if name == language]


def anchors(path: Path) -> list[str]:
    """The addresses of a page's headings, as GitHub makes them."""
    prose = FENCE.sub("", path.read_text())
    return [re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in HEADING.findall(prose)]


# --- the reference ----------------------------------------------------------------------------


def test_the_generated_parts_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert docs.main(["--check"]) == 0, capsys.readouterr().err


def test_an_out_of_date_page_is_noticed_and_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "README.md"
    page.write_text(
        "<!-- generated:turnwire.core.usage -->\nold\n<!-- end -->\n\n"
        "```console\n$ turnwire --version\nold\n```\n"
    )
    monkeypatch.setattr(docs, "ROOT", tmp_path)

    assert docs.main(["--check"]) == 1
    assert "README.md is out of date" in capsys.readouterr().err
    assert docs.main([]) == 0
    assert "#### Usage" in page.read_text()
    assert f"$ turnwire --version\nturnwire {turnwire.__version__}\n" in page.read_text()
    assert docs.main(["--check"]) == 0


@pytest.mark.parametrize(("module", "page"), VOCABULARIES.items())
def test_every_public_type_is_on_its_page(module: str, page: str) -> None:
    vocabulary = importlib.import_module(module)
    named = {
        name
        for name in vocabulary.__all__
        if inspect.isclass(kind := getattr(vocabulary, name)) and issubclass(kind, Struct)
    }
    members = {
        member.__name__
        for name in vocabulary.__all__
        for member in get_args(getattr(vocabulary, name))
        if inspect.isclass(member) and member.__module__ == module
    }
    assert members <= named, "a member of a union is not public"
    headings = HEADING.findall(PAGES[page].read_text())
    assert sorted(named - set(headings)) == []


@pytest.mark.parametrize(
    ("page", "union"),
    [
        ("docs/reference/protocol/ui.md", NormalizedStreamEvent),
        ("docs/reference/protocol/rpc.md", UiStreamEvent),
    ],
)
def test_the_translation_tables_are_complete(page: str, union: Any) -> None:
    rows = [
        line.split("|")[1] for line in PAGES[page].read_text().splitlines() if line[:3] == "| `"
    ]
    translated = re.findall(r"`(\w+)`", " ".join(rows))
    assert [kind.__name__ for kind in get_args(union) if kind.__name__ not in translated] == []


# --- examples ---------------------------------------------------------------------------------


def _claude(raw: bytes) -> bytes:
    line = claude.decode(raw)
    assert line.unknown == ()
    encoded = claude.encode(line.message)
    is_system = json.loads(raw)["type"] == "system"  # identified by its subtype, and only read
    return encoded.replace(b"{", b'{"type":"system",', 1) if is_system else encoded


def _through(union: Any) -> Callable[[bytes], bytes]:
    return lambda raw: msgspec.json.encode(msgspec.json.decode(raw, type=union))


def _message_or_delta(raw: bytes) -> bytes:
    is_delta = "seq" in json.loads(raw)
    return message_codec.encode(
        message_codec.decode_delta(raw) if is_delta else message_codec.decode_message(raw)
    )


def _v2(raw: bytes) -> bytes:
    value = json.loads(raw)
    if "sequence" not in value:  # only the server numbers its frames
        return msgspec.json.encode(v2.decode_command(raw))
    frame = v2.decode(raw)
    assert not isinstance(frame, UnknownFrame)
    return v2.encode(frame).at(value["sequence"])


READERS: dict[str, Callable[[bytes], bytes]] = {
    "docs/reference/protocol/blocks.md": _through(ContentBlock),
    "docs/reference/protocol/claude.md": _claude,
    "docs/reference/protocol/events.md": _through(NormalizedStreamEvent),
    "docs/reference/protocol/messages.md": _message_or_delta,
    "docs/reference/protocol/rpc.md": lambda raw: rpc.encode(rpc.decode(raw)),
    "docs/reference/protocol/ui.md": _through(UiStreamEvent),
    "docs/reference/protocol/v2.md": _v2,
    "docs/reference/protocol/view.md": _through(View),
    "docs/reference/model_api.md": _through(Script),
}

EXAMPLES = [
    (page, example)
    for page in PAGES
    for example in [
        *fences(page, "json"),
        *(line for body in fences(page, "jsonl") for line in body.splitlines()),
    ]
]


@pytest.mark.parametrize(("page", "example"), EXAMPLES)
def test_every_json_example_reads_and_writes_back_the_same(page: str, example: str) -> None:
    value = json.loads(example)
    written = READERS[page](json.dumps(value, separators=(",", ":")).encode())
    assert json.loads(written) == value


def test_the_first_example_of_the_protocol_is_a_session_that_breaks_no_rule() -> None:
    check = SessionCheck()
    for number, line in enumerate(
        fences("docs/reference/protocol/v2.md", "jsonl")[0].splitlines(), 1
    ):
        check.feed(line.encode(), number)
    check.finish()
    assert check.report().violations == []


def test_the_page_of_the_protocol_names_every_rule_in_its_section() -> None:
    text = PAGES["docs/reference/protocol/v2.md"].read_text()
    checked = text[text.index("## 14. ") : text.index("## Server frames")]
    named = set(re.findall(r"`([a-z_]+)`", checked.partition("A recording is")[0]))
    assert named == set(SESSION_RULES)


def test_a_type_that_is_never_sent_by_itself_has_no_tag() -> None:
    text = PAGES["docs/reference/protocol/v2.md"].read_text()
    for name in ("Frame", "UnknownFrame"):
        assert re.search(rf"^#### {name}\n\nOn the wire", text, re.MULTILINE) is None


def test_every_vocabulary_has_examples() -> None:
    assert {page for page, _ in EXAMPLES} == set(READERS)


PRINTING = (
    "README.md",
    "docs/how-to/translate-a-stream.md",
)  # pages that show programs with their output
EXAMPLE = re.compile(r"```python\n(.*?)```\n\nIt prints:\n\n```text\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize(
    ("program", "shown"),
    [found for page in PRINTING for found in EXAMPLE.findall(PAGES[page].read_text())],
)
def test_an_example_prints_the_documented_output(program: str, shown: str, tmp_path: Path) -> None:
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,  # where it may leave a file
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stderr == ""
    assert run.stdout.startswith(shown.removesuffix("...\n"))
    assert run.stdout == shown or shown.endswith("...\n")


@pytest.mark.parametrize("page", PRINTING)
def test_every_program_with_documented_output_is_run(page: str) -> None:
    programs = [program for program, _ in EXAMPLE.findall(PAGES[page].read_text())]
    assert programs == fences(page, "python")


# --- links and commands -----------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    path = PAGES[page]
    for link in LINK.findall(FENCE.sub("", path.read_text())):
        if link.startswith("https://"):
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES)
def test_no_two_headings_of_a_page_share_an_address(page: str) -> None:
    found = anchors(PAGES[page])
    assert sorted({a for a in found if found.count(a) > 1}) == []


@pytest.mark.parametrize("page", ["docs/how-to/translate-a-stream.md", "docs/reference/cli.md"])
def test_a_page_says_how_the_shell_finds_the_program_before_it_uses_it(page: str) -> None:
    text = PAGES[page].read_text()
    assert text.index("source .venv/bin/activate") < text.index("$ turnwire")


ROOMS_IN = {
    "engine": ("actor", "ownership", "fanout", "export"),
    "server": ("sockets", "api", "access", "tcp", "rpc"),
}


def test_the_map_of_the_house_shows_every_room() -> None:
    page = PAGES["docs/explanation/design.md"].read_text()
    drawn = page.partition("```text\nsrc/turnwire/\n")[2].partition("```")[0]
    shown = set(re.findall(r"[\w/]+/(?=\s)", drawn))
    house = ROOT / "src" / "turnwire"
    # A room is named below its own room, and so is every file where a room shows any of its files.
    rooms = {
        path.parent.name + "/" for path in house.rglob("*.*") if "__pycache__" not in str(path)
    }
    assert rooms - {"turnwire/"} <= shown
    for room in (
        "core",
        "engine",
        "server",
        "agents",
        "bus",
        "stores",
        "stores/sqlite",
        "dialects/claude",
        "dialects/v2",
    ):
        rooms_in = [house / room, *(house / room / name for name in ROOMS_IN.get(room, ()))]
        files = {file.name for each in rooms_in for file in each.glob("*.py")} - {"__init__.py"}
        assert files <= set(re.findall(r"\w+\.py", drawn)), room


def test_the_traces_name_functions_that_exist_and_enter_no_room_twice() -> None:
    page = PAGES["docs/explanation/design.md"].read_text()
    section = page.partition("## Traces\n")[2].partition("\n## ")[0]
    named = re.findall(r"`([\w/]+)\.py`\s+`([\w.]+)`", section)
    assert len(named) > 30
    for file, name in named:
        found: Any = importlib.import_module(f"turnwire.{file.replace('/', '.')}")
        for part in name.split("."):
            found = getattr(found, part)
    traces = re.split(r"^\*\*", section, flags=re.MULTILINE)[1:]
    assert len(traces) == 4
    for trace in traces:
        steps = re.findall(r"^\d\. (.*?)(?=^\d\. |^$|\Z)", trace, re.MULTILINE | re.DOTALL)
        ways = [" ".join(step.split()).partition("; with")[0] for step in steps]
        rooms = [re.findall(r"`(\w+)/", way) for way in ways]
        assert all(len(set(some)) <= 1 for some in rooms), "a step is in one room"
        entered = [some[0] for some in rooms if some]
        assert len(entered) == len(set(entered)), trace


def test_the_changelog_has_the_form_of_keep_a_changelog() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    parts = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", text, re.MULTILINE)
    assert parts[0] == ("Unreleased", "")
    assert all(date for _, date in parts[1:])
    assert [version for version, _ in parts[1:2]] in ([], [turnwire.__version__])
    assert len(parts) == len(re.findall(r"^## ", text, re.MULTILINE))
    assert len(parts) == len(re.findall(r"^\[.+\]: https://", text, re.MULTILINE))
    sections = set(re.findall(r"^### (.+)$", text, re.MULTILINE))
    assert sections <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


@pytest.mark.parametrize("page", PAGES)
def test_every_command_shown_exists(page: str) -> None:
    text = PAGES[page].read_text()
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE)) <= set(targets)
    shown = set(re.findall(r"(?:`|\$ |/)turnwire ([a-z][\w-]*)", text))
    assert shown <= set(cli.list_commands(click.Context(cli)))
