"""An unnamed file for one program: no other process can find it, no crash leaves it on disk."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["private_file"]


@contextmanager
def private_file(content: bytes) -> Iterator[int]:
    """Opens an unnamed file with this content: in memory on Linux, otherwise an unlinked file.

    A process that inherits the descriptor reads the file as `/dev/fd/NUMBER`. Raises OSError.
    """
    if sys.platform == "linux":
        file = open(os.memfd_create("turnwire"), "w+b", buffering=0)  # noqa: PTH123, SIM115
    else:
        file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
    with file:
        file.write(content)
        file.seek(0)
        yield file.fileno()
