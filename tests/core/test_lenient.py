"""Lenient reading: every valid part is kept, and every invalid part is named."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw, Struct, UnsetType, ValidationError

from turnwire.core.lenient import Unknown, salvage


class Circle(Struct, frozen=True, tag_field="type", tag="circle"):
    radius: int
    colour: str | None = None
    labels: list[str] = []
    raw: Raw | UnsetType = UNSET


class Square(Struct, frozen=True, tag_field="type", tag="square", rename={"side": "sideLength"}):
    side: int
    colour: str | None = None


class UnknownShape(Unknown, frozen=True, tag_field="type", tag="unknown"):
    pass


Shape: TypeAlias = Circle | Square | UnknownShape
Closed: TypeAlias = Circle | Square  # without an unknown variant


class Group(Struct, frozen=True, tag_field="type", tag="group"):
    shapes: list[Shape]
    title: str | None = None
    note: str | list[Shape] | None = None
    cover: Shape | None = None
    strict: list[Closed] | None = None


class UnknownThing(Unknown, frozen=True, tag_field="type", tag="unknown"):
    pass


Thing: TypeAlias = Group | UnknownThing


class Untagged(Struct, frozen=True):
    width: int
    height: int = 1
    shape: Shape | None = None


def read(kind: Any, value: Any, name: str = "") -> tuple[Any, list[str]]:
    """Returns the read value and the remarks."""
    issues: list[str] = []
    return salvage(kind, value, issues, name=name), issues


# --- valid values -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (Shape, {"type": "circle", "radius": 1}, Circle(1)),
        (Shape, {"type": "square", "sideLength": 2, "colour": "red"}, Square(2, "red")),
        (Closed, {"type": "square", "sideLength": 2}, Square(2)),
        (Shape, {"type": "unknown", "originalType": "x", "data": 1}, UnknownShape("x", 1)),
        (Untagged, {"width": 3}, Untagged(3)),
        (list[Shape], [{"type": "circle", "radius": 1}], [Circle(1)]),
        (int, 5, 5),
        (str | None, None, None),
    ],
)
def test_known_values_are_read_without_a_remark(kind: Any, value: Any, expected: Any) -> None:
    assert read(kind, value) == (expected, [])


def test_an_unknown_field_is_not_named() -> None:
    assert read(Shape, {"type": "circle", "radius": 1, "new": True}) == (Circle(1), [])


# --- unknown variants -------------------------------------------------------------------------


def test_an_unknown_variant_becomes_unknown_with_its_whole_object_and_is_named() -> None:
    cube = {"type": "cube", "edges": [1, 2], "colour": "red"}
    assert read(Shape, cube) == (UnknownShape("cube", cube), ["cube"])


def test_an_unknown_variant_is_named_with_its_path() -> None:
    cube = {"type": "cube"}
    assert read(Shape, cube, "cover") == (UnknownShape("cube", cube), ["cover/cube"])


@pytest.mark.parametrize("nameless", [{}, {"radius": 1}, {"type": None}, {"type": 5}, {"type": []}])
def test_an_object_without_a_usable_tag_is_unknown_and_is_kept_whole(nameless: Any) -> None:
    assert read(Shape, nameless) == (UnknownShape("", nameless), ["(no type)"])
    assert read(Shape, nameless, "cover") == (UnknownShape("", nameless), ["cover/(no type)"])


@pytest.mark.parametrize(
    "foreign",
    [
        {"type": "unknown"},
        {"type": "unknown", "data": 1},
        {"type": "unknown", "originalType": "x"},
        {"type": "unknown", "originalType": 7, "data": 1, "more": 2},
    ],
)
def test_a_foreign_object_tagged_unknown_keeps_its_content(foreign: Any) -> None:
    assert read(Shape, foreign) == (UnknownShape("unknown", foreign), ["unknown"])


def test_an_unknown_value_is_read_back_unchanged() -> None:
    once, _ = read(Shape, {"type": "cube", "edges": 12})
    again, issues = read(Shape, msgspec.to_builtins(once))
    assert again == once
    assert issues == []


@pytest.mark.parametrize("value", ["circle", 5, None, [], True])
def test_a_value_that_is_no_object_is_unknown_where_unknown_is_allowed(value: Any) -> None:
    shape, issues = read(Shape, value)
    assert isinstance(shape, Unknown)
    assert (shape.original_type, shape.data) == ("", value)
    assert issues == ["(no type)"]


class Word(Struct, tag_field="type", tag="word"):
    text: str = ""


class UnknownWord(Unknown, frozen=True, tag_field="type", tag="unknown"):
    keeps_whole = True


class Sentence(Struct):
    words: list[Word | UnknownWord] | None = None
    plain: list[int] = []


def test_content_that_does_not_fit_is_kept_whole_among_its_neighbours() -> None:
    odd: list[Any] = [{"type": "word", "text": 5}, "bare", None, {"type": "sound"}]
    value = {"words": [{"type": "word", "text": "Hello"}, *odd]}
    sentence, issues = read(Sentence, value)
    kept = [UnknownWord("word", odd[0]), UnknownWord("", "bare"), UnknownWord("", None)]
    assert sentence.words == [Word("Hello"), *kept, UnknownWord("sound", odd[3])]
    assert issues == ["words/word", "words/(no type)", "words/(no type)", "words/sound"]


def test_a_single_item_instead_of_a_list_is_a_list_of_one() -> None:
    value = {"words": {"type": "word", "text": "Hello"}, "plain": 7}
    assert read(Sentence, value) == (Sentence([Word("Hello")]), ["words without a list", ".plain"])


# --- fields of the wrong type -----------------------------------------------------------------


def test_an_optional_field_of_the_wrong_type_falls_back_and_is_named() -> None:
    value = {"type": "circle", "radius": 1, "colour": 5, "labels": ["a"]}
    assert read(Shape, value) == (Circle(1, None, ["a"]), ["circle.colour"])


def test_a_default_that_is_made_anew_each_time_is_a_default_too() -> None:
    value = {"type": "circle", "radius": 1, "labels": "a"}
    assert read(Shape, value) == (Circle(1, None, []), ["circle.labels"])


def test_a_field_without_a_tagged_owner_is_named_with_its_path() -> None:
    value = {"width": 1, "height": "tall"}
    assert read(Untagged, value) == (Untagged(1), [".height"])
    assert read(Untagged, value, "frame") == (Untagged(1), ["frame.height"])


def test_a_field_is_found_by_its_name_on_the_wire() -> None:
    value = {"type": "square", "sideLength": 2, "colour": []}
    assert read(Shape, value) == (Square(2), ["square.colour"])


def test_raw_bytes_survive_a_mistake_in_another_field() -> None:
    value = {"type": "circle", "radius": 1, "colour": 5, "raw": {"stdout": "hi"}}
    circle, issues = read(Shape, value)
    assert issues == ["circle.colour"]
    assert msgspec.json.decode(circle.raw) == {"stdout": "hi"}


# --- required fields --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "broken",
    [
        {"type": "circle"},
        {"type": "circle", "radius": "long"},
        {"type": "circle", "radius": None, "colour": "red"},
        {"type": "square", "side": 2},
    ],
)
def test_a_variant_without_a_required_field_is_unknown_where_unknown_is_allowed(
    broken: Any,
) -> None:
    assert read(Shape, broken) == (UnknownShape(broken["type"], broken), [broken["type"]])


@pytest.mark.parametrize(
    ("kind", "broken"),
    [
        (Closed, {"type": "circle"}),
        (Closed, {"type": "circle", "radius": "long"}),
        (Closed, {"type": "cube"}),
        (Closed, {}),
        (Circle, {"type": "circle"}),
        (Untagged, {}),
        (Untagged, {"width": "wide"}),
        (int, "five"),
    ],
)
def test_a_variant_without_a_required_field_is_refused_where_unknown_is_not_allowed(
    kind: Any, broken: Any
) -> None:
    with pytest.raises(ValidationError):
        salvage(kind, broken, [])


# --- lists and nesting ------------------------------------------------------------------------


def test_a_list_is_salvaged_item_by_item() -> None:
    cube = {"type": "cube"}
    value = [
        {"type": "circle", "radius": 1},
        cube,
        {"type": "square", "sideLength": 2, "colour": 5},
        {"type": "circle"},
    ]
    assert read(list[Shape], value, "shapes") == (
        [
            Circle(1),
            UnknownShape("cube", cube),
            Square(2),
            UnknownShape("circle", {"type": "circle"}),
        ],
        ["shapes/cube", "square.colour", "shapes/circle"],
    )


def test_a_list_in_a_union_with_other_types_is_salvaged_too() -> None:
    cube = {"type": "cube"}
    value = {"type": "group", "shapes": [], "note": [cube]}
    assert read(Thing, value) == (
        Group([], note=[UnknownShape("cube", cube)]),
        ["note/cube"],
    )


def test_a_list_whose_items_cannot_be_saved_is_a_field_of_the_wrong_type() -> None:
    value = {"type": "group", "shapes": [], "strict": [{"type": "circle", "radius": 1}, {}]}
    assert read(Thing, value) == (Group([]), ["group.strict"])


def test_a_list_of_plain_values_with_a_wrong_one_is_a_field_of_the_wrong_type() -> None:
    value = {"type": "circle", "radius": 1, "labels": ["a", 5]}
    assert read(Shape, value) == (Circle(1), ["circle.labels"])


def test_every_valid_part_is_kept_at_any_depth() -> None:
    cube, bad = {"type": "cube", "edges": 12}, {"type": "circle", "radius": "long"}
    value = {
        "type": "group",
        "title": 7,
        "shapes": [{"type": "circle", "radius": 1, "labels": 0}, cube],
        "cover": bad,
        "note": "fine",
    }
    group, issues = read(Thing, value)
    assert group == Group(
        [Circle(1), UnknownShape("cube", cube)], None, "fine", UnknownShape("circle", bad)
    )
    assert sorted(issues) == ["circle.labels", "cover/circle", "group.title", "shapes/cube"]


def test_an_unknown_part_in_an_untagged_object_is_named_by_its_field() -> None:
    cube = {"type": "cube"}
    assert read(Untagged, {"width": 1, "shape": cube}) == (
        Untagged(1, 1, UnknownShape("cube", cube)),
        ["shape/cube"],
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "radius", "colour", "shapes", "cover", "data", "x"]),
            inner | st.sampled_from(["circle", "square", "group", "unknown", "cube"]),
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["type", "shapes", "title", "note", "cover", "x"]), JSON))
def test_any_object_is_read_where_unknown_is_allowed(value: dict[str, Any]) -> None:
    thing, issues = read(Thing, value)
    assert isinstance(thing, Group | UnknownThing)
    if isinstance(thing, UnknownThing) and issues:
        assert thing.data == value


SHAPES: st.SearchStrategy[Any] = (
    st.builds(Circle, st.integers(), st.none() | st.text(), st.lists(st.text()))
    | st.builds(Square, st.integers(), st.none() | st.text())
    | st.builds(UnknownShape, st.text(), JSON)
)


@given(st.builds(Group, st.lists(SHAPES), st.none() | st.text(), st.none(), st.none() | SHAPES))
def test_any_written_value_is_read_back_without_a_remark(group: Group) -> None:
    assert read(Thing, msgspec.to_builtins(group)) == (group, [])


@given(SHAPES, st.integers() | st.booleans() | st.lists(st.none()))
def test_one_wrong_field_costs_only_itself(shape: Any, wrong: Any) -> None:
    value = {"type": "group", "shapes": [msgspec.to_builtins(shape)] * 2, "title": wrong}
    assert read(Thing, value) == (Group([shape, shape]), ["group.title"])
