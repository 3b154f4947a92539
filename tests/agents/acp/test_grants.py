"""What a permission allows the host to do: only what its request has named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from turnwire.agents.acp.grants import Grants
from turnwire.dialects.acp.messages import EnvVariable, NewTerminal, WriteParams

CWD = "/w"


def granted(*, always: bool = False, **fields: Any) -> Grants:
    grants = Grants(CWD)
    grants.add(grants.of({"toolCallId": "c", **fields}), always=always)
    return grants


def writes(grants: Grants, path: str = "/w/a", content: str = "x") -> bool:
    return grants.take_write(WriteParams(path, content))


def runs(grants: Grants, command: str, *args: str, **more: Any) -> bool:
    return grants.take_command(NewTerminal(command, args=list(args), **more))


DIFF = {"type": "diff", "path": "/w/a", "newText": "x"}


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "edit", "locations": [{"path": "/w/a"}]},
        {"kind": "edit", "content": [DIFF, {"type": "content"}]},
        {"kind": "edit", "rawInput": {"file_path": "a"}},
        {"kind": "edit", "rawInput": {"filePath": "/w/b/../a"}},
        {"kind": "other", "rawInput": {"path": "/w/a", "content": "x"}},
        {"content": [DIFF]},
    ],
)
def test_a_file_is_written_once_if_the_request_named_it(fields: dict[str, Any]) -> None:
    grants = granted(**fields)
    assert not writes(grants, "/w/b")
    assert writes(grants)
    assert not writes(grants)


@pytest.mark.parametrize(
    "fields",
    [
        *({"kind": kind, "locations": [{"path": "/w/a"}]} for kind in ("read", "search", "delete")),
        {"kind": "execute", "rawInput": {"command": "x", "path": "/w/a"}, "content": [DIFF]},
        {"kind": "edit"},
        {"kind": "edit", "rawInput": {"path": "/w/b"}, "locations": [{"path": "/w/a"}]},
        {"kind": "edit", "locations": ["/w/a", {"path": 3}, {"path": "\0"}]},
        {"kind": "other", "rawInput": {"path": "/w/a"}},
        {"kind": "other", "locations": [{"path": "/w/a"}]},
        {"content": [{**DIFF, "newText": "y"}]},
        {"rawInput": "/w/a"},
    ],
)
def test_a_write_that_the_request_did_not_name_needs_a_question(fields: dict[str, Any]) -> None:
    assert not writes(granted(**fields))


def test_a_link_that_changes_after_the_question_opens_no_other_file(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "a")
    grants = granted(kind="edit", locations=[{"path": str(link)}])
    link.unlink()
    link.symlink_to(tmp_path / "b")
    assert not writes(grants, str(link))
    assert writes(grants, str(tmp_path / "a"))
    assert not writes(grants, "\0")


@pytest.mark.parametrize(
    ("fields", "command"),
    [
        ({"rawInput": {"command": "ls -l"}}, ["ls", "-l"]),
        ({"rawInput": {"command": "ls -l"}}, ["ls -l"]),
        ({"rawInput": {"command": "ls | wc"}}, ["/bin/bash", "-lc", "ls | wc"]),
        ({"rawInput": {"command": ["sh", "-c", "ls | wc"]}}, ["ls | wc"]),
        ({"rawInput": {"command": ["ls", "a b"]}}, ["ls 'a b'"]),
        ({"rawInput": {"command": "ls", "args": ["-l"]}}, ["ls", "-l"]),
        ({"rawInput": {"cmd": "ls"}}, ["ls"]),
        ({"title": "`ls -l`"}, ["ls", "-l"]),
    ],
)
def test_a_command_runs_once_if_the_request_named_it(
    fields: dict[str, Any], command: list[str]
) -> None:
    grants = granted(kind="execute", **fields)
    assert not runs(grants, "rm", "-r", "/w")
    assert runs(grants, *command)
    assert not runs(grants, *command)


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "read", "rawInput": {"command": "ls -l"}, "title": "ls -l"},
        {"kind": "edit", "rawInput": {"command": "ls -l"}},
        {"kind": "other", "title": "ls -l"},
        {"kind": "execute", "rawInput": {"command": "ls"}, "title": "ls -l"},
        {"kind": "execute", "rawInput": {"command": "ls '-l"}},
        {"kind": "execute", "rawInput": {"command": ["ls -l"]}},
        {"kind": "execute", "rawInput": {"command": "ls -l", "cwd": "/w/b"}},
        {"kind": "execute", "rawInput": {"command": ["ls", 3]}, "title": ""},
        {"kind": "execute"},
    ],
)
def test_a_command_that_the_request_did_not_name_needs_a_question(fields: dict[str, Any]) -> None:
    assert not runs(granted(**fields), "ls", "-l")


def test_a_command_runs_in_the_directory_and_with_the_variables_that_were_named() -> None:
    for cwd in ("/w/b", "\0"):
        assert not runs(granted(kind="execute", rawInput={"command": "ls"}), "ls", cwd=cwd)
    named = {"command": "ls", "workdir": "b", "env": {"A": "1"}}
    assert runs(granted(kind="execute", rawInput=named), "ls", cwd="/w/b")
    for value, may in (("1", True), ("2", False)):
        env = [EnvVariable("A", value)]
        assert runs(granted(kind="execute", rawInput=named), "ls", cwd="/w/b", env=env) is may
    plain = granted(kind="execute", rawInput={"command": "ls"})
    assert not runs(plain, "ls", env=[EnvVariable("PATH", "/tmp")])


def test_always_is_for_the_same_file_and_the_same_command() -> None:
    edit = granted(always=True, kind="edit", locations=[{"path": "/w/a"}])
    command = granted(always=True, kind="execute", rawInput={"command": "ls"})
    for grants in (edit, command):
        grants.call_ended("c")
        grants.turn_ended()
    assert [writes(edit), writes(edit), writes(edit, "/w/b")] == [True, True, False]
    assert [runs(command, "ls"), runs(command, "ls"), runs(command, "rm")] == [True, True, False]


def test_a_grant_for_once_ends_with_its_call_and_with_the_turn() -> None:
    fields: dict[str, Any] = {"kind": "edit", "locations": [{"path": "/w/a"}]}
    ended = granted(**fields)
    ended.call_ended("other")
    ended.call_ended("c")
    assert not writes(ended)
    later = granted(**fields)
    later.turn_ended()
    assert not writes(later)
