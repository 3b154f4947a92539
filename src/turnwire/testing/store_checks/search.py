"""Checks of a store for the search."""

from __future__ import annotations

from turnwire.core.conversation.effects import AddEntry
from turnwire.core.error_codes import Refused
from turnwire.ports import Store
from turnwire.testing.expect import expect, expect_raises
from turnwire.testing.store_samples import TRACE, a_question, begin

__all__ = ["SEARCH_CHECKS"]


async def search_finds_words(store: Store) -> None:
    talk = await begin(store, title="Plans", user="ann")
    await talk.say(
        "明天下午三点开会议，请准时参加。", "你好世界", "The deployment failed: foo_bar.py"
    )

    async def found(words: str, user: str | None = None) -> list[int]:
        return sorted(hit.sequence for hit in await store.search(words, user=user))

    expect(
        await found("会议") == [1],
        "search finds a Chinese word of two characters inside a sentence",
    )
    expect(await found("你好") == [2], "search finds a Chinese word at the beginning of an entry")
    expect(await found("开会议") == [1], "search finds a longer Chinese word")
    expect(await found("deploy") == [3], "search finds a word by its prefix and ignores case")
    expect(await found("FAILED deployment") == [3], "search finds words in any order")
    expect(await found("failed 会议") == [], "search requires all words")
    expect(await found("foo_bar.py") == [3], "search finds a word with punctuation in it")
    expect(
        await found("会议", "ann") == [1] and await found("会议", "bob") == [],
        "search finds only the user's own conversations",
    )
    of_one = await store.search("会议", conversation_id="c")
    of_none = await store.search("会议", conversation_id="other")
    expect(
        [hit.sequence for hit in of_one] == [1] and of_none == [],
        "search finds only the entries of one conversation, if asked to",
    )
    for odd in ['"', "'", "(", "*", "a AND", "NEAR(a b)", "x:y", "-", "^a", "\0", "", "  ", "{}"]:
        await store.search(odd)  # must not raise for any search text
    asked = AddEntry(4, a_question("Which colour?", ["blue", "red"]), 1, TRACE)
    await talk.commit(talk.prepare(asked))
    expect(await found("colour") == [4], "search finds the text of a question")
    expect(await found("red") == [4], "search finds the options of a question")
    (hit,) = await store.search("会议")
    expect(
        (hit.conversation_id, hit.title) == ("c", "Plans"), "a hit has its conversation and title"
    )
    expect("\x02会议\x03" in hit.snippet, "a hit has a snippet with the words marked")
    for long in ["x" * 16_000, "会" * 16_000]:
        await expect_raises(Refused, store.search(long), "a search text that is too long")


SEARCH_CHECKS = [
    search_finds_words,
]
