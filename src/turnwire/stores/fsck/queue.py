"""Checks of the queue, of receipts and of partials: each belongs to what has happened."""

from __future__ import annotations

from turnwire.core.conversation.state import Waiting, needs_recovery
from turnwire.core.text import json_text
from turnwire.stores.fsck.case import Receipt
from turnwire.stores.fsck.mending import Mending

__all__ = ["mend_partials", "mend_queue", "mend_receipts"]


def mend_queue(m: Mending) -> None:
    """Removes queue items that are queued twice or whose message is already in the log."""
    said, steered = _said(m), _steered(m)
    seen: set[str] = set()
    kept: list[Waiting] = []
    for waiting in m.state.queue:
        item = waiting.item
        ran = item.client_message_id in said or item.queue_id in steered
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


def _steered(m: Mending) -> set[object]:
    """Returns the queue ids of the messages that went into a running turn."""
    messages = [entry.message for entry in m.entries if entry.message is not None]
    return {each.meta.get("steeredAs") for each in messages if each.role == "user"} - {None}


# --- receipts -----------------------------------------------------------------------------------


def mend_receipts(m: Mending) -> None:
    """Drops receipts whose effect is missing, so that the client can send the frame again."""
    if not m.case.receipts:
        return
    said = _said(m)
    waiting: set[object] = {each.item.queue_id for each in m.state.queue}
    waiting |= _steered(m)  # these are no turns of their own
    for receipt in m.case.receipts:
        why = _why_void(m, receipt, said, waiting)
        if why is not None:
            m.say("receipt_without_effect", why, f"receipt {receipt.client_message_id}")
            m.dropped_receipts.append((receipt.user, receipt.client_message_id))


def _why_void(
    m: Mending, receipt: Receipt, said: dict[str | None, int | None], waiting: set[object]
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
    elif ack.queue_id is not None:
        return None  # it waits, was removed, or went into a running turn
    elif ack.turn_id is not None and ack.outcome is None and said.get(name) != ack.turn_id:
        return f"The message that began turn {ack.turn_id} is not in the log."
    return None


# --- partials -----------------------------------------------------------------------------------


def mend_partials(m: Mending) -> None:
    """Drops saved partials of a conversation in which nothing runs."""
    if needs_recovery(m.state) or m.state.voices:
        return
    for partial in m.case.partials:
        place = f"block {partial.message_id}:{partial.index}"
        m.say("partials_left", "The text is saved, but its turn does not run.", place)
        m.set_aside(place, partial.text)
        m.dropped_partials.append(partial.block)
