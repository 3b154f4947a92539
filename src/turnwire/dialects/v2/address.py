"""The address of a protocol v2 connection: parses it, and decides where the replay starts."""

from __future__ import annotations

import re

from msgspec import Struct

from turnwire.dialects.v2 import payloads as p

__all__ = ["Address"]

_ADDRESS = re.compile(r"(?:wss?://[^/]+)?/ws/conversations/([^/?#]+)(?:\?([^#]*))?")
_NUMBER = re.compile(r"[0-9]{1,18}")
_ESCAPED = re.compile(r"(?:[^%]|%[0-9a-fA-F]{2})*")
_KNOWN = ("protocol", "last_sequence", "epoch", "tail")


class Address(Struct, frozen=True, gc=False):
    """The address that a client connects to, with the position in the log that the client has."""

    conversation_id: str
    protocol: str | None
    last_sequence: int
    epoch: str | None
    tail: int | None
    fault: str | None = None  # why the address is malformed; then the other fields do not count

    @classmethod
    def of(cls, text: str) -> Address | None:
        """Parses an address. Returns None if it is not the address of a conversation."""
        found = _ADDRESS.fullmatch(text)
        conversation_id = found and _decoded(found[1])
        if found is None or conversation_id is None:
            return None
        query: dict[str, str] = {}
        faults: list[str] = []
        for part in (found[2] or "").split("&"):
            name, _, escaped = part.partition("=")
            value = _decoded(escaped)
            if name not in _KNOWN:
                continue  # a server ignores unknown parameters
            if name in query:
                faults.append(f"{name} comes twice")
            elif not value and name != "protocol":  # an empty `protocol` gets its own error
                faults.append(f"{name} is {escaped!r}")
            query.setdefault(name, value or "")
        for name, least in (("last_sequence", 0), ("tail", 1)):
            number = query.get(name, str(least))
            if not _NUMBER.fullmatch(number) or int(number) < least:
                faults.append(f"{name} is {number!r}")
        protocol = query.get("protocol")
        if faults:
            return cls(conversation_id, protocol, 0, None, None, faults[0])
        tail = query.get("tail")
        return cls(
            conversation_id,
            protocol,
            int(query.get("last_sequence", "0")),
            query.get("epoch"),
            None if tail is None else int(tail),
        )

    def void_because(self, info: p.SessionInfo) -> p.ResetReason | None:
        """Returns why the client's copy is void; None if the copy can be continued, or is empty."""
        if self.epoch is not None and self.epoch != info.epoch:
            return "epoch"
        if not self.last_sequence:
            return None
        if self.last_sequence > info.head:
            return "beyond_head"
        if self.tail is not None and info.head - self.last_sequence > self.tail:
            return "tail"
        return None

    def first(self, info: p.SessionInfo) -> int:
        """Returns the number of the first entry that this client must get."""
        if self.last_sequence and self.void_because(info) is None:
            return self.last_sequence + 1
        return 1 if self.tail is None else max(1, info.head - self.tail + 1)


def _decoded(text: str) -> str | None:
    """Decodes %-escapes; a pure module cannot import urllib. Returns None if they are malformed."""
    if not _ESCAPED.fullmatch(text):
        return None
    first, *rest = text.split("%")
    raw = first.encode() + b"".join(bytes.fromhex(each[:2]) + each[2:].encode() for each in rest)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None
