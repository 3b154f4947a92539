"""`turnwire inbox`: lists the open questions and permissions of all conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from turnwire.cli.commands.answer import command as answer
from turnwire.cli.conversations import true_row
from turnwire.cli.home import Home, NothingYet, run_async
from turnwire.cli.remote import agents_there, client_of
from turnwire.cli.server_options import items_there, where_options
from turnwire.cli.terminal.words import plain

if TYPE_CHECKING:
    from turnwire.ports import InboxItem

__all__ = ["command"]


@click.group("inbox", invoke_without_command=True, subcommand_metavar="[answer ID [ANSWER]]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per item.")
@where_options
@click.pass_context
def command(ctx: click.Context, *, home: Home, as_json: bool) -> None:
    """List the open questions and permissions.

    The oldest comes first. `turnwire inbox answer` is the same as `turnwire answer`.
    """
    if ctx.invoked_subcommand is not None:
        ctx.obj = home
        return
    try:
        items, unnamed = run_async(_items(home))
    except NothingYet:
        items, unnamed = [], set()
    if as_json:
        import msgspec

        for item in items:
            click.echo(msgspec.json.encode(item))
    elif not items:
        click.echo("Nothing waits for an answer.")
    else:
        _print(items, home, unnamed)


command.add_command(answer)


async def _items(home: Home) -> tuple[list[InboxItem], set[str]]:
    """Returns what waits, and the conversations whose agent the next command has to be told of."""
    from turnwire.server.discovery import find_server

    if home.far is not None:
        return await items_there(client_of(home)), set()
    async with home.store() as store:
        items = await store.inbox()
        rows = [await store.conversation(name) for name in {each.conversation_id for each in items}]
        # The requests of a killed process have ended, except for questions.
        open_ids = {
            (row.conversation_id, request.request_id)
            for row in rows
            if row is not None
            for request in true_row(row).state.requests
        }
    waiting = [
        each for each in items if (each.conversation_id, each.request.request_id) in open_ids
    ]
    served: dict[str, bool] | None = {}
    if waiting and find_server(home.path) is not None:
        served = await agents_there(home)
    if served is None:
        return waiting, set()
    return waiting, {
        row.conversation_id
        for row in rows
        if row is not None and row.agent not in served and _is_unnamed(row.agent)
    }


def _is_unnamed(agent: str) -> bool:
    """Returns whether an agent is none of Turnwire's own, and no setting says where one is."""
    from turnwire.agents import registry
    from turnwire.settings import read_settings

    settings, _ = read_settings()
    named = any(":" in each for each in (settings.agent, *settings.agents))
    return not named and agent not in {*registry.names(), *registry.missing_programs()}


def _print(items: list[InboxItem], home: Home, unnamed: set[str]) -> None:
    from rich.text import Text

    from turnwire.cli.live.requests import (
        example_of,
        permission_lines,
        question_lines,
        rules_of,
    )
    from turnwire.cli.terminal.table import Page, ago

    page = Page()
    for number, item in enumerate(items):
        if number:
            page.line()
        head = Text.assemble((item.conversation_id, "bold"), "  ", plain(item.title or ""))
        page.line(head, ago(item.created_at))
        request = item.request
        asked = request.kind == "question"
        home.agent = "module:attribute" if item.conversation_id in unnamed else ""
        for line in (
            question_lines(request.questions, request.input) if asked else permission_lines(request)
        ):
            page.words(line, 2)
        words = ["answer", item.conversation_id]
        several = sum(other.conversation_id == item.conversation_id for other in items) > 1
        words += ["--question-id", request.request_id] if several else []
        if asked:
            example, other = example_of(request.questions)
            hint = (f"  ({other})" if other else "", "dim")
            page.words(
                Text.assemble(("Answer it: ", "dim"), home.command(*words, example), hint), 2
            )
        else:
            page.words(Text.assemble(("Allow it: ", "dim"), home.command(*words, "y")), 2)
            page.words(Text.assemble(("Deny it: ", "dim"), home.command(*words, "n")), 2)
            if request.suggestions:
                page.words(Text.assemble(("Always: ", "dim"), home.command(*words, "a")), 2)
            if request.decision_only:
                for number, rule in enumerate(request.suggestions[1:], 2):
                    command = home.command(*words, f"a{number}")
                    page.words(Text.assemble((f"Always ({rules_of([rule])}): ", "dim"), command), 2)
