"""The data directory of a command, and the database in it."""

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

from turnwire.cli.completing import complete_directory
from turnwire.data_dir import cannot_use, cause_of, check_data_dir, make_data_dir
from turnwire.errors import TurnwireError

if TYPE_CHECKING:  # importing the store is slow, and `--help` does not need it
    from turnwire.ports import Store

__all__ = [
    "STORE_HELP",
    "Far",
    "Home",
    "NothingYet",
    "data_dir_option",
    "directory",
    "program",
    "run_async",
]

T = TypeVar("T")

_DATABASE = "turnwire.db"
_VARIABLE = "TURNWIRE_DATA_DIR"
_AGENT = "TURNWIRE_AGENT"
_STORE = "turnwire.store"  # the value of --store, until the other options are read
STORE_HELP = (
    "A PostgreSQL database instead of a file: postgresql://user@host/database; also TURNWIRE_STORE."
    " Its password comes from PGPASSWORD or ~/.pgpass."
)


class NothingYet(TurnwireError):
    """The data directory has no database yet."""

    code = "CONVERSATION_NOT_FOUND"


class Far(NamedTuple):
    """A server that --server or TURNWIRE_URL names, instead of the one of the data directory."""

    url: str
    token: str
    words: list[str]  # the options that name it again in a suggested command


class Home:
    """A data directory, created when the first conversation is stored.

    `far` is the named server, if the command uses one.
    """

    def __init__(
        self, given: Path | None = None, far: Far | None = None, store: str | None = None
    ) -> None:
        from turnwire.settings import read_settings

        settings = read_settings({"store": store})[0]
        self.given = given
        self.path = (given or settings.data_path).expanduser()
        self.address = settings.store  # of a database; empty: the file in the data directory
        self.far = far
        self.agent = ""  # `module:attribute`, if the next command has to be told where it is
        self._store = store

    @property
    def database(self) -> Path:
        """Returns the path of the database."""
        return self.path / _DATABASE

    @property
    def place(self) -> str:
        """Returns where the conversations are kept, as it may be shown."""
        from turnwire.stores.address import shown

        return shown(self.address) if self.address else str(self.path)

    def command(self, *words: str) -> str:
        """Returns a command line that a person can type next, with the options of this one."""
        here = os.environ.get(_VARIABLE)
        given = self.given
        moved = given is not None and (here is None or Path(here) != given)
        place = ["--data-dir", str(given.expanduser().absolute())] if given and moved else []
        place += ["--store", self._store] if self._store else []
        place += self.far.words if self.far is not None else []
        typed = shlex.join([program(), *words[0].split(), *place, *words[1:]])
        is_known = os.environ.get(_AGENT) == self.agent or not self.agent
        return typed if is_known else f"{_AGENT}={shlex.quote(self.agent)} {typed}"

    @asynccontextmanager
    async def store(self, *, create: bool = False) -> AsyncIterator[Store]:
        """Opens the database. Raises NothingYet if it does not exist, unless `create` is set."""
        from turnwire.ports import StorageUnavailable
        from turnwire.stores.open_store import open_store

        if self.address:
            if create:  # programs keep other files there
                make_data_dir(self.path)
            async with open_store(self.address) as opened:
                yield opened
            return
        if create:
            make_data_dir(self.path)
        elif not self._is_there():
            start = self.command("run", "hello")
            raise NothingYet(f"There are no conversations in {self.path} yet. Start one: {start}")
        else:
            check_data_dir(self.path)
        try:
            store = await open_store(self.database)
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
    """Returns how to type this program: `turnwire`, or its path if the shell would not find it."""
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
    """Returns the data directory of turnwire.toml, or the default one of this user."""
    from turnwire.settings import read_settings

    return read_settings()[0].data_path


def _home(ctx: click.Context, param: click.Parameter, value: Path | None) -> Home:
    return Home(value, store=ctx.meta.get(_STORE))


def _keep_store(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    ctx.meta[_STORE] = value


def data_dir_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --data-dir and --store to a command, which gets a `Home` for both."""
    return _data_dir(_store(command))


_store: Callable[[Callable[..., Any]], Callable[..., Any]] = click.option(
    "--store",
    is_eager=True,  # read before --data-dir, which makes the home
    expose_value=False,
    callback=_keep_store,
    metavar="URL",
    help=STORE_HELP,
)
_data_dir: Callable[[Callable[..., Any]], Callable[..., Any]] = click.option(
    "--data-dir",
    "home",
    envvar=_VARIABLE,
    type=click.Path(path_type=Path, readable=False),  # checked when the database is opened
    callback=_home,
    metavar="DIR",
    shell_complete=complete_directory,
    help=f"The data directory; also {_VARIABLE}.  [default: turnwire in this user's data directory]",
)


def directory(cwd: str | None) -> str:
    """Returns the directory of `--cwd`, or this one, as an absolute path. Raises TurnwireError."""
    try:
        path = Path(cwd or ".").expanduser().absolute()
    except FileNotFoundError:
        raise TurnwireError("the current directory was deleted. Change to another one.") from None
    if not path.is_dir():
        raise TurnwireError(f"{path} is not a directory. Create it, or name another with --cwd.")
    return str(path)


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine in a new event loop that Ctrl-C always wakes.

    A loop without a signal handler notices Ctrl-C only when Python code runs. A Ctrl-C just before
    the loop blocks, or in another thread, would be noticed too late.
    """
    import asyncio
    import signal

    with asyncio.Runner() as runner:
        runner.get_loop().add_signal_handler(signal.SIGCONT, lambda: None)  # any signal works
        return runner.run(work)
