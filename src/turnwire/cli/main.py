"""`turnwire`: imports and runs the command, and prints errors as one line."""

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

# The summaries are repeated here, so that listing the commands does not import them.
COMMANDS = {
    "run": "Run one turn of an agent, and show it as it happens.",
    "answer": "Answer an open question or permission.",
    "inbox": "List the open questions and permissions.",
    "rules": "List the remembered permissions, and take them back.",
    "list": "List the conversations, the newest first.",
    "show": "Print a conversation.",
    "rename": "Change the title of a conversation.",
    "archive": "Move a conversation to the archive.",
    "share": "Print a link that shows a conversation, read-only.",
    "delete": "Delete a conversation for good.",
    "fork": "Create a conversation from the first entries of another one.",
    "search": "Search the messages of people, agents and tools.",
    "export": "Write a conversation to a file, or print it.",
    "import": "Import an exported file, or sessions of Claude Code or Codex.",
    "backup": "Copy all conversations into one file.",
    "copy": "Copy all conversations into another store.",
    "db": "Create or update the tables of a PostgreSQL database.",
    "agents": "List the agents: what each can do, and what is missing to use it.",
    "new": "Write the files of a small project that runs.",
    "serve": "Serve conversations over HTTP and WebSockets.",
    "nodes": "List the processes that run conversations, and their load.",
    "chat": "Talk to an agent on the server.",
    "open": "Open the page in a browser.",
    "tail": "Follow a conversation on the server.",
    "token": "Create, list and revoke tokens for the server.",
    "audit": "Print the audit trail: who did what, and when.",
    "doctor": "Check this machine, and show every setting.",
    "fsck": "Look for damage in the log, and repair it.",
    "completion": "Print a script for completion in bash, zsh or fish.",
    "convert": "Translate a recorded stream into another vocabulary.",
    "inspect": "Print a summary of a recorded stream.",
    "schema": "Print or write the JSON Schema of every vocabulary.",
    "validate": "Check recorded streams and their translations.",
}

_AGENTS = ("TURNWIRE_AGENT", "TURNWIRE_AGENTS")


def module_of(command: str) -> str:
    """Returns the module of a command. A Python keyword gets an underscore: `import_`."""
    return f"turnwire.cli.commands.{command}{'_' if iskeyword(command) else ''}"


class Failure(click.ClickException):
    """An error message: the cause, then what to do next."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Prints the message without the usage that click would print first."""
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
        if sys.stdout is None:  # Python sets None if the stream is closed
            raise Failure("standard output is closed. Redirect it to a file: > FILE")
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # its encoding may lack some characters
        if agents := "".join(os.environ.get(name, "") for name in _AGENTS):
            from turnwire.cli.options import look_here

            look_here(agents)
        try:
            return super().invoke(ctx)
        except TurnwireError as error:
            message = error.message
            if error.code in ("STORAGE_UNAVAILABLE", "UNREACHABLE", "UNAUTHORIZED"):
                message = f"{message.rstrip('.')}. {error.what_to_do}".rstrip()
            raise Failure(message) from None
        except KeyboardInterrupt:
            ctx.exit(130)  # 128 + SIGINT, as shells count
        except BrokenPipeError:
            _forget_stdout()
            ctx.exit(141)  # 128 + SIGPIPE: the reader of the pipe has closed it
        except OSError as error:  # a write error: a read error has become UnreadableInput
            _forget_stdout()
            what = error.filename or "the output"
            cause = error.strerror or str(error)
            raise Failure(f"cannot write {what}: {cause}. Name another file or disk.") from None


def _forget_stdout() -> None:
    """Discards buffered output. Otherwise Python reports an error at exit."""
    with suppress(OSError):  # no real file, in a test
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="turnwire", message="%(prog)s %(version)s")
def main() -> None:
    """Durable conversations between people and agents.

    Talk to agents, answer their questions, and keep every conversation in a log. Also convert, check
    and summarize the recorded stream of an agent: JSON lines in a file, or - for standard input.

    \b
    Try:
      turnwire run "show me everything"
      turnwire serve, and turnwire chat in a second terminal
      turnwire agents
      turnwire list
      turnwire inspect session.jsonl
      turnwire validate recorded/*.jsonl
      claude -p "hello" --verbose --output-format stream-json \\
        | turnwire convert --to rpc -
    """
