"""The front end's side: how RPC messages become what a person sees (RPC section 5)."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import msgspec
import pytest

from turnwire.core import ui
from turnwire.core.blocks import TextBlock, ToolUseBlock, UnknownBlock
from turnwire.core.usage import Usage
from turnwire.core.view import (
    BlockView,
    EventView,
    MessageView,
    OtherView,
    ResultView,
    TextView,
    ThinkingView,
    ToolView,
    View,
)
from turnwire.dialects.rpc import RpcBridge, Transcript, decode
from turnwire.dialects.rpc import messages as rpc


def frame(**fields: Any) -> dict[str, Any]:
    """A message; without a parent it does not mention one."""
    message = {"provider": "claude", **fields}
    return {key: value for key, value in message.items() if value is not None}


_numbers = count(1)  # no two stream events share a uuid; the same one said twice does


def stream(event: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
    return frame(
        type="stream_event",
        uuid=f"evt-abc12345-{next(_numbers)}",
        session_id="sess-xyz",
        event=event,
        parent_tool_use_id=parent,
    )


def started(message_id: str | None = "msg_1", parent: str | None = None) -> dict[str, Any]:
    body = {"content": [], "model": "claude-sonnet-4-5"} | (
        {"id": message_id} if message_id else {}
    )
    return stream({"type": "message_start", "message": body}, parent)


def block(index: int, content_block: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
    event = {"type": "content_block_start", "index": index, "content_block": content_block}
    return stream(event, parent)


def delta(index: int, kind: str, text: str, parent: str | None = None) -> dict[str, Any]:
    field = {"input_json_delta": "partial_json"}.get(kind, kind.removesuffix("_delta"))
    grown = {"type": kind, field: text}
    return stream({"type": "content_block_delta", "index": index, "delta": grown}, parent)


def stop(index: int, parent: str | None = None) -> dict[str, Any]:
    return stream({"type": "content_block_stop", "index": index}, parent)


def ended(parent: str | None = None, **fields: Any) -> dict[str, Any]:
    return stream({"type": "message_stop", **fields}, parent)


def changed(stop_reason: str | None, usage: Any = None) -> dict[str, Any]:
    event = {"type": "message_delta", "delta": {"stop_reason": stop_reason}}
    return stream(event | ({"usage": usage} if usage else {}))


def assistant(*blocks: Any, parent: str | None = None, **body: Any) -> dict[str, Any]:
    message = {"content": list(blocks), **body}
    return frame(type="assistant", message=message, parent_tool_use_id=parent)


def user(*blocks: Any, parent: str | None = None) -> dict[str, Any]:
    return frame(type="user", message={"content": list(blocks)}, parent_tool_use_id=parent)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def thinking(words: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": words}


def tool(tool_id: str, arguments: Any = None) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": tool_id,
        "toolName": "Read",
        "toolType": "CLAUDE_READ",
        "input": arguments,
        "status": "in_progress",
    }


def result(tool_id: str, content: Any = "ok", *, is_error: bool = False) -> dict[str, Any]:
    return {
        "type": "tool_result",
        "tool_use_id": tool_id,
        "content": content,
        "is_error": is_error,
    }


def read(wire: dict[str, Any]) -> rpc.RpcMessage:
    return decode(json.dumps(wire).encode())


def fold(*frames: dict[str, Any]) -> View:
    """What is on the screen after these frames."""
    transcript = Transcript()
    for wire in frames:
        transcript.apply(read(wire))
    return transcript.view()


def blocks_of(message: MessageView) -> list[Any]:
    """A message's blocks, written as RPC writes them."""
    return [_as_rpc(shown) for shown in message.blocks]


def _as_rpc(shown: BlockView) -> Any:
    match shown:
        case TextView():
            return text(shown.text)
        case ThinkingView():
            signed = {"signature": shown.signature} if shown.signature else {}
            return thinking(shown.text) | signed
        case ToolView():
            unread = {} if shown.input_text is None else {"input_text": shown.input_text}
            return tool(shown.id, shown.input) | unread
        case OtherView():
            return shown.block
        case EventView():
            raise AssertionError("RPC shows no events")


def content(view: View) -> list[list[Any]]:
    """The blocks of every message."""
    return [blocks_of(message) for message in view.messages]


def card(view: View, tool_id: str) -> ToolView:
    """A tool's card."""
    blocks = [shown for message in view.messages for shown in message.blocks]
    (found,) = (shown for shown in blocks if isinstance(shown, ToolView) and shown.id == tool_id)
    return found


def screen(view: View) -> Any:
    """All that a person could see, to compare two views."""
    return json.loads(msgspec.json.encode(view))


NOTHING: Any = {"messages": [], "turns": []}


# --- dispatch (RPC section 5.1) ---------------------------------------------------------------


def test_a_fresh_transcript_is_empty() -> None:
    assert screen(fold()) == NOTHING


def test_a_user_message_is_shown() -> None:
    (message,) = fold(user(text("Hi"), text("there"))).messages
    assert message.role == "user"
    assert not message.streaming
    assert blocks_of(message) == [text("Hi"), text("there")]


