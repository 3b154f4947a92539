"""The values that an async generator yields to act in its turn. Plain text needs none of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable, iscoroutine
from typing import Any, TypeAlias

from msgspec import Struct

from turnwire.agents.agent_turn import AgentTurn
from turnwire.agents.asking import Answers, Ask

__all__ = ["Plan", "Think", "UseClientTool", "UseTool", "Yielded", "carry_out"]


class UseTool(Struct, frozen=True):
    """Shows a tool call with its input, then its result. The yield returns the result.

    `result` is a text, or an awaitable or a function without arguments, which runs while the call is
    shown. Its exception becomes the result, marked as an error, and is raised at the yield. With
    `needs_permission` a person has to allow the call first; if they deny it, Denied is raised at the
    yield. A plain function that is called here has run before: name it instead, or use `lambda`.

    Example:

        price = yield UseTool("look_up", {"dish": "soup"}, look_up("soup"))
    """

    name: str
    input: Any = None
    result: str | Awaitable[str] | Callable[[], str | Awaitable[str]] = ""
    needs_permission: bool = False


class UseClientTool(Struct, frozen=True):
    """Has the front end run one of its tools. The yield returns the result.

    Example:

        colour = yield UseClientTool("pick_colour", {"label": "Which colour?"})
    """

    name: str
    input: Any = None


class Think(Struct, frozen=True):
    """Adds a piece to the reasoning before the answer."""

    text: str


class Plan(Struct, frozen=True):
    """Shows the whole plan: each item with `pending`, `in_progress` or `completed`."""

    items: Sequence[tuple[str, str]]


Yielded: TypeAlias = str | Ask | Sequence[Ask] | UseTool | UseClientTool | Think | Plan


async def carry_out(turn: AgentTurn, value: Yielded) -> str | list[str] | Answers | None:
    """Does in the turn what a value says. Returns what the yield returns.

    Raises TypeError if the value is none of these.
    """
    match value:
        case str():
            await turn.say(value)
        case Ask(multi=True):
            return (await turn.ask_form([value]))[value.question]
        case Ask(question, options):
            return await turn.ask(question, options, free_text=value.free_text)
        case [Ask(), *_] if all(isinstance(each, Ask) for each in value):
            return await turn.ask_form(value)
        case UseTool():
            return await _use(turn, value)
        case UseClientTool(name, given):
            return await turn.use_client_tool(name, given)
        case Think(text):
            await turn.think(text)
        case Plan(items):
            await turn.plan(items)
        case _:
            kind = type(value).__name__
            if iscoroutine(value):
                kind = "a coroutine, which needs `await`"
                value.close()  # otherwise Python warns about it as well
            said = "An agent yields text, Ask, a list of Ask, UseTool, UseClientTool, Think or Plan"
            raise TypeError(f"{said}; this one yielded {kind}.")
    return None


async def _use(turn: AgentTurn, use: UseTool) -> str:
    result = use.result
    try:
        async with turn.tool(use.name, use.input, needs_permission=use.needs_permission) as call:
            given = result() if callable(result) else result
            call.result = await given if isawaitable(given) else given
    finally:
        if iscoroutine(result):
            result.close()  # it may not have begun: Python would warn about it
    return call.result
