"""Changes of the model, the permission mode and the effort."""

from __future__ import annotations

from typing import Any

from tests.core.conversation.helpers.driver import Talk, refusal, running
from turnwire.core import events as ev
from turnwire.core.conversation import effects as e
from turnwire.core.conversation import inputs as i
from turnwire.dialects.v2 import frames as f


def test_another_model_is_logged_and_sent_to_the_agent() -> None:
    talk = running()
    talk.do(i.Chose(at=talk.now, model="opus", by="ada"))
    assert talk.status.model == "opus"
    assert talk.frame(f.SessionSystemEvent).data == {"model": "opus"}
    assert talk.commands == ["choose opus None"]
    assert talk.audited()[-1] == ("chose", "ada")


def test_the_same_model_again_changes_nothing() -> None:
    talk = Talk()
    talk.do(i.Chose(at=talk.now, model="opus"))
    before = len(talk.log)
    talk.do(i.Chose(at=talk.now, model="opus"))
    assert len(talk.log) == before


def test_another_permission_mode_is_logged_and_sent_to_the_agent() -> None:
    talk = running()
    talk.do(i.Chose(at=talk.now, permission_mode="plan"))
    assert talk.status.permission_mode == "plan"
    assert talk.commands == ["choose None plan"]


def test_no_choice_at_all_is_refused() -> None:
    assert refusal(lambda: Talk().do(i.Chose(at=0))) == "INVALID_PAYLOAD"


def test_more_or_less_reasoning_and_as_it_was_again() -> None:
    talk = running()
    assert talk.do(i.Chose(at=talk.now, max_thinking_tokens=0)).ack == e.Ack(max_thinking_tokens=0)
    assert talk.status.max_thinking_tokens == 0
    talk.do(i.Chose(at=talk.now, max_thinking_tokens=None))
    assert talk.status.max_thinking_tokens is None
    assert talk.commands == ["choose None None 0", "choose None None None"]
    audit = [w for w in talk.writes if isinstance(w, e.Audit)][-1]
    assert audit.data["max_thinking_tokens"] is None


def test_reasoning_that_the_agent_refuses_is_not_kept() -> None:
    talk = running()
    talk.do(i.Chose(at=talk.now, max_thinking_tokens=5000))
    asked, stays = {"max_thinking_tokens": 5000}, {"max_thinking_tokens": None}
    refused(talk, {"max_thinking_tokens": 9}, stays)
    assert talk.status.max_thinking_tokens == 5000, "a later choice is not touched"
    refused(talk, asked, stays)
    assert talk.status.max_thinking_tokens is None


def refused(talk: Talk, wanted: dict[str, Any], stays: dict[str, Any]) -> Talk:
    return talk.tells(ev.ChoiceRefused, wanted=ev.Choice(**wanted), stays=ev.Choice(**stays))


def test_a_choice_that_the_agent_refuses_is_not_kept() -> None:
    talk = running()
    talk.do(i.Chose(at=talk.now, permission_mode="plan"))
    talk.do(i.Chose(at=talk.now, model="opus"))
    refused(talk, {"permission_mode": "plan"}, {"permission_mode": "default"})
    assert (talk.status.model, talk.status.permission_mode) == ("opus", "default")
    refused(talk, {"model": "opus"}, {"model": "sonnet"})
    assert (talk.status.model, talk.status.permission_mode) == ("sonnet", "default")


def test_a_refusal_does_not_change_a_later_choice() -> None:
    talk = running()
    talk.do(i.Chose(at=talk.now, permission_mode="plan", model="opus"))
    talk.do(i.Chose(at=talk.now, permission_mode="dontAsk", model="haiku"))
    refused(talk, {"permission_mode": "plan"}, {"permission_mode": "default"})
    refused(talk, {"model": "opus"}, {"model": "sonnet"})
    assert (talk.status.model, talk.status.permission_mode) == ("haiku", "dontAsk")


def test_a_refusal_without_its_subject_changes_nothing() -> None:
    talk = running()
    talk.do(i.Chose(at=talk.now, permission_mode="plan"))
    assert refused(talk, {}, {}).status.permission_mode == "plan"


def test_a_mode_that_the_agent_goes_into_by_itself_is_kept_for_the_next_process() -> None:
    talk = running()
    talk.do(i.Chose(at=talk.now, permission_mode="plan"))
    talk.news("status", ephemeral=True, status="requesting")
    assert talk.status.permission_mode == "plan"
    talk.tells(ev.PermissionModeChanged, ephemeral=True, permission_mode="default")
    assert talk.status.permission_mode == "default"


def test_a_model_that_the_agent_takes_by_itself_is_kept_unless_a_person_chooses_one() -> None:
    talk = running()
    talk.tells(ev.ModelChanged, model="haiku", text="The model is haiku now")
    assert talk.status.model == "haiku"
    assert talk.frame(f.SessionSystemEvent).text == "The model is haiku now"
    talk.do(i.Chose(at=talk.now, model="opus"))
    talk.choosing = True
    talk.tells(ev.ModelChanged, model="haiku")
    assert talk.status.model == "opus"


def test_a_hook_that_was_asked_is_in_the_log_and_in_the_audit_trail() -> None:
    talk = running()
    run = ev.HookRun("no_rm", "PreToolUse", "deny", 5, "Not here.", tool_use_id="t1")
    talk.tells(ev.HookRan, run=run)
    assert talk.frame(f.SessionSystemEvent).text == "Hook no_rm, PreToolUse: deny (Not here.)"
    assert talk.audited()[-1] == ("hook_run", None)
    audit = [write for write in talk.writes if isinstance(write, e.Audit)][-1]
    kept = {"hook": "no_rm", "event": "PreToolUse", "decision": "deny", "tool_use_id": "t1"}
    assert audit.data == kept
