"""The package as a whole: its public names, its version, and what ships in it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import pytest

import turnwire
from turnwire.cli.inspect import summarize
from turnwire.cli.recording import open_recording
from turnwire.cli.validate import check_recording

ROOT = Path(__file__).parent.parent


def test_every_public_name_can_be_had() -> None:
    assert sorted(turnwire.__all__) == turnwire.__all__
    for name in turnwire.__all__:
        assert getattr(turnwire, name) is not None
        assert name in dir(turnwire)


def test_names_are_the_same_as_in_their_rooms() -> None:
    for name, home in turnwire._HOME.items():
        assert getattr(turnwire, name) is getattr(import_module(home), name)


def test_type_checkers_see_what_programs_get() -> None:
    tree = ast.parse((ROOT / "src" / "turnwire" / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == turnwire._HOME
    assert {*seen, "__version__"} == set(turnwire.__all__)


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = turnwire.Nothing  # type: ignore[attr-defined]


def test_importing_it_imports_no_room() -> None:
    code = "import turnwire, sys; print(*(m for m in sys.modules if m.startswith('turnwire')))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert run.stdout.split() == [b"turnwire"]


def test_the_version_is_the_projects() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert turnwire.__version__ == project["version"]


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
    assert "turnwire/samples/tour.jsonl" in names
    assert "turnwire/py.typed" in names
    assert "turnwire/cli/main.py" in names
    assert "turnwire/web/index.html" in names
    assert [name for name in names if re.fullmatch(r"turnwire/web/assets/index-.*\.js", name)]
    assert not [name for name in names if name.startswith(("tests/", "fixtures/"))]
