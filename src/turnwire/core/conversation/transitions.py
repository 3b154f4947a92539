"""The states of a conversation, and every transition between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from turnwire.core.status import RunState

__all__ = ["TRANSITIONS", "Cause"]

Cause: TypeAlias = Literal[
    "turn_started",  # a turn begins or resumes
    "agent_spoke",  # any event of the agent in a turn
    "request_opened",  # a question or a permission waits for a person
    "last_request_ended",  # no request is open any more
    "turn_completed",
    "turn_failed",
    "turn_interrupted",
    "turn_suspended",  # its agent has ended; the turn waits for an answer or to be resumed
]

# A cause that is not listed for a state cannot occur in it. The state of an open request stays
# until the request ends, so a turn ends its requests before it ends itself.
TRANSITIONS: Mapping[RunState, Mapping[Cause, RunState]] = {
    "active": {
        "turn_started": "streaming",
        "agent_spoke": "streaming",
        "request_opened": "waiting_input",
        "turn_completed": "active",
        "turn_failed": "error",
        "turn_interrupted": "interrupted",
        "turn_suspended": "active",
    },
    "streaming": {
        "agent_spoke": "streaming",
        "request_opened": "waiting_input",
        "turn_completed": "active",
        "turn_failed": "error",
        "turn_interrupted": "interrupted",
        "turn_suspended": "active",
    },
    "waiting_input": {
        "turn_started": "waiting_input",
        "agent_spoke": "waiting_input",
        "request_opened": "waiting_input",
        "last_request_ended": "active",
        # A request of background work outlives the turn.
        "turn_completed": "waiting_input",
        "turn_failed": "waiting_input",
        "turn_interrupted": "waiting_input",
        "turn_suspended": "waiting_input",
    },
    "interrupted": {
        "turn_started": "streaming",
        "request_opened": "waiting_input",
    },
    "error": {
        "turn_started": "streaming",
        "request_opened": "waiting_input",
    },
}
