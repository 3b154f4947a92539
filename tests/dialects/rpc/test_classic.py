"""The profile `classic`: its calls, its requests and the messages that it changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from turnwire.core import blocks as b
from turnwire.core import events as ev
from turnwire.core import happenings as h
from turnwire.core.entries import entry_of, event_entry
from turnwire.core.error_codes import Refused
from turnwire.core.events import Question, QuestionOption
from turnwire.core.status import OpenRequest, TurnEnd, TurnError
from turnwire.dialects.rpc import methods as m
from turnwire.dialects.rpc.classic import frames as f
from turnwire.dialects.rpc.classic.methods import Connect, read_frame
from turnwire.dialects.rpc.classic.projector import ClassicProjector
from turnwire.dialects.rpc.classic.requests import call_of, read_reply
from turnwire.dialects.rpc.frames import Call, Reply, write
from turnwire.dialects.rpc.messages import encode
from turnwire.dialects.rpc.projector import Line

WHO: tuple[str, str, None, None] = ("demo", "s-1", None, None)
NOW = "2026-01-01T00:00:00Z"


# --- calls ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "params"),
    [
        ({"method": "query", "params": {"message": "hi"}}, m.Query("hi")),
        ({"method": "query", "params": "hi"}, m.Query("hi")),
        (
            {"method": "queryWithContent", "params": {"content": [{"type": "text", "text": "a"}]}},
            m.QueryWithContent([m.GivenText("a")]),
        ),
        ({"method": "setModel", "params": "x"}, m.SetModel("x")),
        ({"method": "setPermissionMode", "params": {"mode": "plan"}}, m.SetPermissionMode("plan")),
        ({"method": "getHistorySessions"}, m.GetHistorySessions(50)),
        (
            {"method": "getHistorySessions", "params": {"maxResults": 9000}},
            m.GetHistorySessions(500),
        ),
        ({"method": "getHistory", "params": None}, m.GetHistory()),
        ({"method": "interrupt"}, m.Interrupt()),
        ({"method": "disconnect", "params": {"why": "unknown"}}, m.Disconnect()),
        ({"method": "connect"}, Connect()),
        ({"method": "connect", "params": {"resumeSessionId": "c"}}, Connect(resume_session_id="c")),
    ],
)
def test_a_call_is_read_as_one_of_rpc(frame: dict[str, Any], params: Any) -> None:
    read = read_frame({"id": "req-1", **frame})
    assert isinstance(read, Call)
    assert (read.id, read.params) == ("req-1", params)


def test_a_reply_is_read() -> None:
    assert read_frame({"id": "srv-1", "result": {"answers": {}}}) == Reply("srv-1", {"answers": {}})
    failed = read_frame({"id": "srv-1", "error": "no"})
    assert isinstance(failed, Reply)
    assert failed.failed


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ([], "INVALID_FORMAT"),
        ({"id": 5}, "INVALID_FORMAT"),
        ({"id": ""}, "INVALID_FORMAT"),
        ({"id": "req-1"}, "UNKNOWN_MESSAGE_TYPE"),
        ({"id": "req-1", "method": "fly"}, "UNKNOWN_MESSAGE_TYPE"),
        ({"id": "req-1", "method": "query"}, "INVALID_PAYLOAD"),
        ({"id": "req-1", "method": "getHistory", "params": "x"}, "INVALID_PAYLOAD"),
    ],
)
def test_a_bad_frame_is_refused(frame: Any, code: str) -> None:
    with pytest.raises(Refused) as refused:
        read_frame(frame)
    assert refused.value.code == code


def test_the_conversation_that_has_to_exist() -> None:
    assert Connect(resume="a", resume_session_id="b").existing == "a"
    assert Connect(resume=True, resume_session_id="b").existing == "b"
    assert Connect(resume="").existing is None


def test_options_that_switch_a_protection_off_are_refused() -> None:
    Connect(sandbox_mode="read-only").check()
    for wish in (
        Connect(dangerously_skip_permissions=True),
        Connect(api_key="k"),
        Connect(sandbox_mode="danger-full-access"),
    ):
        with pytest.raises(Refused, match="not possible here"):
            wish.check()


def test_an_error_has_all_its_text() -> None:
    error = f.error_for(Refused("TURN_QUEUE_FULL"), "query")
    assert error.code == "TURN_QUEUE_FULL"
    assert len(error.message) > 20
    own = f.error_for(Refused("FORBIDDEN", "Not here. Connect without it."))
    assert own.message == "Not here. Connect without it."
    assert "owner" in f.error_for(Refused("FORBIDDEN")).message, "there is no other next step"
    unknown = f.error_for(Refused("UNKNOWN_MESSAGE_TYPE", "There is no method 'x'."))
    assert unknown.message == "There is no method 'x'. Check the spelling."


# --- requests -------------------------------------------------------------------------------------


def asked(*questions: Question) -> OpenRequest:
    return OpenRequest("q-1", "question", "q-1", "AskUserQuestion", questions=list(questions))


COLOURS = [QuestionOption("Red", "warm"), QuestionOption("Blue")]


def test_questions_are_answered_by_header() -> None:
    request = asked(
        Question("a", "Which colour?", COLOURS, header="Colour"),
        Question("b", "Which ones?", COLOURS, True, header="Colour"),
        Question("b", "Which, again?", COLOURS, True, header="Colour"),
        Question("d", "Why?"),
    )
    call = json.loads(write(call_of("srv-1", request)))
    assert (call["id"], call["method"]) == ("srv-1", "AskUserQuestion")
    options = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": ""}]
    assert call["params"]["questions"][0] == {
        "question": "Which colour?",
        "header": "Colour",
        "options": options,
        "multiSelect": False,
    }
    headers = [each["header"] for each in call["params"]["questions"]]
    assert headers == ["Colour", "b", "b ", "Why?"]
    reply = Reply("srv-1", {"answers": {"Colour": ["Red"], "Which ones?": "Red, Blue"}})
    assert read_reply(reply, request) == m.QuestionReply({"a": "Red", "b": ["Red", "Blue"]})


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("Red", ["Red"]),
        (["Red", "Blue"], ["Red", "Blue"]),
        ("Red,Blue", ["Red", "Blue"]),
        ("none of them", "none of them"),
    ],
)
def test_several_labels(given: Any, meant: Any) -> None:
    request = asked(Question("b", "Which?", COLOURS, True))
    read = read_reply(Reply("srv-1", {"answers": {"Which?": given}}), request)
    assert read == m.QuestionReply({"b": meant})


def test_a_question_without_questions_is_answered_in_words() -> None:
    reply = Reply("srv-1", {"answers": {"x": "yes", "y": ["a", "b"]}})
    assert read_reply(reply, asked()) == m.QuestionReply("yes, a, b")
    assert read_reply(Reply("srv-1", {"answers": {}}), asked()) == m.QuestionReply({})


RULE = {"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow"}


def wanted(**more: Any) -> OpenRequest:
    suggestions = [RULE, {"optionId": "always"}, "x"]
    return OpenRequest(
        "p-1", "permission", "t-1", "Bash", {"a": 1}, suggestions=suggestions, **more
    )


def test_a_permission_is_asked_and_answered() -> None:
    call = json.loads(write(call_of("srv-2", wanted())))
    assert call["params"] == {
        "toolName": "Bash",
        "input": {"a": 1},
        "toolUseId": "t-1",
        "permissionSuggestions": [RULE],
    }
    chosen = {"approved": True, "permissionUpdates": [RULE, {"type": "setMode"}]}
    assert read_reply(Reply("srv-2", chosen), wanted()) == m.PermissionReply(
        "allow", remember=[RULE]
    )
    assert read_reply(Reply("srv-2", {"approved": True}), wanted()) == m.PermissionReply("allow")
    denied = Reply("srv-2", {"approved": False, "denyReason": "no"})
    assert read_reply(denied, wanted()) == m.PermissionReply("deny", "no")
    assert read_reply(denied, wanted(decision_only=True)) == m.PermissionReply("deny")


def test_an_invalid_reply_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        read_reply(Reply("srv-2", {"approved": "perhaps"}), wanted())
    assert refused.value.data["id"] == "srv-2"


# --- messages -------------------------------------------------------------------------------------


def projected(*happened: h.Happening) -> list[Line]:
    return ClassicProjector("demo", "s-1", "test").project(happened)


def spoke(*events: ev.NormalizedStreamEvent) -> h.AgentSpoke:
    return h.AgentSpoke(NOW, 1, None, [*events], [])


def entry(role: Any, text: str, number: int = 1, **meta: Any) -> h.EntryAdded:
    block = b.TextBlock(text, "completed")
    said = entry_of(role, [block], run_id="talk:1", timestamp=NOW, **meta)
    return h.EntryAdded(number, said, None)


def data_of(lines: list[Line]) -> list[Any]:
    return [json.loads(encode(line.message)) for line in lines if line.message is not None]


def test_discarded_blocks_are_emptied() -> None:
    place = (*WHO, "msg")
    lines = projected(
        spoke(
            ev.MessageStarted(*place),
            ev.ContentStarted(*place, 0, b.TextBlock("", "in_progress")),
            ev.ContentDelta(*place, 0, "text", "kept"),
            ev.ContentStarted(*place, 1, b.ThinkingBlock("", "in_progress")),
            ev.ContentStarted(*place, 2, b.TextBlock("", "in_progress")),
            ev.ContentStarted(
                *place, 3, b.ToolUseBlock("t-1", "Bash", "BASH", None, "in_progress")
            ),
        ),
        spoke(ev.MessageDiscarded(*place, 1, "restarted")),
    )
    data = data_of(lines)
    events = [each["event"] for each in data if each["type"] == "stream_event"]
    assert [each["type"] for each in events[6:]] == [
        *("content_block_start", "content_block_delta", "content_block_stop") * 2,
        "message_delta",
        "message_stop",
    ]
    assert events[6]["content_block"] == {"type": "thinking", "thinking": ""}
    assert events[9]["content_block"] == {"type": "text", "text": ""}
    assert "discarded_from" not in events[-1]
    [closed] = [each for each in data if each["type"] == "user"]
    assert closed["message"]["content"][0]["tool_use_id"] == "t-1"
    assert closed["message"]["content"][0]["is_error"] is True
    assert {line.turn_id for line in lines} == {1}


def test_finished_blocks_of_a_discarded_message_stay() -> None:
    place = (*WHO, "msg")
    lines = projected(
        spoke(
            ev.MessageStarted(*place),
            ev.ContentStarted(*place, 0, b.TextBlock("", "in_progress")),
        ),
        entry("assistant", "Hello", message_id="msg", index=0),
        spoke(ev.MessageDiscarded(*place, 0, "turn_ended")),
    )
    kinds = [each.get("event", each)["type"] for each in data_of(lines)]
    assert kinds == [
        *("message_start", "content_block_start", "assistant", "message_delta", "message_stop")
    ]


def test_a_whole_message_ends_as_any_other() -> None:
    place = (*WHO, "msg")
    lines = projected(
        spoke(ev.MessageStarted(*place), ev.MessageCompleted(*place, "end_turn", None)),
        entry("assistant", "Hello", message_id="other", index=0),
    )
    assert len(lines) == 4


def test_stream_events_of_sub_agents_are_left_out() -> None:
    place = ("demo", "s-1", "task-1", None, "msg")
    assert projected(spoke(ev.MessageStarted(*place))) == []


def test_output_of_a_running_tool_is_left_out() -> None:
    place = (*WHO, "msg")
    call = b.ToolUseBlock("t-1", "Bash", "BASH", None, "in_progress")
    lines = projected(
        spoke(
            ev.MessageStarted(*place),
            ev.ContentStarted(*place, 0, call),
            ev.ContentDelta(*place, 0, "tool_output", "3 passed", "t-1"),
        )
    )
    assert [line.kind for line in lines] == ["grows", "grows"]


@pytest.mark.parametrize(
    ("meta", "text", "kind"),
    [
        ({}, "hello", "prompt"),
        ({"origin": "replay"}, "hello", "whole"),
        ({"origin": "synthetic"}, "a summary", "whole"),
        ({"origin": "interrupt"}, "[Request interrupted by user]", "system"),
        ({"steered_as": "queue-1"}, "hello", "whole"),
    ],
)
def test_prompts_have_their_own_kind(meta: dict[str, Any], text: str, kind: str) -> None:
    assert projected(entry("user", text, **meta))[0].kind == kind


@pytest.mark.parametrize(
    ("end", "subtype", "text"),
    [
        (TurnEnd(False, False), "success", None),
        (TurnEnd(False, True), "interrupted", None),
        (
            TurnEnd(True, False, error=TurnError("x", "It broke.")),
            "error_during_execution",
            "It broke.",
        ),
    ],
)
def test_a_result_says_how_its_turn_has_ended(end: TurnEnd, subtype: str, text: Any) -> None:
    line = projected(h.TurnEnded(NOW, 1, None, end))[-1]
    [data] = data_of([line])
    assert (data["subtype"], data.get("result")) == (subtype, text)
    assert line.news is not None


@pytest.mark.parametrize(
    ("subtype", "data", "told"),
    [
        ("status", {"status": "compacting"}, {"type": "status_system", "status": "compacting"}),
        ("status", None, {"type": "status_system", "status": None}),
        ("status", [], {"type": "status_system", "status": None}),
    ],
)
def test_compaction_is_told(subtype: str, data: Any, told: dict[str, Any]) -> None:
    event = ev.SystemEvent(*WHO, subtype, Raw(json.dumps(data).encode()), True)
    [line] = projected(spoke(event))
    assert line.kind == "whole"
    [given] = data_of([line])
    assert told.items() <= given.items()


def test_a_boundary_and_other_news_of_the_log() -> None:
    about = {"subtype": "compact_boundary", "data": {"compact_metadata": {"trigger": "auto"}}}
    at: Any = {"run_id": "talk:1", "timestamp": NOW}
    [line] = projected(h.EntryAdded(3, event_entry("system", "Compacted", **at, data=about), None))
    [given] = data_of([line])
    assert (line.kind, line.number, given["type"]) == ("whole", 3, "compact_boundary")
    other = event_entry("system", "Hello", **at, data={"subtype": "init"})
    assert projected(h.EntryAdded(4, other, None))[0].kind == "system"
    bare = event_entry("system", "Status", **at, data={"subtype": "status"})
    assert data_of(projected(h.EntryAdded(5, bare, None)))[0]["status"] is None
