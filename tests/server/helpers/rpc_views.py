"""Compares the views of RPC clients, and waits for their streams."""

from __future__ import annotations

from typing import Any

from tests.helpers.shown_content import all_messages, check_ids, shown_in
from tests.server.helpers.rpc_client import RpcClient
from tests.server.helpers.v2_client import Client
from turnwire.core.view import View


async def everything(v2: Client, *clients: RpcClient) -> None:
    """Waits until the client has received everything so far."""
    await v2.send("session.heartbeat", "all")
    await v2.answer("all")
    for client in clients:
        await client.result("getCapabilities")


def ends(view: View) -> list[Any]:
    return [
        (t.turn_id, t.end.is_error, t.end.interrupted, t.end.stop_reason, t.end.error, t.end.usage)
        for t in view.turns
    ]


def check_same(one: View, other: View) -> None:
    assert shown_in(one) == shown_in(other)
    assert ends(one) == ends(other)
    for view in (one, other):
        check_ids(view)
        assert not any(message.streaming for message in all_messages(view))
