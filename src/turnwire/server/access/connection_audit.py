"""Writes connects and disconnects to the audit trail, with a limit of rows for each user."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, Protocol

from turnwire.server.access.keys import Who
from turnwire.server.access.limits import Buckets

__all__ = ["ConnectionAudit"]

# Limits of connections of one user that have their own rows. Further connections are only counted.
_PER_SECOND = 1.0
_AT_ONCE = 200
_SUMMARY_SECONDS = 60.0


class _WriteDown(Protocol):
    def __call__(
        self, action: str, who: Who, conversation_id: str | None = None, **data: Any
    ) -> None: ...


class ConnectionAudit:
    """Writes the rows of connections; in a burst, one row `connections_counted` a minute."""

    def __init__(self, write_down: _WriteDown) -> None:
        self._write_down = write_down
        self._buckets = Buckets(_PER_SECOND, _AT_ONCE)
        self._counted: Counter[Who] = Counter()
        self._summary: asyncio.TimerHandle | None = None

    def connected(self, who: Who, conversation_id: str, **about: Any) -> bool:
        """Writes that a client has connected. Returns False if the connection was only counted.

        The caller does not report the end of a connection that was only counted.
        """
        loop = asyncio.get_running_loop()
        if self._buckets.take(who.name, loop.time()):
            self._counted[who] += 1
            if self._summary is None:
                self._summary = loop.call_later(_SUMMARY_SECONDS, self.write_summary)
            return False
        self._write_down("connected", who, conversation_id, **about)
        return True

    def disconnected(self, who: Who, conversation_id: str, **about: Any) -> None:
        """Writes that a client has left whose connect was written."""
        self._write_down("disconnected", who, conversation_id, **about)

    def write_summary(self) -> None:
        """Writes how many connections were only counted, one row for each token."""
        if self._summary is not None:
            self._summary.cancel()
            self._summary = None
        counted, self._counted = self._counted, Counter()
        for who, count in counted.items():
            self._write_down("connections_counted", who, token_id=who.token_id, count=count)
