"""Finds the agent in a module that was named without its attribute: `--agent waiter`."""

from __future__ import annotations

import ast
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

__all__ = ["full_name"]


def full_name(module: str) -> str | None:
    """Returns `module:attribute` for a module in the current directory, or an installed one.

    Reads its source without running it. Returns None if there is no such module, or if an installed
    one has no agent. For a module in the current directory, the attribute is the module's own name
    if its source shows no agent.
    """
    if not module.isidentifier():
        return None
    file = _file_here(module)
    is_here = file is not None
    file = file or _installed_file(module)
    found = None if file is None else _agent_in(file, module)
    if found is None and is_here:
        found = module
    return found and f"{module}:{found}"


def _file_here(module: str) -> Path | None:
    with suppress(OSError):  # the current directory may have been deleted
        for file in (Path.cwd() / f"{module}.py", Path.cwd() / module / "__init__.py"):
            if file.is_file():
                return file
    return None


def _installed_file(module: str) -> Path | None:
    with suppress(ImportError, ValueError):
        spec = find_spec(module)
        if spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
            return Path(spec.origin)
    return None


def _agent_in(file: Path, module: str) -> str | None:
    """Returns the name of the agent in a source file: the one named as the module, or the first."""
    try:
        body = ast.parse(file.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return None
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names = [node.name for node in body if isinstance(node, kinds) and _is_agent(node)]
    return module if module in names else next(iter(names), None)


def _is_agent(node: ast.stmt) -> bool:
    """Returns whether this is a function with `@agent(...)`, or a class with `capabilities`."""
    match node:
        case ast.FunctionDef(decorator_list=marks) | ast.AsyncFunctionDef(decorator_list=marks):
            return any(_is_agent_mark(mark) for mark in marks)
        case ast.ClassDef(body=body):
            return any("capabilities" in _assigned(each) for each in body)
        case _:
            return False


def _is_agent_mark(mark: ast.expr) -> bool:
    match mark:
        case ast.Call(func=ast.Name(id="agent") | ast.Attribute(attr="agent")):
            return True
        case _:
            return False


def _assigned(node: ast.stmt) -> list[str]:
    """Returns the names that a statement of a class defines."""
    match node:
        case ast.Assign(targets=targets):
            return [each.id for each in targets if isinstance(each, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.FunctionDef(name=name):  # a property
            return [name]
        case _:
            return []
