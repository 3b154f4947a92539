"""One conversation whose state cannot be read does not affect the others."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path

import pytest

from tests.engine.helpers.scripted_agent import ScriptedAgent
from tests.engine.helpers.watcher import engine_on
from tests.stores.helpers.sql import rows_of
from turnwire.ports import Damaged
from turnwire.stores.sqlite.fsck import check

pytestmark = pytest.mark.needs_sqlite(reason="damages the file")


def test_an_engine_starts_with_a_damaged_conversation_and_names_the_conversation(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "turnwire.db"

    async def before() -> None:
        async with engine_on(path, agent=ScriptedAgent()) as engine:
            for name in ("good", "bad"):
                await (await engine.create("demo", conversation_id=name)).send("hello")

    async def after() -> None:
        async with engine_on(path, agent=ScriptedAgent()) as engine:
            assert (await (await engine.open("good")).wake()).turn_id == 1
            with pytest.raises(Damaged, match=r"bad is damaged.*turnwire fsck --repair"):
                await engine.open("bad")
            rows = await engine.store.conversations()
            assert {row.conversation_id: bool(row.damage) for row in rows} == {
                "good": False,
                "bad": True,
            }

    async def repaired() -> None:
        async with engine_on(path, agent=ScriptedAgent()) as engine:
            assert (await (await engine.open("bad")).wake()).last_turn_id == 1

    asyncio.run(before())
    rows_of(
        path,
        "UPDATE conversations SET unsettled = 1, state_json = json_set(state_json, '$.queue', 5)"
        " WHERE conversation_id = 'bad'",
    )
    with caplog.at_level(logging.ERROR, "turnwire"):
        asyncio.run(after())
    assert "Conversation bad is damaged" in caplog.text
    check(path, now=time.time_ns() // 1_000_000, repair=True)
    asyncio.run(repaired())


def test_a_list_by_activity_keeps_a_conversation_whose_state_is_no_json(tmp_path: Path) -> None:
    path = tmp_path / "turnwire.db"

    async def before() -> None:
        async with engine_on(path, agent=ScriptedAgent()) as engine:
            for name in ("good", "bad"):
                await engine.create("demo", conversation_id=name)

    async def after() -> None:
        async with engine_on(path, agent=ScriptedAgent()) as engine:
            rows = await engine.store.conversations(activity="idle")
            assert {row.conversation_id: bool(row.damage) for row in rows} == {
                "good": False,
                "bad": True,
            }

    asyncio.run(before())
    rows_of(path, "UPDATE conversations SET state_json = '{' WHERE conversation_id = 'bad'")
    asyncio.run(after())
