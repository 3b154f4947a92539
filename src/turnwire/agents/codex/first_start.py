"""The first start of Codex in a CODEX_HOME: it makes a database there, which it can only do alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from weakref import WeakKeyDictionary

__all__ = ["first_alone"]

_Locks = dict[Path, asyncio.Lock]

_ready: set[Path] = set()  # homes in which this process has started Codex
_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, _Locks] = WeakKeyDictionary()


@asynccontextmanager
async def first_alone(home: Path) -> AsyncIterator[None]:
    """Lets one start of Codex in at a time, until one has succeeded. From then on all, at once."""
    async with AsyncExitStack() as held:
        if home not in _ready:
            locks = _locks.setdefault(asyncio.get_running_loop(), {})
            await held.enter_async_context(locks.setdefault(home, asyncio.Lock()))
        if home in _ready:
            await held.aclose()
        yield
        _ready.add(home)
