"""Turns of an ACP agent: a prompt begins one, its response ends it. And news about the session."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dialects.acp.helpers.stream import Stream, prompted
from turnwire.core import events as ev
from turnwire.core.usage import Usage

LOGIN = {"id": "login", "name": "Log in", "description": "Run `agent login`"}


def opened(**result: Any) -> Stream:
    stream = Stream()
    stream.host({"id": 0, "method": "initialize", "params": {}})
    info = {"name": "x", "version": "1.2"}
    methods = [LOGIN, {"id": "key"}]
    stream.agent({"id": 0, "result": {"agentInfo": info, "authMethods": methods}})
    stream.host({"id": 1, "method": "session/new", "params": {"cwd": "/w", "mcpServers": []}})
    stream.agent({"id": 1, "result": {"sessionId": "s", **result}})
    stream.prompt()
    return stream


@pytest.mark.parametrize(
    "result",
    [
        {"models": {"currentModelId": "m"}, "modes": {"currentModeId": "plan"}},
        {
            "configOptions": [
                {"id": "x", "category": "model", "currentValue": "m"},
                {"id": "y", "category": "mode", "currentValue": "plan"},
                {"id": "z"},
            ]
        },
    ],
)
def test_the_first_turn_reports_the_session(result: dict[str, Any]) -> None:
    stream = opened(**result)
    init = stream.only(ev.SessionInit)
    assert (init.session_id, init.model, init.permission_mode) == ("s", "m", "plan")
    assert (init.cwd, init.agent_version) == ("/w", "1.2")
    stream.ends()
    stream.prompt(10)
    assert len(stream.all(ev.SessionInit)) == 1


@pytest.mark.parametrize("result", [{"configOptions": [{"id": "x", "category": "model"}]}, {}])
def test_a_session_without_a_model_has_none(result: dict[str, Any]) -> None:
    assert opened(**result).only(ev.SessionInit).model is None


def test_a_turn_ends_with_the_response_to_its_prompt() -> None:
    stream = prompted()
    stream.text("Hi")
    usage = {"inputTokens": 20, "outputTokens": 22, "totalTokens": 154, "thoughtTokens": 12}
    stream.ends(usage={**usage, "cachedReadTokens": 100})
    end = stream.only(ev.TurnCompleted)
    assert (end.stop_reason, end.interrupted) == ("end_turn", False)
    assert stream.only(ev.ResultSummary).usage == Usage(20, 34, None, 100)


def test_reasoning_that_is_a_part_of_the_output_counts_once() -> None:
    stream = prompted()
    usage = {"inputTokens": 20, "outputTokens": 34, "totalTokens": 54, "thoughtTokens": 12}
    stream.ends(usage=usage)
    assert stream.only(ev.ResultSummary).usage == Usage(20, 34)


@pytest.mark.parametrize(
    ("reason", "code"), [("max_turn_requests", "max_turns"), ("refusal", "refusal")]
)
def test_some_reasons_are_failures(reason: str, code: str) -> None:
    stream = prompted()
    stream.ends(reason)
    assert stream.only(ev.TurnFailed).code == code
    assert stream.only(ev.ResultSummary).is_error


def test_a_turn_without_a_reason_has_ended() -> None:
    stream = prompted()
    stream.ends(None)
    assert stream.only(ev.TurnCompleted).stop_reason == "end_turn"


def test_a_cancelled_turn_is_interrupted_also_if_the_agent_calls_it_an_error() -> None:
    for is_error in (False, True):
        stream = prompted()
        stream.text("One, two")
        stream.host({"method": "session/cancel", "params": {"sessionId": "s"}})
        if is_error:
            stream.fails(-32603, "x")
        else:
            stream.ends("cancelled")
        assert stream.only(ev.TurnCompleted).interrupted
        assert not stream.only(ev.ResultSummary).is_error


def test_a_missing_login_fails_the_turn_and_says_how_to_log_in() -> None:
    stream = opened()
    stream.fails(-32000, "Authentication required")
    failed = stream.only(ev.TurnFailed)
    assert failed.code == "auth_required"
    assert failed.message == (
        "Authentication required. Log in on the server's machine: "
        "Log in (Run `agent login`); or key."
    )


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (
            {"type": "env_var", "vars": [{"name": "KEY"}], "link": "https://example.org/keys"},
            "set KEY in `env` of the agent's settings; get a key at https://example.org/keys",
        ),
        ({"type": "env_var", "varName": "KEY"}, "set KEY in `env` of the agent's settings"),
        (
            {"type": "terminal", "args": ["log in"], "env": {"A": "b"}},
            "run `A=b PROGRAM 'log in'` in a terminal, with the agent's own program",
        ),
    ],
)
def test_a_login_names_the_key_or_the_command_that_it_needs(
    method: dict[str, Any], said: str
) -> None:
    stream = Stream()
    stream.host({"id": 0, "method": "initialize", "params": {}})
    stream.agent({"id": 0, "result": {"authMethods": [{"id": "way", **method}]}})
    stream.prompt()
    stream.fails(-32000, "No key")
    assert stream.only(ev.TurnFailed).message == (
        f"No key. Log in on the server's machine: way ({said})."
    )


def test_without_a_login_method_the_message_names_the_usual_ways() -> None:
    stream = prompted()
    stream.fails(-32000, "")
    assert stream.only(ev.TurnFailed).message == (
        "The agent gave no reason. Log in with the agent's own program, or give it a key in its "
        "environment."
    )


def test_an_error_of_another_request_does_not_end_the_turn() -> None:
    stream = prompted()
    stream.host({"id": 4, "method": "session/set_mode", "params": {}})
    assert stream.fails(-32602, "no such mode", number=4) == []
    stream.fails(-1, "odd")
    assert stream.only(ev.TurnFailed).code == "error_-1"


def test_results_after_the_turn_are_ignored() -> None:
    stream = prompted()
    stream.ends()
    assert stream.ends() == []
    assert stream.agent({"id": 77, "error": {"code": 1, "message": "late"}}) == []
    assert stream.agent({"id": 78, "result": None}) == []


def test_a_stream_that_breaks_off_ends_its_turn() -> None:
    stream = prompted()
    stream.text("Hel")
    stream.finish()
    assert stream.only(ev.TurnFailed).code == "agent_lost"
    assert stream.finish() == []


def test_a_second_prompt_ends_a_turn_that_has_no_end() -> None:
    stream = prompted()
    stream.prompt(10)
    assert [type(event) for event in stream.events] == [
        *(ev.TurnStarted, ev.TurnFailed, ev.ResultSummary, ev.TurnStarted)
    ]


def test_the_cost_of_a_turn_is_the_growth_of_the_cost_of_the_session() -> None:
    stream = prompted()
    stream.update("usage_update", used=5, cost={"amount": 0.5, "currency": "USD"})
    stream.ends()
    stream.prompt(10)
    stream.update("usage_update", used=5, cost={"amount": 0.75, "currency": "USD"})
    stream.update("usage_update", used=5, cost={"amount": 9, "currency": "EUR"})
    stream.ends(number=10)
    costs = [(each.cost_usd, each.total_cost_usd) for each in stream.all(ev.ResultSummary)]
    assert costs == [(0.5, 0.5), (0.25, 0.75)]


def test_news_about_the_session() -> None:
    stream = prompted()
    stream.update("current_mode_update", currentModeId="plan")
    option = {"id": "m", "category": "mode", "currentValue": "build"}
    stream.update("config_option_update", configOptions=[{"id": "z"}, option])
    stream.update("config_option_update", configOptions=[])
    stream.update("session_info_update", title="Soup")
    stream.update("session_info_update", updatedAt="now")
    stream.update("available_commands_update", availableCommands=[{"name": "init"}])
    stream.agent({"method": "elicitation/complete", "params": {"elicitationId": "e"}})
    assert [event.permission_mode for event in stream.all(ev.SessionOffered)] == ["build", None]
    modes = [event.permission_mode for event in stream.all(ev.PermissionModeChanged)]
    assert modes == ["plan", "build"]
    assert stream.only(ev.TitleProposed).title == "Soup"
    plain = [event for event in stream.events if type(event) is ev.SystemEvent]
    assert [event.subtype for event in plain] == [
        "config_option_update",
        "session_info_update",
        "available_commands_update",
        "elicitation_complete",
    ]
    assert all(event.ephemeral for event in plain)


def of_another(stream: Stream, kind: str, **fields: Any) -> list[ev.NormalizedStreamEvent]:
    params = {"sessionId": "child", "update": {"sessionUpdate": kind, **fields}}
    return stream.agent({"method": "session/update", "params": params})


def test_an_update_of_another_session_is_unknown_and_the_session_keeps_its_id() -> None:
    stream = opened()
    text = {"type": "text", "text": "Of the child."}
    stream.text("Mine.")
    reported: dict[str, dict[str, Any]] = {
        "agent_message_chunk": {"content": text},
        "agent_thought_chunk": {"content": text},
        "tool_call": {"toolCallId": "t", "title": "Grep", "status": "completed"},
        "usage_update": {"used": 1},
    }
    for kind, fields in reported.items():
        (unknown,) = of_another(stream, kind, **fields)
        assert isinstance(unknown, ev.UnknownEvent)
        assert unknown.reason == "it belongs to another session"
        assert stream.adapter.session_id == "s"
    stream.ends()
    said = stream.only(ev.AssistantMessage)
    assert [getattr(block, "text", "") for block in said.content] == ["Mine."]
    assert {event.session_id for event in stream.events if event.session_id} == {"s"}


def test_a_call_of_another_session_that_needs_a_permission_is_shown_with_its_result() -> None:
    stream = opened()
    stream.tool("t", title="mine", status="in_progress")
    call = {"toolCallId": "t", "title": "theirs"}
    params = {"sessionId": "child", "toolCall": call, "options": []}
    stream.agent({"id": 0, "method": "session/request_permission", "params": params})
    asked = stream.only(ev.PermissionRequested)
    assert (asked.tool_use_id, asked.tool_name) == ("child/t", "theirs")
    of_another(stream, "tool_call_update", toolCallId="t", status="completed")
    stream.change("t", status="failed")
    results = [(each.tool_use_id, each.is_error) for each in stream.results()]
    assert results == [("child/t", False), ("t", True)]
    assert stream.adapter.session_id == "s"


def test_a_session_that_begins_anew_has_its_new_id_also_for_news_before_its_result() -> None:
    stream = Stream()
    stream.host({"id": 1, "method": "session/load", "params": {"sessionId": "old"}})
    stream.agent({"id": 1, "error": {"code": -32002, "message": "gone"}})
    stream.host({"id": 2, "method": "session/new", "params": {}})
    (news,) = stream.update("usage_update", used=1)
    assert (news.session_id, stream.adapter.session_id) == ("s", "s")
    stream.agent({"id": 2, "result": {"sessionId": "s"}})
    assert isinstance(of_another(stream, "usage_update", used=1)[0], ev.UnknownEvent)


def test_unknown_things_are_kept() -> None:
    stream = prompted()
    stream.update("mood", value=1)
    stream.agent({"method": "_own/news", "params": {}})
    names = [event.original_type for event in stream.all(ev.UnknownEvent)]
    assert names == ["session_update/mood", "_own/news"]


def test_requests_about_files_and_unknown_lines_of_the_host_are_no_events() -> None:
    stream = prompted()
    params = {"sessionId": "s", "path": "/a"}
    assert stream.agent({"id": 1, "method": "fs/read_text_file", "params": params}) == []
    assert stream.host({"method": "_own", "params": 1}) == []
    assert stream.host({"id": 5, "method": "session/new", "params": None}) == []
    assert stream.host({"method": "elicitation/complete", "params": None}) == []
