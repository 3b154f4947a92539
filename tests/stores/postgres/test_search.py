"""A search finds the same entries on PostgreSQL as on SQLite, in any script and of any length."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.stores.postgres.server import Server
from turnwire.stores.postgres import PostgresStore
from turnwire.stores.postgres.tsvector import vectors_of
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.store_samples import begin

TEXTS = [
    "明天下午三点开会议，请准时参加。",
    "你好世界",
    "The deployment failed: foo_bar.py, and l'été was ÉTÉ",
    "会议室在三楼 API调用失败",
    "ひらがなとカタカナ、漢字",
    "한국어 문장입니다",
    "quotes ' \" \\ and : & | ! ( ) <-> *",
    "Ⅷ ½ ﬁne ﷺ x\u0301y",
    "foo bar.py foo_bar",
    "nul \0 in it",
    "base64 " + "A" * 5000,
    "哈" * 1200 + "会议室",
    "word " * 700 + "the needle",
    " ".join(f"w{n}" for n in range(12_000)) + " straw 开会议",
    " ".join(f"the a{n}" for n in range(5_000)),
]
SEARCHES = [
    *(
        "会议",
        "议",
        "会议室",
        "开会议",
        "你好",
        "你好世界",
        "世界你好",
        "参加",
        "三",
        "三楼",
        "哈哈哈哈",
    ),
    *("foo_bar.py", "foo", "bar.py", "foo bar", "failed deploy", "ETE", "été", "l'été"),
    *("api", "调用", "api调用", "カタカナ", "漢字", "한국", "문장", "fine", "viii", "½", "xy"),
    *("quotes", "'", '"', "\\", "<->", "a & b", "!", ":*", "nul", "\0", "A" * 900, "a" * 50),
    *(
        "needle",
        "the needle",
        "word needle",
        "straw",
        "w11999",
        "w1 straw",
        "straw 会议",
        "w0 straw",
    ),
    *("the_a4999", "the_a0", "a4998_the", "a0 a4999", "w1_w2", "w11998_w11999", "w5_w7"),
]


async def test_the_same_entries_are_found(postgres: str, tmp_path: Path) -> None:
    async with (
        SqliteStore.open(tmp_path / "log.db") as sqlite,
        PostgresStore.open(postgres) as store,
    ):
        for each in (sqlite, store):
            await (await begin(each)).say(*TEXTS)
        different = []
        for words in SEARCHES:
            expected = await sqlite.search(words)
            if await store.search(words) != expected:
                different.append((words, len(expected)))
        assert different == []


def test_a_long_text_is_divided_so_that_every_phrase_is_in_one_part() -> None:
    parts = vectors_of(" ".join(f"w{n}" for n in range(40_000)))
    assert len(parts) > 2
    for at in range(0, 39_999, 1_000):
        pair = f"'w{at}':", f"'w{at + 1}':"
        assert any(all(word in part for word in pair) for part in parts)


async def test_entries_that_a_crash_left_out_of_the_index_are_indexed_at_the_next_start(
    postgres: str, postgres_server: Server
) -> None:
    async with PostgresStore.open(postgres) as store:
        await (await begin(store)).say("one", "two", "three")
        await store.search("one")
    await postgres_server.run_in(postgres, "DELETE FROM search WHERE sequence_num > 1")
    await postgres_server.run_in(postgres, "UPDATE search_progress SET indexed = 1")
    async with PostgresStore.open(postgres) as store:
        assert [hit.sequence for hit in await store.search("three")] == [3]
        assert [hit.sequence for hit in await store.search("one")] == [1]


async def test_a_deleted_conversation_leaves_no_words(
    postgres: str, postgres_server: Server
) -> None:
    async with PostgresStore.open(postgres) as store:
        for number in range(20):
            talk = await begin(store, f"c{number}")
            saying = asyncio.ensure_future(talk.say("secret words"))
            await asyncio.gather(saying, store.delete(talk.id), return_exceptions=True)
        await store.search("secret")
    for table in ("search", "search_progress", "messages"):
        assert await postgres_server.run_in(postgres, f"SELECT 1 FROM {table}") == []


async def test_a_new_conversation_does_not_inherit_the_words_of_a_deleted_one(
    postgres: str,
) -> None:
    async with PostgresStore.open(postgres, uses_callers_time=True) as store:
        await (await begin(store)).say("old")
        await store.delete("c")
        await (await begin(store)).say("new")
        assert await store.search("old") == []
        assert [hit.sequence for hit in await store.search("new")] == [1]


@pytest.mark.parametrize("text", ["", " ", "...", "\0"])
def test_a_text_without_words_has_no_vector(text: str) -> None:
    assert vectors_of(text) == []
