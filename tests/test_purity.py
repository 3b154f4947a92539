"""Core, dialects and turn streams import only msgspec, each other and the pure part of the standard library."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import turnwire

ROOT = Path(turnwire.__file__).parent
LAYERS = ("core", "dialects", "turn_streams")
PURE = sorted(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))
ALLOWED = {
    "__future__",
    "abc",
    "collections",
    "functools",
    "hashlib",
    "heapq",
    "difflib",
    "itertools",
    "msgspec",
    "re",
    "shlex",
    "turnwire",
    "types",
    "typing",
}


@pytest.mark.parametrize("path", PURE, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_pure_module_imports_only_pure_modules(path: Path) -> None:
    imported: set[str] = set()
    called: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called.add(node.func.id)
    assert imported <= ALLOWED
    assert called & {"open", "print", "input", "exec", "eval"} == set()
