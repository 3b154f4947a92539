"""A store that is about to be opened."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, Generic, Protocol, TypeVar

__all__ = ["Opening"]


class _Closes(Protocol):
    async def close(self) -> None: ...


S = TypeVar("S", bound=_Closes)


class Opening(Generic[S]):
    """A store to be opened: await it, or enter it with `async with`."""

    def __init__(self, opened: Callable[[], Awaitable[S]]) -> None:
        self._opened = opened
        self._store: S | None = None

    def __await__(self) -> Generator[Any, None, S]:
        return self._opened().__await__()

    async def __aenter__(self) -> S:
        self._store = await self
        return self._store

    async def __aexit__(self, *_: object) -> None:
        assert self._store is not None
        await self._store.close()
