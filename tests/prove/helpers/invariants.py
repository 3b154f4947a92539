"""Invariants 1 to 14 and 17 of the guarantees, each as a check of a history."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from tests.prove.helpers import client_checks as clients
from tests.prove.helpers import log_checks as logs
from tests.prove.helpers.history import History

Check = Callable[[History], Iterator[str]]

INVARIANTS: dict[str, Check] = {
    "persist before publish": clients.persist_before_publish,
    "dense": logs.dense,
    "contiguous": clients.contiguous,
    "seam": clients.seam,
    "the bus is a hint": clients.the_bus_is_a_hint,
    "epoch": clients.epoch,
    "ack means durable": logs.ack_means_durable,
    "bounded queue": logs.bounded_queue,
    "one writer": logs.one_writer,
    "no orphan": logs.no_orphan,
    "tool closure": logs.tool_closure,
    "asked once": logs.asked_once,
    "truthful state": logs.truthful_state,
    "interrupt ends": logs.interrupt_ends,
    "what was shown stays": clients.shown_stays,
}


class Violation(Struct, frozen=True):
    """An invariant that does not hold, and where."""

    invariant: str
    message: str


def violations(history: History) -> list[Violation]:
    """Returns all violations of a history."""
    return [
        Violation(name, message) for name, check in INVARIANTS.items() for message in check(history)
    ]
