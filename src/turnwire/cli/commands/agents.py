"""`turnwire agents`: lists the agents, what each can do, and what is missing to use it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from turnwire.cli.commands.serve import settings_of
from turnwire.cli.home import run_async
from turnwire.cli.terminal.words import counted, plain

if TYPE_CHECKING:
    from turnwire.ports import Agent

__all__ = ["command"]


@click.command("agents")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per agent.")
def command(*, as_json: bool) -> None:
    """List the agents: what each can do, and what is missing to use it.

    Lists the agents of the settings and those that Turnwire knows by name, installed or not. The
    star marks the agent of new conversations. An agent of your own is listed if the setting `agents`
    names it, as module:attribute.

    Asks each installed program for its version. Starts no conversation and uses no credential.
    """
    from turnwire.agents import registry

    settings, _ = settings_of()
    agents, usual = registry.chosen(settings.agents, settings.agent, settings.agent_options)
    more = {name: registry.make(name) for name in registry.missing_programs()}
    found = run_async(_facts({**more, **agents}, usual))
    if as_json:
        import msgspec

        for each in found:
            click.echo(msgspec.json.encode(each))
    else:
        _print(found)


async def _facts(agents: Mapping[str, Agent], usual: str) -> list[dict[str, Any]]:
    """Returns the facts about each agent, as the fields of its JSON line; those in use first."""
    from turnwire.agents.listing import facts_of

    facts = await asyncio.gather(*(facts_of(agent) for agent in agents.values()))
    found = []
    for (name, agent), about in zip(agents.items(), facts, strict=True):
        missing = agent.unavailable()
        found.append(
            {
                "name": name,
                "description": about.description,
                "version": about.version,
                "ready": missing is None,
                "missing": missing,  # what to do before it can be used
                "default": name == usual,
                "abilities": about.abilities,
            }
        )
    return sorted(found, key=lambda each: (not each["ready"], each["name"]))


def _print(agents: list[dict[str, Any]]) -> None:
    from rich.text import Text

    from turnwire.cli.terminal.table import Page

    page = Page()
    width = max(len(plain(each["name"])) for each in agents)
    for each in agents:
        mark = "*" if each["default"] else " "
        state, style = ("ready", "green") if each["ready"] else ("not ready", "yellow")
        version = f"version {plain(each['version'])}" if each["version"] else ""
        page.line(
            Text.assemble(
                f"{mark} ",
                (f"{plain(each['name']):<{width}}", "bold"),
                *("  ", (f"{state:<9}", style)),
                f"  {plain(each['description'])}",
            ),
            version,
        )
        if each["missing"]:
            page.words(Text(plain(each["missing"]), "yellow"), indent=4)
        if each["abilities"]:
            page.words(Text(", ".join(can.text for can in each["abilities"]), "dim"), indent=4)
    ready = sum(each["ready"] for each in agents)
    page.line()
    page.line(
        f"{counted(ready, 'agent')} ready. Your own, as a function or of pydantic-ai: "
        "TURNWIRE_AGENT=module:attribute"
    )
