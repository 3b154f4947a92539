"""The view reducer of RPC: repeated messages and new connections change nothing twice."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dialects.rpc.helpers.view_messages import (
    assistant,
    block,
    blocks_of,
    changed,
    content,
    delta,
    ended,
    fold,
    read,
    result,
    screen,
    started,
    stop,
    text,
    tool,
    user,
)
from turnwire.core import ui
from turnwire.core.blocks import TextBlock, ToolUseBlock
from turnwire.core.usage import Usage
from turnwire.dialects.rpc import RpcBridge, Transcript
from turnwire.dialects.rpc import messages as rpc

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
def test_a_frame_repeated_at_the_end_changes_nothing(place: int) -> None:
    messages = conversation()
    assert shown([*messages, messages[place]]) == shown(messages)


def test_a_repeated_conversation_is_shown_once() -> None:
    messages = conversation()
    assert shown([*messages, *messages]) == shown(messages)


def test_events_without_a_uuid_are_shown_each_time() -> None:
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


# --- over several connections ---------------------------------------------------------------------


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_growing_message_is_streamed_again_on_a_new_connection(cut: int) -> None:
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


def test_a_finished_message_stays_on_a_new_connection() -> None:
    transcript = Transcript()
    transcript.apply(read(started()))
    for _ in range(2):  # its number says that it was there
        transcript.apply(read(assistant(text("Hello"), id="msg_1", index=0)), 3)
    transcript.connected()
    assert content(transcript.view()) == [[text("Hello")]]
    assert transcript.view().cursor == 3
    transcript.connected(reset=True)
    assert transcript.view() == Transcript().view()
