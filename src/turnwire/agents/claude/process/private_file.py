"""A file for one program that nobody can find, and that no crash can leave behind."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["private_file"]


@contextmanager
def private_file(content: bytes) -> Iterator[int]:
    """An open file that has no name: in memory where the machine can, else removed at once.

    Whoever is started with it reads it as `/dev/fd/NUMBER`. Raises OSError.
    """
    if sys.platform == "linux":
        file = open(os.memfd_create("turnwire"), "w+b", buffering=0)  # noqa: PTH123, SIM115
    else:
        file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
    with file:
        file.write(content)
        file.seek(0)
        yield file.fileno()
