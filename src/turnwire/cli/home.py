"""Where conversations are kept: the data directory, and the database in it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from turnwire.data_dir import cannot_use, cause_of, check_data_dir, make_data_dir
from turnwire.errors import TurnwireError

if TYPE_CHECKING:  # the store is heavy, and `--help` needs none
    from turnwire.stores.sqlite import SqliteStore

__all__ = ["Far", "Home", "NothingYet", "data_dir_option", "directory", "program", "run_async"]

T = TypeVar("T")

_DATABASE = "turnwire.db"
_VARIABLE = "TURNWIRE_DATA_DIR"


class NothingYet(TurnwireError):
    """There is no database: nobody has said anything yet."""

    code = "CONVERSATION_NOT_FOUND"


class Far(NamedTuple):
    """A server that was named, instead of the one of a data directory."""

    url: str
    token: str
    words: list[str]  # what has to be typed to name it again


class Home:
    """A data directory. It is made when something is to be kept in it.

    `far`: what is talked to is not found there, but was named.
    """

    def __init__(self, given: Path | None = None, far: Far | None = None) -> None:
        self.given = given
        self.path = (given or default_path()).expanduser()
        self.far = far

    @property
    def database(self) -> Path:
        """The file with everything in it."""
        return self.path / _DATABASE

    def command(self, *words: str) -> str:
        """A command that a person can type to go on here."""
        here = os.environ.get(_VARIABLE)
        given = self.given
        moved = given is not None and (here is None or Path(here) != given)
        place = ["--data-dir", str(given.expanduser().absolute())] if given and moved else []
        place += self.far.words if self.far is not None else []
        return shlex.join([program(), *words[0].split(), *place, *words[1:]])

    @asynccontextmanager
    async def store(self, *, create: bool = False) -> AsyncIterator[SqliteStore]:
        """The database, open. Raises NothingYet where there is none and none is to be made."""
        if create:
            make_data_dir(self.path)
        elif not self._is_there():
            start = self.command("run", "hello")
            raise NothingYet(f"There are no conversations in {self.path} yet. Start one: {start}")
        else:
            check_data_dir(self.path)

        from turnwire.ports import StorageUnavailable
        from turnwire.stores.sqlite import SqliteStore

        try:
            store = await SqliteStore.open(self.database)
        except StorageUnavailable as failure:
            raise cannot_use(f"{self.database}: {_lower(failure.message)}") from failure
        try:
            yield store
        finally:
            await store.close()

    def _is_there(self) -> bool:
        try:
            self.database.stat()
        except FileNotFoundError:
            return False
        except NotADirectoryError:
            raise cannot_use(f"{self.path} is a file, not a directory") from None
        except OSError as failure:
            raise cannot_use(f"cannot look into {self.path}: {cause_of(failure)}") from None
        return True


def program() -> str:
    """This program as it can be typed here: `turnwire`, or where it is if the shell would not know."""
    called = Path(sys.argv[0])
    if called.name != "turnwire" or not called.is_file():
        return "turnwire"
    known = shutil.which("turnwire")
    if known is not None and Path(known).samefile(called):
        return "turnwire"
    path = called.absolute()
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _lower(sentence: str) -> str:
    return f"{sentence[:1].lower()}{sentence[1:]}"


def default_path() -> Path:
    """Where turnwire.toml says, or where programs of this user keep their data."""
    from turnwire.settings import read_settings

    return read_settings()[0].data_path


def _home(ctx: click.Context, param: click.Parameter, value: Path | None) -> Home:
    return Home(value)


data_dir_option: Callable[[Callable[..., Any]], Callable[..., Any]] = click.option(
    "--data-dir",
    "home",
    envvar=_VARIABLE,
    type=click.Path(path_type=Path, readable=False),  # whether it can be read is seen when it is
    callback=_home,
    metavar="DIR",
    help=f"Where conversations are kept; also {_VARIABLE}. Otherwise with this user's data.",
)


def directory(cwd: str | None) -> str:
    """Returns the directory of `--cwd`, or this one, as an absolute path. Raises TurnwireError."""
    try:
        path = Path(cwd or ".").expanduser().absolute()
    except FileNotFoundError:
        raise TurnwireError("this directory is gone. Go to another one.") from None
    if not path.is_dir():
        raise TurnwireError(f"{path} is no directory. Make it, or name another with --cwd.")
    return str(path)


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Do it in an event loop of its own, which Ctrl-C wakes whatever it is at.

    A loop that handles no signal itself hears of Ctrl-C only when Python goes on: one that comes just
    before the loop falls asleep, or to another thread, would be slept through.
    """
    import asyncio
    import signal

    with asyncio.Runner() as runner:
        runner.get_loop().add_signal_handler(signal.SIGCONT, lambda: None)  # any one will do
        return runner.run(work)
