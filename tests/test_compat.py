"""Undocumented names of other packages: each in one module, and all exist."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from turnwire.agents.claude.process import sdk_compat
from turnwire.server.tcp import uvicorn_compat
from turnwire.server.tcp.http_protocol import HttpProtocol
from turnwire.server.tcp.listen import Server, WebSocket
from turnwire.server.tcp.slices import SlicedHttp, SlicedWebSocket

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src/turnwire"


def names_of(cls: type) -> set[str]:
    """Returns all names that a class defines and that its objects set."""
    names = {*dir(cls)}
    for each in cls.__mro__[:-1]:
        if each.__module__ != "asyncio.protocols":
            names |= {*re.findall(r"self\.(\w+)(?:: [^=\n]+)? = ", inspect.getsource(each))}
    return names


def gone(cls: type, used: str) -> list[str]:
    return [f"{cls.__name__}.{name}" for name in used.split() if name not in names_of(cls)]


@pytest.mark.parametrize("cls", uvicorn_compat.USED, ids=lambda cls: cls.__name__)
def test_this_uvicorn_has_every_name_that_is_used(cls: type) -> None:
    assert gone(cls, uvicorn_compat.USED[cls]) == [], "gone from this version of uvicorn"


@pytest.mark.parametrize("place", sdk_compat.USED)
def test_this_sdk_has_every_name_that_is_used(place: str) -> None:
    module, name = place.split(":")
    cls = getattr(import_module(module), name)
    assert gone(cls, sdk_compat.USED[place]) == [], "gone from this version of claude-agent-sdk"


def test_this_sdk_knows_the_flag_that_mirrors_sessions() -> None:
    gone = "gone from this version of claude-agent-sdk: sessions cannot move to another node"
    assert sdk_compat.can_mirror(), gone


def test_a_program_that_does_not_know_the_flag_is_recognized() -> None:
    assert sdk_compat.rejects_mirror(f"It said last: error: unknown option '{sdk_compat.MIRROR}'")
    assert not sdk_compat.rejects_mirror("It said last: error: unknown option '--other'")


def test_a_missing_name_is_reported() -> None:
    class Changed(uvicorn_compat.WebSocketsSansIOProtocol):
        pass

    assert gone(Changed, "transport keepalive_timeout a_name") == ["Changed.a_name"]


def used_by(cls: type) -> set[str]:
    """The names that a class reads of itself, calls of its base, or overrides."""
    tree = ast.parse(inspect.getsource(cls))
    of_self = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and (
            (isinstance(node.value, ast.Name) and node.value.id == "self")
            or (isinstance(node.value, ast.Call) and ast.unparse(node.value) == "super()")
        )
    }
    return of_self | {*vars(cls)}


@pytest.mark.parametrize(
    ("base", "classes"),
    [
        (uvicorn_compat.H11Protocol, [SlicedHttp, HttpProtocol]),
        (uvicorn_compat.WebSocketsSansIOProtocol, [SlicedWebSocket, WebSocket]),
        (uvicorn_compat.Server, [Server]),
    ],
    ids=lambda each: each.__name__ if isinstance(each, type) else "",
)
def test_every_name_that_is_used_of_uvicorn_is_listed(base: type, classes: list[type]) -> None:
    used: set[str] = set().union(*map(used_by, classes))
    theirs = {name for name in names_of(base) & used if not name.startswith("__")}
    assert theirs == {*uvicorn_compat.USED[base].split()}


def modules_with(*words: str) -> list[str]:
    texts = [(path.name, path.read_text()) for path in SRC.rglob("*.py")]
    return [name for name, text in texts if any(word in text for word in words)]


def test_no_other_module_knows_these_names() -> None:
    assert modules_with("import uvicorn", "from uvicorn") == ["uvicorn_compat.py"]
    private = ("claude_agent_sdk._", "._query", "_build_command", "_initialize_timeout")
    assert modules_with(*private) == ["sdk_compat.py"]


def test_both_packages_have_an_upper_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [line for extra in project["optional-dependencies"].values() for line in extra]
    for package in ("uvicorn", "claude-agent-sdk"):
        [bounds] = [each for each in wanted if each.startswith(f"{package}>=")]
        assert ",<" in bounds