def test_an_assistant_message_is_shown() -> None:
    (message,) = fold(assistant(text("Hello"), id="msg_1", model="claude-sonnet-4-5")).messages
    assert (message.role, message.id, message.model) == ("assistant", "msg_1", "claude-sonnet-4-5")
    assert not message.streaming
    assert blocks_of(message) == [text("Hello")]


FIGURES = {
    "type": "result",
    "subtype": "success",
    "duration_ms": 1234,
    "duration_api_ms": 456,
    "is_error": False,
    "num_turns": 2,
    "session_id": "sess-xyz",
    "provider": "claude",
    "stop_reason": "end_turn",
}


def ends(view: View) -> list[Any]:
    """How the turns ended."""
    return [(turn["turn_id"], turn["end"]) for turn in screen(view)["turns"]]


WELL = {"is_error": False, "interrupted": False, "stop_reason": "end_turn", "duration_ms": 1234}


def test_a_result_ends_a_turn() -> None:
    usage = {"input_tokens": 200, "output_tokens": 40}
    made = {"usage": usage, "cost_usd": 0.005, "structured_output": {"n": 3}}
    view = fold({**FIGURES, **made}, {**FIGURES, "cost_usd": 0.001})
    assert ends(view) == [
        (1, {**WELL, **made}),
        (2, {**WELL, "cost_usd": 0.001}),
    ]
    assert screen(view)["totals"] == {**usage, "cost_usd": 0.006}
    assert view.messages == []


def test_an_error_is_that_of_the_turn_that_ends() -> None:
    broke = frame(type="error", message="It broke", code="api_error")
    assert screen(fold(broke)) == NOTHING
    why = {"code": "api_error", "message": "It broke"}
    view = fold(broke, FIGURES, user(text("Again?")), FIGURES)
    assert ends(view) == [(1, {**WELL, "is_error": True, "error": why}), (2, WELL)]


def test_an_error_without_a_code_has_a_plain_one() -> None:
    ((_, end),) = ends(fold(frame(type="error", message="It broke"), FIGURES))
    assert end["error"] == {"code": "error", "message": "It broke"}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"errors": ["One.", "Two."], "result": "No"}, "One.\nTwo."),
        ({"result": "No"}, "No"),
        ({}, ""),
    ],
)
def test_a_result_that_is_an_error_says_why(fields: Any, said: str) -> None:
    ((_, end),) = ends(fold({**FIGURES, "is_error": True, "subtype": "error_max_turns", **fields}))
    assert end["error"] == {"code": "error_max_turns", "message": said}


def test_a_turn_that_was_interrupted_did_not_fail() -> None:
    result = {**FIGURES, "is_error": True, "terminal_reason": "aborted_streaming"}
    assert ends(fold(result)) == [(1, {**WELL, "interrupted": True})]


def test_a_stream_event_goes_to_the_message_that_streams() -> None:
    (message,) = fold(started(), block(0, text("")), delta(0, "text_delta", "Hello")).messages
    assert blocks_of(message) == [text("Hello")]


@pytest.mark.parametrize(
    "wire",
    [
        frame(type="system", subtype="status", session_id="sess-xyz"),
        frame(type="hologram", beams=3),
        stream({"type": "ping"}),
        stream({"type": "hologram"}),
        {"type": "content_block_delta", "index": 0},  # a stream event without its wrapper
        {},
    ],
)
def test_what_is_not_known_changes_nothing(wire: dict[str, Any]) -> None:
    frames = [started(), block(0, text("")), delta(0, "text_delta", "Hel")]
    assert screen(fold(wire)) == NOTHING
    assert screen(fold(*frames, wire)) == screen(fold(*frames))


# --- stream events (RPC section 5.2) ----------------------------------------------------------


def test_a_message_start_makes_a_placeholder() -> None:
    (message,) = fold(started("msg_1")).messages
    assert (message.role, message.id, message.model) == ("assistant", "msg_1", "claude-sonnet-4-5")
    assert message.streaming
    assert message.blocks == []


@pytest.mark.parametrize(
    "event",
    [
        {"type": "message_start"},
        {"type": "message_start", "message": {}},
        {"type": "message_start", "message": {"content": None}},
    ],
)
def test_a_placeholder_needs_no_name(event: dict[str, Any]) -> None:
    view = fold(stream(event), block(0, text("")), delta(0, "text_delta", "Hi"), ended())
    (message,) = view.messages
    assert (message.id, message.model, message.streaming) == ("nameless-1", None, False)
    assert blocks_of(message) == [text("Hi")]


def test_a_block_start_adds_a_block_at_its_index() -> None:
    view = fold(started(), block(1, text("b")), block(0, thinking("a")))
    assert content(view) == [[thinking("a"), text("b")]]


def test_a_block_start_for_a_tool_makes_its_card() -> None:
    view = fold(started(), block(0, tool("toolu_1")))
    shown = card(view, "toolu_1")
    assert (shown.status, shown.result, shown.output) == ("streaming", None, None)


