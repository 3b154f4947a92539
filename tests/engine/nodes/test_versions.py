"""Nodes of several versions share a store: none of them harms what another one has written."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from tests.engine.helpers.watcher import PATIENCE
from tests.engine.nodes.two_engines import two_engines
from tests.helpers.owner_names import owner_with, pid_that_has_ended
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.state import STATE_LEVEL
from turnwire.core.error_codes import Refused
from turnwire.engine.nodes import forwarding
from turnwire.engine.nodes import messages as m
from turnwire.engine.ownership.owners import inbox_of
from turnwire.stores.sqlite.fsck import check

_LATER: dict[str, Any] = {"level": STATE_LEVEL + 1, "future": {"kept": True}}


def packed(**fields: Any) -> bytes:
    return msgspec.msgpack.encode(fields)


def test_a_message_of_an_unknown_kind_is_ignored() -> None:
    assert m.decode(packed(type="future", sender="a")) is None


def test_an_unknown_field_of_a_message_is_ignored() -> None:
    known = m.decode(packed(type="detach", sender="a", attachment="x", future=1))
    assert known == m.Detach("a", "x")


def test_a_command_with_a_field_of_a_later_version_cannot_be_carried_out() -> None:
    kind, data = m.pack_input(i.Renamed(at=1, title="Tea"))
    later = {**msgspec.json.decode(data), "future": {"deep": 1}}
    assert m.unpack_input(kind, data) == i.Renamed(at=1, title="Tea")
    assert m.unpack_input(kind, msgspec.json.encode(later)) is None
    assert m.unpack_input("Future", data) is None


def test_a_command_of_another_version_without_a_value_in_new_fields_is_carried_out() -> None:
    said = i.Said(at=1, content=[], client_message_id="m1", queue_id="q", trace_id="t")
    kind, data = m.pack_input(said)
    later = {**msgspec.json.decode(data), "future": None, "futures": []}
    earlier = {
        "at": 1,
        "content": [],
        "client_message_id": "m1",
        "queue_id": "q",
        "trace_id": "t",
    }
    for other in (later, earlier):
        assert m.unpack_input(kind, msgspec.json.encode(other)) == said


def test_a_refusal_with_an_unknown_code_reaches_the_client(path: Path) -> None:
    async def scene() -> None:
        async with two_engines(path) as two:
            a, b = two.a.cluster, two.b.cluster
            assert a is not None
            assert b is not None

            def refuse(ask: m.Ask) -> None:
                here = b.mailbox.inbox
                b.mailbox.send(ask.sender, m.Refusal(here, ask.request, "FUTURE", "No tea.", b"{}"))

            b.mailbox.handle((m.Ask, refuse))
            with pytest.raises(Refused) as refused:
                async with asyncio.timeout(PATIENCE):
                    await a.ask(b.mailbox.inbox, "c", i.Renamed(at=1, title="Tea"), b"", None)
            assert (refused.value.code, refused.value.message) == ("INTERNAL_ERROR", "No tea.")

    asyncio.run(scene())


async def written_later(path: Path, name: str, **more: Any) -> str:
    """Writes a state as a later version would, and returns it."""
    with apsw.Connection(str(path)) as db:
        text = db.execute(
            "SELECT state_json FROM conversations WHERE conversation_id = ?", (name,)
        ).get
        state = msgspec.json.encode({**msgspec.json.decode(text), **_LATER, **more}).decode()
        db.execute("UPDATE conversations SET state_json = ?", (state,))
    return state


def state_of(path: Path, name: str) -> str:
    sql = "SELECT state_json FROM conversations WHERE conversation_id = ?"
    return str(apsw.Connection(str(path)).execute(sql, (name,)).get)


@pytest.mark.needs_sqlite(reason="changes the file itself")
def test_a_state_of_a_later_version_is_not_written_by_an_earlier_one(path: Path) -> None:
    async def scene() -> None:
        async with two_engines(path) as two:
            talk = await two.a.create("scripted")
            state = await written_later(path, talk.id)
            with pytest.raises(Refused) as refused:
                async with asyncio.timeout(PATIENCE):
                    await talk.send("hello")
            assert "A newer Turnwire has written this conversation" in refused.value.message
            assert refused.value.retryable
            await two.b._recovery._take([talk.id])
            row = await two.a.store.conversation(talk.id)
            assert row is not None
            assert (row.owner, row.state.level) == (None, STATE_LEVEL + 1)
            assert state_of(path, talk.id) == state

    asyncio.run(scene())


@pytest.mark.needs_sqlite(reason="changes the file itself")
def test_fsck_leaves_what_only_a_later_version_can_repair(path: Path) -> None:
    async def scene() -> None:
        async with two_engines(path) as two:
            talk = await two.a.create("scripted")
        # An unknown word for the state, which cannot be read at all.
        state = await written_later(path, talk.id, state="future")
        report = await asyncio.to_thread(check, path, now=0, repair=True)
        assert [finding.left for finding in report.findings] == [
            "A newer Turnwire has written it: update Turnwire first."
        ] * len(report.findings)
        assert report.findings
        assert state_of(path, talk.id) == state

    asyncio.run(scene())


def test_a_command_does_not_wait_for_an_owner_whose_process_has_died(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding, "_SILENT", 10**9)  # only the death of the process ends the wait

    async def scene() -> None:
        async with two_engines(path) as two:
            cluster = two.a.cluster
            assert cluster is not None
            owner = owner_with(pid_that_has_ended())
            cluster.note_owner(owner)
            inbox = inbox_of(owner)
            assert inbox is not None
            with pytest.raises(forwarding.OwnerSilent):
                async with asyncio.timeout(PATIENCE):
                    await cluster.ask(inbox, "c", i.Renamed(at=1, title="Tea"), b"", None)

    asyncio.run(scene())
