"""Checks of blobs: every reference names a blob and is true, and the blobs are noted."""

from __future__ import annotations

from turnwire.stores.blob_refs import blobs_of_content, refs_of, with_true_refs
from turnwire.stores.fsck.case import Entry
from turnwire.stores.fsck.mending import Mending

__all__ = ["mend_blobs"]


def mend_blobs(m: Mending) -> None:
    """Corrects references to blobs, and notes which blobs the conversation needs."""
    needed: set[str] = set()
    for entry in m.entries:
        message = entry.message
        if message is None or not entry.has_blobs:
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
    needed = {blob_id for blob_id in needed if blob_id in m.case.blobs}
    # Blobs that are noted but not needed stay: they may belong to a message that left the queue.
    # The bytes of a damaged blob are kept as long as the conversation.
    if missing := needed - m.blob_uses:
        names = ", ".join(sorted(missing))
        m.say("blob_uses_wrong", f"The conversation needs {names}, which is not noted.")
    m.blob_uses = m.blob_uses | needed


def _place(entry: Entry) -> str:
    return f"entry {entry.sequence}"
