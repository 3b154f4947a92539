"""The port Projector: a conversation in the words of one front-end protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from msgspec import Struct

from turnwire.core.happenings import Happening, Kept, Now
from turnwire.core.opening import Opening
from turnwire.ports.rows import ConversationRow

__all__ = ["Projected", "Projector", "WireProtocol"]


class Projected(Protocol):
    """A message of a protocol, shared by all followers that get it."""

    @property
    def number(self) -> int | None:
        """The entry of the log that it tells, or tells again; None: another thing."""

    @property
    def size(self) -> int:
        """About how many bytes it takes."""

    @property
    def written(self) -> bytes:
        """The bytes that all followers have in common. Written when they are first asked for."""


class Projector(Protocol):
    """Turns what a channel publishes into messages, once for all who follow in one protocol.

    A channel has a projector only while a client follows in its protocol. So a projector may begin
    in the middle of a message or of a turn: `present` tells it what is there.

    Promises:

    - Order: messages come in the order of what happened. An entry's messages carry its number, so
      numbers only rise.
    - Completeness: every entry gives at least one message with its number, live and replayed.
      An entry or an event of a kind that is not known gives a message, or none; it never raises.
    - Purity: it waits for nothing, and changes nothing of what it is given: other projectors get the
      same objects.
    - A message does not change once it was given: its bytes are the same for every follower.
    - `greet`, `replay` and `present` are for one follower, or for those that come together. They
      change nothing of what `project` gives to the others. While another process runs the
      conversation, all followers get `replay` and `present` for what that process has written.
    """

    def project(self, happened: Sequence[Happening]) -> Sequence[Any]:
        """The messages of what has just been published. Called once for each publication."""

    def greet(self, opening: Opening) -> Sequence[Any]:
        """The first messages of a connection."""

    def replay(self, kept: Kept, now: str) -> Sequence[Any]:
        """The messages of an entry of the log, or of the end of a turn, for those who missed it."""

    def present(self, now: Now) -> Sequence[Any]:
        """The messages behind the replay: how things are, and what grows as far as it has grown."""


class WireProtocol(Struct, frozen=True):
    """A front-end protocol: its name, and how a projector of it is made."""

    name: str
    projector: Callable[[ConversationRow], Projector]