def test_text_grows_with_each_delta() -> None:
    frames = [started(), block(0, text("")), delta(0, "text_delta", "Hel")]
    assert content(fold(*frames)) == [[text("Hel")]]
    assert content(fold(*frames, delta(0, "text_delta", "lo"))) == [[text("Hello")]]


def test_text_grows_from_what_its_block_began_with() -> None:
    frames = [started(), block(0, text("He")), delta(0, "text_delta", "llo")]
    assert content(fold(*frames)) == content(fold(*frames, stop(0))) == [[text("Hello")]]


def test_thinking_grows_with_each_delta() -> None:
    view = fold(
        started(),
        block(0, {**thinking("H"), "signature": "sig"}),
        delta(0, "thinking_delta", "m"),
        delta(0, "thinking_delta", "."),
    )
    assert content(view) == [[{**thinking("Hm."), "signature": "sig"}]]


@pytest.mark.parametrize("end", [stop(0), ended()])
def test_a_tools_input_is_text_until_its_block_ends(end: dict[str, Any]) -> None:
    frames = [started(), block(0, tool("toolu_1")), delta(0, "input_json_delta", '{"file_path"')]
    half = {**tool("toolu_1"), "input_text": '{"file_path"'}
    assert content(fold(*frames)) == [[half]]
    whole = delta(0, "input_json_delta", ': "notes.txt"}')
    assert content(fold(*frames, whole, end)) == [[tool("toolu_1", {"file_path": "notes.txt"})]]


@pytest.mark.parametrize("nonsense", ['{"file_path"', "[" * 100_000])
def test_a_tools_input_that_never_becomes_whole_is_kept_as_text(nonsense: str) -> None:
    frames = [started(), block(0, tool("toolu_1")), delta(0, "input_json_delta", nonsense)]
    kept = {**tool("toolu_1"), "input_text": nonsense}
    assert content(fold(*frames)) == content(fold(*frames, stop(0), ended())) == [[kept]]


def test_deltas_go_to_the_block_with_their_index() -> None:
    view = fold(
        started(),
        block(0, text("")),
        block(1, text("")),
        delta(1, "text_delta", "one"),
        delta(0, "text_delta", "zero"),
        delta(1, "text_delta", "!"),
    )
    assert content(view) == [[text("zero"), text("one!")]]


@pytest.mark.parametrize(
    ("kind", "words"), [("output_delta", "3 passed"), ("hologram_delta", "beam")]
)
def test_a_delta_that_a_block_has_no_use_for_changes_nothing(kind: str, words: str) -> None:
    frames = [started(), block(0, text("Hi"))]
    assert screen(fold(*frames, delta(0, kind, words))) == screen(fold(*frames))


def test_an_unknown_block_is_kept_and_what_grows_on_it_changes_nothing() -> None:
    hologram = {"type": "hologram", "beams": 3}
    view = fold(started(), block(0, hologram), delta(0, "text_delta", "x"), stop(0))
    (message,) = view.messages
    assert blocks_of(message) == [UnknownBlock("hologram", hologram)]


def test_a_block_stop_leaves_what_the_block_has_become() -> None:
    frames = [started(), block(0, text("")), delta(0, "text_delta", "Hello")]
    assert content(fold(*frames, stop(0))) == content(fold(*frames))


def test_a_message_delta_changes_nothing_on_the_screen() -> None:
    frames = [started(), block(0, text("Hi"))]
    told = changed("end_turn", {"output_tokens": 150})
    assert screen(fold(*frames, told)) == screen(fold(*frames))


def test_a_message_stop_ends_the_streaming() -> None:
    (message,) = fold(started(), block(0, text("Hi")), stop(0), ended()).messages
    assert not message.streaming
    assert blocks_of(message) == [text("Hi")]


@pytest.mark.parametrize(
    "wire",
    [
        block(0, text("Hi")),
        delta(0, "text_delta", "Hi"),
        stop(0),
        changed("end_turn"),
        ended(),
        ended(discarded_from=0),
    ],
)
def test_a_stream_event_without_a_message_changes_nothing(wire: dict[str, Any]) -> None:
    assert screen(fold(wire)) == NOTHING


@pytest.mark.parametrize("wire", [delta(7, "text_delta", "Hi"), stop(7)])
def test_a_stream_event_without_a_block_changes_nothing(wire: dict[str, Any]) -> None:
    frames = [started(), block(0, text("Hi"))]
    assert screen(fold(*frames, wire)) == screen(fold(*frames))


def test_messages_follow_each_other() -> None:
    view = fold(
        started("msg_1"),
        block(0, text("one")),
        ended(),
        started("msg_2"),
        block(0, text("two")),
    )
    assert content(view) == [[text("one")], [text("two")]]
    assert [message.streaming for message in view.messages] == [False, True]


# --- abandoned messages -----------------------------------------------------------------------


