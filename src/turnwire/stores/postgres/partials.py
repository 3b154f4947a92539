"""Rows of partials: the saved text of blocks that are still growing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnwire.core.partials import Partial
from turnwire.ports import Claim
from turnwire.stores.partial_rows import joined
from turnwire.stores.postgres.connection import DatabaseConnection
from turnwire.stores.postgres.text import readable, stored_text

__all__ = ["find_partials", "save_all"]

# FOR SHARE makes a claim wait for a save, and a save for a claim: the loser writes nothing.
_SAVE = """
WITH asked AS MATERIALIZED (
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[])
        WITH ORDINALITY AS x(conversation_id, fence, owner, place_in_batch)
), held AS MATERIALIZED (
    SELECT a.place_in_batch, c.conversation_id FROM conversations c JOIN asked a USING (conversation_id)
    WHERE c.conversation_id = ANY($1::text[]) AND c.fence = a.fence AND c.owner = a.owner
    FOR SHARE OF c
), saved AS (
    INSERT INTO partials (conversation_id, place, start, message_id, block_index, kind, text,
        parent_tool_use_id, agent_id, provider, model)
    SELECT h.conversation_id, n.place, n.start, n.message_id, n.block_index, n.kind, n.text,
        n.parent_tool_use_id, n.agent_id, n.provider, n.model
    FROM unnest($4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[], $9::text[],
        $10::text[], $11::text[], $12::text[], $13::text[], $14::text[])
        AS n(place_in_batch, place, start, message_id, block_index, kind, text, parent_tool_use_id,
            agent_id, provider, model)
    JOIN held h USING (place_in_batch)
    ON CONFLICT (conversation_id, place, start) DO UPDATE SET
        message_id = excluded.message_id, block_index = excluded.block_index, kind = excluded.kind,
        text = excluded.text, parent_tool_use_id = excluded.parent_tool_use_id,
        agent_id = excluded.agent_id, provider = excluded.provider, model = excluded.model
)
SELECT place_in_batch FROM held
"""
_FIND = """
SELECT message_id, block_index, kind, text, start, place, parent_tool_use_id, agent_id, provider,
    model
FROM partials WHERE conversation_id = $1 ORDER BY place, start
"""


async def save_all(
    connection: DatabaseConnection, saves: Sequence[tuple[Claim, Sequence[Partial]]]
) -> set[int]:
    """Saves the pieces of several conversations. Returns the places of the saves that hold."""
    pieces: list[tuple[Any, ...]] = []
    for number, (_, partials) in enumerate(saves, 1):
        newest = {(each.place, each.start): each for each in partials}  # one row each
        pieces += [_row(number, each) for each in newest.values()]
    columns = [list(column) for column in zip(*pieces, strict=True)] or [[] for _ in range(11)]
    rows = await connection.fetch(
        _SAVE,
        [stored_text(claim.conversation_id) for claim, _ in saves],
        [claim.fence for claim, _ in saves],
        [stored_text(claim.owner) for claim, _ in saves],
        *columns,
    )
    return {row[0] for row in rows}


def _row(number: int, partial: Partial) -> tuple[Any, ...]:
    return (
        number,
        partial.place,
        partial.start,
        stored_text(partial.message_id),
        partial.index,
        partial.kind,
        stored_text(partial.text),
        stored_text(partial.parent_tool_use_id),
        stored_text(partial.agent_id),
        stored_text(partial.provider),
        stored_text(partial.model),
    )


async def find_partials(connection: DatabaseConnection, conversation_id: str) -> list[Partial]:
    """Returns each block with its saved text, in the order in which the blocks began."""
    rows = await connection.fetch(_FIND, stored_text(conversation_id))
    return joined([Partial(*readable(row)) for row in rows])
