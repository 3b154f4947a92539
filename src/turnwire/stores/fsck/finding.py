"""Kinds of damage to a log, and the repair of each."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["KINDS", "Finding", "Kind"]


class Kind(Struct, frozen=True):
    """One kind of damage."""

    meaning: str
    repair: str  # what a repair does; empty if no repair is possible


KINDS: dict[str, Kind] = {
    # The file, or the database.
    "file_damaged": Kind(
        "SQLite or PostgreSQL reports damage in its files.",
        "The indexes are rebuilt. If damage remains, restore a backup.",
    ),
    "schema_old": Kind(
        "An older Turnwire made the tables.", "The tables are migrated, then checked."
    ),
    "conversation_missing": Kind(
        "A log has no conversation.",
        "The conversation is restored with the agent `unknown`. It can be read, but not continued.",
    ),
    "rows_left_over": Kind(
        "Rows belong to a conversation that is missing and has no log.", "The rows are removed."
    ),
    # The log.
    "state_unreadable": Kind(
        "The state of a conversation cannot be read.",
        "The state is rebuilt from the log. The old state, with its queue, is kept in `set_aside`.",
    ),
    "state_wrong": Kind(
        "The state of a conversation contradicts its log.", "The state is corrected from the log."
    ),
    "head_wrong": Kind(
        "The head is not the last sequence number of the log.", "The head is corrected."
    ),
    "gap": Kind(
        "Sequence numbers are missing in the log.",
        "Each missing number gets an entry that says that it was lost (`entries_lost`).",
    ),
    "entry_unreadable": Kind(
        "An entry cannot be read, or belongs to another turn than its row.",
        "A note (`entries_lost`) replaces an unreadable entry; its content is kept in `set_aside`. "
        "An entry of another turn becomes a note (`entry_misplaced`) that contains it.",
    ),
    "entry_twice": Kind(
        "A finished block is in the log twice.",
        "The second becomes a note (`entry_twice`) that contains it.",
    ),
    "call_missing": Kind(
        "An entry or the state refers to a tool call or a request that the log lacks.",
        "A request is restored from its row. A call is restored as tool `lost`, without its input.",
    ),
    "result_missing": Kind(
        "A tool call has no result and cannot get one.",
        "The call gets an error result that says that the true one was lost.",
    ),
    "result_twice": Kind(
        "A tool call has two results.",
        "The second becomes a note (`result_twice`) that contains it.",
    ),
    "end_missing": Kind(
        "A turn neither runs nor waits, but has no end.",
        "The turn ends with the error `end_lost`.",
    ),
    "stop_missing": Kind(
        "A turn was interrupted, but the log has no entry of it.",
        "An `interrupted` entry with the reason `lost` is added.",
    ),
    "turn_wrong": Kind(
        "A turn's row is missing, cannot be read, or ends beyond the log.",
        "The row is rebuilt from the log. An unreadable end is kept in `set_aside`.",
    ),
    "fork_wrong": Kind(
        "A fork does not begin with the log of its parent.",
        "The log stays as it is. The conversation is no longer marked as a fork.",
    ),
    # Requests.
    "request_without_row": Kind(
        "A question or a permission is open, but its row is missing or ended.",
        "The row is restored as open.",
    ),
    "row_without_request": Kind(
        "The row of a request is open, but the conversation does not wait for it.",
        "The row gets the outcome that the log has, else `cancelled`.",
    ),
    "request_left_open": Kind(
        "The log has a request without its end, and the conversation does not wait for it.",
        "The log gets the outcome that the row has, else `cancelled`.",
    ),
    "inbox_wrong": Kind(
        "The inbox has an extra item, or lacks one.", "The inbox is corrected from the requests."
    ),
    "rules_wrong": Kind(
        "The list of remembered rules does not match the conversation.",
        "The list is corrected from the state of the conversation.",
    ),
    # Around the log.
    "stale_owner": Kind(
        "The owner of a conversation has died.",
        "Its unfinished work is ended as an engine does at startup.",
    ),
    "unsettled_wrong": Kind(
        "The mark that tells an engine to recover a conversation at startup is wrong.",
        "The mark is corrected.",
    ),
    "activity_wrong": Kind(
        "Lists have a conversation in a wrong group.",
        "The group is corrected from the state of the conversation.",
    ),
    "partials_left": Kind(
        "Text of unfinished blocks is saved, but its turn does not run.",
        "The text is kept in `set_aside`. If the turn runs, the text goes into the log at its end.",
    ),
    "queue_wrong": Kind(
        "A queued message has already run, or is queued twice.",
        "The message is removed from the queue and kept in `set_aside`.",
    ),
    "receipt_without_effect": Kind(
        "A client's frame was acknowledged, but its effect is missing.",
        "The receipt is removed, so that the client can send the same frame again.",
    ),
    "blob_missing": Kind(
        "An entry refers to a missing blob.",
        "The inline beginning stays, with a note that the rest was lost.",
    ),
    "blob_damaged": Kind(
        "The bytes of a blob do not match the stored digest.",
        "Entries that refer to the blob say that it was lost. The bytes are kept as they are.",
    ),
    "blob_ref_wrong": Kind(
        "An entry states a wrong type or size of a blob.",
        "The entry is corrected. The blob is not changed.",
    ),
    "blob_unused": Kind("No conversation has needed a blob for a day.", "The blob is removed."),
    "blob_uses_wrong": Kind(
        "The list of blobs that a conversation needs is wrong.",
        "The list is corrected from the log.",
    ),
    "search_wrong": Kind(
        "The search index does not match the log.", "The affected entries are indexed again."
    ),
    "counter_wrong": Kind(
        "A counter of what a user has stored or spent is wrong.",
        "The counter is corrected from what it counts.",
    ),
}
"""All kinds of damage, by name."""


class Finding(Struct, frozen=True, omit_defaults=True):
    """Damage that was found, and its place."""

    kind: str
    what: str  # description for people
    conversation_id: str | None = None
    place: str | None = None  # `entry 4`, `turn 2`, `request toolu_1`, ...
    repaired: bool = False
    left: str | None = None  # why a requested repair was not done

    @property
    def repair(self) -> str:
        """The description of the repair of this kind of damage."""
        return KINDS[self.kind].repair
