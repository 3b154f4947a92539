"""Checks one connection: how it begins, what is replayed, and how it ends."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import Struct

from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.close_codes import CLOSE_CODES

__all__ = ["Address", "Connection", "Say"]

Say: TypeAlias = Callable[[str, str], None]  # a rule's code, and what broke it
Stage: TypeAlias = Literal["hello", "replay", "state", "live", "refused"]

# The close code that follows a refusal to connect.
_CLOSES = {
    "PROTOCOL_VERSION_UNSUPPORTED": 4500,
    "CHAT_PROTOCOL_DISABLED": 4501,
    "UNAUTHORIZED": 4502,
    "FORBIDDEN": 4503,
    "CONVERSATION_NOT_FOUND": 4504,
    "CONVERSATION_CLOSED": 4504,
}

_NUMBER = re.compile(r"[0-9]{1,18}")
_ADDRESS = re.compile(r"(?:wss?://[^/]+)?/ws/conversations/([^/?]+)(?:\?(.*))?")


class Address(Struct, frozen=True, gc=False):
    """Where a client connects, and what it says it has."""

    conversation_id: str
    protocol: str | None
    last_sequence: int
    epoch: str | None
    tail: int | None

    @classmethod
    def of(cls, text: str) -> Address | None:
        """Read an address; None where it is none."""
        found = _ADDRESS.fullmatch(text)
        if found is None:
            return None
        query = dict(part.partition("=")[::2] for part in (found[2] or "").split("&"))
        return cls(
            found[1],
            query.get("protocol"),
            _number(query.get("last_sequence")) or 0,
            query.get("epoch"),
            _number(query.get("tail")),
        )

    def void_because(self, info: p.SessionInfo) -> p.ResetReason | None:
        """Why this client's copy cannot be continued in that log; None where it can, or is empty."""
        if not self.last_sequence:
            return None
        if self.epoch is not None and self.epoch != info.epoch:
            return "epoch"
        if self.last_sequence > info.head:
            return "beyond_head"
        if self.tail is not None and info.head - self.last_sequence > self.tail:
            return "tail"
        return None

    def first(self, info: p.SessionInfo) -> int:
        """The number of the first entry that this client must get."""
        if self.last_sequence and self.void_because(info) is None:
            return self.last_sequence + 1
        return 1 if self.tail is None else max(1, info.head - self.tail + 1)


def _number(text: str | None) -> int | None:
    return int(text) if text and _NUMBER.fullmatch(text) else None


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
        self._refused_with = ""
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

    def replay(self, number: int | None, after: int | None, turn_id: int | None) -> bool:
        """message.replay of an entry, or of a turn's end, which stands `after` an entry."""
        self._reset_missing()
        if self.stage != "replay":
            self._say("handshake_order", "message.replay belongs before session.replay_complete")
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
        if self.stage != "replay" or self.info is None:
            self._say("handshake_order", "session.replay_complete comes once, before session.state")
            return
        self.stage = "state"
        if through != self.replayed or through < self.info.head:
            said = f"through {through}, but replayed up to {self.replayed}, head {self.info.head}"
            self._say("wrong_through", said)

    def state(self) -> None:
        """session.state: the first of them ends the beginning."""
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
        self.stage = "refused"
        self._refused_with = code

    def close(self, code: int) -> None:
        """The connection ends."""
        if 4000 <= code <= 4999 and code not in CLOSE_CODES:
            self._say("wrong_close", f"{code} is not in the table")
        elif self.stage == "refused" and code != (due := _CLOSES.get(self._refused_with, code)):
            self._say("wrong_close", f"{code} after {self._refused_with}, not {due}")
