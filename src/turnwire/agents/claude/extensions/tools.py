"""Tools: functions of the application that Claude can call.

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

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # the limit of the Messages API


class ToolFailed(Exception):
    """Raise it in a tool to report an error: the model gets this message."""


class ToolCall:
    """One call of a tool. A parameter of this type receives it; the model does not see it."""

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
        """Shows a line to the followers while the tool runs. Can be called from any thread."""
        line = writable(output if output.endswith("\n") else f"{output}\n")
        self._loop.call_soon_threadsafe(self._tell, line)

    def _tell(self, line: str) -> None:
        if self._progress is not None:
            self._progress(line)

    def end(self) -> None:
        """Ends the call. Later progress is dropped."""
        self._progress = None


class Tool(Struct, frozen=True):
    """A function, and its description for Claude."""

    run: Callable[..., Any]
    name: str
    description: str
    arguments: type[Struct]
    call_name: str | None = None  # the parameter that receives the ToolCall
    seconds: float | None = None  # timeout of a call; None: no timeout
    needs_permission: bool = True
    read_only: bool = False
    deferred: bool = False  # Claude has to search for it first

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function itself, for tests."""
        return self.run(*args, **kwargs)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        (_,), parts = msgspec.json.schema_components(
            [self.arguments], ref_template="#/$defs/{name}"
        )
        whole = dict(parts.pop(self.arguments.__name__))
        whole.pop("title", None)
        return {**whole, "$defs": parts} if parts else whole

    def listed(self) -> dict[str, Any]:
        """Returns the tool in the format of the Model Context Protocol."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.schema,
            "annotations": {"readOnlyHint": self.read_only},
            "_meta": {"anthropic/alwaysLoad": not self.deferred},
        }

    def bind(self, given: Any, call: ToolCall) -> Callable[[], Any]:
        """Returns the function with its validated arguments. Raises msgspec.ValidationError."""
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
    """Makes a tool of a function. Claude sees its name, its docstring and its annotations.

    - `needs_permission`: False lets the tool run without asking a person.
    - `read_only`: tells Claude that the tool changes nothing, so that calls may run concurrently.
    - `deferred`: keeps the tool out of the prompt until Claude searches for it.
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
    """Returns the parameters as a Struct. Raises ValueError if Claude cannot fill them."""
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
                f"The tool {called!r} has {parameter}: Claude passes arguments by name."
            )
        kind = hints.get(parameter.name)
        if kind is ToolCall or ToolCall in get_args(kind):
            call_name = parameter.name
        elif kind is None:
            raise ValueError(f"Annotate the type of {parameter.name!r} of the tool {called!r}.")
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
    """Returns a field whose default is copied for each call if it is mutable."""
    if isinstance(default, list | dict | set):
        return msgspec.field(default_factory=default.copy)
    return msgspec.field(default=default)


def read_tools(given: Iterable[Any]) -> list[Tool]:
    """Returns tools from objects, or from names (`module:attribute`) of tools or lists of tools.

    Raises ValueError.
    """
    found: dict[str, Tool] = {}
    for each in given:
        there = find(each, "tool") if isinstance(each, str) else each
        for one in there if isinstance(there, list | tuple) else [there]:
            if not isinstance(one, Tool):
                raise ValueError(f"{each!r} is not a tool. Make one with @tool.")
            if one.name in found:
                raise ValueError(f"Two tools of one server are called {one.name!r}.")
            found[one.name] = one
    return list(found.values())


def words_of(result: Any) -> str:
    """Returns the result of a tool as text for the model."""
    match result:
        case None:
            return "Done."
        case str():
            return result
        case _:
            return msgspec.json.encode(result).decode()
