"""Claude gives a conversation its title, unless a person has."""

from __future__ import annotations

from pathlib import Path

from tests.agents.claude.helpers.real_claude import stage
from turnwire.dialects.v2 import frames as f

TITLE = '{"title": "Colour of the sky"}'


async def test_claude_names_a_conversation_once_and_a_person_has_the_last_word(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, "Blue.", "Still blue.", aside=TITLE, titles=True) as it:
        await it.talk.send("What is the colour of the sky over the sea?")
        named = await it.seen.until(
            f.ConversationUpdated, lambda frame: frame.payload.title == "Colour of the sky"
        )
        assert named.payload.title is not None
        if not it.seen.of(f.AssistantComplete):  # either may come first
            await it.seen.until(f.AssistantComplete)
        await it.talk.rename("Mine")
        await it.says("And at night, what is it then?")
        assert (await it.engine.open(it.talk.id)).row.title == "Mine"
        assert [request.lane for request in it.api.requests].count("aside") == 1
        assert not [e for e in await it.store.entries(it.talk.id) if "title" in str(e.entry.meta)]


async def test_a_title_that_cannot_be_had_is_the_first_message(tmp_path: Path) -> None:
    async with stage(tmp_path, "Blue.", aside="no JSON at all", titles=True) as it:
        await it.says("What is the colour of the sky over the sea?")
        title = (await it.engine.open(it.talk.id)).row.title
        assert title == "What is the colour of the sky over the sea?"
