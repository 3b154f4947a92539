"""Progress bars for long work, on standard error if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from turnwire.cli.recordings.recording import Entry, Recording

__all__ = [
    "batches_with_progress",
    "copying",
    "counting",
    "counting_of_total",
    "reading",
    "steps",
    "with_progress",
]

_T = TypeVar("_T")

_LARGE = 8_000_000  # bytes; a smaller file is read before a person could see a bar
_MANY = 20_000  # entries of a log, for the same reason


def batches_with_progress(recording: Recording, *, hidden: bool = False) -> Iterator[list[Entry]]:
    """Yields the batches of a recording, and shows a bar if the file is large."""
    return with_progress(recording, recording.batches(), hidden=hidden)


def with_progress(
    recording: Recording, batches: Iterable[_T], *, hidden: bool = False
) -> Iterator[_T]:
    """Yields batches that are read from a recording, and shows a bar if the file is large."""
    size = recording.size or 0
    is_shown = size > _LARGE and not hidden
    with _bar(recording.name.rpartition("/")[2], size, is_shown, in_bytes=True) as update:
        for batch in batches:
            yield batch
            update(recording.position)


@contextmanager
def counting(what: str, total: int, *, hidden: bool = False) -> Iterator[Callable[[int], None]]:
    """Shows a bar for many entries. Yields a function that takes the number of finished entries."""
    with _bar(what, total, total > _MANY and not hidden) as update:
        yield update


@contextmanager
def counting_of_total(what: str, *, hidden: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Shows a bar for many entries. Yields a function that takes the finished entries and all."""
    with ExitStack() as bar:
        update: Callable[[int], None] | None = None

        def count(done: int, total: int) -> None:
            nonlocal update
            if update is None:
                update = bar.enter_context(counting(what, total, hidden=hidden))
            update(done)

        yield count


@contextmanager
def reading(path: Path) -> Iterator[Callable[[int], None]]:
    """Shows a bar for a large file. Yields a function that takes the bytes read since its last call."""
    size, done = path.stat().st_size, 0
    with _bar(path.name, size, size > _LARGE, in_bytes=True) as update:

        def advance(read: int) -> None:
            nonlocal done
            done += read
            update(done)

        yield advance


@contextmanager
def copying(source: Path, target: Path) -> Iterator[None]:
    """Shows a spinner while SQLite copies a large database."""
    parts = (source, source.with_name(f"{source.name}-wal"))  # the newest data may be in the WAL
    size = sum(part.stat().st_size for part in parts if part.exists())
    if size <= _LARGE or not _on_screen():
        yield
        return

    from rich.console import Console

    with Console(stderr=True).status(f"copying to {target.name}"):
        yield


@contextmanager
def steps(*, hidden: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """Shows a bar for work in several steps. Yields a function: step, done, total."""
    if hidden or not _on_screen():
        yield lambda step, done, total: None
        return

    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(compact=True),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("")
        yield lambda step, done, total: bar.update(
            task, description=step, completed=done, total=total
        )


@contextmanager
def _bar(
    what: str, total: int, is_shown: bool, *, in_bytes: bool = False
) -> Iterator[Callable[[int], None]]:
    """Shows a bar and removes it at the end, so that only the output stays."""
    if not is_shown or not _on_screen():
        yield lambda done: None
        return

    from rich import progress
    from rich.console import Console

    left = progress.TimeRemainingColumn(compact=True)
    amount = progress.DownloadColumn() if in_bytes else progress.TaskProgressColumn()
    columns = (progress.TextColumn("{task.description}"), progress.BarColumn(), amount, left)
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


def _on_screen() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()  # None if it is closed
