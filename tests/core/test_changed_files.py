"""The changes of files in the input of a tool call."""

from __future__ import annotations

from typing import Any

import pytest

from turnwire.core.changed_files import ChangedFile, changed_files


def test_changes_with_a_diff_are_read_as_they_are() -> None:
    changes = [{"path": "/a", "kind": "update", "diff": "@@ -1 +1 @@\n-x\n+y"}]
    found, rest = changed_files({"changes": changes, "grant_root": "/"})
    assert found == [ChangedFile("/a", "update", "@@ -1 +1 @@\n-x\n+y")]
    assert rest == {"grant_root": "/"}


def test_texts_before_and_after_become_a_diff() -> None:
    old = {"type": "diff", "path": "/a", "oldText": "one\ntwo\n", "newText": "one\nthree\n"}
    new = {"type": "diff", "path": "/b", "oldText": None, "newText": "hello\n"}
    found, rest = changed_files({"title": "Edit", "content": [old, new]})
    assert found == [
        ChangedFile("/a", "update", "@@ -1,2 +1,2 @@\n one\n-two\n+three"),
        ChangedFile("/b", "add", "@@ -0,0 +1 @@\n+hello"),
    ]
    assert rest == {"title": "Edit"}


@pytest.mark.parametrize(
    "given",
    [
        {"changes": "all"},
        {"changes": [{"path": "/a", "diff": "+x"}, 3]},
        {"content": [{"type": "text", "text": "x"}]},
        {"content": []},
        {"command": "ls"},
    ],
)
def test_other_input_stays_as_it_is(given: dict[str, Any]) -> None:
    assert changed_files(given) == ([], given)


def test_an_input_that_is_no_object_has_no_changes() -> None:
    assert changed_files("rm") == ([], {})
    assert changed_files({"changes": [{"path": "/a", "diff": "", "kind": 3}]})[0][0].kind is None
