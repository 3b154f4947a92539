"""What the agent's session offers to choose from, and what people have chosen of it."""

from __future__ import annotations

from typing import Any

from tests.core.conversation.helpers.driver import Talk, running
from turnwire.core import controls as c
from turnwire.core import events as ev
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.forking import forked
from turnwire.core.conversation.state import STATE_LEVEL
from turnwire.core.offers import Offers, SessionOption, offers_of
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.entry_frames import frame_of

BRAVE = SessionOption("brave")
OFFERS = offers_of(["small", "large"], ["ask"], [BRAVE])


def offers(talk: Talk, offered: Offers = OFFERS, **told: Any) -> Talk:
    return talk.tells(ev.SessionOffered, offers=offered, **told)


def choose(talk: Talk, value: bool) -> Talk:
    control = c.SetSessionOption("brave", value)
    ended = i.Controlled(at=talk.now, control_id="c1", control=control, by="ada", result=c.Done())
    talk.do(ended)
    return talk


def logged(talk: Talk) -> int:
    frames = (frame_of(write.entry, write.sequence, "talk", None) for write in talk.log)
    news = [frame.payload for frame in frames if isinstance(frame, f.SessionSystemEvent)]
    return sum(each.subtype == "news" for each in news)


def test_a_new_offer_is_logged_once_and_sets_the_current_settings() -> None:
    talk = offers(running(), model="small", permission_mode="ask", options={"brave": False})
    assert (talk.status.model, talk.status.permission_mode) == ("small", "ask")
    assert talk.state.offered is not None
    assert talk.state.offered.options == {"brave": False}
    offers(talk, model="small", permission_mode="ask", options={"brave": False})
    assert logged(talk) == 1
    offers(talk, model="large")
    assert logged(talk) == 2
    assert talk.frame(f.SessionSystemEvent).subtype == "news"


def test_an_offer_before_a_choice_has_reached_the_agent_does_not_undo_it() -> None:
    talk = running()
    talk.do(i.Chose(at=talk.now, model="large"))
    talk.choosing = True
    offers(talk, model="small")
    assert talk.status.model == "large"


def test_a_chosen_option_is_kept_for_the_next_session_and_for_a_fork() -> None:
    talk = choose(offers(running(), options={"brave": False}), True)
    assert talk.state.offered is not None
    assert talk.state.offered.options == {"brave": True}
    assert talk.state.offered.chosen == {"brave": True}
    fork = forked(talk.state, "fork", head=0, turns=0)
    assert fork.offered == talk.state.offered
    assert (talk.state.level, fork.level) == (STATE_LEVEL, STATE_LEVEL), (
        "a version that would forget the choice does not run it"
    )


def test_an_option_that_the_agent_changes_by_itself_keeps_its_new_value() -> None:
    talk = choose(offers(running()), True)
    offers(talk, options={"brave": False, "other": "x"})
    assert talk.state.offered is not None
    assert talk.state.offered.chosen == {"brave": False}


def test_an_option_can_be_chosen_before_the_session_has_offered_anything() -> None:
    talk = choose(running(), True)
    assert talk.state.offered is not None
    assert talk.state.offered.chosen == {"brave": True}
