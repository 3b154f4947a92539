"""Output on a real terminal: colours, the progress bar, and the width."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.helpers.terminal_output import on_terminal
from tests.helpers.recorded_streams import FIXTURES

PARALLEL = FIXTURES / "claude" / "05_parallel.jsonl"
ESCAPE = b"\x1b["


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large.jsonl"
    path.write_bytes(PARALLEL.read_bytes() * (8_500_000 // PARALLEL.stat().st_size + 1))
    return path


@pytest.mark.parametrize("command", ["inspect", "validate"])
def test_colours_unless_no_color_is_set(command: str) -> None:
    assert ESCAPE in on_terminal(command, PARALLEL)
    assert ESCAPE not in on_terminal(command, PARALLEL, NO_COLOR="1")
    assert b"Bash" in on_terminal("inspect", PARALLEL, NO_COLOR="1")


def test_a_long_list_is_folded_to_the_screen(tmp_path: Path) -> None:
    many = tmp_path / "many.jsonl"
    many.write_text("".join(f'{{"type":"unknown_kind_{n}"}}\n' for n in range(12)))
    lines = on_terminal("validate", many, NO_COLOR="1").decode().splitlines()[1:]
    assert max(map(len, lines)) <= 80
    assert lines[-1].startswith(" " * 13)


@pytest.mark.parametrize("columns", ["1", "12"])
def test_a_very_narrow_screen(columns: str) -> None:
    assert b"clean" in on_terminal("validate", PARALLEL, COLUMNS=columns)
    assert b"Bash" in on_terminal("inspect", PARALLEL, COLUMNS=columns)


@pytest.mark.parametrize("command", [["convert", "--to", "rpc"], ["validate"]])
def test_a_large_file_shows_its_progress(command: list[str], large: Path) -> None:
    shown = on_terminal(*command, large, stdout=command == ["validate"])
    assert b"large.jsonl" in shown
    assert b"/8." in shown  # megabytes done of all
    assert b"\xe2\x94\x81" in shown  # the bar itself


def test_no_progress_bar_is_shown_with_output_on_the_screen_or_without_a_terminal(
    large: Path,
) -> None:
    bar = "━".encode()
    assert bar not in on_terminal("convert", "--to", "events", PARALLEL, stdout=False)
    assert bar not in on_terminal("validate", large, stderr=False)
    assert bar not in on_terminal("convert", "--to", "rpc", large)
