"""Another model, another permission mode."""

from __future__ import annotations

from tests.core.conversation.driver import Talk, refusal, running
from turnwire.core.conversation import inputs as i
from turnwire.dialects.v2 import frames as f


def test_another_model_is_told_by_the_log_and_the_agent_hears_of_it() -> None:
    talk = running()
    talk.do(i.Chose(at=talk.now, model="opus", by="ada"))
    assert talk.status.model == "opus"
    assert talk.frame(f.SessionSystemEvent).data == {"model": "opus"}
    assert talk.commands == ["choose opus None"]
    assert talk.audited()[-1] == ("chose", "ada")


def test_the_same_model_again_is_no_news() -> None:
    talk = Talk()
    talk.do(i.Chose(at=talk.now, model="opus"))
    before = len(talk.log)
    talk.do(i.Chose(at=talk.now, model="opus"))
    assert len(talk.log) == before


def test_another_permission_mode() -> None:
    talk = running()
    talk.do(i.Chose(at=talk.now, permission_mode="plan"))
    assert talk.status.permission_mode == "plan"
    assert talk.commands == ["choose None plan"]


def test_no_choice_at_all_is_refused() -> None:
    assert refusal(lambda: Talk().do(i.Chose(at=0))) == "INVALID_PAYLOAD"
