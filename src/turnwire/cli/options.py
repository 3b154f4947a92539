"""Arguments and options that several commands share."""

from __future__ import annotations

import os

import click

__all__ = [
    "dialect_option",
    "file_argument",
    "files_argument",
    "max_line_option",
    "typed",
]

# Not click.Path: the command opens the file itself and explains errors better.
file_argument = click.argument("file")
files_argument = click.argument("files", metavar="FILE...", nargs=-1, required=True)


def typed(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Returns a message for an agent. Bytes that are not UTF-8 become U+FFFD, as in piped input."""
    return None if value is None else os.fsencode(value).decode(errors="replace")


dialect_option = click.option(
    "--from",
    "source",
    type=click.Choice(["claude", "acp", "codex"]),
    default="claude",
    show_default=True,
    help="The agent that wrote the stream. acp: any agent of the Agent Client Protocol.",
)

max_line_option = click.option(
    "--max-line",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    metavar="MIB",
    help="Skip lines longer than this.",
)
