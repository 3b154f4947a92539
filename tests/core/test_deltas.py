"""Normalized events as deltas: recorded streams first, then every rule."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.recorded_streams import RECORDED, events_of
from tests.helpers.sample_events import (
    RUN,
    SUB,
    WHO,
    any_event,
    assembled,
    begins,
    call,
    completed,
    deltas_of,
    discarded,
    ends,
    entries_of,
    frame,
    messages_of,
    on_the_wire,
    piece,
    said,
    said_by_the_frames,
    started,
    wire,
    without_stream_events,
)
from turnwire.core import deltas
from turnwire.core import events as ev
from turnwire.core.blocks import (
    ContentBlock,
    ErrorBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from turnwire.core.deltas import DeltaStream
from turnwire.core.entries import entry_of
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.grouping import contents, group
from turnwire.core.message import KeptBlock, known_meta
from turnwire.core.message_deltas import DoneDelta, ErrorDelta, MessageDelta, StartDelta
from turnwire.core.usage import Usage


def kinds(stream: Iterable[MessageDelta]) -> list[str]:
    return [str(delta.__struct_config__.tag) for delta in stream]


# --- recorded streams -------------------------------------------------------------------------


def cut(events: Iterable[Any], sizes: Iterable[int]) -> list[Any]:
    """Returns the same events with each delta cut into pieces of these sizes."""
    out: list[Any] = []
    size = iter(sizes)
    for event in events:
        if not isinstance(event, ev.ContentDelta):
            out.append(event)
            continue
        text = event.text
        while text:
            length = max(1, next(size, len(text)))
            out.append(msgspec.structs.replace(event, text=text[:length]))
            text = text[length:]
    return out


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "frames only"])
def test_the_deltas_of_a_recorded_stream_give_the_content_of_its_frames(
    path: Path, streamed: bool
) -> None:
    lines = path.read_bytes().splitlines()
    events = events_of(lines if streamed else without_stream_events(lines))
    assert on_the_wire(messages_of(events)) == said_by_the_frames(lines)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_cut_into_single_characters_it_comes_to_the_same(path: Path) -> None:
    events = events_of(path.read_bytes().splitlines())
    assert messages_of(cut(events, iter(lambda: 1, 0))) == messages_of(events)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_without_frames_a_stream_gives_its_streamed_content(path: Path) -> None:
    """An agent that only streams: nothing confirms a block but the end of its message."""
    lines = path.read_bytes().splitlines()
    events = [e for e in events_of(lines) if not isinstance(e, ev.AssistantMessage)]
    said_at_all = said_by_the_frames(lines)
    messages = messages_of(events)
    assert on_the_wire(messages) == {name: said_at_all[name] for name in messages}
    entries = group(entries_of(events))
    whole = {e.meta["messageId"]: e for e in entries if e.role == "assistant"}
    assert {name: contents(e) for name, e in whole.items()} == {
        name: contents(message) for name, message in messages.items()
    }


# --- any stream -------------------------------------------------------------------------------

words = st.text(max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)


@st.composite
def model_blocks(draw: st.DrawFn) -> list[ContentBlock]:
    found: list[ContentBlock] = []
    for index in range(draw(st.integers(0, 4))):
        match draw(st.integers(0, 4)):
            case 0:
                found.append(TextBlock(draw(words), "completed", draw(st.none() | st.just([1]))))
            case 1:
                sealed = draw(st.none() | st.just("sealed"))
                found.append(ThinkingBlock(draw(words), "completed", "sig", sealed))
            case 2:
                arguments = draw(st.dictionaries(words, json_values, max_size=3))
                found.append(call(f"toolu_{index}", arguments))
            case 3:
                found.append(call(f"toolu_{index}", None, '{"broken'))
            case _:
                found.append(ErrorBlock(draw(words), "completed"))
    return found


def streamed_events(content: list[ContentBlock]) -> list[NormalizedStreamEvent]:
    """A message as an agent would stream it."""
    out: list[NormalizedStreamEvent] = [started()]
    for index, block in enumerate(content):
        match block:
            case TextBlock():
                out.append(begins(index, TextBlock("", "in_progress")))
                out.append(piece(index, block.text))
            case ThinkingBlock():
                out.append(begins(index, ThinkingBlock("", "in_progress")))
                out.append(piece(index, block.thinking, "thinking"))
            case ToolUseBlock():
                out.append(begins(index, call(block.id)))
                text = block.input_text or json.dumps(block.input)
                out.append(piece(index, text, "tool_input"))
            case _:
                out.append(begins(index, block))
        out.append(ends(index, block))
    return [*out, completed(stop_reason="end_turn")]


@given(model_blocks(), st.lists(st.integers(1, 5)))
def test_any_message_is_the_same_streamed_or_whole(
    content: list[ContentBlock], sizes: list[int]
) -> None:
    streamed = streamed_events(content)
    frames = [frame(index, block) for index, block in enumerate(content)]
    at_once = [frame(0, *content)] if content else []
    (whole,) = messages_of(streamed).values()
    for events in (cut(streamed, sizes), [*streamed[:-1], *frames, streamed[-1]]):
        assert list(messages_of(events).values()) == [whole]
    expected = contents(entry_of("assistant", content, run_id=RUN, timestamp="12:00"))
    assert contents(whole) == expected
    for events in (streamed, frames, at_once, [*frames, *at_once], [*streamed, *frames]):
        grouped = group(entries_of(events))
        assert [contents(message) for message in grouped] == ([expected] if content else [])
        if events is not streamed and content:
            (message,) = messages_of(events).values()
            assert contents(message) == expected
    assert known_meta(whole).args_not_json == (
        [b.id for b in content if isinstance(b, ToolUseBlock) and b.input_text] or None
    )


@given(st.lists(any_event(), max_size=25))
def test_the_deltas_of_any_events_keep_every_rule(events: list[NormalizedStreamEvent]) -> None:
    streams = assembled(deltas_of(events))
    assert all(result.violations == [] for result in streams.values())


# --- a message as it grows --------------------------------------------------------------------


def test_a_streamed_message_gives_each_kind_of_delta_with_the_message_id_in_every_payload() -> None:
    usage = Usage(10, 5, 3, 2)
    out = deltas_of(
        [
            started(),
            begins(0, ThinkingBlock("", "in_progress")),
            piece(0, "Hm", "thinking"),
            ends(0, ThinkingBlock("Hm", "completed", "sig")),
            begins(1, TextBlock("", "in_progress")),
            piece(1, "Hel"),
            piece(1, "lo"),
            ends(1, said("Hello")),
            begins(2, call("toolu_1")),
            piece(2, '{"a":', "tool_input"),
            piece(2, " 1}", "tool_input"),
            ends(2, call("toolu_1", {"a": 1})),
            ev.UsageUpdated(*WHO, Usage(10, 1), "msg_1"),
            completed(stop_reason="tool_use", usage=usage),
        ]
    )
    assert [(d["kind"], d["payload"]) for d in wire(out)] == [
        (
            "start",
            {
                "messageId": "msg_1",
                "modelId": "claude-x",
                "requestId": None,
                "provider": "claude",
            },
        ),
        ("thinking", {"messageId": "msg_1", "textDelta": "Hm", "index": 0}),
        ("thinking", {"messageId": "msg_1", "textDelta": "", "index": 0, "signature": "sig"}),
        ("text", {"messageId": "msg_1", "textDelta": "Hel", "index": 1}),
        ("text", {"messageId": "msg_1", "textDelta": "lo", "index": 1}),
        (
            "tool_call_start",
            {
                "messageId": "msg_1",
                "toolCallId": "toolu_1",
                "toolName": "Read",
                "index": 2,
                "toolType": "CLAUDE_READ",
            },
        ),
        (
            "tool_call_args",
            {"messageId": "msg_1", "toolCallId": "toolu_1", "argsTextDelta": '{"a":'},
        ),
        (
            "tool_call_args",
            {"messageId": "msg_1", "toolCallId": "toolu_1", "argsTextDelta": " 1}"},
        ),
        ("tool_call_end", {"messageId": "msg_1", "toolCallId": "toolu_1"}),
        (
            "usage",
            {
                "messageId": "msg_1",
                "inputTokens": 10,
                "outputTokens": 5,
                "totalTokens": 20,
                "cacheReadTokens": 2,
                "cacheWriteTokens": 3,
            },
        ),
        ("done", {"messageId": "msg_1", "finishReason": "tool_use"}),
    ]
    assert [(d["runId"], d["seq"], d["timestamp"]) for d in wire(out)] == [
        (RUN, seq, "12:00") for seq in range(1, 12)
    ]


def test_the_last_running_total_is_the_usage_where_the_end_does_not_say() -> None:
    totals = [ev.UsageUpdated(*WHO, Usage(10, n), "msg_1") for n in (1, 7)]
    elsewhere = ev.UsageUpdated(*WHO, Usage(99, 99), "msg_0")
    unasked = ev.UsageUpdated(*SUB, Usage(99, 99), "msg_1")
    out = deltas_of([started(), *totals, elsewhere, unasked, completed()])
    assert kinds(out) == ["start", "usage", "done"]
    assert wire(out[1])["payload"]["totalTokens"] == 17


def test_the_initial_text_of_a_block_is_its_first_piece() -> None:
    out = messages_of(
        [
            started(),
            begins(0, TextBlock("Hel", "in_progress")),
            begins(0, TextBlock("Hel", "in_progress")),  # a repeat
            piece(0, "lo"),
            begins(1, ThinkingBlock("H", "in_progress")),
            piece(1, "m", "thinking"),
            ends(0, said("Hello")),
            ends(1, ThinkingBlock("Hm", "completed")),
            completed(),
        ]
    )
    assert [part.payload.text for part in out["msg_1"].parts] == ["Hello", "Hm"]  # type: ignore[union-attr]


def test_a_finished_block_adds_the_text_missing_in_its_pieces() -> None:
    out = deltas_of([started(), piece(0, "Hel"), frame(0, said("Hello")), piece(0, "lo")])
    assert [d["payload"]["textDelta"] for d in wire(out) if d["kind"] == "text"] == ["Hel", "lo"]


def test_streamed_text_that_the_agent_changed_later_is_kept() -> None:
    events = [started(), piece(0, "Helo"), frame(0, said("Hello")), completed()]
    assert [wire(part) for part in messages_of(events)["msg_1"].parts] == [
        {"kind": "text", "payload": {"text": "Helo"}}
    ]
    assert wire(entries_of(events)[0].parts) == [{"kind": "text", "payload": {"text": "Hello"}}]


def test_arguments_that_the_agent_changed_come_with_the_end_of_the_call() -> None:
    events = [
        started(),
        begins(0, call("toolu_1")),
        piece(0, '{"a": 1, "b": null}', "tool_input"),
        frame(0, call("toolu_1", {"a": 1})),
        completed(),
    ]
    (end,) = [d for d in wire(deltas_of(events)) if d["kind"] == "tool_call_end"]
    assert end["payload"]["arguments"] == {"a": 1}
    (part,) = messages_of(events)["msg_1"].parts
    assert wire(part)["payload"]["arguments"] == {"a": 1}


def test_arguments_that_were_never_streamed_go_out_as_text() -> None:
    out = deltas_of([frame(0, call("toolu_1", {"a": 1}), call("toolu_2"), call("toolu_3", [1]))])
    assert kinds(out) == [
        "start",
        "tool_call_start",
        "tool_call_args",
        "tool_call_end",
        "tool_call_start",
        "tool_call_end",
        "tool_call_start",
        "tool_call_args",
        "tool_call_end",
        "done",
    ]
    (message,) = messages_of(
        [frame(0, call("toolu_1", {"a": 1}), call("toolu_2"), call("toolu_3", [1]))]
    ).values()
    assert [part["payload"] for part in wire(message.parts)] == [
        {
            "toolCallId": "toolu_1",
            "toolName": "Read",
            "arguments": {"a": 1},
            "toolType": "CLAUDE_READ",
        },
        {"toolCallId": "toolu_2", "toolName": "Read", "arguments": {}, "toolType": "CLAUDE_READ"},
        {
            "toolCallId": "toolu_3",
            "toolName": "Read",
            "arguments": {},
            "rawArgsText": "[1]",
            "toolType": "CLAUDE_READ",
        },
    ]
    assert message.meta["argsNotJson"] == ["toolu_3"]


def test_an_open_call_ends_with_its_message() -> None:
    events = [started(), begins(0, call("t")), piece(0, '{"a":1}', "tool_input"), completed()]
    (part,) = messages_of(events)["msg_1"].parts
    assert wire(part)["payload"]["arguments"] == {"a": 1}


def test_a_block_that_ends_as_something_else_is_only_ended() -> None:
    events = [
        started(),
        begins(0, call("t")),
        ends(0, said("no tool")),
        begins(1, TextBlock("x", "in_progress")),
        ends(1, call("u", {})),
        begins(2, TextBlock("y", "in_progress")),
        ends(2, ErrorBlock("z", "failed")),
        completed(),
    ]
    message = messages_of(events)["msg_1"]
    assert [part["kind"] for part in wire(message.parts)] == ["tool_call", "text", "text"]


def test_pieces_that_fit_nothing_are_left_out() -> None:
    out = deltas_of(
        [
            started(),
            piece(0, "{}", "tool_input"),  # of a call without a start
            begins(1, call("t")),
            piece(1, "not arguments"),
            piece(1, "printed", "tool_output"),
            begins(2, TextBlock("", "in_progress")),
            piece(2, "{}", "tool_input"),
        ]
    )
    assert kinds(out) == ["start", "tool_call_start", "error"]


def test_a_message_whose_start_was_missed_is_started() -> None:
    assert kinds(deltas_of([piece(0, "x"), completed()])) == ["start", "text", "done"]


def test_text_for_an_ended_message_is_left_out() -> None:
    late: list[NormalizedStreamEvent] = [
        started(),
        begins(0, said("x")),
        piece(0, "x"),
        ends(0, said("x")),
        frame(0, said("x")),
        completed(),
        discarded(0),
    ]
    assert kinds(deltas_of([started(), completed(), *late])) == ["start", "done"]


def test_only_the_last_messages_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deltas, "MAX_ENDED", 1)
    events = [
        ev.AssistantMessage(*WHO, name, 0, [said(name)]) for name in ("a", "b", "c", "c", "b", "a")
    ]
    assert kinds(deltas_of(events)).count("start") == 4


def test_messages_of_several_sub_agents_may_be_mixed() -> None:
    sub = ev.AssistantMessage(*SUB, "msg_2", 0, [said("sub")])
    out = messages_of([started(), piece(0, "Hel"), sub, piece(0, "lo"), completed()])
    assert [wire(m.parts)[0]["payload"]["text"] for m in out.values()] == ["Hello", "sub"]
    assert out["msg_2"].meta["parentToolUseId"] == "toolu_task"
    assert out["msg_2"].meta["agentId"] == "agent-7"
    assert "agentId" not in out["msg_1"].meta


# --- how a message ends -----------------------------------------------------------------------


def last(events: Iterable[Any]) -> Any:
    return wire(deltas_of(events)[-1])


def test_a_message_that_was_discarded_whole_ends_in_an_error() -> None:
    events = [started(), piece(0, "Hel"), discarded(0)]
    assert last(events)["kind"] == "error"
    assert last(events)["payload"] == {"messageId": "msg_1", "errorCode": "abandoned"}
    assert messages_of(events) == {}
    assert entries_of(events) == []


def test_blocks_before_the_discarded_ones_did_happen() -> None:
    events = [
        started(),
        begins(0, call("t")),
        frame(0, call("t", {})),
        ends(1, ErrorBlock("kept", "failed")),
        begins(2, call("void")),
        ends(3, ErrorBlock("void", "failed")),
        discarded(2),
    ]
    assert last(events)["payload"]["discardedFrom"] == 2
    assert last(events)["payload"]["finishReason"] == "abandoned"
    (message,) = messages_of(events).values()
    first, second = contents(message)
    assert wire(first)["payload"]["toolCallId"] == "t"
    assert isinstance(second, KeptBlock)
    assert second.block["message"] == "kept"
    assert [contents(m) for m in group(entries_of(events))] == [contents(message)]


def test_a_message_that_ends_early_with_nothing_void_is_whole() -> None:
    payload = last([started(), frame(0, said("x"), aborted=True), discarded(1, "turn_ended")])[
        "payload"
    ]
    assert payload == {"messageId": "msg_1", "finishReason": "turn_ended", "aborted": True}


def test_an_interrupted_message_keeps_its_finished_blocks() -> None:
    cut_off: list[NormalizedStreamEvent] = [started(), frame(0, said("x")), piece(1, "y")]
    assert last(cut_off)["payload"]["finishReason"] == "stream_ended"
    assert last(cut_off)["payload"]["discardedFrom"] == 1
    assert "discardedFrom" not in last(cut_off[:2])["payload"]
    assert last([started()])["payload"]["errorCode"] == "stream_ended"
    ended = deltas_of([*cut_off, started("msg_2"), ev.TurnFailed(*WHO, "x", "y")])
    assert [
        d["payload"].get("finishReason") or d["payload"]["errorCode"]
        for d in wire(ended)
        if d["kind"] in ("done", "error")
    ] == ["restarted", "turn_ended"]


def test_a_message_that_was_never_streamed_ends_with_the_next_one_or_the_turn() -> None:
    one = frame(0, said("x"), stop_reason="end_turn", usage=Usage(1, 2), error="rate_limit")
    two = ev.AssistantMessage(*WHO, "msg_2", 0, [said("y")])
    out = deltas_of([one, frame(1, said("more")), two, ev.TurnCompleted(*WHO)])
    assert kinds(out) == ["start", "text", "text", "usage", "done", "start", "text", "done"]
    assert all(delta.timestamp == "12:00" for delta in out)  # type: ignore[union-attr]
    done = [d["payload"] for d in wire(out) if d["kind"] == "done"]
    assert done == [
        {"messageId": "msg_1", "finishReason": "end_turn", "error": "rate_limit"},
        {"messageId": "msg_2", "finishReason": "unknown"},
    ]


def test_a_frame_during_a_stream_does_not_end_the_message() -> None:
    beside = frame(0, said("x"), stop_reason="early", usage=Usage(1, 1))
    out = wire(deltas_of([started(), beside, completed(stop_reason="end_turn")]))
    assert [d["payload"].get("finishReason") for d in out][-1] == "end_turn"
    assert "usage" not in [d["kind"] for d in out]


def test_the_end_of_a_turn_does_not_end_a_sub_agents_message() -> None:
    stream = DeltaStream()
    stream.feed(ev.AssistantMessage(*SUB, "msg_2", 0, [said("sub")]), run_id=RUN, now="1")
    assert stream.feed(ev.TurnCompleted(*WHO), run_id=RUN, now="2") == []
    (done,) = stream.finish(now="3")
    assert isinstance(done, DoneDelta)
    assert stream.finish(now="4") == []


def test_a_stream_keeps_the_run_in_which_it_began() -> None:
    stream = DeltaStream()
    (start,) = stream.feed(started(), run_id="conv:1", now="1")
    (end,) = stream.feed(discarded(0), run_id="conv:2", now="2")
    assert isinstance(start, StartDelta)
    assert isinstance(end, ErrorDelta)
    assert (start.run_id, end.run_id) == ("conv:1", "conv:1")


def test_events_about_anything_else_mean_no_deltas() -> None:
    events = [ev.TurnStarted(*WHO), ev.PlanUpdated(*WHO, []), ev.RequestWithdrawn(*WHO, "r")]
    assert deltas_of(events) == []
