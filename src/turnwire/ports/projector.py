"""The projector port: the interface that translates a conversation into a front-end protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from msgspec import Struct

from turnwire.core.happenings import Happening, Kept, Now
from turnwire.core.opening import Opening
from turnwire.ports.rows import ConversationRow

__all__ = ["Projected", "Projector", "WireProtocol"]


class Projected(Protocol):
    """A message of a protocol, shared by all followers that receive it."""

    @property
    def number(self) -> int | None:
        """Returns the number of the log entry that it represents.

        Returns None for other messages.
        """

    @property
    def size(self) -> int:
        """Returns its approximate size in bytes."""

    @property
    def written(self) -> bytes:
        """Returns the bytes that all followers have in common. Encoded at the first access."""


class Projector(Protocol):
    """Translates the happenings of a channel into messages, once for all followers of one protocol.

    A channel has a projector only while a client follows in its protocol. So a projector may start
    in the middle of a message or of a turn: `present` gives it the current state.

    Guarantees:

    - Order: messages have the order of the happenings. An entry's messages carry its number, so
      numbers only increase.
    - Completeness: every entry gives at least one message with its number, live and replayed.
      An entry or event of an unknown kind gives a message or none; it never raises.
    - Purity: a projector never blocks and does not modify its arguments, which other projectors
      receive as well.
    - Immutability: a message does not change after it was returned. Its bytes are the same for
      every follower.
    - `greet`, `replay` and `present` serve one follower, or several that connect together. They do
      not affect what `project` returns for the others. While another process owns the conversation,
      all followers get `replay` and `present` for the entries of that process.
    """

    def project(self, happened: Sequence[Happening]) -> Sequence[Any]:
        """Returns the messages of one publication. Called once for each publication."""

    def greet(self, opening: Opening) -> Sequence[Any]:
        """Returns the first messages of a connection."""

    def replay(self, kept: Kept, now: str) -> Sequence[Any]:
        """Returns the messages of a log entry or turn end, for followers that missed it."""

    def present(self, now: Now) -> Sequence[Any]:
        """Returns the messages that follow the replay: the status, and unfinished blocks so far."""


class WireProtocol(Struct, frozen=True):
    """A front-end protocol: its name, the factory of its projector, and how messages are relayed.

    A node that follows a conversation of another node gets the messages as bytes. So `unpack`
    returns messages that followers cannot tell from those that were given to `pack`.
    """

    name: str
    projector: Callable[[ConversationRow], Projector]
    pack: Callable[[Sequence[Any]], bytes]
    unpack: Callable[[bytes], list[Any]]
