"""The package as a whole: its public names, its version, and its files."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import zipfile
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import turnwire
import turnwire.engine
import turnwire.server
from turnwire.cli.commands.inspect import summarize
from turnwire.cli.commands.validate import check_recording
from turnwire.cli.recordings.recording import open_recording

ROOT = Path(__file__).parent.parent


# Those whose names are fetched when they are asked for.
LAZY = [turnwire, turnwire.engine, turnwire.server]


@pytest.fixture(params=LAZY, ids=lambda package: str(package.__name__))
def package(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_every_public_name_can_be_had(package: Any) -> None:
    assert sorted(package.__all__) == package.__all__
    for name in package.__all__:
        assert getattr(package, name) is not None
        assert name in dir(package)


@pytest.mark.parametrize("name", ["blocks", "controls", "events", "frames"])
def test_a_public_module_can_be_had_first(name: str) -> None:
    code = f"from turnwire import {name}; print({name}.__name__)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert run.stdout.strip().endswith(f".{name}")


def test_names_are_the_same_as_in_their_rooms(package: Any) -> None:
    for name, home in package._HOME.items():
        assert getattr(package, name) is getattr(import_module(home), name)


def test_type_checkers_see_the_names_that_programs_get(package: Any) -> None:
    tree = ast.parse(Path(package.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == package._HOME
    assert {*seen} == {*package.__all__} - {"__version__"}


def test_an_unknown_name_raises_an_attribute_error(package: Any) -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = package.Nothing


def imported_by(code: str) -> set[str]:
    shown = f"{code}\nimport sys; print(*(m for m in sys.modules if m.startswith('turnwire')))"
    run = subprocess.run([sys.executable, "-c", shown], capture_output=True, check=True)
    return set(run.stdout.decode().split())


def test_importing_it_imports_no_room() -> None:
    small = {"turnwire.extras", "turnwire.lazy", "turnwire.version"}
    assert imported_by("import turnwire") == {"turnwire", *small}


def test_discovery_does_not_import_the_server() -> None:
    imported = imported_by("import turnwire.server.discovery, turnwire.engine.ownership.owners")
    assert not imported & {"turnwire.server.app", "turnwire.engine.engine"}


def test_an_agent_needs_no_session_before_it_is_opened() -> None:
    imported = imported_by("from turnwire.agents import registry; registry.chosen([], 'demo')")
    assert "turnwire.agents.claude.agent" in imported
    assert not imported & {"turnwire.agents.claude.session", "turnwire.dialects.claude"}


@pytest.mark.parametrize("folder", ["clients/typescript", "clients/react", "web"])
def test_the_npm_packages_have_the_version_of_the_package(folder: str) -> None:
    package = json.loads((ROOT / folder / "package.json").read_text())
    lock = json.loads((ROOT / folder / "package-lock.json").read_text())
    stated = [package["version"], lock["version"], lock["packages"][""]["version"]]
    assert stated == [turnwire.__version__] * 3


def test_no_page_repeats_the_version() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    stated = re.compile(rf"\bversion (is )?{re.escape(turnwire.__version__)}\b", re.IGNORECASE)
    assert [page.name for page in pages if stated.search(page.read_text())] == []


def test_the_sample_is_a_clean_recording_worth_looking_at() -> None:
    sample = files("turnwire") / "samples" / "tour.jsonl"
    with open_recording(str(sample), max_line=64) as recording:
        report = check_recording(recording)
    assert (report.violations, report.unknown, report.errors) == ([], 0, 0)
    with open_recording(str(sample), max_line=64) as recording:
        turns = summarize(recording).turns
    assert len(turns) == 6
    assert any(tool.tools for turn in turns for tool in turn.tools)  # a sub-agent at work
    assert any(turn.questions for turn in turns)
    assert any(turn.thinking_blocks for turn in turns)


def test_the_wheel_holds_the_sample_and_the_types(tmp_path: Path) -> None:
    from hatchling.builders.wheel import WheelBuilder

    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    names = zipfile.ZipFile(wheel).namelist()
    assert f"turnwire-{turnwire.__version__}.dist-info/METADATA" in names
    assert "turnwire/samples/tour.jsonl" in names
    assert "turnwire/py.typed" in names
    assert "turnwire/cli/main.py" in names
    assert "turnwire/web/index.html" in names
    assert [name for name in names if re.fullmatch(r"turnwire/web/assets/index-.*\.js", name)]
    assert not [name for name in names if name.startswith(("tests/", "fixtures/"))]
