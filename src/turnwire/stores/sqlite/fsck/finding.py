"""What can be wrong with a log, and what is done about it."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["KINDS", "Finding", "Kind"]


class Kind(Struct, frozen=True):
    """One kind of damage."""

    meaning: str
    repair: str  # what is done about it; empty: nothing can be done


KINDS: dict[str, Kind] = {
    # The file.
    "file_damaged": Kind(
        "SQLite finds its own file damaged.",
        "The indexes and the search index are built again. If that is not enough, restore a backup.",
    ),
    "schema_old": Kind(
        "An older Turnwire wrote the file.", "The tables are brought up to date, then checked."
    ),
    "conversation_missing": Kind(
        "There is a log, and no conversation that it belongs to.",
        "The conversation is there again, with the agent `unknown`: it can be read, not continued.",
    ),
    "rows_left_over": Kind(
        "Rows of a conversation that is gone, and that has no log.", "They are removed."
    ),
    # The log.
    "state_unreadable": Kind(
        "What is remembered of a conversation cannot be read.",
        "It is made anew from the log. What the file had is set aside, with what waited in the queue.",
    ),
    "state_wrong": Kind(
        "What is remembered of a conversation contradicts its log.", "The log is right."
    ),
    "head_wrong": Kind("The log ends elsewhere than its head says.", "The head is set right."),
    "gap": Kind(
        "Numbers are missing in the log.",
        "Each gets an entry that says that it was lost (`entries_lost`).",
    ),
    "entry_unreadable": Kind(
        "An entry cannot be read, or is of another turn than its row.",
        "An entry that says so takes its place (`entries_lost`), and what the file had is set aside. "
        "One of another turn becomes a note (`entry_misplaced`) that has it.",
    ),
    "entry_twice": Kind(
        "A finished block is in the log twice.",
        "The second becomes a note (`entry_twice`) that has it.",
    ),
    "call_missing": Kind(
        "Something speaks of a tool call, or of a request, that the log does not have.",
        "A request is put back as its row has it; a call is put back as `lost`, without its input.",
    ),
    "result_missing": Kind(
        "A tool call has no result, and will get none.",
        "It gets a result that is an error, and says that the true one was lost.",
    ),
    "result_twice": Kind(
        "A tool call has two results.", "The second becomes a note (`result_twice`) that has it."
    ),
    "end_missing": Kind(
        "A turn neither runs nor waits, and has no end.",
        "It gets an end that is an error: `end_lost`.",
    ),
    "stop_missing": Kind(
        "A turn was interrupted, and the log does not tell of it.",
        "The log tells of it, with the reason `lost`.",
    ),
    "turn_wrong": Kind(
        "A turn's row is missing, cannot be read, or ends where the log does not reach.",
        "It is made anew from the log. An end that cannot be read is set aside.",
    ),
    "fork_wrong": Kind(
        "A fork does not begin with what the conversation has that it was forked from.",
        "It stays as it is, and is a fork no longer.",
    ),
    # Requests.
    "request_without_row": Kind(
        "A question or a permission is open, and its row is missing or ended.",
        "The row is there again, and open.",
    ),
    "row_without_request": Kind(
        "A row says that a request is open, and the conversation does not wait for it.",
        "It ends as the log says, else as cancelled.",
    ),
    "request_left_open": Kind(
        "The log tells of a request and not of its end, and nobody waits for it.",
        "It ends as its row says, else as cancelled.",
    ),
    "inbox_wrong": Kind(
        "The inbox has an item too many, or lacks one.", "It has what the requests say."
    ),
    # Beside it.
    "stale_owner": Kind(
        "The process that works on a conversation is gone.",
        "What it left is ended truthfully, as an engine does it when it starts.",
    ),
    "unsettled_wrong": Kind(
        "A conversation would not be looked after when an engine starts, or for nothing.",
        "It is marked as it is.",
    ),
    "partials_left": Kind(
        "Text of unfinished blocks is saved, and no turn runs that it belongs to.",
        "It is set aside. Where a turn runs, it goes into the log when that is ended.",
    ),
    "queue_wrong": Kind(
        "Something waits that has run already, or waits twice.",
        "It is taken out of the queue, and set aside.",
    ),
    "receipt_without_effect": Kind(
        "A client's frame was acknowledged, and what it asked for is not there.",
        "The receipt is removed: the same frame, sent again, is taken again.",
    ),
    "blob_missing": Kind(
        "An entry refers to a blob that is not there.",
        "The beginning stays, with a remark that the rest was lost.",
    ),
    "blob_damaged": Kind(
        "A blob's bytes are not those that were kept.",
        "What referred to it says that it was lost. The bytes are kept as they are.",
    ),
    "blob_ref_wrong": Kind(
        "An entry says another type or size of a blob than the blob has.",
        "The entry says what the blob has. The blob is not touched.",
    ),
    "blob_unused": Kind("No conversation has needed a blob for a day.", "It is removed."),
    "blob_uses_wrong": Kind(
        "Which blobs a conversation needs is noted wrongly.", "It is noted as the log says."
    ),
    "search_wrong": Kind(
        "The search index does not have the words of the log.", "Those entries are indexed again."
    ),
}
"""Every kind by its name."""


class Finding(Struct, frozen=True, omit_defaults=True):
    """Something that is wrong, and where."""

    kind: str
    what: str  # in words
    conversation_id: str | None = None
    place: str | None = None  # `entry 4`, `turn 2`, `request toolu_1`, ...
    repaired: bool = False
    left: str | None = None  # why it was not repaired, where that was asked for

    @property
    def repair(self) -> str:
        """What is done about it."""
        return KINDS[self.kind].repair