def test_an_abandoned_message_keeps_the_blocks_before_and_drops_the_rest() -> None:
    view = fold(
        started(),
        block(0, tool("toolu_kept")),
        block(1, text("void")),
        block(2, tool("toolu_void")),
        ended(discarded_from=1),
    )
    (message,) = view.messages
    assert blocks_of(message) == [tool("toolu_kept")]
    assert not message.streaming


@pytest.mark.parametrize("message_id", ["msg_1", None])
def test_a_message_abandoned_from_its_first_block_on_disappears(message_id: str | None) -> None:
    view = fold(started(message_id), block(0, tool("toolu_1")), ended(discarded_from=0))
    assert screen(view) == NOTHING


def test_a_message_abandoned_before_its_first_block_disappears() -> None:
    assert screen(fold(started(), ended(discarded_from=0))) == NOTHING


def test_a_message_that_disappeared_may_come_again() -> None:
    again = [started(), block(0, text("Hello")), ended()]
    frames = [started(), block(0, text("Hel")), ended(discarded_from=0), *again]
    assert screen(fold(*frames)) == screen(fold(*again))


def test_what_is_late_for_a_message_that_disappeared_changes_nothing() -> None:
    view = fold(
        started(),
        ended(discarded_from=0),
        block(0, text("late")),
        delta(0, "text_delta", "later"),
        ended(),
    )
    assert screen(view) == NOTHING


def test_a_finished_message_without_an_id_does_not_go_to_a_message_that_disappeared() -> None:
    view = fold(started(), ended(discarded_from=0), assistant(text("Hello")))
    assert content(view) == [[text("Hello")]]


# --- tool results (RPC section 5.3) -----------------------------------------------------------


@pytest.mark.parametrize("is_error", [False, True])
@pytest.mark.parametrize("value", ["file contents", [{"type": "text", "text": "a"}], None])
def test_a_tool_result_goes_to_its_tools_card(value: Any, is_error: bool) -> None:
    view = fold(
        started(),
        block(0, tool("toolu_1")),
        block(1, tool("toolu_2")),
        ended(),
        user(result("toolu_1", value, is_error=is_error)),
    )
    assert card(view, "toolu_1").result == ResultView(value, is_error)
    assert card(view, "toolu_2").result is None


def test_a_tool_result_is_not_a_message_on_the_screen() -> None:
    assert fold(user(result("toolu_1"))).messages == []


def test_everything_else_in_a_user_message_is_a_message_on_the_screen() -> None:
    mixed = user(result("toolu_1"), text("And now?"), result("toolu_2"))
    assert content(fold(mixed)) == [[text("And now?")]]
    view = fold(assistant(tool("toolu_1", {}), tool("toolu_2", {}), id="msg_1"), mixed)
    assert [card(view, name).result for name in ("toolu_1", "toolu_2")] == [
        ResultView("ok", False)
    ] * 2


def test_a_user_message_without_content_is_not_shown() -> None:
    assert fold(user(), frame(type="user", message={})).messages == []


def test_a_result_that_comes_before_its_call_is_kept_for_it() -> None:
    view = fold(user(result("toolu_1", "hi")), assistant(tool("toolu_1", {}), id="msg_1"))
    assert card(view, "toolu_1").result == ResultView("hi", False)


def test_a_result_can_be_asked_for_though_its_call_is_not_shown() -> None:
    transcript = Transcript()
    transcript.apply(read(user(result("toolu_1", "hi"))))
    assert transcript.result_of("toolu_1") == ResultView("hi", False)
    assert transcript.view().messages == []


def test_a_tool_of_a_message_that_was_not_streamed_has_a_card_too() -> None:
    view = fold(assistant(text("Hm"), tool("toolu_1", {}), id="msg_1", index=0))
    assert card(view, "toolu_1").result is None


# --- a running tool's output ------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["text_delta", "output_delta"])
def test_output_goes_to_the_card_and_not_into_the_message(kind: str) -> None:
    frames = [started(), block(0, text("Hi")), block(1, tool("toolu_1")), stop(1), ended()]
    view = fold(*frames, delta(1, kind, "3 pas"), delta(1, kind, "sed"))
    assert card(view, "toolu_1").output == "3 passed"
    assert content(view) == content(fold(*frames))


@pytest.mark.parametrize("kind", ["text_delta", "output_delta"])
def test_output_goes_to_the_card_also_when_the_call_is_finished(kind: str) -> None:
    view = fold(
        started(),
        block(0, tool("toolu_1")),
        assistant(tool("toolu_1", {"a": 1}), id="msg_1", index=0),
        stop(0),
        ended(),
        delta(0, kind, "3 passed"),
    )
    assert card(view, "toolu_1").output == "3 passed"
    assert content(view) == [[tool("toolu_1", {"a": 1})]]


@pytest.mark.parametrize("kind", ["text_delta", "output_delta"])
def test_output_that_names_its_tool_goes_to_that_card_whatever_streams_by_now(kind: str) -> None:
    output = delta(1, kind, "3 passed")
    output["event"]["tool_use_id"] = "toolu_1"
    frames = [
        started("msg_1"),
        block(1, tool("toolu_1")),
        ended(),
        started("msg_2"),
        block(0, text("")),
        block(1, text("")),
    ]
    view = fold(*frames, output)
    assert card(view, "toolu_1").output == "3 passed"
    assert content(view) == content(fold(*frames))


