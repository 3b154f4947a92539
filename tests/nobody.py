"""Root may do everything, so where a test is about what may not be done it is somebody else."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["nobody_in_particular", "open_to_all"]

_NOBODY = 65534


@contextmanager
def nobody_in_particular() -> Iterator[None]:
    """Without a right to anything, for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def open_to_all() -> Iterator[Path]:
    """A directory that anybody may look into, gone when the block is left."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        yield Path(place)
