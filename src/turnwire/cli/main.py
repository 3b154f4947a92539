"""`turnwire`: finds the command, and says in plain words what went wrong."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from importlib import import_module
from keyword import iskeyword
from typing import Any

import click

from turnwire import __version__
from turnwire.errors import TurnwireError

__all__ = ["main"]

# The summaries stand here, so that listing the commands does not import them.
COMMANDS = {
    "run": "Talk to an agent: one turn, as it happens.",
    "answer": "Answer what a conversation waits for.",
    "inbox": "List what waits for an answer, and answer it.",
    "list": "List the conversations, the newest first.",
    "show": "Show a conversation as it was.",
    "fork": "Begin another conversation with the beginning of one.",
    "search": "Find what was said, by people, agents and tools.",
    "export": "Write a conversation to a file, or print it.",
    "import": "Take over an exported file, or Claude Code's own sessions.",
    "backup": "Copy all conversations into one file.",
    "serve": "Serve conversations over HTTP and WebSockets.",
    "chat": "Talk to an agent on the server.",
    "tail": "Show what happens in a conversation on the server, as it happens.",
    "token": "Make, list and revoke tokens for the server.",
    "audit": "Who did what, and when, the oldest first.",
    "doctor": "Check this machine, and show every setting.",
    "fsck": "Look for damage in the log, and repair it.",
    "convert": "Translate a recorded stream into another vocabulary.",
    "inspect": "Sum up a recorded stream for a person to read.",
    "schema": "Print or write the JSON Schema of every vocabulary.",
    "validate": "Check recorded streams and what becomes of them.",
}


def module_of(command: str) -> str:
    """Where a command lives. A word that Python keeps for itself cannot name a module."""
    return f"turnwire.cli.commands.{command}{'_' if iskeyword(command) else ''}"


class Failure(click.ClickException):
    """An error for people: the cause, then the next step."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Print it, without the usage that click would put before it."""
        click.echo(f"turnwire: {self.message}", file=file, err=file is None)


class Commands(click.Group):
    """A group that imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(module_of(cmd_name)).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        if os.environ.get("NO_COLOR"):
            ctx.color = False
        if sys.stdout is None:  # what Python makes of a closed one
            raise Failure("standard output is closed. Send the output somewhere: > FILE")
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # a terminal need not know every letter
        try:
            return super().invoke(ctx)
        except TurnwireError as error:
            message = error.message
            if error.code == "STORAGE_UNAVAILABLE":  # which says only what is wrong
                message = f"{message.rstrip('.')}. See to the disk, then try again."
            raise Failure(message) from None
        except KeyboardInterrupt:
            ctx.exit(130)  # 128 + SIGINT, as shells count
        except BrokenPipeError:
            _forget_stdout()
            ctx.exit(141)  # 128 + SIGPIPE: whoever read along has seen enough
        except OSError as error:  # of reading has become UnreadableInput, so this is of writing
            _forget_stdout()
            what = error.filename or "the output"
            cause = error.strerror or str(error)
            raise Failure(f"cannot write {what}: {cause}. Write it to another place.") from None


def _forget_stdout() -> None:
    """Let what is still buffered go nowhere, or Python complains about it when it exits."""
    with suppress(OSError):  # no real file, in a test
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="turnwire", message="%(prog)s %(version)s")
def main() -> None:
    """Durable conversations between people and agents.

    Talks to agents, keeps what was said, and answers what they ask. Also reads the stream of an
    agent, as JSON lines from a file, or from standard input where the file is -, and translates it,
    checks it or sums it up.

    \b
    Try:
      turnwire run "show me everything"
      turnwire serve, and turnwire chat in a second terminal
      turnwire list
      turnwire inspect session.jsonl
      turnwire validate recorded/*.jsonl
      claude -p "hello" --verbose --output-format stream-json \\
        | turnwire convert --to rpc -
    """
