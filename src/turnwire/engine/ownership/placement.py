"""The node that a conversation is pinned to, because only its machine has the agent's files."""

from __future__ import annotations

from turnwire.core.error_codes import Refused
from turnwire.engine.ownership.owners import has_died
from turnwire.ports import ConversationRow, Store

__all__ = ["check_pinned_here", "inbox_of_node", "node_in"]


def check_pinned_here(row: ConversationRow, node: str) -> None:
    """Raises Refused, with the node, if only another one can run the agent of a conversation."""
    pinned = row.node
    if pinned is not None and pinned != node:
        said = (
            f"This conversation runs on the node {pinned}, which cannot be reached now. Start that"
            f" node, or give its name to a server on the machine with its files: --node {pinned}"
        )
        raise Refused("AGENT_UNAVAILABLE", said, node=pinned)


def node_in(refused: Refused) -> str | None:
    """Returns the node that `check_pinned_here` refuses for; None for another refusal."""
    node = refused.data.get("node") if refused.code == "AGENT_UNAVAILABLE" else None
    return node if isinstance(node, str) else None


async def inbox_of_node(store: Store, node: str, now: int) -> str | None:
    """Returns the inbox of a live process with the name of a node; of several, the least busy."""
    found = [
        each
        for each in await store.nodes()
        if each.node == node and each.lease_until > now and not has_died(each.owner)
    ]
    found.sort(key=lambda each: each.load.get("conversations", 0))
    return found[0].inbox if found else None
