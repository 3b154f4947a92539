"""Completion, in the shells themselves."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.cli.conftest import Tell, lines
from tests.cli.helpers.agents import QUICK
from tests.cli.helpers.shells import Pressed, press_tab
from turnwire.cli.main import COMMANDS

Tab = Callable[..., Pressed]

TITLE = """a, b: c's "d" $(e) [f] \\g *"""


@pytest.fixture(params=["bash", "zsh", "fish"])
def tab(request: pytest.FixtureRequest, home: Path, tmp_path: Path) -> Tab:
    """Presses Tab after some words, in a directory with a few files."""
    folder = tmp_path / "folder"
    (folder / "recordings").mkdir(parents=True)
    for name in ("first.jsonl", "second, third.jsonl"):
        (folder / name).touch()
    return partial(press_tab, request.param, home=home, folder=folder)


@pytest.fixture
def talked(tell: Tell) -> str:
    """A conversation with one turn, whose title has characters that shells and scripts know."""
    assert tell("run", "--agent", QUICK, "hello").exit_code == 0
    (conversation,) = lines(tell("list", "--json"))
    name = str(conversation["conversation_id"])
    assert tell("rename", name, """a, b: c's "d" $(e) [f] \\g *""").exit_code == 0
    return name


def test_the_only_value_is_written(tab: Tab, talked: str) -> None:
    for typed, line in {
        "turnwire rena": "turnwire rename ",
        "turnwire inbox an": "turnwire inbox answer ",
        "turnwire share --day": "turnwire share --days ",
        "turnwire run --agent dem": "turnwire run --agent demo ",
        "turnwire run --agent=dem": "turnwire run --agent=demo ",
        f"turnwire show {talked[:3]}": f"turnwire show {talked} ",
        f"turnwire rename '{talked[:3]}": f"turnwire rename '{talked}' ",
        f"turnwire audit --conversation={talked[:3]}": f"turnwire audit --conversation={talked} ",
    }.items():
        assert tab(typed).line == line


def test_several_values_are_offered_in_their_order(tab: Tab, talked: str) -> None:
    assert tab("turnwire ").offered == [*COMMANDS]
    assert {"--undo", "--data-dir"} <= {*tab("turnwire archive --").offered}
    assert tab("turnwire import --from ").offered == ["turnwire", "claude", "codex"]
    assert tab("turnwire completion ").offered == ["bash", "zsh", "fish"]


def test_names_of_files_and_directories_are_written(tab: Tab) -> None:
    for typed, line in {
        "turnwire inspect fir": "turnwire inspect first.jsonl ",
        "turnwire validate first.jsonl sec": r"turnwire validate first.jsonl second,\ third.jsonl ",
        "turnwire export --out=fir": "turnwire export --out=first.jsonl ",
        "turnwire run --cwd rec": "turnwire run --cwd recordings/",
        "turnwire list --data-dir=rec": "turnwire list --data-dir=recordings/",
    }.items():
        assert tab(typed).line.replace(r"\,", ",") == line


def test_nothing_is_offered_and_no_error_printed_where_there_is_nothing(
    tab: Tab, home: Path
) -> None:
    for typed in ("turnwire show ", "turnwire share --days=", "turnwire archive --undo "):
        expect_nothing(tab(typed), typed)
    home.mkdir(mode=0o700)
    (home / "turnwire.db").write_text("no database")
    expect_nothing(tab("turnwire show "), "turnwire show ")


def expect_nothing(pressed: Pressed, typed: str) -> None:
    assert (pressed.line, pressed.offered) == (typed, [])
    assert not re.search("error|exception|traceback", pressed.drawn, re.IGNORECASE)


def test_words_after_the_cursor_do_not_matter(tab: Tab) -> None:
    assert tab("turnwire rena", " --json").line.split() == ["turnwire", "rename", "--json"]
    assert tab("turnwire ", " --json").offered == [*COMMANDS]


def test_only_conversations_are_offered_that_a_command_can_use(
    tab: Tab, talked: str, tell: Tell
) -> None:
    assert tab("turnwire answer ").offered == []
    assert tab("turnwire archive --undo ").offered == []
    assert tell("run", "--agent", QUICK, "a question").exit_code == 3
    (item,) = lines(tell("inbox", "--json"))
    assert tab("turnwire answer ").offered == [item["conversation_id"]]
    assert tab("turnwire inbox answer ").offered == [item["conversation_id"]]
    assert tab("turnwire show ").offered == [item["conversation_id"], talked]
    tell("archive", talked)
    assert tab("turnwire archive --undo ").offered == [talked]


@pytest.mark.parametrize("tab", ["zsh", "fish"], indirect=True)
def test_a_description_is_shown_whole(tab: Tab, talked: str) -> None:
    for typed, described in {
        "turnwire run --ag": "[default: claude if it is ready, else demo]",
        "turnwire show ": TITLE,
    }.items():
        (shown,) = tab(typed).described
        assert shown.endswith(described)
