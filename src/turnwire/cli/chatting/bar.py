"""The status bar of a chat: the connection, the work of the agent, and the keys."""

from __future__ import annotations

import math

from prompt_toolkit.formatted_text import StyleAndTextTuples

from turnwire.cli.terminal.words import counted, duration
from turnwire.client import Line
from turnwire.core.status import Status

__all__ = ["bar_of"]

_TURNING = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def bar_of(
    line: Line,
    status: Status | None,
    *,
    agent: str,
    now: float,
    since: float,
    is_asking: bool,
    is_stopping: bool,
    start: str | None,
) -> StyleAndTextTuples:
    """Returns the text of the bar. `start` is the command that starts a server, if none runs."""
    parts: list[tuple[str, str]] = [_line(line, now)]
    if line.state == "offline" and start is not None:
        parts.append(("class:faint", f"no server runs: {start}"))
    elif status is not None and line.state == "live":
        parts += _work(agent, status, now - since, is_asking, is_stopping)
    out: StyleAndTextTuples = []
    for style, words in parts:
        if out:
            out.append(("class:faint", " · "))
        out.append((style, words))
    return out


def _line(line: Line, now: float) -> tuple[str, str]:
    match line.state:
        case "live":
            return "class:good", "● live"
        case "catching_up":
            return "class:busy", "◌ catching up"
        case "connecting":
            return "class:busy", "◌ connecting"
        case "offline":
            left = math.ceil((line.retry_at or now) - now)
            when = f"in {left} s" if left > 0 else "now"
            return "class:bad", f"○ offline: reconnecting {when}"


def _work(
    agent: str, status: Status, passed: float, is_asking: bool, is_stopping: bool
) -> list[tuple[str, str]]:
    parts: list[tuple[str, str]] = []
    can_stop = status.turn_id is not None
    if is_stopping and can_stop:
        parts.append(("class:busy", f"{agent} is being stopped"))
        can_stop = False
    elif status.requests:
        whose = "your" if is_asking else "an"
        parts.append(("class:hint", f"{agent} waits for {whose} answer"))
    elif status.turn_id is not None:
        turning = _TURNING[int(passed * 10) % len(_TURNING)]
        took = f" {duration(int(passed))}" if passed >= 1 else ""
        parts.append(("class:busy", f"{turning} {agent} is working{took}"))
    elif status.background_tasks:
        tasks = counted(len(status.background_tasks), "task")
        parts.append(("class:busy", f"{agent} has {tasks} in the background"))
    else:
        parts.append(("class:faint", agent))
    if status.queue:
        parts.append(("", f"{len(status.queue)} {'held' if status.queue_held else 'queued'}"))
    if can_stop:
        parts.append(("class:faint", "Esc stops it"))
    parts.append(("class:faint", "Ctrl-D leaves"))
    return parts
