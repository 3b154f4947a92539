"""The opening of a connection: its start in the log, and its first facts."""

from __future__ import annotations

from msgspec import Struct

from turnwire.core.status import Capabilities, Limits, ResetReason

__all__ = ["Opening", "Start", "start_of"]


class Start(Struct, frozen=True, gc=False):
    """The position in the log at which a connection starts."""

    after: int  # the client has all entries up to this number, or does not want them
    reset: ResetReason | None = None  # why the client must drop its copy; None: it is valid
    resumed: bool = False  # the client's cursor was accepted


def start_of(
    last_sequence: int, epoch: str | None, tail: int | None = None, *, head: int, epoch_now: str
) -> Start:
    """Returns the start of a connection for the cursor that a client sends (section 9)."""
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
    """The facts that a connection receives first."""

    at: str  # ISO 8601, UTC
    connection_id: str  # unique for this connection
    client_id: str  # of this user's client, the same over its connections
    epoch: str  # the incarnation of the log
    start: Start
    head: int  # the number of the newest entry; 0 if the log is empty
    capabilities: Capabilities
    limits: Limits
