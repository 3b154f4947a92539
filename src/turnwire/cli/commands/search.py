"""`turnwire search`: finds words in the messages of all conversations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from turnwire.cli.home import Home, NothingYet, data_dir_option, run_async
from turnwire.cli.terminal.words import plain
from turnwire.errors import TurnwireError

if TYPE_CHECKING:
    from rich.text import Text

    from turnwire.ports import Hit

__all__ = ["command"]

_MARKED = re.compile("\x02(.*?)\x03")


@click.command("search")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    metavar="N",
    help="Maximum number of results.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per result.")
@data_dir_option
@click.argument("words", nargs=-1, required=True)
def command(*, home: Home, words: tuple[str, ...], limit: int, as_json: bool) -> None:
    """Search the messages of people, agents and tools.

    A message is found if it contains all WORDS, or longer words that begin with them. The newest
    message comes first.
    """
    wanted = " ".join(words)
    if not any(map(str.isalnum, wanted)):
        raise TurnwireError("the search has no letter or digit. Give at least one word.")
    try:
        hits = run_async(_hits(home, wanted, limit))
    except NothingYet:
        hits = []
    _tell_ignored(wanted)
    if as_json:
        import msgspec

        for hit in hits:
            click.echo(msgspec.json.encode(_facts(hit)))
    elif not hits:
        click.echo(
            f"No message contains {plain(wanted)!r}. Try fewer words, or the beginning of one."
        )
    else:
        _print(hits, home)


def _tell_ignored(words: str) -> None:
    """Says on standard error how many words of a long search were ignored."""
    from turnwire.stores.query import MOST_WORDS, Query

    if ignored := Query(words).ignored:
        click.echo(
            f"Searched for the first {MOST_WORDS} words; {ignored} more were ignored.", err=True
        )


async def _hits(home: Home, words: str, limit: int) -> list[Hit]:
    async with home.store() as store:
        return await store.search(words, limit=limit)


def _facts(hit: Hit) -> dict[str, Any]:
    """Returns a result as the fields of its JSON line. `found` has the positions of the words."""
    marks: list[list[int]] = []
    for found in _MARKED.finditer(hit.snippet):
        start = found.start() - 2 * len(marks)
        marks.append([start, start + len(found[1])])
    return {
        "conversation_id": hit.conversation_id,
        "sequence": hit.sequence,
        "title": hit.title,
        "snippet": _MARKED.sub(r"\1", hit.snippet),
        "found": marks,
        "timestamp": hit.timestamp,
    }


def _print(hits: list[Hit], home: Home) -> None:
    from rich.text import Text

    from turnwire.cli.terminal.table import Page, ago

    page = Page()
    last = None
    for hit in hits:
        if hit.conversation_id != last:
            if last is not None:
                page.line()
            page.line(
                Text.assemble((hit.conversation_id, "bold"), "  ", plain(hit.title or "")),
                ago(hit.timestamp),
            )
            last = hit.conversation_id
        page.words(Text.assemble((f"{hit.sequence:>4}  ", "dim"), _marked(hit.snippet)), 2)
    click.echo()
    page.words(
        Text.assemble(
            ("See a conversation: ", "dim"), home.command("show", hits[0].conversation_id)
        )
    )


def _marked(snippet: str) -> Text:
    from rich.text import Text

    from turnwire.cli.terminal.visible import safe

    shown = Text()
    at = 0
    for found in _MARKED.finditer(snippet):
        shown.append(safe(snippet[at : found.start()]))
        shown.append(safe(found[1]), "bold yellow")
        at = found.end()
    shown.append(safe(snippet[at:]))
    return shown
