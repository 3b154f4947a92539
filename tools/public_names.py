"""Lists the public names of a package for docs/reference/python.md: signatures and docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from msgspec import Struct, structs

__all__ = ["listing"]


def listing(package: str) -> str:
    """Returns the public names of a package as Markdown, one section for each."""
    module = importlib.import_module(package)
    return "\n".join(
        line
        for name in sorted(module.__all__)
        if name != "__version__"
        for line in _entry(module, name)
    )


def _entry(module: ModuleType, name: str) -> Iterator[str]:
    value = getattr(module, name)
    yield f"#### {module.__name__}.{name}"
    yield ""
    if isinstance(value, ModuleType):
        yield _text(value)
        yield ""
    elif inspect.isclass(value):
        yield from _class(value)
    elif inspect.isroutine(value):
        yield f"`{name}{_signature(value)}`"
        yield ""
        yield _text(value)
        yield ""
    else:
        yield f"`{name}`: one of the values or types that its module documents."
        yield ""


def _class(kind: type) -> Iterator[str]:
    yield _text(kind)
    yield ""
    if issubclass(kind, Struct):
        fields = ", ".join(f"`{field.name}`" for field in structs.fields(kind))
        if fields:
            yield f"Fields: {fields}."
            yield ""
    elif "__init__" in vars(kind) and not issubclass(kind, BaseException):
        yield f"`{kind.__name__}{_signature(kind)}`"
        yield ""
    members = [
        (name, member)
        for name, member in inspect.getmembers_static(kind)
        if not name.startswith("_") and _is_own(kind, name)
    ]
    for name, member in members:
        if isinstance(member, property):
            yield _line(name, member.fget)
        elif isinstance(member, classmethod | staticmethod) or inspect.isfunction(member):
            bound = getattr(kind, name)
            yield _line(f"{name}{_signature(bound)}", bound)
    if members:
        yield ""


def _line(shown: str, member: Any) -> str:
    """Returns the line of a member. A method without a docstring is one of a port, which has it."""
    says = _in_one_line(member)
    return f"- `{shown}`: {says}" if says else f"- `{shown}`"


def _is_own(kind: type, name: str) -> bool:
    """Whether a member is defined in Turnwire, not in a library's base class."""
    return any(
        name in vars(base) and base.__module__.startswith("turnwire") for base in kind.__mro__
    )


def _signature(function: Any) -> str:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return "(...)"
    parameters = [
        each.replace(annotation=inspect.Parameter.empty, default=_plain(each.default))
        for each in signature.parameters.values()
        if each.name != "self"
    ]
    shown = signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    return str(shown).replace("=Ellipsis", "=...")


def _plain(default: Any) -> Any:
    """Defaults whose text would differ from run to run are shown as dots."""
    if default is inspect.Parameter.empty or isinstance(default, str | int | float | bool | None):
        return default
    return ...


def _text(value: Any) -> str:
    """Returns a docstring, with the blank line that some Markdown readers need before a list."""
    return re.sub(r"(?<=:)\n(?=- )", "\n\n", inspect.getdoc(value) or "")


def _in_one_line(value: Any) -> str:
    """Returns a docstring in one line."""
    return " ".join(_text(value).split())
