"""The RPC projector: written once, and the same live and from the log."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Raw, structs

from turnwire.core import events as ev
from turnwire.core import happenings as h
from turnwire.core.blocks import TextBlock, ToolUseBlock
from turnwire.core.entries import entry_of, event_entry
from turnwire.core.growing import Growing
from turnwire.core.opening import Opening, Start
from turnwire.core.status import Capabilities, Limits, Status, Totals, TurnEnd
from turnwire.dialects.rpc.projector import Line, RpcProjector, Steered

NOW = "2026-01-01T12:00:00.000Z"
WHO = ("claude", "s-2", None, None)
AT: Any = {"run_id": "talk:3", "timestamp": NOW}
STATUS = Status("active", False, [], [])


def projector() -> RpcProjector:
    return RpcProjector("demo", None, "x")


def spoke(*events: ev.NormalizedStreamEvent) -> h.AgentSpoke:
    return h.AgentSpoke(NOW, 3, "trace", [*events], [])


def data_of(line: Line) -> Any:
    """Returns the message of a line without the id of its frame."""
    return json.loads(b'{"data":' + line.written)


def test_a_finished_message_has_its_number_and_its_turn() -> None:
    entry = entry_of("assistant", [TextBlock("Hi", "completed")], **AT, message_id="m", index=0)
    [line] = projector().project([h.EntryAdded(5, entry, "trace")])
    assert (line.kind, line.number, line.turn_id, line.news) == ("whole", 5, 3, None)
    told = data_of(line)
    assert (told["sequence"], told["turn_id"]) == (5, 3)
    assert told["data"]["message"]["content"] == [{"type": "text", "text": "Hi"}]
    assert projector().replay(h.EntryAdded(5, entry, "trace"), NOW)[0].written == line.written
    news = event_entry("system", "Status", **AT, data={"subtype": "status"})
    assert projector().project([h.EntryAdded(6, news, None)])[0].kind == "system"


def test_a_partial_has_no_number_and_is_written_once() -> None:
    begun = ev.MessageStarted(*WHO, "m")
    block = ev.ContentStarted(*WHO, "m", 0, TextBlock("", "in_progress"))
    piece = ev.ContentDelta(*WHO, "m", 0, "text", "Hi")
    lines = projector().project([spoke(begun, block, piece)])
    assert [(line.kind, line.number, line.turn_id) for line in lines] == [("grows", None, 3)] * 3
    assert lines[2].written is lines[2].written
    assert lines[2].size == len(lines[2].written)
    uuids = [data_of(line)["data"]["uuid"] for line in lines]
    assert uuids == ["evt-x-1", "evt-x-2", "evt-x-3"]


def test_output_of_a_tool_is_sent_in_the_form_that_a_connection_asks_for() -> None:
    p = projector()
    call = ToolUseBlock("t-1", "Bash", "OTHER", None, "in_progress")
    p.project([spoke(ev.ContentStarted(*WHO, "m", 0, call))])
    lines = p.project([spoke(ev.ToolProgress(*WHO, "t-1", "Bash", 1.0, "out"))])
    assert [line.kind for line in lines] == ["output_delta", "text_delta"]


def test_a_message_that_was_steered_is_followed_by_the_news_of_that() -> None:
    entry = entry_of("user", [TextBlock("Briefly.", "completed")], **AT, steered_as="q-1")
    told, news = projector().project([h.EntryAdded(5, entry, "trace")])
    assert (told.number, told.news) == (5, None)
    assert news.news == Steered("q-1")


def test_the_agent_that_took_over_is_named_from_its_state_on() -> None:
    p = projector()
    p.project([h.StateChanged(NOW, structs.replace(STATUS, agent="codex"))])
    [line] = p.project([spoke(ev.SystemEvent(*WHO, "status", Raw(b"{}"), True))])
    assert data_of(line)["data"]["provider"] == "codex"


def test_transient_notices_are_system_messages() -> None:
    news = ev.SystemEvent(*WHO, "status", Raw(b'{"a":1}'), True)
    kept = ev.SystemEvent(*WHO, "other", Raw(b"{}"))  # published from its entry
    [line] = projector().project([spoke(news, kept)])
    assert (line.kind, line.number) == ("system", None)
    assert data_of(line)["data"] == {
        "type": "system",
        "subtype": "status",
        "session_id": "",
        "provider": "demo",
        "data": {"a": 1},
    }


def test_the_end_of_a_turn_is_sent_with_its_figures() -> None:
    p = projector()
    ended = h.TurnEnded(NOW, 3, "trace", TurnEnd(False, False, "end_turn"))
    figures = ev.ResultSummary(*WHO, "success", False, num_turns=4)
    [line] = p.project([spoke(figures), ended])
    assert (line.kind, line.news, line.turn_id) == ("whole", ended, 3)
    assert data_of(line)["turn_id"] == 3
    assert data_of(line)["data"]["num_turns"] == 4
    [again] = p.replay(ended, NOW)
    assert data_of(again)["data"]["num_turns"] == 0, "the log does not have them"


def test_the_state_is_a_system_message_and_a_notice_for_each_connection() -> None:
    changed = h.StateChanged(NOW, STATUS)
    told, news = projector().project([changed])
    assert (told.kind, data_of(told)["data"]["subtype"]) == ("system", "session_state")
    assert (news.kind, news.news, news.message) == ("whole", changed, None)
    assert (news.written, news.size) == (b"", 400)


def test_the_start_of_a_turn_is_a_notice_for_each_connection() -> None:
    began = h.TurnBegan(NOW, 3, "trace", "user", "q-1")
    [line] = projector().project([began])
    assert line.news == began


def test_another_title_is_a_system_message() -> None:
    for changed, data in [
        (h.Changed(NOW, "Mine", None), {"title": "Mine"}),
        (h.Changed(NOW, None, Totals(1)), {"totals": {"input_tokens": 1}}),
    ]:
        [line] = projector().project([changed])
        assert data_of(line)["data"]["subtype"] == "conversation_updated"
        assert data_of(line)["data"]["data"] == data


def test_the_answer_to_connect_is_made_by_each_connection() -> None:
    offered, limits = Capabilities("demo", []), Limits(1, 1, 1)
    opening = Opening(NOW, "k", "client", "e", Start(0), 0, offered, limits)
    [line] = projector().greet(opening)
    assert line.news is opening


def test_a_new_client_gets_the_state_and_the_beginning_of_each_message() -> None:
    growing = Growing()
    growing.feed_all([ev.MessageStarted(*WHO, "m")], 3, "trace")
    lines = projector().present(h.Now(NOW, 5, STATUS, growing))
    assert [line.kind for line in lines] == ["system", "whole", "grows"]
    assert lines[2].turn_id == 3
