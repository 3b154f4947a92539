"""The first frames of a connection: where it stands, what it missed, how things are now."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from turnwire.core.status import Status
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p

__all__ = ["Start", "opening", "replayed", "start_of", "state_frame"]


class Start(Struct, frozen=True, gc=False):
    """Where in the log a connection begins."""

    after: int  # the client has everything up to this number
    reset: p.ResetReason | None = None  # why the client's copy is void, if it is


def start_of(last_sequence: int, epoch: str | None, *, head: int, epoch_now: str) -> Start:
    """What becomes of the place that a client names."""
    if epoch is not None and epoch != epoch_now:
        return Start(0, "epoch")
    if last_sequence > head:
        return Start(0, "beyond_head")
    return Start(max(last_sequence, 0))


def opening(
    conversation_id: str,
    start: Start,
    info: p.SessionInfo,
    missed: Iterable[f.Frame],
    status: Status,
    trace_id: str | None,
    now: str,
) -> list[f.Frame]:
    """All of it in order; snapshots of what grows come after it. `missed` is in the log's order."""
    here = (conversation_id, None, None, now, None)
    out: list[f.Frame]
    if start.after:
        out = [f.SessionResumed(*here, info)]
    else:
        out = [f.SessionConnected(*here, info)]
    if start.reset is not None:
        out.append(f.SessionReset(*here, p.Reset(start.reset, info.epoch, info.first)))
    out += [replayed(frame, now) for frame in missed]
    out.append(f.SessionReplayComplete(*here, p.ReplayComplete(info.head)))
    out.append(state_frame(conversation_id, status, trace_id, now))
    return out


def replayed(frame: f.Frame, now: str) -> f.MessageReplay:
    """A durable frame, or the end of a turn, for a client that missed it."""
    number = getattr(frame.payload, "message_sequence", None)  # type: ignore[attr-defined]
    replay = f.Replay(number, frame)  # type: ignore[arg-type]  # all that is kept are server frames
    return f.MessageReplay(frame.conversation_id, frame.turn_id, None, now, frame.trace_id, replay)


def state_frame(
    conversation_id: str, status: Status, trace_id: str | None, now: str
) -> f.SessionState:
    """The state, as a frame of the turn that runs or waits."""
    turn_id = status.turn_id
    trace = None if turn_id is None else trace_id
    return f.SessionState(conversation_id, turn_id, None, now, trace, status)
