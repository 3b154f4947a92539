"""Tools of the front end: the call that an agent announces, and the one that comes over MCP."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dialects.acp.helpers.stream import Stream, prompted
from turnwire.core import events as ev
from turnwire.core.blocks import ToolUseBlock
from turnwire.core.questions import client_tool_question, questions_of
from turnwire.dialects.acp.client_tools import ClientTools

BLUE, RED = {"colour": "blue"}, {"colour": "red"}
TITLE = "turnwire_paint"


def offered(*names: str) -> Stream:
    stream = prompted()
    stream.adapter.offer(ClientTools("turnwire", names or ("paint", "beep")))
    return stream


def comes(stream: Stream, given: dict[str, Any], own: str | None = None) -> str | None:
    """A request over MCP. Returns the id of its call, which then asks the front end."""
    found = stream.adapter.client_called("paint", given, own)
    if found is None:
        return None
    call, events = found
    question = client_tool_question("paint")
    whose = ("acp", "s", None, None)
    asked = ev.QuestionAsked(
        *whose, call, call, "paint", questions_of(question), question, asks=False
    )
    stream.take([*events, asked])
    return call


def ends(stream: Stream, call: str, said: str = "Blue.") -> None:
    stream.change(
        call,
        status="completed",
        content=[{"type": "content", "content": {"type": "text", "text": said}}],
    )


def calls(stream: Stream) -> list[tuple[str, str, Any]]:
    blocks = [block for each in stream.all(ev.AssistantMessage) for block in each.content]
    return [(b.id, b.tool_name, b.input) for b in blocks if isinstance(b, ToolUseBlock)]


def withdrawn(stream: Stream) -> list[str]:
    return [each.request_id for each in stream.all(ev.RequestWithdrawn)]


@pytest.mark.parametrize(
    "text",
    [
        "turnwire_paint",
        "mcp__turnwire__paint",
        "turnwire: paint",
        "Tool: turnwire/paint",
        "mcp.turnwire.paint",
        "mcp_turnwire_paint-1700000000000-0",
    ],
)
def test_the_name_of_a_tool_is_found_in_the_agents_own_way_to_name_it(text: str) -> None:
    assert ClientTools("turnwire", ["paint", "beep"]).named(None, text) == "paint"


@pytest.mark.parametrize("text", ["paint", "other_turnwire_paint", "turnwire_draw", "turnwire", ""])
def test_the_tool_of_another_server_is_not_one_of_the_front_end(text: str) -> None:
    assert ClientTools("turnwire", ["paint", "beep"]).named(text) is None


def test_names_that_look_the_same_to_an_agent_are_told_apart_where_they_can_be() -> None:
    tools = ClientTools("turnwire", ["a-b", "a_b"])
    assert [tools.named(f"turnwire_{name}") for name in ("a-b", "a_b")] == ["a-b", "a_b"]


def test_a_call_is_announced_once_with_the_arguments_that_came_over_mcp() -> None:
    stream = offered()
    stream.tool("t", title=TITLE, status="pending", rawInput={})
    text = {"type": "content", "content": {"type": "text", "text": "It runs."}}
    stream.change("t", status="in_progress", rawInput=BLUE, content=[text])
    assert calls(stream) == []
    assert stream.all(ev.ToolProgress) == [], "the log does not have the call yet"
    assert comes(stream, BLUE) == "t"
    assert calls(stream) == [("t", "paint", BLUE)]
    stream.adapter.client_answered("t", "Blue.", is_error=False)
    stream.change("t", title=TITLE, status="in_progress", rawInput=BLUE)
    ends(stream, "t")
    stream.ends()
    assert [(each.tool_use_id, each.content) for each in stream.results()] == [("t", "Blue.")]
    assert calls(stream) == [("t", "paint", BLUE)]
    assert withdrawn(stream) == []


def test_a_call_that_never_comes_over_mcp_is_announced_with_its_result() -> None:
    stream = offered()
    stream.tool("t", title=TITLE, status="in_progress", rawInput=BLUE)
    stream.change("t", status="failed", rawOutput="Denied.")
    assert calls(stream) == [("t", "paint", BLUE)]
    assert [each.is_error for each in stream.results()] == [True]


def test_a_request_waits_for_the_call_with_its_own_arguments() -> None:
    stream = offered()
    stream.tool("a", title=TITLE, status="in_progress", rawInput=RED)
    stream.tool("b", title=TITLE, status="pending", rawInput={})
    assert comes(stream, BLUE) is None
    stream.change("b", status="in_progress", rawInput=BLUE)
    assert (comes(stream, BLUE), comes(stream, RED)) == ("b", "a")


def test_arguments_are_also_found_beside_the_name_of_the_server() -> None:
    stream = offered()
    wrapped = {"server": "turnwire", "tool": "paint", "arguments": BLUE}
    stream.tool("t", title="Tool: turnwire/paint", status="in_progress", rawInput=wrapped)
    assert comes(stream, BLUE) == "t"
    assert calls(stream) == [("t", "paint", BLUE)]


def test_a_tool_may_have_arguments_of_those_names_itself() -> None:
    stream = offered()
    given = {"server": "web", "arguments": {"a": 1}}
    stream.tool("t", title=TITLE, status="in_progress", rawInput=given)
    assert comes(stream, given) == "t"
    assert calls(stream) == [("t", "paint", given)]


def test_a_call_without_arguments_is_the_only_one_that_runs_or_the_last_resort() -> None:
    stream = offered()
    stream.tool("t", title=TITLE, status="pending")
    assert comes(stream, BLUE) is None
    assert comes(stream, BLUE, "own") == "t"
    stream.tool("u", title=TITLE, status="in_progress")
    assert comes(stream, RED) == "u"
    stream.tool("v", title=TITLE, status="in_progress", rawInput={})
    stream.tool("w", title=TITLE, status="in_progress", rawInput={})
    assert comes(stream, RED) is None
    assert comes(stream, {}) == "v", "a tool may take no arguments"
    assert [name for name, _, _ in calls(stream)] == ["t", "u", "v"]
    assert calls(stream)[-1] == ("v", "paint", {})


def test_a_call_that_a_person_has_allowed_is_asked_under_its_id() -> None:
    stream = offered()
    wanted = {"toolCallId": "t", "title": TITLE, "rawInput": BLUE}
    params = {"sessionId": "s", "toolCall": wanted, "options": []}
    stream.agent({"id": 1, "method": "session/request_permission", "params": params})
    stream.host({"id": 1, "result": {"outcome": {"outcome": "selected", "optionId": "y"}}})
    stream.change("t", status="in_progress")
    assert comes(stream, BLUE) == "t"
    assert calls(stream) == [("t", "paint", BLUE)]


def test_a_later_text_of_the_model_names_no_tool() -> None:
    stream = offered()
    stream.tool("t", title="bash", status="pending")
    stream.change("t", title=TITLE, status="in_progress", rawInput=BLUE)
    assert comes(stream, BLUE) is None
    stream.tool("u", title="Run a command", status="pending")
    stream.change("u", title=TITLE, status="in_progress", rawInput=BLUE)
    assert comes(stream, BLUE) is None


def test_a_call_that_the_agent_does_not_announce_ends_with_the_answer() -> None:
    stream = offered()
    assert comes(stream, BLUE, "own") == "own"
    assert calls(stream) == [("own", "paint", BLUE)]
    stream.take(stream.adapter.client_answered("own", "Blue.", is_error=False))
    stream.ends()
    assert [(each.tool_use_id, each.content) for each in stream.results()] == [("own", "Blue.")]


@pytest.mark.parametrize("answered_first", [True, False])
@pytest.mark.parametrize("told", [BLUE, None])
def test_a_call_that_is_announced_too_late_is_the_same_call(
    answered_first: bool, told: dict[str, Any] | None
) -> None:
    stream = offered()
    assert comes(stream, BLUE, "own") == "own"
    if answered_first:
        stream.take(stream.adapter.client_answered("own", "Blue.", is_error=False))
    stream.tool("t", title=TITLE, status="pending", rawInput={})
    if told is not None:
        stream.change("t", status="in_progress", rawInput=told)
    if not answered_first and told is not None:
        stream.take(stream.adapter.client_answered("own", "Blue.", is_error=False))
        assert stream.results() == [], "the agent tells it"
    ends(stream, "t")
    stream.ends()
    assert calls(stream) == [("own", "paint", BLUE)]
    assert [(each.tool_use_id, each.content) for each in stream.results()] == [("own", "Blue.")]


def test_another_call_than_the_one_announced_for_the_agent_is_a_call_of_its_own() -> None:
    stream = offered()
    assert comes(stream, BLUE, "own") == "own"
    stream.tool("b", title="turnwire_beep", status="in_progress", rawInput={})
    stream.tool("t", title=TITLE, status="pending", rawInput={})
    stream.change("t", status="in_progress", rawInput=RED)
    assert comes(stream, RED) == "t"
    assert calls(stream) == [("own", "paint", BLUE), ("t", "paint", RED)]


def test_an_agent_that_does_not_wait_any_longer_withdraws_the_question() -> None:
    stream = offered()
    stream.tool("t", title=TITLE, status="in_progress", rawInput=BLUE)
    comes(stream, BLUE)
    stream.change("t", status="failed", rawOutput="Timed out.")
    assert withdrawn(stream) == ["t"]
    assert stream.adapter.client_withdrawn("t", "It has given up.") == []
    comes(stream, RED, "own")
    stream.take(stream.adapter.client_withdrawn("own", "It has given up."))
    assert withdrawn(stream) == ["t", "own"]
    assert [(each.content, each.is_error) for each in stream.results()] == [
        ("Timed out.", True),
        ("It has given up.", True),
    ]


def test_the_end_of_the_turn_withdraws_what_is_open() -> None:
    stream = offered()
    stream.tool("t", title=TITLE, status="in_progress", rawInput=BLUE)
    comes(stream, BLUE)
    comes(stream, RED, "own")
    stream.ends()
    assert sorted(withdrawn(stream)) == ["own", "t"]
    stream.prompt(10)
    stream.tool("t", title=TITLE, status="in_progress", rawInput=BLUE)
    call = comes(stream, BLUE)
    assert call not in ("t", "own", None), "the same id in the next turn is another call"