def test_output_of_a_tool_whose_call_is_still_to_come_is_kept_for_it() -> None:
    output = delta(1, "output_delta", "3 passed")
    output["event"]["tool_use_id"] = "toolu_1"
    view = fold(output, assistant(tool("toolu_1", {}), id="msg_1"))
    assert card(view, "toolu_1").output == "3 passed"


@pytest.mark.parametrize("kind", ["thinking_delta", "hologram_delta"])
def test_a_delta_that_a_tool_has_no_use_for_changes_nothing(kind: str) -> None:
    named = delta(0, kind, "x")
    named["event"]["tool_use_id"] = "toolu_1"
    frames = [started(), block(0, tool("toolu_1"))]
    for wire in (delta(0, kind, "x"), named):
        assert screen(fold(*frames, wire)) == screen(fold(*frames))


@pytest.mark.parametrize("kind", ["text_delta", "output_delta"])
def test_output_and_input_do_not_mix(kind: str) -> None:
    view = fold(
        started(),
        block(0, tool("toolu_1")),
        delta(0, "input_json_delta", '{"a":'),
        delta(0, kind, "output"),
        delta(0, "input_json_delta", "1}"),
    )
    assert content(view) == [[{**tool("toolu_1"), "input_text": '{"a":1}'}]]
    assert card(view, "toolu_1").output == "output"


# --- finished messages (RPC section 5.4) ------------------------------------------------------

HALF = [
    started("msg_1"),
    block(0, thinking("")),
    delta(0, "thinking_delta", "H"),
    block(1, text("")),
    delta(1, "text_delta", "Hel"),
    block(2, tool("toolu_1")),
    delta(2, "input_json_delta", '{"a"'),
    block(3, tool("toolu_2")),
]

FINISHED = [thinking("Hm"), text("Hello"), tool("toolu_1", {"a": 1}), tool("toolu_2", {})]


def test_a_finished_message_takes_the_place_of_its_placeholder_and_keeps_its_id() -> None:
    (message,) = fold(*HALF, assistant(*FINISHED, id="msg_1", index=0)).messages
    assert message.id == "msg_1"
    assert message.streaming
    assert blocks_of(message) == FINISHED


def test_a_finished_message_without_an_id_takes_the_place_of_what_streams() -> None:
    (message,) = fold(*HALF, assistant(*FINISHED)).messages
    assert message.id == "msg_1"
    assert blocks_of(message) == FINISHED


def test_a_finished_message_without_an_id_finds_its_placeholder_after_the_end_too() -> None:
    (message,) = fold(*HALF, ended(), assistant(*FINISHED)).messages
    assert not message.streaming
    assert blocks_of(message) == FINISHED


def test_without_an_index_a_tool_call_is_found_by_its_id() -> None:
    second = assistant(tool("toolu_2", {"b": 2}), id="msg_1")
    half = {**tool("toolu_1"), "input_text": '{"a"'}
    assert content(fold(*HALF, second))[0][2:] == [half, tool("toolu_2", {"b": 2})]
    first = assistant(tool("toolu_1", {"a": 1}), id="msg_1")
    assert content(fold(*HALF, second, first))[0][2:] == [
        tool("toolu_1", {"a": 1}),
        tool("toolu_2", {"b": 2}),
    ]


def test_without_an_index_thinking_and_text_are_found_by_their_kind() -> None:
    for finished in (thinking("Hm"), text("Hello")):
        (blocks,) = content(fold(*HALF, assistant(finished, id="msg_1")))
        assert len(blocks) == 4
        assert finished in blocks


def test_without_an_index_blocks_of_one_kind_are_found_in_their_order() -> None:
    first, second = block(0, text("a")), block(1, text("b"))
    finished = [assistant(text("A"), id="msg_1"), assistant(text("B"), id="msg_1")]
    for begun in ([first, second], [second, first]):
        assert content(fold(started(), *begun, *finished)) == [[text("A"), text("B")]]


def test_without_an_index_unknown_blocks_are_found_by_their_original_type() -> None:
    frames = [
        started(),
        block(0, {"type": "hologram"}),
        block(1, {"type": "smell"}),
        assistant({"type": "smell", "of": "roses"}, id="msg_1"),
    ]
    (message,) = fold(*frames).messages
    assert blocks_of(message) == [
        UnknownBlock("hologram", {"type": "hologram"}),
        UnknownBlock("smell", {"type": "smell", "of": "roses"}),
    ]


def test_without_an_index_a_block_that_was_not_streamed_goes_to_the_end() -> None:
    more = assistant(tool("toolu_3", {}), text("Hello"), id="msg_1")
    (blocks,) = content(fold(*HALF, more))
    assert blocks == [
        thinking("H"),
        text("Hello"),
        {**tool("toolu_1"), "input_text": '{"a"'},
        tool("toolu_2"),
        tool("toolu_3", {}),
    ]


