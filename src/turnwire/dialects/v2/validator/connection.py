"""Checks one connection: how it begins, what is replayed, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from turnwire.core.error_codes import ERRORS
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.address import Address
from turnwire.dialects.v2.close_codes import CLOSE_CODES, CLOSES_WITH

__all__ = ["Connection", "Say"]

Say: TypeAlias = Callable[[str, str], None]  # a rule's code, and what broke it
Stage: TypeAlias = Literal["hello", "replay", "state", "live", "later_replay", "refused"]

# These end a connection that is under way. Any other answers a frame, or is news.
_ENDS_ALWAYS = (
    "HEARTBEAT_TIMEOUT",
    "UNAUTHORIZED",
    "CONVERSATION_NOT_FOUND",
    "CONVERSATION_CLOSED",
)
_ENDS_UNASKED = ("FORBIDDEN", "RATE_LIMITED", "STORAGE_UNAVAILABLE", "INTERNAL_ERROR")


class Connection:
    """One connection, from its first frame to its last."""

    def __init__(self, say: Say, address: Address | None) -> None:
        self._say = say
        self.address = address  # None: not recorded
        self.info: p.SessionInfo | None = None
        self.stage: Stage = "hello"
        self.sequence = 0  # of the last frame
        self._resumed = False
        self._reset_due: p.ResetReason | None = None
        self._reset_seen = False
        self._refused_with: str | None = None
        self.replayed = 0  # the last number that was replayed
        self.replayed_turns: set[int] = set()  # those whose end was replayed

    # --- the beginning ------------------------------------------------------------------------

    def hello(self, info: p.SessionInfo, *, resumed: bool) -> None:
        """session.connected or session.resumed."""
        if self.stage != "hello":
            self._say("handshake_order", "a second beginning")
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
        """session.reset."""
        if self.stage != "replay" or self._resumed or self._reset_seen or self.info is None:
            self._say("handshake_order", "session.reset belongs right after session.connected")
            return
        self._reset_seen = True
        if self.address is not None and reset.reason != self._reset_due:
            self._say("wrong_reset", f"reason {reset.reason}, not {self._reset_due}")
        elif (reset.epoch, reset.first) != (self.info.epoch, self.info.first):
            self._say("wrong_reset", "epoch and first are not those of session.connected")

    def _reset_missing(self) -> None:
        if self._reset_due is not None and not self._reset_seen:
            self._reset_seen = True  # said once
            self._say("wrong_reset", f"the client's copy is void ({self._reset_due}), not told")

    # --- what was missed ----------------------------------------------------------------------

    def replay_again(self, head: int) -> None:
        """A replay among live frames: another process has written what follows this number."""
        self.stage = "later_replay"
        self.replayed = head

    def replay(self, number: int | None, after: int | None, turn_id: int | None) -> bool:
        """message.replay of an entry, or of a turn's end, which stands `after` an entry."""
        self._reset_missing()
        if self.stage not in ("replay", "later_replay"):
            self._say("handshake_order", "message.replay belongs before session.state")
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
        """session.replay_complete."""
        self._reset_missing()
        if self.stage not in ("replay", "later_replay") or self.info is None:
            self._say("handshake_order", "session.replay_complete comes once before session.state")
            return
        self.stage = "state"
        if through != self.replayed or through < self.info.head:
            said = f"through {through}, but replayed up to {self.replayed}, head {self.info.head}"
            self._say("wrong_through", said)

    def state(self) -> None:
        """session.state: the first of them ends the beginning, or a later replay."""
        if self.stage == "state":
            self.stage = "live"
        else:
            self.expect_live("session.state")

    def expect_live(self, name: str) -> None:
        """Any other frame."""
        if self.stage != "live":
            self._say("handshake_order", f"{name} before the first session.state")

    # --- the end ------------------------------------------------------------------------------

    def refuse(self, code: str) -> None:
        """session.error about the connection itself, as its first frame."""
        if code in ERRORS and code not in CLOSES_WITH:
            self._say("wrong_error", f"{code} is no reason to refuse a connection")
        self.stage = "refused"
        self._refused_with = code

    def told(self, code: str, *, answers: bool) -> None:
        """session.error without an id, later. It `answers` a frame where some wait without an id."""
        if code in _ENDS_ALWAYS or (code in _ENDS_UNASKED and not answers):
            self.stage = "refused"
            self._refused_with = code

    def left_open(self) -> None:
        """Another connection begins, and this one was never closed."""
        if self._refused_with is not None:
            self._say("wrong_close", f"no close after {self._refused_with}")

    def close(self, code: int) -> None:
        """The connection ends."""
        refused = self._refused_with
        if 4000 <= code <= 4999 and code not in CLOSE_CODES:
            self._say("wrong_close", f"{code} is not in the table")
        elif refused is not None and code != CLOSES_WITH.get(refused, code):
            self._say("wrong_close", f"{code} after {refused}, not {CLOSES_WITH[refused]}")
        elif refused is None and 4500 <= code <= 4504:
            self._say("wrong_close", f"{code} without the session.error that it names")
