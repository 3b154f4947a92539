"""How following begins: where in the log, and what a connection is told about itself."""

from __future__ import annotations

from msgspec import Struct

from turnwire.core.status import Capabilities, Limits, ResetReason

__all__ = ["Opening", "Start", "start_of"]


class Start(Struct, frozen=True, gc=False):
    """Where in the log a connection begins."""

    after: int  # the client has everything up to this number, or wants nothing before it
    reset: ResetReason | None = None  # why the client's copy is void, if it is
    resumed: bool = False  # the client's place was accepted


def start_of(
    last_sequence: int, epoch: str | None, tail: int | None = None, *, head: int, epoch_now: str
) -> Start:
    """What becomes of the place that a client names (section 9)."""
    start = max(head - tail, 0) if tail is not None else 0
    if epoch is not None and epoch != epoch_now:
        return Start(start, "epoch")
    if last_sequence <= 0:
        return Start(start)
    if last_sequence > head:
        return Start(start, "beyond_head")
    if last_sequence < start:
        return Start(start, "tail")
    return Start(last_sequence, resumed=True)


class Opening(Struct, frozen=True):
    """What a connection is told first."""

    at: str  # ISO 8601, UTC
    connection_id: str  # of this connection alone
    client_id: str  # of this user's client, over its connections
    epoch: str  # this incarnation of the log
    start: Start
    head: int  # the number of the newest entry; 0: none yet
    capabilities: Capabilities
    limits: Limits
