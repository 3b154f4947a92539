"""`turnwire run`: runs one turn of a conversation in this process and shows it."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from turnwire.cli.completing import complete_agent, complete_directory, complete_id
from turnwire.cli.conversations import find, new_id, take_over
from turnwire.cli.home import Home, data_dir_option, directory, run_async
from turnwire.cli.options import named_agent, typed
from turnwire.errors import TurnwireError

if TYPE_CHECKING:
    from turnwire.cli.live.session import Session
    from turnwire.cli.live.view import View
    from turnwire.core.status import TurnEnd
    from turnwire.ports import Agent, ConversationRow, Store

__all__ = ["command"]

_VARIABLE = "TURNWIRE_AGENT"


@click.command("run")
@click.option(
    "--agent",
    metavar="NAME",
    shell_complete=complete_agent,
    callback=named_agent,
    help=f"The agent to talk to; also {_VARIABLE}.  [default: claude if it is ready, else demo]",
)
@click.option(
    "--conversation",
    metavar="ID",
    shell_complete=complete_id,
    help="Continue this conversation; the first characters of its id are enough.",
)
@click.option(
    "--cwd",
    metavar="DIR",
    shell_complete=complete_directory,
    help="The agent's working directory.  [default: this directory]",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print every frame of protocol v2 as a JSON line."
)
@data_dir_option
@click.argument("prompt", required=False, callback=typed)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    home: Home,
    agent: str | None,
    conversation: str | None,
    cwd: str | None,
    as_json: bool,
    prompt: str | None,
) -> None:
    """Run one turn of an agent, and show it as it happens.

    Without PROMPT the command asks for one, or reads standard input if that is not a terminal.
    With --conversation, --agent lets another agent take over: it is told what was said before.
    Questions and permissions are asked as they come. Ctrl-C stops the turn, a second Ctrl-C leaves at
    once, Ctrl-D leaves a question open.

    Exit code: 0 the turn completed, 1 it failed, 2 it could not start, 3 a request was left open, 130
    it was interrupted.
    """
    if conversation is not None and cwd is not None:
        raise click.UsageError("A conversation keeps its directory. Leave out --cwd.")
    ctx.exit(run_async(_run(home, agent, conversation, cwd, as_json, prompt)))


async def _run(
    home: Home,
    agent: str | None,
    conversation: str | None,
    cwd: str | None,
    as_json: bool,
    prompt: str | None,
) -> int:
    from turnwire.cli.live.conversing import Here
    from turnwire.cli.live.view import open_view
    from turnwire.cli.live.visit import known_agent, open_engine, visit

    place = directory(cwd)
    async with home.store(create=conversation is None) as store:
        row = None if conversation is None else await find(store, conversation, home)
        others: dict[str, Agent] = {}
        if row is not None:
            name, why = row.agent, None
            partner = known_agent(name, *([agent] if agent else []))
            others = _others(row, agent)
        else:
            name, partner, why = _whom(agent)
        home.agent = _where([name, *others], agent)
        begun = new_id()
        try:
            async with open_engine(store, name, partner, others) as engine:
                with open_view(as_json=as_json) as view:
                    if why is not None:
                        _tell_stand_in(view, f"This is the {name} agent. {why}")
                    words: str | None
                    if row is None:
                        words = await _words(view, prompt)
                        talk = await engine.create(name, conversation_id=begun, cwd=place)
                    else:
                        talk = await engine.open(row.conversation_id)
                        status = await take_over(talk, home)
                        for other in others:
                            await talk.set_agent(other)
                        is_busy = status.turn_id is not None
                        words = None if is_busy and prompt is None else await _words(view, prompt)
                    here = Here(engine, talk)
                    return await visit(here, view, home, partial(_work, words=words))
        finally:
            await _forget_if_empty(store, begun)


async def _work(session: Session, words: str | None) -> TurnEnd | None:
    """Shows a turn that still runs until its end, then sends the message."""
    turn_id = session.status.turn_id
    end = None if turn_id is None else await session.see(turn_id)
    return end if words is None else await session.say(words)


async def _forget_if_empty(store: Store, conversation_id: str) -> None:
    """Deletes a conversation without entries: the person left before the first message."""
    row = await store.conversation(conversation_id)
    if row is not None and row.head == 0:
        await store.delete(conversation_id)


def _others(row: ConversationRow, agent: str | None) -> dict[str, Agent]:
    """Returns the agent that is to take the conversation over, by its name, if it is another."""
    if agent in (None, row.agent):
        return {}
    name, partner, _ = _whom(agent)
    return {} if name == row.agent else {name: partner}


def _where(names: list[str], agent: str | None) -> str:
    """Returns where the agent is, if later commands cannot find it by its name alone."""
    from turnwire.agents import registry

    known = {*registry.names(), *registry.missing_programs()}
    is_told = agent is not None and ":" in agent and not known.issuperset(names)
    return agent if is_told and agent is not None else ""


def _whom(agent: str | None) -> tuple[str, Agent, str | None]:
    """Returns the agent's own name, the agent, and why it replaces the preferred one, if it does."""
    from turnwire.agents import registry
    from turnwire.settings import read_settings

    options = read_settings()[0].agent_options
    given, why = agent or os.environ.get(_VARIABLE), None
    if not given:
        given, why = registry.default(options)
    partner = registry.make(given, **options.get(given, {}))
    return registry.name_of(given, partner), partner, why


def _tell_stand_in(view: View, words: str) -> None:
    """Says that another agent is used: on the screen, or on standard error if output is piped."""
    from rich.text import Text

    if view.painter is not None:
        view.note([Text(words, "dim")])
    else:
        click.echo(words, err=True)


async def _words(view: View, prompt: str | None) -> str:
    """Returns the message: the argument, or what is typed or piped in."""
    words = await _read_prompt(view) if prompt is None else prompt
    if not words.strip():
        raise TurnwireError("the message is empty. Give a PROMPT, or pipe one in.")
    return words


async def _read_prompt(view: View) -> str:
    if view.painter is not None:
        words = await view.painter.read_line("Your message")
        if words is None:
            raise click.Abort
        view.painter.said(words)
        return words
    if sys.stdin is None:
        raise TurnwireError("standard input is closed. Give a PROMPT, or pipe one in.")
    if sys.stdin.isatty():
        click.echo("Type your message, then press Ctrl-D:", err=True)
    return sys.stdin.buffer.read().decode(errors="replace")
