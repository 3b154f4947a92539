"""Controls of the agent."""

from __future__ import annotations

import pytest

from tests.core.conversation.helpers.driver import Talk, refusal, running
from turnwire.core import controls as c
from turnwire.core.conversation import effects as e
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.forking import forked
from turnwire.core.error_codes import ErrorCode
from turnwire.dialects.v2 import frames as f

BACK = c.RewindFiles(1, "talk:1")


def asks(talk: Talk, control: c.Control, by: str | None = "ada") -> e.Effects:
    return talk.do(i.Controls(at=talk.now, control_id="c1", control=control, by=by))


def hears(
    talk: Talk,
    control: c.Control,
    result: c.ControlResult | None = None,
    code: ErrorCode | None = None,
) -> e.Effects:
    ended = i.Controlled(
        at=talk.now, control_id="c1", control=control, by="ada", result=result, code=code
    )
    return talk.do(ended)


def test_the_agent_is_asked_in_the_middle_of_a_turn_and_its_answer_is_the_ack() -> None:
    talk = running()
    talk.forget()
    assert asks(talk, c.McpToggle("files", False)).ack is None, "the agent has not answered yet"
    assert talk.commands == ["ask mcp_toggle"]
    assert hears(talk, c.McpToggle("files", False), c.Done()).ack == e.Ack(result=c.Done())
    audit = [w for w in talk.writes if isinstance(w, e.Audit)][-1]
    assert (audit.action, audit.by) == ("mcp_toggle", "ada")
    assert audit.data == {"server": "files", "enabled": False}
    assert not talk.told, "no other client is told"


def test_a_server_that_was_switched_off_stays_off_until_it_is_switched_on() -> None:
    talk = running()

    def switch(server: str, *, enabled: bool, code: ErrorCode | None = None) -> list[str]:
        asks(talk, c.McpToggle(server, enabled))
        hears(talk, c.McpToggle(server, enabled), None if code else c.Done(), code)
        return talk.state.mcp_off

    assert switch("a", enabled=False) == ["a"]
    assert switch("a", enabled=False) == ["a"]
    assert switch("b", enabled=False) == ["a", "b"]
    assert switch("c", enabled=False, code="INVALID_PAYLOAD") == ["a", "b"], "there is no c"
    assert forked(talk.state, "fork", head=0, turns=0).mcp_off == ["a", "b"]
    assert switch("a", enabled=True) == ["b"]
    asks(talk, c.McpStatus())
    assert hears(talk, c.McpStatus(), c.McpServers([])).ack == e.Ack(result=c.McpServers([]))
    assert talk.state.mcp_off == ["b"], "a control that only reads changes nothing"


def test_restored_files_are_an_entry_outside_of_any_turn() -> None:
    talk = running().ends()
    asks(talk, BACK)
    assert hears(talk, BACK, c.Rewound(["a", "b"])).ack == e.Ack(files=["a", "b"])
    told = talk.frame(f.SessionSystemEvent)
    assert (told.subtype, told.text) == ("rewind", "Put back: a, b")
    assert told.data == {"message_sequence": 1, "files": ["a", "b"], "by": "ada"}
    asks(talk, BACK)
    hears(talk, BACK, c.Rewound([]))
    assert talk.frame(f.SessionSystemEvent).text == "No file had to be put back"


def test_a_rewind_that_is_only_asked_about_leaves_no_trace_in_the_log_even_in_a_turn() -> None:
    talk = running()
    would = c.RewindFiles(1, "talk:1", dry_run=True)
    before = len(talk.log)
    asks(talk, would)
    assert hears(talk, would, c.Rewound(["a"])).ack == e.Ack(files=["a"])
    assert len(talk.log) == before


def test_files_are_not_restored_while_a_turn_may_change_them() -> None:
    assert refusal(lambda: asks(running(), BACK)) == "AGENT_UNAVAILABLE"


def test_an_agent_that_sleeps_over_a_question_is_not_woken_up_for_a_control() -> None:
    talk = running().asks("q1").lose_agent()
    assert talk.phase() == "suspended"
    assert refusal(lambda: asks(talk, c.McpStatus())) == "AGENT_UNAVAILABLE"


def test_only_background_tasks_can_be_stopped() -> None:
    talk = running()
    assert refusal(lambda: asks(talk, c.StopTask("t1"))) == "INVALID_PAYLOAD"
    talk.task("t1")
    talk.forget()
    asks(talk, c.StopTask("t1"))
    assert talk.commands == ["ask stop_task"]


def test_a_control_that_the_agent_refuses_is_logged_and_changes_nothing() -> None:
    talk = running().ends()
    before = len(talk.log)
    asks(talk, BACK)
    assert hears(talk, BACK, code="NOT_SUPPORTED").ack is None
    assert talk.audited()[-1] == ("control_failed", "ada")
    assert len(talk.log) == before


@pytest.mark.parametrize(
    ("control", "only"),
    [
        (c.McpStatus(), True),
        (c.ContextUsage(), True),
        (c.RewindFiles(1, "t:1", dry_run=True), True),
        (BACK, False),
        (c.McpReconnect("x"), False),
        (c.StopTask("x"), False),
    ],
)
def test_a_control_that_only_reads_is_not_stored(control: c.Control, only: bool) -> None:
    assert c.only_asks(control) is only
