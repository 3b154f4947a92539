"""`turnwire new`: writes the files of a small project that runs."""

from __future__ import annotations

import shlex
import sys
from importlib import resources
from keyword import iskeyword
from pathlib import Path

import click

from turnwire.cli.completing import complete_directory
from turnwire.cli.terminal.words import plain
from turnwire.errors import TurnwireError

__all__ = ["command"]

_NAME = "waiter"  # in the templates; the name of the new agent replaces it
_AGENT = {"waiter.py": "waiter.py.txt", "check.py": "check.py.txt"}
_FILES = {
    "agent": {**_AGENT, "README.md": "agent.md.txt"},
    "app": {
        **_AGENT,
        "app.py": "app.py.txt",
        "page.html": "page.html.txt",
        "README.md": "app.md.txt",
    },
}
_NEXT = {
    "agent": [
        "python check.py",
        "export TURNWIRE_AGENT=waiter:waiter",
        'turnwire run "One soup, please"',
    ],
    "app": [
        "# Not published yet: in a virtual environment of your own,",
        "pip install '/path/to/clone[server]' fastapi",
        "python -m uvicorn app:app --port 8000",
    ],
}
_TAKEN = {"app", "check", "page", "turnwire", "fastapi", "uvicorn"}  # modules that the files import


@click.command("new")
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    shell_complete=complete_directory,
    help="The directory to write into.  [default: NAME in this directory]",
)
@click.argument("kind", type=click.Choice([*_FILES]), metavar="agent|app")
@click.argument("name")
def command(*, kind: str, name: str, folder: Path | None) -> None:
    """Write the files of a small project that runs.

    \b
    agent  an agent in one file, and its check
    app    the same, with a FastAPI application and a page

    NAME is the name of the agent and of its Python module. Files that exist are never overwritten.
    """
    _check_name(name)
    target = Path(name) if folder is None else folder.expanduser()
    texts = {
        file.replace(_NAME, name): _template(source).replace(_NAME, name)
        for file, source in _FILES[kind].items()
    }
    _write(target, texts)
    click.echo(f"Wrote {', '.join(texts)} into {plain(str(target))}. Next:\n")
    for line in [shlex.join(["cd", str(target)]), *_NEXT[kind]]:
        click.echo(f"  {line.replace(_NAME, name)}")


def _check_name(name: str) -> None:
    """Raises TurnwireError if no module can have this name, or if another one has it."""
    if not name.isascii() or not name.isidentifier() or iskeyword(name):
        if iskeyword(name):
            said = f"{name!r} cannot be the name of a Python module: Python reserves this word."
            raise TurnwireError(f"{said} Try {name.lower()}_agent.")
        better = "".join(
            letter if letter.isascii() and letter.isalnum() else "_" for letter in name
        )
        better = better.strip("_").lower()
        is_name = better.isidentifier() and not iskeyword(better)
        hint = f" Try {better}." if is_name else " Use letters, digits and underscores."
        raise TurnwireError(f"{plain(name)!r} cannot be the name of a Python module.{hint}")
    if name in _TAKEN or name in sys.stdlib_module_names:
        raise TurnwireError(f"{name!r} is the name of another module. Try {name}_agent.")


def _template(source: str) -> str:
    return (resources.files("turnwire.cli.project") / source).read_text(encoding="utf-8")


def _write(folder: Path, texts: dict[str, str]) -> None:
    """Writes all files, or none: raises TurnwireError if one exists or the directory is a file."""
    if folder.exists() and not folder.is_dir():
        raise TurnwireError(f"{folder} is a file. Name another directory with --dir.")
    existing = [file for file in texts if (folder / file).exists() or (folder / file).is_symlink()]
    if existing:
        raise TurnwireError(
            f"{folder} has {', '.join(existing)} already, and no file is overwritten. "
            "Name another directory with --dir."
        )
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        with (folder / file).open("x", encoding="utf-8") as opened:
            opened.write(text)
