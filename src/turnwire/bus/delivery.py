"""Calls the receiver of a node with one message after the other."""

from __future__ import annotations

import logging

from turnwire.ports.bus import Receive

__all__ = ["deliver"]

log = logging.getLogger("turnwire.bus")


def deliver(receive: Receive, data: bytes) -> None:
    """Calls `receive`. An exception is logged: it must not end the bus for later messages."""
    try:
        receive(data)
    except Exception:
        log.exception("A message of another node could not be handled")
