"""`turnwire rules`: lists the remembered permission rules, and takes them back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from turnwire.cli.changes import Changing
from turnwire.cli.completing import complete_id
from turnwire.cli.conversations import find
from turnwire.cli.home import Home, NothingYet, run_async
from turnwire.cli.remote import client_of
from turnwire.cli.server_options import find_there, where_options
from turnwire.cli.terminal.words import plain
from turnwire.errors import TurnwireError

if TYPE_CHECKING:
    from turnwire.client import RuleInfo

__all__ = ["command"]

_PAGE = 500  # rules that are read together


@click.command("rules")
@click.option("--take-back", "rule", metavar="RULE", help="Take this rule back; needs ID.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per rule.")
@where_options
@click.argument("given_id", metavar="[ID]", required=False, shell_complete=complete_id)
def command(*, home: Home, given_id: str | None, rule: str | None, as_json: bool) -> None:
    """List the remembered permissions, and take them back.

    A permission that was answered with "always" is listed, the newest first. ID is the id
    of a conversation; its first characters are enough. Without it, all conversations are searched.

    \b
    turnwire rules ID --take-back RULE    the agent asks again
    """
    if rule is not None:
        if given_id is None:
            raise click.UsageError(
                "Name the conversation of the rule: turnwire rules ID --take-back"
            )
        name = run_async(_take_back(home, given_id, rule))
        click.echo(f"{name}: the rule {plain(rule)} is taken back. The agent asks again.")
        return
    try:
        rules = run_async(_rules(home, given_id))
    except NothingYet:
        rules = []
    if as_json:
        import msgspec

        for each in rules:
            click.echo(msgspec.json.encode(each))
    elif not rules:
        click.echo("No permission is remembered.")
    else:
        _print(rules, home)


async def _take_back(home: Home, given_id: str, rule: str) -> str:
    known = {each.rule_id for each in await _rules(home, given_id)}
    if rule not in known:
        listing = home.command("rules", given_id)
        raise TurnwireError(f"the conversation has no rule {plain(rule)!r}. List them: {listing}")
    async with Changing.open(home, given_id) as changing:
        await changing.forget_rule(rule)
        return changing.id


async def _rules(home: Home, given_id: str | None) -> list[RuleInfo]:
    if home.far is not None:
        client = client_of(home)
        name = None if given_id is None else (await find_there(client, given_id)).id
        return [rule async for rule in client.rules(name)]
    import msgspec

    from turnwire.client import RuleInfo
    from turnwire.ports import GivenRule

    found: list[GivenRule] = []
    async with home.store() as store:
        if given_id is not None:
            row = await find(store, given_id, home)
            rules = reversed(row.state.rules)
            found = [GivenRule(row.conversation_id, rule, row.title) for rule in rules]
        else:
            while page := await store.rules(limit=_PAGE, offset=len(found)):
                found += page
    return [
        msgspec.convert(
            {
                **msgspec.to_builtins(given.rule),
                "conversation_id": given.conversation_id,
                "title": given.title,
                "same_input": given.rule.input_digest is not None,
            },
            RuleInfo,
        )
        for given in found
    ]


def _print(rules: list[RuleInfo], home: Home) -> None:
    from rich.text import Text

    from turnwire.cli.live.requests import rules_of
    from turnwire.cli.terminal.table import Page, ago

    page = Page()
    for number, rule in enumerate(rules):
        if number:
            page.line()
        name = rule.conversation_id
        head = Text.assemble((name, "bold"), "  ", plain(rule.title or ""))
        page.line(head, ago(rule.given_at))
        exact = " (only the same call)" if rule.same_input else ""
        page.words(Text(f"{rules_of([rule.rule])}{exact}"), 2)
        by = f"given by {rule.by}, " if rule.by else ""
        page.words(Text(plain(f"{by}for {rule.agent}"), style="dim"), 2)
        if rule.kept_by == "agent":
            page.words(Text(plain(f"{rule.agent} keeps this rule itself.")), 2)
        words = home.command("rules", name, "--take-back", rule.rule_id)
        page.words(Text.assemble(("Take it back: ", "dim"), words), 2)
