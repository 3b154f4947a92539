"""The title of a conversation."""

from __future__ import annotations

import pytest

from tests.core.conversation.helpers.driver import whose
from turnwire.core import events as ev
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation import step
from turnwire.core.conversation.state import Conversation, TitleBy


def named(c: Conversation, title: str) -> Conversation:
    news = ev.TitleProposed(*whose(), "title", ephemeral=True, title=title)
    return step(c, i.AgentSaid(at=1, event=news))[0]


@pytest.mark.parametrize("by", [None, "agent"])
def test_the_agents_title_replaces_the_first_words(by: TitleBy | None) -> None:
    c = named(Conversation("c", title="hello, I want", title_by=by), " A  fine title\n")
    assert (c.title, c.title_by) == ("A fine title", "agent")
    assert c.head == 0, "the log does not tell of it"


def test_a_title_given_by_a_person_stays() -> None:
    c, _ = step(Conversation("c", title="hello"), i.Renamed(at=1, title="Mine"))
    assert named(c, "A fine title").title == "Mine"


@pytest.mark.parametrize("title", ["", "  "])
def test_no_title_changes_nothing(title: str) -> None:
    assert named(Conversation("c", title="hello"), title).title == "hello"
