"""Progress bars for what takes long, on standard error if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["copying", "counting", "reading"]

_LARGE = 8_000_000  # bytes; anything smaller is done before a bar could be read
_MANY = 20_000  # entries of a log, likewise


@contextmanager
def counting(what: str, total: int, *, hidden: bool = False) -> Iterator[Callable[[int], None]]:
    """A bar for many entries; tell it how many are done."""
    if hidden or total <= _MANY or not _on_screen():
        yield lambda done: None
        return

    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def reading(path: Path) -> Iterator[Callable[[int], None]]:
    """A bar for a large file; tell it how many bytes were read since."""
    size = path.stat().st_size
    if size <= _LARGE or not _on_screen():
        yield lambda read: None
        return

    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(path.name, total=size)
        yield lambda read: bar.advance(task, read)


@contextmanager
def copying(source: Path, target: Path) -> Iterator[None]:
    """A sign of life while a large file is copied by somebody else."""
    parts = (source, source.with_name(f"{source.name}-wal"))  # the newest may be beside it
    size = sum(part.stat().st_size for part in parts if part.exists())
    if size <= _LARGE or not _on_screen():
        yield
        return

    from rich.console import Console

    with Console(stderr=True).status(f"copying to {target.name}"):
        yield


def _on_screen() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()  # None where it is closed
