"""Calls functions of the application with a timeout, without blocking the event loop."""

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

_left: set[asyncio.Future[Any]] = set()  # timed-out and cancelled calls, referenced until they end


class TookTooLong(Exception):
    """The function did not return before its timeout. It may still run."""


class Broke(Exception):
    """The function raised an exception that would have ended this process or its own task."""


async def call_within(seconds: float | None, function: Callable[..., Any], *given: Any) -> Any:
    """Calls a function and returns its result. A function that is not async runs in its own thread.

    Raises TookTooLong after the timeout, even if the function ignores its cancellation. Such a
    function continues in the background, and its result is dropped.
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
    """Runs a function in a new thread: if it hangs, no worker of the shared pool is blocked."""
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
        except StopIteration as odd:  # a future does not accept StopIteration
            problem = Broke(f"it raised {type(odd).__name__}")
        except BaseException as error:
            problem = error
        with suppress(RuntimeError):  # the event loop has ended
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
        work.exception()  # read it, or asyncio logs that it was never retrieved


def writable(words: str) -> str:
    """Replaces lone surrogates, which cannot be encoded."""
    return words.encode(errors="replace").decode()


def find(name: str, kind: str) -> Any:
    """Imports the object named `module:attribute`. Raises ValueError if that fails."""
    module, _, attribute = name.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        said = f"The {kind} {name!r} cannot be imported: {error}."
        raise ValueError(f"{said} Name it as module:attribute.") from error
