"""Checks one connection: its first frames, its replay and its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from turnwire.core.error_codes import ERRORS
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.address import Address
from turnwire.dialects.v2.close_codes import CLOSE_CODES, CLOSES_WITH

__all__ = ["Connection", "Say"]

Say: TypeAlias = Callable[[str, str], None]  # takes a rule's code and the details
Stage: TypeAlias = Literal["hello", "replay", "state", "live", "later_replay", "refused"]

# Errors that end an open connection. Any other error answers a frame, or is only information.
_ENDS_ALWAYS = (
    "HEARTBEAT_TIMEOUT",
    "UNAUTHORIZED",
    "CONVERSATION_NOT_FOUND",
    "CONVERSATION_CLOSED",
)
_ENDS_UNASKED = ("FORBIDDEN", "RATE_LIMITED", "STORAGE_UNAVAILABLE", "INTERNAL_ERROR")


class Connection:
    """Checks one connection, from its first frame to its last."""

    def __init__(self, say: Say, address: Address | None) -> None:
        self._say = say
        self.address = address  # None: not recorded
        self.info: p.SessionInfo | None = None
        self.stage: Stage = "hello"
        self.sequence = 0  # `sequence` of the last frame
        self._resumed = False
        self._reset_due: p.ResetReason | None = None
        self._reset_seen = False
        self._refused_with: str | None = None
        self.replayed = 0  # the number of the last replayed entry
        self.replayed_turns: set[int] = set()  # the turns whose end was replayed

    # --- the first frames ---------------------------------------------------------------------

    def hello(self, info: p.SessionInfo, *, resumed: bool) -> None:
        """Checks session.connected or session.resumed."""
        if self.stage != "hello":
            self._say("handshake_order", "a second session.connected or session.resumed")
        self.info, self.stage, self._resumed = info, "replay", resumed
        self.replayed = info.first - 1
        if info.first < 1 or info.head < info.first - 1:
            self._say("wrong_first", f"first is {info.first}, head {info.head}")
        if self.address is None:
            return
        if self.address.protocol != "v2":
            self._say("wrong_hello", f"the client asked for protocol {self.address.protocol}")
        if self.address.fault is not None:
            self._say("wrong_hello", f"the address is malformed: {self.address.fault}")
            return
        self._reset_due = self.address.void_because(info)
        accepted = self.address.last_sequence > 0 and self._reset_due is None
        if accepted is not resumed:
            why = self._reset_due or f"last_sequence is {self.address.last_sequence}"
            self._say("wrong_hello", f"session.{'resumed' if resumed else 'connected'}, but {why}")
        elif info.first != (first := self.address.first(info)):
            self._say("wrong_first", f"first is {info.first}, not {first}")

    def reset(self, reset: p.Reset) -> None:
        """Checks session.reset."""
        if self.stage != "replay" or self._resumed or self._reset_seen or self.info is None:
            self._say("handshake_order", "session.reset must follow session.connected")
            return
        self._reset_seen = True
        if self.address is not None and reset.reason != self._reset_due:
            self._say("wrong_reset", f"reason {reset.reason}, not {self._reset_due}")
        elif (reset.epoch, reset.first) != (self.info.epoch, self.info.first):
            self._say("wrong_reset", "epoch and first differ from session.connected")

    def _reset_missing(self) -> None:
        if self._reset_due is not None and not self._reset_seen:
            self._reset_seen = True  # report it only once
            self._say("wrong_reset", f"session.reset ({self._reset_due}) is missing")

    # --- replay -------------------------------------------------------------------------------

    def replay_again(self, head: int) -> None:
        """Starts a replay between live frames: another process wrote the entries after `head`."""
        self.stage = "later_replay"
        self.replayed = head

    def replay(self, number: int | None, after: int | None, turn_id: int | None) -> bool:
        """Checks the message.replay of an entry, or of the end of a turn `after` an entry."""
        self._reset_missing()
        if self.stage not in ("replay", "later_replay"):
            self._say("handshake_order", "message.replay is allowed only before session.state")
            return False
        if number is None:
            if after != self.replayed:
                said = f"the end of turn {turn_id} follows entry {after}, not {self.replayed}"
                self._say("replay_order", said)
            if turn_id is not None:
                self.replayed_turns.add(turn_id)
            return True
        if number != self.replayed + 1:
            self._say("replay_order", f"entry {number} after {self.replayed}")
        self.replayed = number
        return True

    def replay_complete(self, through: int) -> None:
        """Checks session.replay_complete."""
        self._reset_missing()
        if self.stage not in ("replay", "later_replay") or self.info is None:
            self._say("handshake_order", "session.replay_complete must precede session.state")
            return
        self.stage = "state"
        if through != self.replayed or through < self.info.head:
            said = f"through {through}, but replayed up to {self.replayed}, head {self.info.head}"
            self._say("wrong_through", said)

    def state(self) -> None:
        """Checks session.state: the first one ends the handshake, or a later replay."""
        if self.stage == "state":
            self.stage = "live"
        else:
            self.expect_live("session.state")

    def expect_live(self, name: str) -> None:
        """Checks that any other frame comes after the handshake."""
        if self.stage != "live":
            self._say("handshake_order", f"{name} before the first session.state")

    # --- the end ------------------------------------------------------------------------------

    def refuse(self, code: str) -> None:
        """Takes a session.error that refuses the connection as its first frame."""
        if code in ERRORS and code not in CLOSES_WITH:
            self._say("wrong_error", f"{code} cannot refuse a connection")
        self.stage = "refused"
        self._refused_with = code

    def told(self, code: str, *, answers: bool) -> None:
        """Takes a later session.error without an id; `answers`: a frame waits for it."""
        if code in _ENDS_ALWAYS or (code in _ENDS_UNASKED and not answers):
            self.stage = "refused"
            self._refused_with = code

    def left_open(self) -> None:
        """Checks a connection that was never closed, when the next one starts."""
        if self._refused_with is not None:
            self._say("wrong_close", f"no close after {self._refused_with}")

    def close(self, code: int) -> None:
        """Checks the close code."""
        refused = self._refused_with
        if 4000 <= code <= 4999 and code not in CLOSE_CODES:
            self._say("wrong_close", f"{code} is not in the table")
        elif refused is not None and code != CLOSES_WITH.get(refused, code):
            self._say("wrong_close", f"{code} after {refused}, not {CLOSES_WITH[refused]}")
        elif refused is None and 4500 <= code <= 4504:
            self._say("wrong_close", f"{code} without the session.error that it names")
