"""Recency: which inputs move a conversation to the top of the list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.core.conversation.helpers.driver import START, Talk, asking, running, suspended
from turnwire.core import events as ev
from turnwire.core.content import TextContent
from turnwire.core.controls import McpToggle, RewindFiles, Rewound
from turnwire.core.conversation import inputs as i

Step = tuple[Callable[[], Talk], Callable[[Talk], Any]]


def idle(**options: Any) -> Talk:
    """A conversation whose first turn is over."""
    return running(**options).ends().forget()


def wanting() -> Talk:
    """A conversation whose first turn waits for a permission."""
    return running().calls("t1").wants("p1", "t1").forget()


def queued(**options: Any) -> Talk:
    """A conversation with a running turn and a queued message."""
    talk = running(**options)
    talk.say("Next")
    return talk.forget()


def stopped_with_a_queue() -> Talk:
    """A conversation whose queue goes on when a server starts again."""
    return queued(on_disconnect="continue").restart(stopping=True).forget()


def renamed(title: str) -> i.Renamed:
    return i.Renamed(at=START, title=title, by="ada")


NEWS: dict[str, Step] = {
    "a message": (Talk, lambda talk: talk.say()),
    "a message that has to wait": (running, lambda talk: talk.say("Next")),
    "another message in its place": (
        queued,
        lambda talk: talk.change("replace", "Next", content=[TextContent("Else")]),
    ),
    "a queue that goes on": (
        lambda: queued().fails().forget(),
        lambda talk: talk.change("resume"),
    ),
    "a turn of the agent's own": (idle, lambda talk: talk.starts()),
    "words of the agent": (running, lambda talk: talk.speaks()),
    "words of a sub-agent in the background": (
        lambda: running().calls("t1", "Agent").gets("t1").ends().forget(),
        lambda talk: talk.speaks("Still here", voice="t1"),
    ),
    "a call": (running, lambda talk: talk.calls()),
    "a result": (lambda: running().calls().forget(), lambda talk: talk.gets()),
    "a question": (running, lambda talk: talk.asks()),
    "a permission": (lambda: running().calls("t1").forget(), lambda talk: talk.wants("p1", "t1")),
    "an answer": (asking, lambda talk: talk.answer()),
    "an answer that wakes nothing up": (
        suspended,
        lambda talk: talk.answer(resume_task=False),
    ),
    "a decision": (wanting, lambda talk: talk.decide()),
    "a question without an answer in time": (
        lambda: asking(question_seconds=10.0),
        lambda talk: talk.pass_deadline(),
    ),
    "the end of a turn": (running, lambda talk: talk.ends()),
    "a turn that fails": (running, lambda talk: talk.fails()),
    "a turn that is lost with its agent": (running, lambda talk: talk.lose_agent()),
    "a turn that ends because the server stops": (
        running,
        lambda talk: talk.restart(reason="server_stopped", stopping=True),
    ),
    "a turn that begins when the server starts again": (
        stopped_with_a_queue,
        lambda talk: talk.restart(),
    ),
    "a title that a person gives": (idle, lambda talk: talk.do(renamed("Plans"))),
    "files that a person has put back": (
        idle,
        lambda talk: talk.do(
            i.Controlled(
                at=START,
                control_id="c",
                control=RewindFiles(1, "uuid-1"),
                result=Rewound(["a.txt"]),
            )
        ),
    ),
}

NO_NEWS: dict[str, Step] = {
    "an agent that closes": (idle, lambda talk: talk.lose_agent(reason="idle", forced=True)),
    "an agent that closes with calls in the background": (
        lambda: running().calls("t1", "Agent").gets("t1").calls("t2", voice="t1").ends().forget(),
        lambda talk: talk.lose_agent(),
    ),
    "an agent that closes with background work": (
        lambda: running().task().ends().forget(),
        lambda talk: talk.lose_agent(),
    ),
    "an agent that opens": (
        idle,
        lambda talk: talk.hear(
            ev.SessionInit("demo", "session-1", None, None, "m-2", permission_mode="plan")
        ),
    ),
    "what an agent says of its session": (idle, lambda talk: talk.news("mcp_status", up=True)),
    "a title that the agent gives": (
        idle,
        lambda talk: talk.tells(ev.TitleProposed, ephemeral=True, title="Better"),
    ),
    "the title that it has": (
        lambda: _named("Plans"),
        lambda talk: talk.do(renamed("Plans")),
    ),
    "another model": (idle, lambda talk: talk.do(i.Chose(at=START, model="m-2"))),
    "a server of tools that is switched off": (
        idle,
        lambda talk: talk.do(
            i.Controlled(at=START, control_id="c", control=McpToggle("files", False))
        ),
    ),
    "a message that is taken out of the queue": (
        queued,
        lambda talk: talk.change("remove", "Next"),
    ),
    "people who come and go": (idle, lambda talk: talk.pass_grace().do(i.Came(at=START))),
    "a question whose agent has gone": (asking, lambda talk: talk.lose_agent()),
    "a turn that a server finds when it starts again": (running, lambda talk: talk.restart()),
    "a permission that it finds": (wanting, lambda talk: talk.restart()),
    "a queue that it holds": (queued, lambda talk: talk.restart()),
    "the same in the archive": (queued, lambda talk: talk.restart(archived=True)),
}


def _named(title: str) -> Talk:
    talk = idle()
    talk.do(renamed(title))
    return talk.forget()


@pytest.mark.parametrize("what", NEWS)
def test_an_input_moves_the_conversation_to_the_top(what: str) -> None:
    begin, happen = NEWS[what]
    talk = begin()
    happen(talk)
    assert talk.has_news


@pytest.mark.parametrize("what", NO_NEWS)
def test_an_input_leaves_the_conversation_in_its_place(what: str) -> None:
    begin, happen = NO_NEWS[what]
    talk = begin()
    happen(talk)
    assert not talk.has_news
