"""The log as text, for an agent that takes a conversation over."""

from __future__ import annotations

from typing import Any

from turnwire.core import message as m
from turnwire.core.message import Message, MessagePart
from turnwire.core.recap import recap


def entry(role: Any, *parts: MessagePart, **meta: Any) -> Message:
    return Message("talk:1", role, list(parts), "2026-01-01T00:00:00.000Z", meta)


def text(words: str) -> m.TextPart:
    return m.TextPart(m.TextPayload(words))


def call(name: str = "look", **given: Any) -> m.ToolCallPart:
    return m.ToolCallPart(m.ToolCallPayload("t1", name, given.pop("arguments", {}), **given))


def result(content: Any, *, is_error: bool = False) -> m.ToolResultPart:
    return m.ToolResultPart(m.ToolResultPayload("t1", is_error, content))


def lines(*entries: Message, **options: Any) -> list[str]:
    """The quoted lines, without those around them."""
    told = recap(entries, **options)
    assert told is not None
    return [line for line in told.splitlines() if line.startswith(">")]


def test_every_line_is_quoted_with_the_name_of_who_spoke() -> None:
    told = recap(
        [entry("user", text("Hi\n\n> you")), entry("assistant", text("Ho"), provider="ann")]
    )
    assert told is not None
    first, *quoted, last = told.split("\n\n")
    assert first.startswith("[You continue a conversation")
    assert quoted == ["> user: Hi\n>\n> > you\n>\n> ann: Ho"]
    assert last == "[The quote ends here. The next message is for you.]"


def test_a_message_has_the_name_of_its_user_and_an_unknown_agent_is_called_agent() -> None:
    assert lines(entry("user", text("Hi"), by="eve"), entry("assistant", text("Ho"))) == [
        "> eve: Hi",
        ">",
        "> agent: Ho",
    ]


def test_calls_and_results_are_told() -> None:
    assert lines(
        entry("assistant", call(arguments={"where": "up"}), provider="ann"),
        entry("tool", result("blue")),
        entry("assistant", call(raw_args_text="{bad"), provider="ann"),
        entry("tool", result([text("no"), text("never")], is_error=True)),
        entry("assistant", call(preview="a long"), provider="ann"),
        entry("tool", result({"sky": "blue"})),
    ) == [
        '> ann: called look with {"where":"up"}',
        ">",
        "> result: blue",
        ">",
        "> ann: called look with {bad",
        ">",
        "> result: (failed) no",
        "> never",
        ">",
        "> ann: called look with a long",
        ">",
        '> result: {"sky":"blue"}',
    ]


def test_pictures_and_files_are_named() -> None:
    picture = m.ImagePart(m.ImagePayload("image/png", "AAAA"))
    file = m.FileRefPart(m.FileRefPayload("notes.txt"))
    assert lines(entry("user", text("See"), picture, file)) == [
        "> user: See",
        "> [a picture]",
        "> [the file notes.txt]",
    ]


def test_reasoning_sub_agents_and_news_are_left_out() -> None:
    thought = m.ThinkingPart(m.ThinkingPayload("Hm"))
    below = entry("assistant", text("below"), parentToolUseId="t1")
    assert recap([entry("assistant", thought), below, entry("system", text("Model: x"))]) is None
    assert recap([]) is None


def test_long_texts_are_cut_and_say_so() -> None:
    (line,) = lines(entry("tool", result("x" * 2100)))
    assert line == f"> result: {'x' * 2000} [... 100 more characters]"


def test_the_newest_entries_are_kept_and_the_number_of_the_others_is_told() -> None:
    entries = [entry("user", text(f"message {number}")) for number in range(10)]
    told = recap(entries, limit=60)
    assert told is not None
    assert "It is long: the first 7 of 10 entries are left out." in told
    assert "> user: message 9" in told
    assert "message 6" not in told
    assert "> user: message 9" in str(recap(entries, limit=1)), "one is always kept"


def test_an_agent_that_is_told_its_own_words_learns_that_they_are_its_own() -> None:
    said = [entry("user", text("Hi")), entry("assistant", text("Ho"), provider="ann")]
    assert "What ann says there are your own words." in str(recap(said, agent="ann"))
    assert "your own words" not in str(recap(said, agent="bob"))
