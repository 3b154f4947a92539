"""Recorded streams as views of v2 clients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from turnwire.core.view import View
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.codec import decode, encode
from turnwire.dialects.v2.view_reducer import ViewReducer


def sent(frames: Iterable[f.Frame], after: int = 0) -> list[Any]:
    """The frames as a client reads them from its connection."""
    return [decode(encode(frame).at(n)) for n, frame in enumerate(frames, after + 1)]


def v2_view(frames: Iterable[Any]) -> View:
    reducer = ViewReducer()
    for frame in frames:
        reducer.apply(frame)
    return reducer.view()


PAUSES = "10b_hook_defer"  # the turn waits for leave; the agent's process ends with a result
