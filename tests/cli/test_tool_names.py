"""The names of tools: plain words, each once, the same as on the page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from turnwire.cli.live.requests import example_of, permission_lines
from turnwire.cli.live.tool_names import kind_of, name_of
from turnwire.core.events import Question, QuestionOption
from turnwire.core.status import OpenRequest

ROOT = Path(__file__).parents[2]


def asked(tool: str, given: dict[str, Any], **more: Any) -> list[str]:
    request = OpenRequest("p", "permission", "t", tool, given, **more)
    return [line.plain.rstrip() for line in permission_lines(request)]


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("Bash", "Command"),
        ("WebSearch", "Web search"),
        ("mcp__github__create_issue", "github: create_issue"),
        ("mcp__turnwire__request_input", "Question"),
        ("mcp__odd", "mcp__odd"),
        ("Frobnicate", "Frobnicate"),
    ],
)
def test_a_tool_has_a_plain_name(tool: str, name: str) -> None:
    assert name_of(tool) == name


def test_the_page_gives_tools_the_same_names() -> None:
    kinds = (ROOT / "web/src/tools/toolKinds.ts").read_text()
    words = (ROOT / "web/src/words/en/tools.ts").read_text()
    (by_name,) = re.findall(r"const BY_NAME[^{]*{(.*?)}", kinds, re.DOTALL)
    (of_kinds,) = re.findall(r"\btool: {(.*?)}", words, re.DOTALL)
    (names,) = re.findall(r"toolNames: {(.*?)}", words, re.DOTALL)
    (kind_words, tool_words) = (
        dict(re.findall(r'(\w+): "(.*?)"', each)) for each in (of_kinds, names)
    )
    tools = dict(re.findall(r'(\w+): "(\w+)"', by_name))
    assert {tool: kind_of(tool) for tool in tools} == tools
    expected = {tool: tool_words.get(tool, kind_words[kind]) for tool, kind in tools.items()}
    assert {tool: name_of(tool) for tool in tools} == expected


@pytest.mark.parametrize(
    ("tool", "title"),
    [
        ("Bash", "May this command run?"),
        ("Write", "May this file be changed?"),
        ("apply_patch", "May these files be changed?"),
        ("WebFetch", "May this web page be read?"),
        ("mcp__github__create_issue", "May the tool “github: create_issue” run?"),
    ],
)
def test_a_permission_without_a_title_says_what_it_is_about(tool: str, title: str) -> None:
    assert asked(tool, {}, title=tool)[0] == f"? {title}"


def test_a_permission_says_each_thing_once() -> None:
    given = {"command": "rm -r build", "description": "Delete the folder build"}
    lines = ["? Delete the folder build", "  Command", "    $ rm -r build"]
    assert asked("Bash", given, title="Delete the folder build") == lines
    lines = ["? May the tool “github: create_issue” run?", "    title: Broken"]
    assert asked("mcp__github__create_issue", {"title": "Broken"}) == lines
    other = {**given, "description": "Clean up"}
    assert "    description: Clean up" in asked("Bash", other, title="Delete the folder build")
    hidden = "Delete \u202ethe folder"
    shown = asked("Bash", {"command": "ls", "description": hidden}, title=hidden)
    assert "    description: Delete <U+202E>the folder" in shown


def test_an_example_of_an_answer_fits_the_questions() -> None:
    colour = Question("colour", "Which?", options=[QuestionOption("Red")])
    several = Question("extras", "Which?", options=[QuestionOption("Ice")], multi=True)
    free = Question("name", "Who?")
    assert example_of([]) == example_of([free]) == ("your answer", "")
    assert example_of([colour])[0] == example_of([several])[0] == "1"
    assert example_of([several])[1].startswith("numbers, separated by commas")
    assert example_of([colour, free]) == ('{"colour":"1","name":"your answer"}', "")


def test_an_input_without_a_description_is_shown_beside_a_permission_that_has_none() -> None:
    assert asked("Bash", {"command": "ls", "description": None})[-1].endswith("description: null")


def test_a_description_is_left_out_only_if_the_shown_title_says_it() -> None:
    given = {"description": "Delete everything", "a": 1}
    lines = asked("mcp__x__create", given, title="Delete everything")
    assert any("Delete everything" in line for line in lines)
