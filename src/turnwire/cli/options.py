"""Arguments and options that several commands share."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

import click

from turnwire.cli.completing import complete_file

__all__ = [
    "dialect_option",
    "file_argument",
    "files_argument",
    "look_here",
    "max_line_option",
    "named_agent",
    "typed",
]

# Not click.Path: the command opens the file itself and explains errors better.
file_argument = click.argument("file", shell_complete=complete_file)
files_argument = click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, shell_complete=complete_file
)


def typed(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Returns a message for an agent. Bytes that are not UTF-8 become U+FFFD, as in piped input."""
    return None if value is None else os.fsencode(value).decode(errors="replace")


def named_agent(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Returns the agent of --agent. Its module may be in the current directory."""
    look_here(value)
    return value


def look_here(agents: str | None) -> None:
    """Lets the module of an agent that a person has named be in the current directory.

    Only for names of the command line and the environment: a turnwire.toml in the current directory
    may come from others.
    """
    if ":" in (agents or ""):
        with suppress(OSError):  # the current directory may have been deleted
            here = str(Path.cwd())
            if here not in sys.path:
                sys.path.append(here)  # last, so that no file here hides an installed module


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
