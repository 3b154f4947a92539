"""All checks of one conversation, in their order."""

from __future__ import annotations

from collections.abc import Callable, Container

from turnwire.core.times import iso
from turnwire.stores.fsck.blobs import mend_blobs
from turnwire.stores.fsck.calls import mend_calls, mend_results, place_requests
from turnwire.stores.fsck.case import Case
from turnwire.stores.fsck.mending import Mending
from turnwire.stores.fsck.numbers import mend_numbers
from turnwire.stores.fsck.owner import is_held, mend_owner
from turnwire.stores.fsck.queue import mend_partials, mend_queue, mend_receipts
from turnwire.stores.fsck.requests import mend_requests
from turnwire.stores.fsck.turns import mend_turns, place_ends

__all__ = ["examine"]


def examine(
    case: Case, now: int, bad_blobs: Container[str], has_died: Callable[[str], bool]
) -> tuple[Mending, bool]:
    """Checks a conversation and mends it in memory. Returns also whether a live process owns it."""
    m = Mending(case, iso(now), bad_blobs)
    held = is_held(case, now, has_died)
    mend_numbers(m)
    mend_blobs(m)
    mend_turns(m)
    mend_calls(m)
    mend_requests(m)
    mend_results(m)
    mend_queue(m)
    mend_receipts(m)
    mend_partials(m)
    mend_owner(m, now, held)
    place_ends(m)
    place_requests(m)
    return m, held