def test_an_index_places_blocks_wherever_they_belong() -> None:
    view = fold(
        started(),
        block(0, text("a")),
        block(1, text("b")),
        assistant(text("B"), text("C"), id="msg_1", index=1),
    )
    assert content(view) == [[text("a"), text("B"), text("C")]]


def test_a_finished_block_takes_no_more_deltas() -> None:
    view = fold(
        *HALF,
        assistant(*FINISHED, id="msg_1", index=0),
        delta(0, "thinking_delta", "late"),
        delta(1, "text_delta", "late"),
        delta(2, "input_json_delta", "late"),
        stop(0),
        stop(1),
        stop(2),
    )
    assert content(view) == [FINISHED]


def test_a_block_may_be_finished_before_it_begins() -> None:
    view = fold(
        started(),
        assistant(text("Hello"), id="msg_1", index=0),
        block(0, text("")),
        delta(0, "text_delta", "Hel"),
        stop(0),
        ended(),
    )
    assert content(view) == [[text("Hello")]]


def test_a_message_may_be_finished_in_part_before_it_begins() -> None:
    view = fold(
        started("msg_0"),
        block(0, text("before")),
        ended(),
        assistant(text("Hello"), id="msg_1", index=0),
        started("msg_1"),
        block(0, text("")),
        block(1, text("")),
        delta(1, "text_delta", "there"),
    )
    assert content(view) == [[text("before")], [text("Hello"), text("there")]]


def test_a_finished_message_finds_the_placeholder_without_an_id_that_took_its_first_part() -> None:
    first, second = (assistant(text(t), id="msg_1", index=i) for i, t in enumerate("ab"))
    start = stream({"type": "message_start"})
    view = fold(start, block(0, text("")), first, ended(), second, first)
    assert content(view) == [[text("a"), text("b")]]


def test_frames_with_one_id_are_one_message() -> None:
    view = fold(
        assistant(thinking("Hm"), id="msg_1", index=0),
        assistant(text("Hello"), id="msg_1", index=1, model="claude-sonnet-4-5"),
        user(result("toolu_0")),
        assistant(tool("toolu_1", {}), id="msg_1"),
    )
    assert content(view) == [[thinking("Hm"), text("Hello"), tool("toolu_1", {})]]
    assert view.messages[0].model == "claude-sonnet-4-5"


def test_a_finished_message_does_not_forget_the_model() -> None:
    (message,) = fold(started(), assistant(text("Hi"), id="msg_1", index=0)).messages
    assert message.model == "claude-sonnet-4-5"


def test_a_finished_message_is_appended_when_nothing_streams() -> None:
    view = fold(
        user(text("Hi")),
        assistant(text("one"), id="msg_1"),
        assistant(text("two"), id="msg_2"),
        assistant(text("three")),
    )
    assert content(view) == [[text("Hi")], [text("one")], [text("two")], [text("three")]]


def test_a_finished_message_is_appended_when_everything_streamed_is_finished() -> None:
    view = fold(*HALF, assistant(*FINISHED, id="msg_1", index=0), ended(), assistant(text("x")))
    assert content(view) == [FINISHED, [text("x")]]


def test_a_finished_message_with_another_id_is_another_message() -> None:
    view = fold(started("msg_1"), block(0, text("a")), assistant(text("b"), id="msg_2"))
    assert content(view) == [[text("b")], [text("a")]]  # what still grows is at the end


def test_a_finished_message_without_content_adds_no_block() -> None:
    frames = [started(), block(0, text("a"))]
    empty = frame(type="assistant", message={"id": "msg_1"})
    assert screen(fold(*frames, empty)) == screen(fold(*frames))


def test_a_finished_message_without_an_id_goes_to_a_placeholder_that_is_still_empty() -> None:
    view = fold(started("msg_1"), assistant(text("Hello")), ended())
    assert [message.id for message in view.messages] == ["msg_1"]
    assert content(view) == [[text("Hello")]]


def test_a_finished_message_goes_to_a_placeholder_that_has_no_id() -> None:
    view = fold(
        stream({"type": "message_start"}),
        block(0, text("")),
        delta(0, "text_delta", "Hel"),
        assistant(text("Hello"), id="msg_1", index=0),
        ended(),
    )
    assert content(view) == [[text("Hello")]]


# --- sub-agents (RPC section 5.5) -------------------------------------------------------------


def test_each_voice_has_its_own_streaming_message() -> None:
    view = fold(
        started("msg_1"),
        block(0, text("")),
        started("msg_2", "toolu_task"),
        block(0, text(""), "toolu_task"),
        delta(0, "text_delta", "main"),
        delta(0, "text_delta", "sub", "toolu_task"),
        ended("toolu_task"),
        delta(0, "text_delta", "!"),
    )
    assert [(m.parent_tool_use_id, m.streaming) for m in view.messages] == [
        ("toolu_task", False),
        (None, True),
    ]
    assert content(view) == [[text("sub")], [text("main!")]]


