"""How a function of the application is called: in time or not at all, and never in the way of others."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from importlib import import_module
from typing import Any

__all__ = ["Broke", "TookTooLong", "call_within", "find", "writable"]

_left: set[asyncio.Future[Any]] = set()  # what nobody waits for any more, until it ends


class TookTooLong(Exception):
    """The function did not come back in its time. It may still be at it."""


class Broke(Exception):
    """The function ended in a way that would have ended this program, or its own task."""


async def call_within(seconds: float | None, function: Callable[..., Any], *given: Any) -> Any:
    """What the function returns; a plain one runs in a thread of its own, so that nothing stands still.

    Raises TookTooLong when its time is over, whatever it does then: one that does not let itself be
    cancelled is left alone.
    """
    work = asyncio.ensure_future(_call(function, given))
    try:
        done, _ = await asyncio.wait({work}, timeout=seconds)
    except asyncio.CancelledError:
        _leave(work)
        raise
    if not done:
        _leave(work)
        raise TookTooLong
    if work.cancelled():
        raise Broke("it was cancelled")
    return work.result()


async def _call(function: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    try:
        if _is_async(function):
            return await function(*given)
        said = await _in_thread(function, given)
        return await said if inspect.isawaitable(said) else said
    except (SystemExit, KeyboardInterrupt) as leaving:
        raise Broke(f"it raised {type(leaving).__name__}") from leaving


def _is_async(function: Callable[..., Any]) -> bool:
    called = getattr(function, "__call__", None)  # noqa: B004  (an object may have an async one)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


async def _in_thread(function: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    """Not in the threads that all share: one that hangs would be missing there."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Any] = loop.create_future()
    context = copy_context()

    def settle(result: Any, problem: BaseException | None) -> None:
        if answer.done():
            return
        if problem is None:
            answer.set_result(result)
        else:
            answer.set_exception(problem)

    def run() -> None:
        result: Any = None
        problem: BaseException | None = None
        try:
            result = context.run(function, *given)
        except StopIteration as odd:  # which no future takes
            problem = Broke(f"it raised {type(odd).__name__}")
        except BaseException as error:
            problem = error
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(settle, result, problem)

    name = getattr(getattr(function, "func", function), "__name__", "function")
    threading.Thread(target=run, name=f"turnwire {name}", daemon=True).start()
    return await answer


def _leave(work: asyncio.Future[Any]) -> None:
    work.cancel()
    _left.add(work)
    work.add_done_callback(_forget)


def _forget(work: asyncio.Future[Any]) -> None:
    _left.discard(work)
    if not work.cancelled():
        work.exception()  # nobody wants to know, but asyncio would say that nobody asked


def writable(words: str) -> str:
    """The same without halves of characters, which cannot be written."""
    return words.encode(errors="replace").decode()


def find(name: str, kind: str) -> Any:
    """What a `module:attribute` is. Raises ValueError, which says what is wrong with the name."""
    module, _, attribute = name.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        said = f"The {kind} {name!r} cannot be imported: {error}."
        raise ValueError(f"{said} Name it as module:attribute.") from error
