"""Tools for Claude that are functions of the application.

@tool
async def price(article: str, amount: int = 1, *, call: ToolCall) -> str:
    \"\"\"What some of an article cost.\"\"\"
    call.progress("asking the shop")
    return f"{amount * 3} euros"
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, get_args, get_type_hints, overload

import msgspec
from msgspec import NODEFAULT, Struct

from turnwire.agents.claude.extensions.callbacks import find, writable

__all__ = ["Tool", "ToolCall", "ToolFailed", "read_tools", "tool", "words_of"]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what the Messages API takes


class ToolFailed(Exception):
    """Raise it in a tool: the model is told these words, and that it did not work."""


class ToolCall:
    """One call of a tool. A parameter of this type gets it, and the model does not see that one."""

    def __init__(
        self,
        conversation_id: str,
        tool_use_id: str | None,
        progress: Callable[[str], None],
    ) -> None:
        self.conversation_id = conversation_id
        self.tool_use_id = tool_use_id
        self._progress: Callable[[str], None] | None = progress
        self._loop = asyncio.get_running_loop()

    def progress(self, output: str) -> None:
        """A line for whoever watches; it is shown while the tool runs. From any thread."""
        line = writable(output if output.endswith("\n") else f"{output}\n")
        self._loop.call_soon_threadsafe(self._tell, line)

    def _tell(self, line: str) -> None:
        if self._progress is not None:
            self._progress(line)

    def end(self) -> None:
        """Whatever it says from now on comes too late."""
        self._progress = None


class Tool(Struct, frozen=True):
    """A function, and how Claude sees it."""

    run: Callable[..., Any]
    name: str
    description: str
    arguments: type[Struct]
    call_name: str | None = None  # the parameter that gets the ToolCall
    seconds: float | None = None  # that a call may take; none: as long as it takes
    needs_permission: bool = True
    read_only: bool = False
    deferred: bool = False  # Claude has to look for it first

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function itself, so that a test can call it."""
        return self.run(*args, **kwargs)

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of its arguments."""
        (_,), parts = msgspec.json.schema_components(
            [self.arguments], ref_template="#/$defs/{name}"
        )
        whole = dict(parts.pop(self.arguments.__name__))
        whole.pop("title", None)
        return {**whole, "$defs": parts} if parts else whole

    def listed(self) -> dict[str, Any]:
        """As the Model Context Protocol lists it."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.schema,
            "annotations": {"readOnlyHint": self.read_only},
            "_meta": {"anthropic/alwaysLoad": not self.deferred},
        }

    def bind(self, given: Any, call: ToolCall) -> Callable[[], Any]:
        """The function with its arguments. Raises msgspec.ValidationError, which names what is wrong."""
        arguments = msgspec.convert({} if given is None else given, self.arguments)
        named = {name: getattr(arguments, name) for name in arguments.__struct_fields__}
        if self.call_name is not None:
            named[self.call_name] = call
        return partial(self.run, **named)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    seconds: float | None = None,
    needs_permission: bool = True,
    read_only: bool = False,
    deferred: bool = False,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    seconds: float | None = None,
    needs_permission: bool = True,
    read_only: bool = False,
    deferred: bool = False,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a function: its name, its docstring and its annotations are what Claude sees.

    `needs_permission` false: nobody is asked before it runs. `read_only` tells Claude that it
    changes nothing, so that several calls may run at once. `deferred` keeps it out of the prompt
    until Claude looks for such a tool: for those of which there are many.
    """

    def made(function: Callable[..., Any]) -> Tool:
        called = name or function.__name__
        if not _NAME.fullmatch(called):
            raise ValueError(f"A tool cannot be called {called!r}: use letters, digits, - and _.")
        if seconds is not None and not seconds > 0:
            raise ValueError(
                f"The tool {called!r} may take {seconds} seconds: make it more than 0."
            )
        arguments, call_name = _arguments(function, called)
        about = description or inspect.getdoc(function) or ""
        return Tool(
            function,
            called,
            about,
            arguments,
            call_name,
            seconds,
            needs_permission,
            read_only,
            deferred,
        )

    return made if function is None else made(function)


def _arguments(function: Callable[..., Any], called: str) -> tuple[type[Struct], str | None]:
    """The parameters as a Struct. Raises ValueError where Claude could not fill them in."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as unknown:
        raise ValueError(
            f"The types of the tool {called!r} cannot be read: {unknown}."
        ) from unknown
    fields: list[Any] = []
    call_name = None
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
            parameter.POSITIONAL_ONLY,
        ):
            raise ValueError(
                f"The tool {called!r} has {parameter}: Claude gives arguments by name."
            )
        kind = hints.get(parameter.name)
        if kind is ToolCall or ToolCall in get_args(kind):
            call_name = parameter.name
        elif kind is None:
            raise ValueError(f"Say of what type {parameter.name!r} of the tool {called!r} is.")
        else:
            default = NODEFAULT if parameter.default is parameter.empty else parameter.default
            fields.append((parameter.name, kind, _field(default)))
    try:
        arguments = msgspec.defstruct(
            f"{called}_arguments", fields, kw_only=True, forbid_unknown_fields=True
        )
        msgspec.json.schema(arguments)
        msgspec.json.Decoder(arguments)
    except (TypeError, ValueError) as bad:
        raise ValueError(f"The tool {called!r} cannot be offered: {bad}.") from bad
    return arguments, call_name


def _field(default: Any) -> Any:
    """A default of its own for every call, where it could be changed."""
    if isinstance(default, list | dict | set):
        return msgspec.field(default_factory=default.copy)
    return msgspec.field(default=default)


def read_tools(given: Iterable[Any]) -> list[Tool]:
    """Tools, or where they are as `module:attribute`, which may be a list of them. Raises ValueError."""
    found: dict[str, Tool] = {}
    for each in given:
        there = find(each, "tool") if isinstance(each, str) else each
        for one in there if isinstance(there, list | tuple) else [there]:
            if not isinstance(one, Tool):
                raise ValueError(f"{each!r} is no tool. Make one of a function with @tool.")
            if one.name in found:
                raise ValueError(f"Two tools of one server are called {one.name!r}.")
            found[one.name] = one
    return list(found.values())


def words_of(result: Any) -> str:
    """What a tool gave back, for the model."""
    match result:
        case None:
            return "Done."
        case str():
            return result
        case _:
            return msgspec.json.encode(result).decode()
