"""The places at which a process may die between two things that belong together, by name.

    TURNWIRE_CRASH_AT=step_written:3 python server.py

ends the process, without a word, when it comes to `step_written` for the third time. That is how it
is shown that any crash leaves a log that tells the truth: `make prove` dies at every one of them.
Without the variable they do nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import Enum
from threading import Lock

from turnwire.errors import TurnwireError

__all__ = ["EXIT_CODE", "VARIABLE", "BadCrashPoint", "CrashPoint", "on_reach", "reach"]

VARIABLE = "TURNWIRE_CRASH_AT"
EXIT_CODE = 86  # of a process that ended at one of them


class CrashPoint(Enum):
    """Each with what has happened by then, and what has not."""

    # The file.
    SQLITE_COMMITS = "The rows of a transaction were changed; after a restart none of them is."
    SQLITE_COMMITTED = "A transaction is on disk; nobody was told."
    # Who owns a conversation.
    CREATES = "Somebody wants a new conversation; there is none."
    CREATED = "A conversation is there; who wanted it does not know."
    CLAIMS = "A conversation is wanted; it belongs to whom it belonged before."
    CLAIMED = "It is ours; nothing in it was read or made true."
    RENEWS = "Leases are about to be held on to."
    RENEWED = "Leases run longer; those that were lost are not known to be."
    RELEASES = "Nothing is left to do in a conversation; it is still ours."
    RELEASED = "A conversation is nobody's."
    # What a person asks for.
    ASK_STEPPED = "What somebody asks for is a step; nothing of it is written."
    ASK_WRITTEN = "It is written, with its receipt; who asked does not know."
    ASK_ACKNOWLEDGED = "Who asked knows; nobody else, nor the agent."
    # What has happened by itself: what the agent said, a timer, a recovery.
    STEP_MADE = "What happened is a step; nothing of it is written."
    STEP_WRITTEN = "It is written; nobody has seen it, and the agent knows of nothing."
    # What grows.
    SAVES = "Words that people read are not saved."
    SAVED = "They are; nothing in the log is about them yet."
    # Telling it.
    PUBLISHES = "A step is written; this process's followers have not seen it."
    PUBLISHED = "They have; the agent was not told what the step wants of it."
    HINTS = "Followers elsewhere do not know that there is something to read."
    HINTED = "They do."
    CATCH_UP_PUBLISHES = "What another process wrote was read; its followers here have not seen it."
    CATCH_UP_PUBLISHED = "They have."
    # The agent.
    AGENT_OPENS = "An agent is needed; none was started."
    AGENT_OPENED = "An agent is there; nobody reads what it says, and it was told nothing."
    SPAWNS = "A process is about to be started."
    SPAWNED = "The guard runs; whether the agent does is not known."
    PROMPTS = "A turn has started; the agent does not know of it."
    PROMPTED = "The agent has the turn, and has given no sign of it."
    DELIVERS = "An answer is written; the agent does not have it."
    DELIVERED = "The agent has the answer, and has given no sign of it."
    CHOOSES = "Another model is written; the agent that runs goes on with the old one."
    CHOSEN = "The agent knows of it, and has given no sign of it."
    CONTROLS = "Who asks for something beside the talk is written; the agent does not know of it."
    CONTROLLED = "The agent has done it; the log does not say so, nor does who asked know."
    INTERRUPTS = "A turn is to stop; its agent was not asked to."
    INTERRUPTED = "It was, and has not obeyed yet."
    CLOSES = "An agent is to end; it runs."
    CLOSED = "It has ended with everything it started; the log does not say so yet."


class BadCrashPoint(TurnwireError):
    """The variable names no crash point. The message names those that there are."""

    code = "INVALID_FORMAT"


_reached: Callable[[CrashPoint], None] | None = None


def reach(point: CrashPoint) -> None:
    """The process has come to this point."""
    if _reached is not None:
        _reached(point)


def on_reach(run: Callable[[CrashPoint], None] | None) -> None:
    """Call this at every point from now on, in whatever thread it is; none: nothing more."""
    global _reached
    _reached = run


def _die_at(said: str) -> Callable[[CrashPoint], None]:
    """What ends this process at the place that the variable names."""
    name, _, number = said.partition(":")
    known = {each.name.lower(): each for each in CrashPoint}
    if name not in known or not (number or "1").isdecimal() or not int(number or "1"):
        raise BadCrashPoint(
            f"{VARIABLE}={said} names no crash point. Write NAME or NAME:N, for the N-th time, "
            f"with one of: {', '.join(known)}."
        )
    where, left, lock = known[name], int(number or "1"), Lock()

    def die(point: CrashPoint) -> None:
        nonlocal left
        if point is where:
            with lock:
                left -= 1
                if not left:
                    os._exit(EXIT_CODE)

    return die


if os.environ.get(VARIABLE):
    on_reach(_die_at(os.environ[VARIABLE]))
