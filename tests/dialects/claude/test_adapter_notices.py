"""ClaudeStreamAdapter: notices about the session, unknown messages and errors in the stream."""

from __future__ import annotations

import msgspec
import pytest

from tests.dialects.claude.helpers.stream_frames import (
    Frame,
    assistant,
    block_start,
    block_stop,
    delta,
    one,
    only,
    said,
    se,
    start,
    text,
    text_start,
)
from tests.helpers.recorded_streams import events_of, line
from turnwire.core import blocks
from turnwire.core import events as ev


def test_a_notice_about_the_session_is_passed_on_unchanged() -> None:
    frame = {"type": "system", "subtype": "compact_boundary", "session_id": "s", "new": [1]}
    event = one(ev.SystemEvent, events_of([frame]))
    assert event.subtype == "compact_boundary"
    assert msgspec.json.decode(msgspec.json.encode(event))["data"] == frame


def test_an_unknown_system_subtype_is_passed_on_by_its_own_name() -> None:
    frame = {"type": "system", "subtype": "brand_new", "n": 1}
    event = one(ev.SystemEvent, events_of([frame]))
    assert event.subtype == "brand_new"
    assert msgspec.json.decode(msgspec.json.encode(event))["data"] == frame


@pytest.mark.parametrize("kind", ["rate_limit_event", "command_lifecycle", "conversation_reset"])
def test_other_messages_are_notices_too(kind: str) -> None:
    assert one(ev.SystemEvent, events_of([{"type": kind}])).subtype == kind


OF_THE_MOMENT: list[Frame] = [
    {"type": "system", "subtype": "api_retry"},
    {"type": "system", "subtype": "background_tasks_changed"},
    {"type": "system", "subtype": "commands_changed"},
    {"type": "system", "subtype": "hook_progress"},
    {"type": "system", "subtype": "hook_started"},
    {"type": "system", "subtype": "session_state_changed"},
    {"type": "system", "subtype": "status"},
    {"type": "system", "subtype": "task_progress"},
    {"type": "system", "subtype": "thinking_tokens"},
    {"type": "attachment"},
    {"type": "auth_status"},
    {"type": "command_lifecycle"},
    {"type": "prompt_suggestion"},
    {"type": "rate_limit_event"},
    {"type": "transcript_mirror"},
]


@pytest.mark.parametrize("frame", OF_THE_MOMENT, ids=lambda frame: list(frame.values())[-1])
def test_a_transient_notice_is_not_durable(frame: Frame) -> None:
    assert not line(frame).unknown
    assert one(ev.SystemEvent, events_of([frame])).ephemeral is True


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "system", "subtype": "compact_boundary"},
        {"type": "system", "subtype": "task_notification"},
        {"type": "system", "subtype": "hook_response"},
        {"type": "system", "subtype": "brand_new"},
        {"type": "conversation_reset"},
        {
            "type": "control_request",
            "request_id": "1",
            "request": {"subtype": "request_user_dialog"},
        },
        se({"type": "error"}),
    ],
)
def test_all_other_notices_are_durable_and_unknown_ones_as_well(frame: Frame) -> None:
    assert one(ev.SystemEvent, events_of([frame])).ephemeral is False


@pytest.mark.parametrize(
    ("frame", "name"),
    [
        ({"type": "brand_new", "n": 1}, "brand_new"),
        ({"n": 1}, ""),
        (se({"type": "brand_new"}), "stream_event/brand_new"),
        (
            {"type": "control_request", "request_id": "r", "request": {"subtype": "new"}},
            "control_request/new",
        ),
        (
            {"type": "control_response", "response": {"subtype": "maybe"}},
            "control_response/maybe",
        ),
    ],
)
def test_unknown_kinds_pass_through_whole(frame: Frame, name: str) -> None:
    event = one(ev.UnknownEvent, events_of([frame]))
    assert event.original_type == name
    assert msgspec.json.decode(msgspec.json.encode(event))["data"] == frame


def test_an_unknown_delta_passes_through_without_changing_its_block() -> None:
    strange = {"type": "colour_delta", "colour": "red"}
    events = events_of([start(), text_start(), delta(0, strange), text(0, "x")])
    event = one(ev.UnknownEvent, events)
    assert event.original_type == "delta/colour_delta"
    assert msgspec.json.decode(msgspec.json.encode(event))["data"] == strange
    assert one(ev.ContentDelta, events).text == "x"


def test_an_unknown_block_keeps_its_shape_and_its_neighbours() -> None:
    strange = {"type": "hologram", "depth": 3}
    events = events_of([assistant(said("a"), strange, said("b"))])
    assert one(ev.AssistantMessage, events).content == [
        blocks.TextBlock("a", "completed"),
        blocks.UnknownBlock("hologram", strange),
        blocks.TextBlock("b", "completed"),
    ]


def test_a_streamed_unknown_block_is_confirmed_by_its_own_kind() -> None:
    strange = {"type": "hologram", "depth": 3}
    other = {"type": "smell"}
    events = events_of(
        [start(), block_start(0, strange), assistant(other), assistant(strange), block_stop(0)]
    )
    assert [m.index for m in only(ev.AssistantMessage, events)] == [1, 0]
    assert one(ev.ContentCompleted, events).block == blocks.UnknownBlock("hologram", strange)


def test_an_error_of_the_models_api_in_the_stream_is_a_notice() -> None:
    event = one(ev.SystemEvent, events_of([se({"type": "error", "error": {"type": "x"}})]))
    assert event.subtype == "stream_error"


def test_an_error_in_the_stream_is_passed_on_as_sound_json() -> None:
    raw = b'{"type":"stream_event","new":"\xff","event":{"type":"error"}}'
    event = one(ev.SystemEvent, events_of([raw]))
    msgspec.json.encode(event).decode()
