"""What stands beside the log: the queue, receipts, blobs, the owner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import structs

from turnwire.core.conversation import step
from turnwire.core.conversation.inputs import Recovered
from turnwire.core.conversation.state import Conversation, Waiting, needs_recovery
from turnwire.core.message import (
    ImagePart,
    KeptBlock,
    Message,
    MessagePart,
    TextPart,
    TextPayload,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    known_meta,
    to_json,
)
from turnwire.stores.blob_refs import blobs_of_content, refs_of
from turnwire.stores.sqlite.commit import is_unsettled
from turnwire.stores.sqlite.fsck.case import Case, Receipt
from turnwire.stores.sqlite.fsck.mending import Mending

__all__ = ["is_cut_off", "is_held", "mend_blobs", "mend_owner", "mend_queue", "mend_receipts"]

LOST = "[The rest of this was lost.]"


# --- the queue ----------------------------------------------------------------------------------


def mend_queue(m: Mending) -> None:
    """Nothing waits twice, and nothing that is in the log waits as if it were not."""
    said = _said(m)
    seen: set[str] = set()
    kept: list[Waiting] = []
    for waiting in m.state.queue:
        item = waiting.item
        ran = item.client_message_id in said
        if ran or item.queue_id in seen:
            why = "It is in the log already." if ran else "It waits twice."
            m.say("queue_wrong", why, f"queue item {item.queue_id}")
        else:
            kept.append(waiting)
        seen.add(item.queue_id)
    if m.state.held and not m.state.queue:
        m.say("state_wrong", "The queue is held, and empty.")
    if len(kept) < len(m.state.queue) or (m.state.held and not kept):
        m.remember(queue=kept, held=m.state.held and bool(kept))


def _said(m: Mending) -> dict[str | None, int | None]:
    """What people said, by its sender's id, and the turn that it began."""
    out: dict[str | None, int | None] = {}
    for entry in m.entries:
        if entry.message is not None and entry.message.role == "user":
            name = entry.message.meta.get("clientMessageId")
            if isinstance(name, str):
                out[name] = entry.turn_id
    return out


# --- receipts -----------------------------------------------------------------------------------


def mend_receipts(m: Mending) -> None:
    """What was acknowledged is there; a receipt for something that is not is no receipt."""
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
        return "It cannot be read."
    if ack.request_id is not None:
        row = m.case.requests.get(ack.request_id)
        if row is None or row.outcome is None:
            return f"The request {ack.request_id} was not answered."
    elif ack.queue_id in m.case.said - waiting - m.case.removed:
        began = [turn for turn in m.turns.values() if turn.queue_id == ack.queue_id]
        own = any(turn.client_message_id == name for turn in began)
        if not began or (own and name not in said):
            return f"The message {ack.queue_id} neither waits nor has run."
    elif ack.turn_id is not None and ack.outcome is None and said.get(name) != ack.turn_id:
        return f"The message that began turn {ack.turn_id} is not in the log."
    return None


# --- blobs --------------------------------------------------------------------------------------


def mend_blobs(m: Mending) -> None:
    """What an entry refers to is there, and is noted."""
    needed: set[str] = set()
    for entry in m.entries:
        if entry.message is None:
            continue
        lost = set()
        for ref in refs_of(entry.message):
            size = m.blob_size(ref.blob_id)
            if size is None or (ref.size and size != ref.size):
                why = "is not there, or not whole" if size is None else "has another size"
                m.say("blob_missing", f"The blob {ref.blob_id} {why}.", f"entry {entry.sequence}")
                lost.add(ref.blob_id)
            else:
                needed.add(ref.blob_id)
        if lost:
            m.replace(entry, without_blobs(entry.message, lost))
    for waiting in m.state.queue:
        needed.update(blobs_of_content(waiting.item.content))
    # One that is noted and not needed may have been a message's that left the queue.
    if missing := needed - m.blob_uses:
        names = ", ".join(sorted(missing))
        m.say("blob_uses_wrong", f"It needs {names}, which is not noted.")
    m.blob_uses = needed


def without_blobs(message: Message, lost: set[str]) -> Message:
    """The beginning of what was large, and that the rest is lost."""
    parts = [_part(part, lost) for part in message.parts]
    meta = message.meta
    if kept := known_meta(message).blocks:
        gone: Any = {"type": "text", "text": LOST}
        blocks = [
            KeptBlock(b.position, gone) if b.blob and b.blob.blob_id in lost else b for b in kept
        ]
        meta = {**meta, "blocks": to_json(blocks)}
    return structs.replace(message, parts=parts, meta=meta)


def _part(part: MessagePart, lost: set[str]) -> MessagePart:
    match part:
        case TextPart(payload=said) if said.blob and said.blob.blob_id in lost:
            return TextPart(structs.replace(said, text=_cut(said.text), blob=None))
        case ThinkingPart(payload=said) if said.blob and said.blob.blob_id in lost:
            return ThinkingPart(structs.replace(said, text=_cut(said.text), blob=None))
        case ToolCallPart(payload=call) if call.blob and call.blob.blob_id in lost:
            text = call.raw_args_text if call.raw_args_text is not None else call.preview
            call = structs.replace(call, raw_args_text=_cut(text or ""), preview=None, blob=None)
            return ToolCallPart(call)
        case ImagePart(payload=picture) if picture.blob and picture.blob.blob_id in lost:
            return TextPart(TextPayload("[A picture was lost.]"))
        case ToolResultPart(payload=result):
            content: Any = result.content
            if isinstance(content, list):
                content = [_part(inner, lost) for inner in content]
            if result.blob and result.blob.blob_id in lost:
                content = _cut(content if isinstance(content, str) else "")
                result = structs.replace(result, blob=None)
            if result.details_blob and result.details_blob.blob_id in lost:
                result = structs.replace(result, details_blob=None)
            return ToolResultPart(structs.replace(result, content=content))
        case _ if (ref := getattr(getattr(part, "payload", None), "blob", None)) is not None:
            if ref.blob_id not in lost:
                return part
            payload = structs.replace(part.payload, blob=None)  # type: ignore[union-attr]  # it has a blob
            return structs.replace(part, payload=payload)
        case _:
            return part


def _cut(text: str) -> str:
    return f"{text}\n{LOST}" if text else LOST


# --- the owner ----------------------------------------------------------------------------------


def is_held(case: Case, now: int, has_died: Callable[[str], bool]) -> bool:
    """Whether a live process works on it."""
    return case.owner is not None and case.lease_until > now and not has_died(case.owner)


def is_cut_off(state: Conversation, now: int) -> bool:
    """Whether something seems to go on that cannot go on without an owner."""
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
    """Who is said to work on it does, or nobody; and it will be looked after if need be."""
    if not held:
        if m.case.owner is not None:
            m.say("stale_owner", f"{m.case.owner} is gone, and has not let go of it.")
        elif is_cut_off(m.state, now):
            m.say("stale_owner", "Something seems to go on, and nobody works on it.")
    if m.case.state is not None and m.case.unsettled is not is_unsettled(m.case.state):
        marked = "settled" if not m.case.unsettled else "unsettled"
        m.say("unsettled_wrong", f"It is marked as {marked}, and is not.")
