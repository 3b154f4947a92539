"""Checks of the queue, receipts, blobs, partials and the owner of a conversation."""

from __future__ import annotations

from collections.abc import Callable

from turnwire.core.conversation import step
from turnwire.core.conversation.inputs import Recovered
from turnwire.core.conversation.state import Conversation, Waiting, needs_recovery
from turnwire.core.text import json_text
from turnwire.stores.blob_refs import blobs_of_content, refs_of, with_true_refs
from turnwire.stores.sqlite.commit import is_unsettled
from turnwire.stores.sqlite.fsck.case import Case, Entry, Receipt
from turnwire.stores.sqlite.fsck.mending import Mending

__all__ = [
    "is_cut_off",
    "is_held",
    "mend_blobs",
    "mend_owner",
    "mend_partials",
    "mend_queue",
    "mend_receipts",
]

# --- the queue ----------------------------------------------------------------------------------


def mend_queue(m: Mending) -> None:
    """Removes queue items that are queued twice or whose message is already in the log."""
    said = _said(m)
    seen: set[str] = set()
    kept: list[Waiting] = []
    for waiting in m.state.queue:
        item = waiting.item
        ran = item.client_message_id in said
        if ran or item.queue_id in seen:
            why = "The message is already in the log." if ran else "The message is queued twice."
            m.say("queue_wrong", why, f"queue item {item.queue_id}")
            m.set_aside(f"queue item {item.queue_id}", json_text(waiting))
        else:
            kept.append(waiting)
        seen.add(item.queue_id)
    if m.state.held and not m.state.queue:
        m.say("state_wrong", "The queue is held, but it is empty.")
    if len(kept) < len(m.state.queue) or (m.state.held and not kept):
        m.remember(queue=kept, held=m.state.held and bool(kept))


def _said(m: Mending) -> dict[str | None, int | None]:
    """Returns the turn that each message of a person began, by the message's client_message_id."""
    out: dict[str | None, int | None] = {}
    for entry in m.entries:
        if entry.message is not None and entry.message.role == "user":
            name = entry.message.meta.get("clientMessageId")
            if isinstance(name, str):
                out[name] = entry.turn_id
    return out


# --- receipts -----------------------------------------------------------------------------------


def mend_receipts(m: Mending) -> None:
    """Drops receipts whose effect is missing, so that the client can send the frame again."""
    if not m.case.receipts:
        return
    said = _said(m)
    waiting = {each.item.queue_id for each in m.state.queue}
    for receipt in m.case.receipts:
        why = _why_void(m, receipt, said, waiting)
        if why is not None:
            m.say("receipt_without_effect", why, f"receipt {receipt.client_message_id}")
            m.dropped_receipts.append((receipt.user, receipt.client_message_id))


def _why_void(
    m: Mending, receipt: Receipt, said: dict[str | None, int | None], waiting: set[str]
) -> str | None:
    ack, name = receipt.ack, receipt.client_message_id
    if ack is None:
        return "The receipt cannot be read."
    if ack.request_id is not None:
        row = m.case.requests.get(ack.request_id)
        if row is None or row.outcome is None:
            return f"The request {ack.request_id} was not answered."
    elif ack.queue_id in m.case.said - waiting - m.case.removed:
        began = [turn for turn in m.turns.values() if turn.queue_id == ack.queue_id]
        own = any(turn.client_message_id == name for turn in began)
        if not began or (own and name not in said):
            return f"The message {ack.queue_id} is neither queued nor was it run."
    elif ack.turn_id is not None and ack.outcome is None and said.get(name) != ack.turn_id:
        return f"The message that began turn {ack.turn_id} is not in the log."
    return None


# --- blobs --------------------------------------------------------------------------------------


def mend_blobs(m: Mending) -> None:
    """Corrects references to blobs, and notes which blobs the conversation needs."""
    needed: set[str] = set()
    for entry in m.entries:
        message = entry.message
        if message is None:
            continue
        refs = {ref.blob_id: ref for ref in refs_of(message)}
        if not refs:
            continue
        needed.update(refs)
        lost = [blob_id for blob_id in refs if m.find_blob(blob_id) is None]
        for blob_id in lost:
            said = f"The blob {blob_id} is missing or incomplete."
            m.say("blob_missing", said, _place(entry))
        mended = with_true_refs(message, m.find_blob)
        if mended != message:
            if not lost:
                names = ", ".join(sorted(refs))
                m.say(
                    "blob_ref_wrong",
                    f"The entry states a wrong type or size of {names}.",
                    _place(entry),
                )
            m.replace(entry, mended)
    for waiting in m.state.queue:
        needed.update(blobs_of_content(waiting.item.content))
    needed = {blob_id for blob_id in needed if m.has_blob(blob_id)}
    # Blobs that are noted but not needed stay: they may belong to a message that left the queue.
    # The bytes of a damaged blob are kept as long as the conversation.
    if missing := needed - m.blob_uses:
        names = ", ".join(sorted(missing))
        m.say("blob_uses_wrong", f"The conversation needs {names}, which is not noted.")
    m.blob_uses = m.blob_uses | needed


def _place(entry: Entry) -> str:
    return f"entry {entry.sequence}"


# --- partials -------------------------------------------------------------------------------------


def mend_partials(m: Mending) -> None:
    """Drops saved partials of a conversation in which nothing runs."""
    if needs_recovery(m.state) or m.state.voices:
        return
    for partial in m.case.partials:
        place = f"block {partial.message_id}:{partial.index}"
        m.say("partials_left", "The text is saved, but its turn does not run.", place)
        m.set_aside(place, partial.text)
        m.dropped_partials.append(partial.block)


# --- the owner ----------------------------------------------------------------------------------


def is_held(case: Case, now: int, has_died: Callable[[str], bool]) -> bool:
    """Returns whether a live process owns the conversation."""
    return case.owner is not None and case.lease_until > now and not has_died(case.owner)


def is_cut_off(state: Conversation, now: int) -> bool:
    """Returns whether the state has running work that cannot continue without an owner."""
    if not needs_recovery(state):
        return False
    after, _ = step(state, Recovered(at=now, stopping=True))
    return (state.turn, state.tools, state.requests, state.background) != (
        after.turn,
        after.tools,
        after.requests,
        after.background,
    )


def mend_owner(m: Mending, now: int, held: bool) -> None:
    """Reports an owner that has died, work without an owner, and a wrong `unsettled` mark."""
    if not held:
        if m.case.owner is not None:
            m.say(
                "stale_owner",
                f"The owner {m.case.owner} has died without releasing the conversation.",
            )
        elif is_cut_off(m.state, now):
            m.say("stale_owner", "The state has running work, but the conversation has no owner.")
    if m.case.state is not None and m.case.unsettled is not is_unsettled(m.case.state):
        marked = "settled" if not m.case.unsettled else "unsettled"
        m.say("unsettled_wrong", f"The conversation is marked as {marked}, but it is not.")
