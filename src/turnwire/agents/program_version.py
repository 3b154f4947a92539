"""Asks an installed program for its version."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

__all__ = ["program_version"]

_SECONDS = 5.0  # a program that takes longer has no version
_VERSION = re.compile(rb"\d+\.\d+[\w.+-]*")
_known: dict[tuple[str, int], str | None] = {}  # by path and time of the last change


async def program_version(program: str, env: Mapping[str, str]) -> str | None:
    """Returns the version that `program --version` prints. Returns None if it prints none.

    Starts a program once, and again only when its file has changed.
    """
    key = (program, _changed_at(program))
    if key not in _known:
        _known[key] = await _ask(program, env)
    return _known[key]


def _changed_at(program: str) -> int:
    """Returns the time of the last change of a file, or 0 if the file does not exist."""
    try:
        return Path(program).stat().st_mtime_ns
    except OSError:
        return 0


async def _ask(program: str, env: Mapping[str, str]) -> str | None:
    try:
        process = await asyncio.create_subprocess_exec(
            *(program, "--version"),
            env=dict(env),
            cwd="/",
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(_SECONDS):
            printed, _ = await process.communicate()
    except TimeoutError:
        return None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # also what it has started
        await process.wait()
    found = _VERSION.search(printed)
    return found.group().decode() if found else None
