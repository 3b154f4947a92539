"""The script of the demo agent: words of a prompt select scenes, and an id remembers the position."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwire.agents.demo.options import DemoOptions
from turnwire.agents.demo.script import SCENES, Place, scenes_of, short_key
from turnwire.agents.demo.texts import language_of, pieces

PAGE = Path(__file__).parent.parent.parent / "docs" / "reference" / "agents" / "demo.md"
NAMES = [scene.name for scene in SCENES]


@pytest.mark.parametrize(
    ("prompt", "scenes"),
    [
        ("Good morning", ["answer"]),
        ("", ["answer"]),
        ("Think, then use a TOOL.", ["think", "tool"]),
        ("a tool, then think", ["tool", "think"]),
        ("ask me a question", ["question"]),
        ("asking tooling", ["answer"]),
        ("请思考，然后问我", ["think", "question"]),
        ("删除文件需要权限", ["permission"]),
        ("help", ["help"]),
    ],
)
def test_words_of_a_prompt_select_scenes(prompt: str, scenes: list[str]) -> None:
    assert scenes_of(prompt) == scenes


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_every_word_of_a_scene_selects_the_scene(scene: object) -> None:
    assert isinstance(scene, type(SCENES[0]))
    for word in (*scene.english, *scene.chinese):
        assert scenes_of(f"... {word} ...") == [scene.name]


def test_the_word_everything_selects_all_scenes_that_need_no_other_word() -> None:
    left = {"answer", "help", "form", "client_tool", "error"}
    assert set(NAMES) - set(scenes_of("everything")) == left
    assert scenes_of("全部") == scenes_of("the tour")


@given(
    st.text(),
    st.sampled_from(["en", "zh"]),
    st.lists(st.sampled_from(NAMES), min_size=1, unique=True),
    st.integers(0, 20),
    st.integers(0, 10_000),
)
def test_a_position_can_be_read_back_from_its_id(
    turn: str, language: str, scenes: list[str], position: int, number: int
) -> None:
    place = Place(short_key(turn), "zh" if language == "zh" else "en", scenes, position, number)
    assert Place.from_id(place.to_id()) == place


@pytest.mark.parametrize("foreign", ["", "toolu_01", "demo_x", "demo_0123456789_en_~_0_0"])
def test_a_foreign_id_has_no_position(foreign: str) -> None:
    assert Place.from_id(foreign) is None
    assert Place.from_id("demo_0123456789_en_z_0_0") is None


@given(st.text())
def test_pieces_lose_nothing(text: str) -> None:
    assert "".join(pieces(text)) == text


@pytest.mark.parametrize(("text", "language"), [("hello", "en"), ("你好 hello", "zh"), ("", "en")])
def test_the_language_is_the_persons(text: str, language: str) -> None:
    assert language_of(text) == language


def test_every_word_and_every_option_is_on_its_page() -> None:
    page = PAGE.read_text()
    for scene in SCENES:
        if scene.name != "answer":
            words = ", ".join(f"`{word}`" for word in scene.english)
            assert f"| {words} | {', '.join(scene.chinese)} |" in page
    for option in DemoOptions.__struct_fields__:
        assert f"| `{option}` |" in page
