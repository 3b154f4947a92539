"""`turnwire completion`: prints a script with which a shell completes commands."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

__all__ = ["command"]

_PROGRAM, _VARIABLE = "turnwire", "_TURNWIRE_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="bash|zsh|fish")
@click.pass_context
def command(ctx: click.Context, *, shell: str) -> None:
    """Print a script for completion in bash, zsh or fish.

    Commands, options, agents and ids of conversations are completed.

    \b
    bash: add to ~/.bashrc
      eval "$(turnwire completion bash)"
    zsh: add to ~/.zshrc, after compinit
      eval "$(turnwire completion zsh)"
    fish:
      turnwire completion fish > ~/.config/fish/completions/turnwire.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    complete = kind(ctx.find_root().command, {}, _PROGRAM, _VARIABLE)
    # Not `source()`: it starts bash to check the version, and other shells not at all.
    click.echo(complete.source_template % complete.source_vars())
