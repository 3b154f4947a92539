"""The first frames of a connection: where it stands, what it missed, how things are now."""

from __future__ import annotations

from collections.abc import Iterable

from turnwire.core.opening import Start
from turnwire.core.status import Status
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p

__all__ = [
    "hello",
    "opening",
    "replay_complete",
    "replayed",
    "state_frame",
]


def hello(conversation_id: str, start: Start, info: p.SessionInfo, now: str) -> list[f.Frame]:
    """Who is there, and whether the client has to begin anew."""
    here = (conversation_id, None, None, now, None)
    kind = f.SessionResumed if start.resumed else f.SessionConnected
    out: list[f.Frame] = [kind(*here, info)]
    if start.reset is not None:
        out.append(f.SessionReset(*here, p.Reset(start.reset, info.epoch, info.first)))
    return out


def replay_complete(conversation_id: str, through: int, now: str) -> f.Frame:
    """The client has everything up to this number."""
    here = (conversation_id, None, None, now, None)
    return f.SessionReplayComplete(*here, p.ReplayComplete(through))


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
    out = hello(conversation_id, start, info, now)
    out += [replayed(frame, now) for frame in missed]
    out.append(replay_complete(conversation_id, info.head, now))
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
