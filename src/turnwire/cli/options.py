"""Arguments that several commands share."""

from __future__ import annotations

import os

import click

__all__ = ["file_argument", "files_argument", "from_option", "max_line_option", "typed"]

# Plain text rather than click.Path: we open it ourselves, and say more about what went wrong.
file_argument = click.argument("file")
files_argument = click.argument("files", metavar="FILE...", nargs=-1, required=True)


def typed(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Words for an agent: bytes that are no text become U+FFFD, as in what is piped in."""
    return None if value is None else os.fsencode(value).decode(errors="replace")


from_option = click.option(
    "--from",
    "source",
    type=click.Choice(["claude"]),
    default="claude",
    show_default=True,
    help="Whose stream it is.",
)

max_line_option = click.option(
    "--max-line",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    metavar="MIB",
    help="Pass by lines longer than this.",
)
