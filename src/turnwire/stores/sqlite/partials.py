"""Rows of partials: the saved text of blocks that are still growing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from turnwire.core.partials import Partial
from turnwire.core.text import clean
from turnwire.ports import Claim
from turnwire.stores.partial_rows import joined

__all__ = ["DELETE_PARTIALS", "find_partials", "save_partials"]

# The statement itself checks the fence, so a stale owner is refused without an error. An error
# would roll back commits of other conversations in the same transaction.
_SAVE = """
INSERT INTO partials (
    conversation_id, place, start, message_id, block_index, kind, text, parent_tool_use_id, agent_id,
    provider, model
)
SELECT ?1, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12
FROM conversations WHERE conversation_id = ?1 AND fence = ?2 AND owner = ?13
ON CONFLICT DO UPDATE SET
    message_id = excluded.message_id, block_index = excluded.block_index, kind = excluded.kind,
    text = excluded.text, parent_tool_use_id = excluded.parent_tool_use_id,
    agent_id = excluded.agent_id, provider = excluded.provider, model = excluded.model
"""
_FIND = """
SELECT message_id, block_index, kind, text, start, place, parent_tool_use_id, agent_id, provider,
    model
FROM partials WHERE conversation_id = ? ORDER BY place, start
"""
DELETE_PARTIALS = """
DELETE FROM partials WHERE conversation_id = ? AND message_id = ? AND block_index = ?
"""


def save_partials(db: apsw.Cursor, claim: Claim, partials: Sequence[Partial]) -> bool:
    """Saves pieces in the open transaction. Returns False if the claim is not the newest one."""
    name = clean(claim.conversation_id)
    for partial in partials:
        db.execute(
            _SAVE,
            (
                name,
                claim.fence,
                partial.place,
                partial.start,
                clean(partial.message_id),
                partial.index,
                partial.kind,
                clean(partial.text),
                clean(partial.parent_tool_use_id),
                clean(partial.agent_id),
                clean(partial.provider),
                clean(partial.model),
                clean(claim.owner),
            ),
        )
        if not db.connection.changes():
            return False
    return True


def find_partials(db: apsw.Connection, conversation_id: str) -> list[Partial]:
    """Returns each block with its saved text, in the order in which the blocks began."""
    rows: list[Any] = db.execute(_FIND, (clean(conversation_id),)).fetchall()
    return joined([Partial(*row) for row in rows])
