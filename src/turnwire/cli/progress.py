"""A progress bar, for people who wait for a large file."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

from turnwire.cli.recording import Entry, Recording

__all__ = ["batches_with_progress", "with_progress"]

_T = TypeVar("_T")

_LARGE = 8_000_000  # bytes; anything smaller is done before a bar could be read


def batches_with_progress(recording: Recording, *, hidden: bool = False) -> Iterator[list[Entry]]:
    """The recording's batches, with a bar on stderr if that is a terminal and the file is large."""
    return with_progress(recording, recording.batches(), hidden=hidden)


def with_progress(
    recording: Recording, batches: Iterable[_T], *, hidden: bool = False
) -> Iterator[_T]:
    """The same for batches that are made of it in another way."""
    size = recording.size
    on_screen = sys.stderr is not None and sys.stderr.isatty()  # None where it is closed
    if hidden or size is None or size <= _LARGE or not on_screen:
        yield from batches
        return

    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(compact=True),
        console=Console(stderr=True),
        transient=True,  # gone when it is done: the output is what stays
    )
    with bar:
        task = bar.add_task(recording.name.rpartition("/")[2], total=size)
        for batch in batches:
            yield batch
            bar.update(task, completed=recording.position)
