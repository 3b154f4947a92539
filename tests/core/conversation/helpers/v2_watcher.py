"""A client of protocol v2 that follows a conversation and checks the rules of the protocol."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from turnwire.core.conversation import Conversation
from turnwire.core.conversation import effects as e
from turnwire.core.conversation.state import status_of
from turnwire.core.opening import Start
from turnwire.dialects.v2 import codec
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.opening import hello, replay_complete, replayed
from turnwire.dialects.v2.projector import V2Projector
from turnwire.dialects.v2.validator.check import SessionCheck
from turnwire.engine.fanout.channel import Channel

_NOW = "2026-01-01T00:00:00.000Z"


class Watcher:
    """A client that is there from the beginning, and comes back when the server does.

    `cursor`: it comes later, and has everything up to there from somewhere else.
    """

    def __init__(self, state: Conversation, cursor: int = 0) -> None:
        self._check = SessionCheck()
        self._channel = Channel(state)
        self._kept: list[f.Frame] = []  # all that is replayed, in its order
        self._lines = self._sequence = 0
        self._cursor = cursor  # the newest number that the client has
        self._connect(state)

    def see(self, after: Conversation, effects: e.Effects, *, after_a_restart: bool) -> None:
        """Applies a step. No client sees the steps of a server while it starts."""
        happened = self._channel.step(self._channel.state, after, effects.writes, _NOW)
        frames = V2Projector("talk").frames(happened)
        self._channel.state = after
        self._kept += [
            frame
            for frame in frames
            if not isinstance(frame, f.TurnStarted | f.SessionState | f.ConversationUpdated)
        ]
        if after_a_restart:
            self._line({"close": 4000})
            self._connect(after)
        else:
            for frame in frames:
                self._send(frame)

    def broken_rules(self) -> list[str]:
        """Returns the broken rules with their messages."""
        violations = self._check.report().violations
        return [f"{v.code}: {v.message}" for v in violations]

    def _connect(self, state: Conversation) -> None:
        cursor = self._cursor
        self._line({"connect": f"/ws/conversations/talk?protocol=v2&last_sequence={cursor}"})
        self._sequence = 0
        limits = p.Limits(1 << 20, state.options.max_queue, 15)
        capabilities = p.Capabilities("demo", [])
        info = p.SessionInfo("c-1", "web-1", "e-1", cursor + 1, state.head, capabilities, limits)
        missed = [frame for frame in self._kept if _place(frame) >= cursor + _is_entry(frame)]
        start = Start(cursor, resumed=bool(cursor))
        for frame in hello("talk", start, info, _NOW):
            self._send(frame)
        for frame in missed:
            self._send(replayed(frame, _NOW))
        self._send(replay_complete("talk", state.head, _NOW))
        self._send(f.SessionState("talk", None, None, _NOW, None, status_of(state)))
        self._cursor = state.head

    def _send(self, frame: f.Frame) -> None:
        self._sequence += 1
        if _is_entry(frame):
            self._cursor = _place(frame)
        self._line({"server": Raw(codec.encode(frame).at(self._sequence))})

    def _line(self, line: dict[str, object]) -> None:
        self._lines += 1
        self._check.feed(msgspec.json.encode(line), self._lines)


def _is_entry(frame: f.Frame) -> bool:
    return getattr(frame.payload, "message_sequence", None) is not None  # type: ignore[attr-defined]


def _place(frame: f.Frame) -> int:
    """Returns an entry's number; the end of a turn comes after the entry that it follows."""
    if isinstance(frame, f.AssistantComplete):
        return frame.payload.after_sequence
    number: int = frame.payload.message_sequence  # type: ignore[attr-defined]
    return number