def test_a_finished_message_without_an_id_goes_to_its_own_voice() -> None:
    view = fold(
        started("msg_1"),
        block(0, text("ma")),
        started("msg_2", "toolu_task"),
        block(0, text("su"), "toolu_task"),
        assistant(text("sub"), parent="toolu_task"),
        assistant(text("main")),
    )
    assert content(view) == [[text("sub")], [text("main")]]


def test_a_sub_agents_messages_name_the_call_they_belong_to() -> None:
    view = fold(
        user(text("Look for it"), parent="toolu_task"),
        assistant(text("Found it"), id="msg_2", parent="toolu_task"),
        assistant(text("Done"), id="msg_3"),
    )
    parents = [message.parent_tool_use_id for message in view.messages]
    assert parents == ["toolu_task", "toolu_task", None]


# --- repeats ----------------------------------------------------------------------------------

WHO = ("claude", "sess-xyz", None, None)


def conversation() -> list[rpc.RpcMessage]:
    """A turn with one of every message, as a bridge sends it."""
    call = ToolUseBlock("toolu_1", "Read", "CLAUDE_READ", {"a": 1}, "in_progress")
    bridge = RpcBridge(stream_id="abc12345")
    events: list[ui.UiStreamEvent] = [
        ui.UiUserMessage(*WHO, [TextBlock("Hi", "completed")], "user", "uuid-1"),
        ui.UiMessageStart(*WHO, "msg_1", "claude-sonnet-4-5"),
        ui.UiBlockStart(*WHO, "msg_1", 0, TextBlock("", "in_progress")),
        ui.UiTextDelta(*WHO, "msg_1", 0, "Hel"),
        ui.UiTextDelta(*WHO, "msg_1", 0, "lo"),
        ui.UiBlockStop(*WHO, "msg_1", 0),
        ui.UiToolStart(*WHO, "msg_1", 1, "toolu_1", "Read", "CLAUDE_READ"),
        ui.UiToolInputDelta(*WHO, "msg_1", 1, "toolu_1", '{"a": 1}'),
        ui.UiAssistantMessage(*WHO, "msg_1", 1, [call]),
        ui.UiBlockStop(*WHO, "msg_1", 1),
        ui.UiMessageComplete(*WHO, "msg_1", "tool_use", Usage(10, 20)),
        ui.UiToolComplete(*WHO, "msg_1", 1, "toolu_1", "hi", False),
        ui.UiAssistantMessage(*WHO, "msg_2", 0, [TextBlock("Done.", "completed")]),
        ui.UiError(*WHO, "It broke"),
        ui.UiResultMessage(*WHO, "success", False, 1, 1, 1),
    ]
    return [message for event in events for message in bridge.feed(event)]


def shown(messages: list[rpc.RpcMessage]) -> Any:
    transcript = Transcript()
    for message in messages:
        transcript.apply(message)
    return screen(transcript.view())


def _name(message: rpc.RpcMessage) -> str:
    kind = message.event if isinstance(message, rpc.RpcStreamEvent) else message
    return type(kind).__name__


REPEATS = [pytest.param(i, id=f"{i}-{_name(m)}") for i, m in enumerate(conversation())]


@pytest.mark.parametrize("place", REPEATS)
def test_a_frame_that_comes_twice_changes_nothing(place: int) -> None:
    messages = conversation()
    twice = [*messages[: place + 1], *messages[place:]]
    assert shown(twice) == shown(messages)


@pytest.mark.parametrize("place", REPEATS)
def test_a_frame_that_comes_again_at_the_end_changes_nothing(place: int) -> None:
    messages = conversation()
    assert shown([*messages, messages[place]]) == shown(messages)


def test_a_conversation_that_comes_again_is_shown_once() -> None:
    messages = conversation()
    assert shown([*messages, *messages]) == shown(messages)


def test_what_happens_twice_is_shown_twice_where_it_has_no_uuid() -> None:
    says = user(text("yes"))
    assert content(fold(says, says)) == [[text("yes")], [text("yes")]]


def test_people_may_say_the_same_thing_twice() -> None:
    says = [{**user(text("yes")), "uuid": f"uuid-{n}"} for n in (1, 2, 2, 1)]
    assert content(fold(*says)) == [[text("yes")], [text("yes")]]


def test_a_repeat_is_known_also_in_a_long_conversation() -> None:
    says = [{**user(text(f"{n}")), "uuid": f"uuid-{n}"} for n in range(5000)]
    assert content(fold(*says, says[-2])) == [[text(f"{n}")] for n in range(5000)]


def test_a_message_of_thousands_of_deltas_is_shown_whole() -> None:
    frames = [started("msg_1"), block(0, text(""))]
    deltas = [delta(0, "text_delta", f"{n},") for n in range(5000)]
    whole = "".join(f"{n}," for n in range(5000))
    assert content(fold(*frames, *deltas, deltas[-1])) == [[text(whole)]]


