"""The first frames of a connection: the position in the log, the replay, and its end."""

from __future__ import annotations

from turnwire.core.opening import Start
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p

__all__ = ["hello", "replay_complete", "replayed"]


def hello(conversation_id: str, start: Start, info: p.SessionInfo, now: str) -> list[f.Frame]:
    """Returns the hello, and session.reset if the client's copy is void."""
    here = (conversation_id, None, None, now, None)
    kind = f.SessionResumed if start.resumed else f.SessionConnected
    out: list[f.Frame] = [kind(*here, info)]
    if start.reset is not None:
        out.append(f.SessionReset(*here, p.Reset(start.reset, info.epoch, info.first)))
    return out


def replay_complete(conversation_id: str, through: int, now: str) -> f.Frame:
    """Returns session.replay_complete: the client has every entry up to this number."""
    here = (conversation_id, None, None, now, None)
    return f.SessionReplayComplete(*here, p.ReplayComplete(through))


def replayed(frame: f.Frame, now: str) -> f.MessageReplay:
    """Wraps a durable frame, or the end of a turn, in a message.replay."""
    number = getattr(frame.payload, "message_sequence", None)  # type: ignore[attr-defined]
    replay = f.Replay(number, frame)  # type: ignore[arg-type]  # all that is kept are server frames
    return f.MessageReplay(frame.conversation_id, frame.turn_id, None, now, frame.trace_id, replay)
