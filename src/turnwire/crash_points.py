"""Named crash points: places at which a process may die between two steps that belong together.

    TURNWIRE_CRASH_AT=step_written:3 python server.py

ends the process, without a message, when it reaches `step_written` for the third time. `make prove`
crashes at every point, and verifies that each crash leaves a correct log. Without the variable the
crash points do nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import Enum
from threading import Lock

from turnwire.errors import TurnwireError

__all__ = ["EXIT_CODE", "VARIABLE", "BadCrashPoint", "CrashPoint", "on_reach", "reach"]

VARIABLE = "TURNWIRE_CRASH_AT"
EXIT_CODE = 86  # of a process that ended at a crash point


class CrashPoint(Enum):
    """The crash points; each value says what has happened at this point, and what has not."""

    # The database file.
    SQLITE_COMMITS = (
        "The rows of a transaction are changed, but not committed: a restart undoes them."
    )
    SQLITE_COMMITTED = "A transaction is on disk; its callers do not know."
    # The PostgreSQL database.
    POSTGRES_SENDS = "A statement that writes is complete; PostgreSQL has not got it."
    POSTGRES_SENT = "PostgreSQL has committed the statement; its callers do not know."
    POSTGRES_COMMITS = (
        "The rows of a transaction are changed in PostgreSQL, but not committed: they are undone."
    )
    POSTGRES_COMMITTED = "PostgreSQL has committed a transaction; its callers do not know."
    POSTGRES_SETTLES = "A connection was lost during a commit; whether it is written is unknown."
    POSTGRES_SETTLED = "It is certain whether the commit is written; its callers do not know."
    # Ownership of a conversation.
    CREATES = "A client asks for a new conversation; it does not exist yet."
    CREATED = "The conversation exists; the client does not know."
    CLAIMS = "A conversation is to be claimed; its former owner still has it."
    CLAIMED = "The conversation is claimed; its state was neither read nor recovered."
    JOINS = "A process is to join the nodes of the store."
    JOINED = "The process is a node of the store; it has not recovered any conversation."
    RENEWS = "The lease of a node is about to be renewed."
    RENEWED = "The lease is renewed; the process does not know yet what it has lost."
    LEAVES = "A node has no conversations any more; the store still has it."
    LEFT = "The store does not have the node any more."
    RELEASES = "A conversation has no work left; this process still owns it."
    RELEASED = "The conversation has no owner."
    # Commands of people.
    ASK_STEPPED = "A command has become a step; the step is not written."
    ASK_WRITTEN = "The step is written, with its receipt; the client does not know."
    ASK_ACKNOWLEDGED = "The client knows; neither the followers nor the agent do."
    # Inputs without a command: events of the agent, timers, recovery.
    STEP_MADE = "An input has become a step; the step is not written."
    STEP_WRITTEN = "The step is written; neither the followers nor the agent know."
    # Partials.
    SAVES = "Text that followers have seen is not saved."
    SAVED = "The text is saved; the log has no entry for it yet."
    # Publishing.
    PUBLISHES = "A step is written; the followers in this process have not seen it."
    PUBLISHED = "The followers have seen it; the agent has not got its commands."
    HINTS = "Followers in other processes are not notified of new entries."
    HINTED = "Followers in other processes are notified."
    CATCH_UP_PUBLISHES = (
        "Entries of another process were read; the followers here have not seen them."
    )
    CATCH_UP_PUBLISHED = "The followers here have seen the entries of another process."
    # Other nodes.
    TAKES_OVER = "The owner of a conversation has died or lost its lease; it still has the claim."
    TOOK_OVER = "The claim is taken from the old owner; nothing of the conversation was read."
    EXPELLED = "This node was expelled, and has dropped its conversations; it has not joined again."
    NODE_SENDS = "A message for another node is complete; the bus has not got it."
    NODE_SENT = "The bus has the message; whether the other node gets it is not known."
    NODE_BROADCASTS = "A message for all other nodes is complete; the bus has not got it."
    NODE_BROADCAST = "The bus has the message; whether the other nodes get it is not known."
    ATTACHES = "Another node asks for a conversation of this node; it was sent nothing."
    ATTACHED = "The other node was sent the current state; it is sent what happens from now on."
    FOLLOWS = (
        "Another node has sent the state of its conversation; the new follower has not seen it."
    )
    FOLLOWED = "The new follower has got the state that the other node has sent."
    FORWARDS = "A command is for a conversation of another node; it was not sent there."
    FORWARDED = "The owner has answered a command that was sent to it; the client does not know."
    CARRIES_OUT = "A command of another node has arrived; it was not carried out."
    ANSWERS = "A command of another node was carried out, or refused; that node does not know."
    # The agent.
    AGENT_OPENS = "An agent is needed; it was not started."
    AGENT_OPENED = "The agent is started; its events are not read, and it has got no command."
    SPAWNS = "A process is about to be started."
    SPAWNED = "The guard is running; whether the agent is running is not known."
    PROMPTS = "A turn has started; the agent has not got the prompt."
    PROMPTED = "The agent has the prompt, but has not reacted yet."
    STEERS = "A message for the running turn is queued; the agent has not got it."
    STEERED = "The agent has the message; whether it takes it into the turn is not known."
    DELIVERS = "An answer is written; the agent does not have it."
    DELIVERED = "The agent has the answer, but has not reacted yet."
    CHOOSES = "Another model is written; the running agent still uses the old one."
    CHOSEN = "The agent has the new model, but has not reacted yet."
    CONTROLS = "A control is audited; the agent has not got it."
    CONTROLLED = "The agent has run the control; neither the log nor the client knows."
    INTERRUPTS = "A turn is to stop; its agent was not asked to stop."
    INTERRUPTED = "The agent was asked to stop, and has not stopped yet."
    CLOSES = "An agent is to end; it is still running."
    CLOSED = "The agent and its processes have ended; the log does not say so yet."


class BadCrashPoint(TurnwireError):
    """The variable names no crash point. The message lists the valid names."""

    code = "INVALID_FORMAT"


_reached: Callable[[CrashPoint], None] | None = None


def reach(point: CrashPoint) -> None:
    """Reports that the process has reached this point."""
    if _reached is not None:
        _reached(point)


def on_reach(run: Callable[[CrashPoint], None] | None) -> None:
    """Calls `run` at every crash point from now on, in any thread; None: calls nothing."""
    global _reached
    _reached = run


def _die_at(said: str) -> Callable[[CrashPoint], None]:
    """Returns the function that ends this process at the point that the variable names."""
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