def test_a_second_connections_events_are_not_taken_for_repeats_of_the_firsts() -> None:
    transcript = Transcript()
    for message_id in ("msg_1", "msg_2"):
        bridge = RpcBridge()  # each connection has its own
        for event in (
            ui.UiMessageStart(*WHO, message_id),
            ui.UiBlockStart(*WHO, message_id, 0, TextBlock(message_id, "in_progress")),
            ui.UiMessageComplete(*WHO, message_id),
        ):
            for message in bridge.feed(event):
                transcript.apply(message)
    assert content(transcript.view()) == [[text("msg_1")], [text("msg_2")]]


def whole_message() -> list[dict[str, Any]]:
    return [
        started("msg_1"),
        block(0, text("")),
        delta(0, "text_delta", "Hello"),
        stop(0),
        block(1, tool("toolu_1")),
        delta(1, "input_json_delta", '{"a": 1}'),
        stop(1),
        assistant(text("Hello"), tool("toolu_1", {"a": 1}), id="msg_1", index=0),
        changed("end_turn", {"output_tokens": 150}),
        ended(),
        user(result("toolu_1", "hi")),
    ]


def test_a_finished_message_that_is_streamed_again_is_shown_once() -> None:
    frames = whole_message()
    once = screen(fold(*frames))
    assert screen(fold(*frames, *frames)) == once
    assert screen(fold(*frames, *whole_message())) == once  # over another connection


def test_a_conversation_that_is_streamed_again_is_shown_once() -> None:
    def frames() -> list[dict[str, Any]]:
        second = [started("msg_2"), assistant(text("Done."), id="msg_2", index=0), ended()]
        return [*whole_message(), *second]

    assert screen(fold(*frames(), *frames())) == screen(fold(*frames()))


@pytest.mark.parametrize(
    "finished",
    [
        assistant(*FINISHED, id="msg_1", index=0),
        assistant(text("Hello"), id="msg_1", index=1),
        assistant(tool("toolu_2", {}), id="msg_1"),
        user(result("toolu_1", "hi")),
    ],
)
def test_what_is_finished_may_be_said_again(finished: dict[str, Any]) -> None:
    assert screen(fold(*HALF, finished, finished)) == screen(fold(*HALF, finished))


# --- begun anew ---------------------------------------------------------------------------------


def test_a_message_that_is_streamed_again_before_its_end_is_not_doubled() -> None:
    first = [started("msg_1"), block(0, text("")), delta(0, "text_delta", "Hel")]
    again = [started("msg_1"), block(0, text("")), delta(0, "text_delta", "Hello")]
    assert content(fold(*first, *again)) == [[text("Hello")]]


def test_a_message_is_no_longer_streaming_when_the_next_one_begins() -> None:
    view = fold(started("msg_1"), block(0, text("")), started("msg_2"))
    assert [message.streaming for message in view.messages] == [False, True]


def test_a_delta_of_another_kind_than_its_block_changes_nothing() -> None:
    view = fold(
        started("msg_1"),
        block(0, text("a")),
        delta(0, "input_json_delta", "{}"),
        delta(0, "thinking_delta", "hm"),
    )
    assert content(view) == [[text("a")]]


# --- over several connections ---------------------------------------------------------------------


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_on_another_connection_what_was_half_said_is_said_again(cut: int) -> None:
    said = [started(), block(0, text("")), delta(0, "text_delta", "Hel")]
    transcript = Transcript()
    for each in said[:cut]:
        transcript.apply(read(each))
    transcript.connected()
    assert transcript.view().messages == []
    for each in said:
        transcript.apply(read(each))
    [shown] = transcript.view().messages
    assert shown.streaming
    assert blocks_of(shown) == [text("Hel")]


def test_on_another_connection_what_is_finished_stays() -> None:
    transcript = Transcript()
    transcript.apply(read(started()))
    for _ in range(2):  # its number says that it was there
        transcript.apply(read(assistant(text("Hello"), id="msg_1", index=0)), 3)
    transcript.connected()
    assert content(transcript.view()) == [[text("Hello")]]
    assert transcript.view().cursor == 3
    transcript.connected(reset=True)
    assert transcript.view() == Transcript().view()


def done(**fields: Any) -> rpc.RpcMessage:
    return rpc.RpcResultMessage("success", 5, 4, False, 1, "s-1", "demo", **fields)


def test_a_turn_that_is_named_ends_once_and_keeps_its_name() -> None:
    transcript = Transcript()
    for turn_id in (4, 5, 4):
        transcript.apply(done(), None, turn_id)
    assert [turn.turn_id for turn in transcript.view().turns] == [4, 5]


@pytest.mark.parametrize("error", [None, rpc.RpcErrorMessage("It is gone.", "demo", "agent_lost")])
def test_an_interrupted_turn_failed_only_if_an_error_came_before(
    error: rpc.RpcErrorMessage | None,
) -> None:
    transcript = Transcript()
    if error is not None:
        transcript.apply(error)
    transcript.apply(done(terminal_reason="aborted"))
    [turn] = transcript.view().turns
    assert turn.end.interrupted
    assert turn.end.is_error is (error is not None)
