"""The common part of `run` and `answer`: opens an engine, shows a turn, prints the next step."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import click
from rich.text import Text

from turnwire.cli.home import Home
from turnwire.cli.live.conversing import Conversing
from turnwire.cli.live.ending import figures, next_step
from turnwire.cli.live.requests import lines_of
from turnwire.cli.live.session import Left, Session
from turnwire.cli.live.tool_names import name_of
from turnwire.cli.live.view import JsonView, View, is_terminal
from turnwire.cli.terminal.visible import safe, visible
from turnwire.cli.terminal.words import plain
from turnwire.core.status import OpenRequest, TurnEnd
from turnwire.engine import Engine

if TYPE_CHECKING:
    from turnwire.ports import Agent, Store

__all__ = ["known_agent", "open_engine", "tell_open", "visit"]

_PATIENCE = 2.0  # seconds that the command waits for the agent to end

Work = Callable[[Session], Awaitable[TurnEnd | None]]


def known_agent(name: str, *given: str) -> Agent:
    """Returns the agent of a conversation: a given one, one of the settings, or a built-in one."""
    from turnwire.agents import registry
    from turnwire.settings import read_settings

    settings, _ = read_settings()
    known = [*given, settings.agent, *settings.agents]
    return registry.find(name, known, settings.agent_options)


@asynccontextmanager
async def open_engine(
    store: Store, name: str, agent: Agent, others: Mapping[str, Agent] | None = None
) -> AsyncIterator[Engine]:
    """Opens an engine with one agent, and others that may take over.

    Stops everything that it started at the end.
    """
    engine = Engine(store, {name: agent, **(others or {})})
    try:
        yield engine
    finally:
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                await engine.stop()


async def visit(talk: Conversing, view: View, home: Home, work: Work) -> int:
    """Runs `work` in a conversation, shows it, and prints the next command. Returns the exit code."""
    code = 0
    last: list[Text] = []
    try:
        async with Session(talk, view) as session:
            end = await work(session)
            if end is not None:
                last = _last_words(end)
                code = 1 if end.is_error else 130 if end.interrupted else 0
            if talk.is_here and session.has_background:
                view.note(last)
                later = await session.see_background()
                last = _last_words(later) if later is not None else []
    except Left as left:
        code = left.code
        if left.request is not None:
            tell_open(view, home, talk, left.request)
            return code
    command = home.command("run" if talk.is_here else "chat", "--conversation", talk.id)
    view.note([*last, Text.assemble(("Go on: ", "dim"), command)])
    return code


def _last_words(end: TurnEnd) -> list[Text]:
    step = next_step(end)
    return [*figures(end), *([Text(step)] if step else [])]


def tell_open(view: View, home: Home, talk: Conversing, request: OpenRequest) -> None:
    """Shows the request that stays open, with the command that answers it."""
    if view.painter is None:
        view.note(lines_of(request))
    tool = plain(visible(name_of(request.tool_name)))
    again = home.command("run", "--conversation", talk.id)
    if request.kind == "question":
        words = plain(safe(" / ".join(q.question for q in request.questions))) or "a question"
        said = [f"Left open: {words}", f"Answer it: {home.command('answer', talk.id)}"]
    elif not talk.is_here:
        said = [f"Left open: the permission for {tool}."]
        said.append(f"Answer it: {home.command('answer', talk.id)}")
    elif view.painter is None:
        said = [f"{tool} needs permission, but there is no terminal to ask at. The turn stops."]
        said.append(f"Go on at a terminal: {again}")
    else:
        said = [f"You did not decide, so {tool} does not run and the turn stops."]
        said.append(f"Go on: {again}")
    if isinstance(view, JsonView):
        click.echo(" ".join(said), file=sys.stderr)
    elif is_terminal():  # a command on a line of its own is easier to copy
        view.note([Text(line, "yellow") for line in said])
    else:
        view.note([Text(" ".join(said))])
