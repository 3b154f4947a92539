"""ClaudeStreamAdapter: streams that begin in the middle, contradict themselves or begin again."""

from __future__ import annotations

from tests.dialects.claude.helpers.stream_frames import (
    INIT,
    Frame,
    assistant,
    block_stop,
    delta,
    json_piece,
    kinds,
    message_delta,
    message_stop,
    one,
    only,
    result,
    said,
    se,
    start,
    text,
    text_start,
)
from tests.helpers.recorded_streams import events_of, recorded
from turnwire.core import blocks
from turnwire.core import events as ev

# --- streams that begin in the middle, or contradict themselves ---------------------------------


def test_a_delta_without_a_start_begins_its_message_and_its_block() -> None:
    events = events_of([text(0, "lo", api_message_id="m9"), text(0, "!", api_message_id="m9")])
    assert kinds(events)[:5] == [
        "TurnStarted",
        "MessageStarted",
        "ContentStarted",
        "ContentDelta",
        "ContentDelta",
    ]
    assert one(ev.MessageStarted, events).message_id == "m9"


def test_thinking_and_citations_without_a_start_begin_their_block_too() -> None:
    events = events_of(
        [
            start(),
            delta(0, {"type": "signature_delta", "signature": "x"}),
            delta(1, {"type": "citations_delta", "citation": {}}),
            block_stop(0),
        ]
    )
    begun = [c.block for c in only(ev.ContentStarted, events)]
    assert begun == [blocks.ThinkingBlock("", "in_progress"), blocks.TextBlock("", "in_progress")]
    assert one(ev.ContentCompleted, events).block == blocks.ThinkingBlock("", "completed", "x")


def test_a_tool_whose_start_is_missing_is_not_invented() -> None:
    events = events_of([start(), json_piece(0, "{}"), block_stop(0), message_stop()])
    assert not only(ev.ContentStarted, events) + only(ev.ContentCompleted, events)


def test_a_delta_after_its_blocks_end_is_ignored() -> None:
    events = events_of([start(), text_start(), text(0, "a"), block_stop(), text(0, "b")])
    assert [d.text for d in only(ev.ContentDelta, events)] == ["a"]


def test_stream_events_of_a_finished_message_are_ignored() -> None:
    over: Frame = {"api_message_id": "m1"}
    late = [text(0, "x", **over), block_stop(0, **over), message_delta(**over)]
    begun = [start("m1", **over), text_start(0, **over), message_stop(**over)]
    assert kinds(events_of(begun + late + [message_stop(**over)])) == kinds(events_of(begun))
    replaced = [start("m1", **over), assistant(said("retry"), message_id="m2")]
    assert kinds(events_of(replaced + late + [message_stop(**over)])) == kinds(events_of(replaced))


def test_a_message_stop_without_a_message_means_nothing() -> None:
    assert events_of([message_stop()]) == []


def test_pings_and_heartbeats_are_ignored() -> None:
    assert events_of([se({"type": "ping"}), {"type": "keep_alive"}]) == []


# --- abandoned and restarted --------------------------------------------------------------------


def test_abandoned_blocks_are_discarded_and_their_message_ends() -> None:
    events = events_of(
        [
            start(),
            text_start(0),
            text(0, "kept"),
            assistant(said("kept")),
            block_stop(0),
            text_start(1),
            text(1, "cut"),
            block_stop(1),
            message_stop(abandoned_blocks={"api_message_id": "m1", "from_block_index": 1}),
        ]
    )
    gone = one(ev.MessageDiscarded, events)
    assert (gone.message_id, gone.from_index, gone.reason) == ("m1", 1, "abandoned")
    assert not only(ev.MessageCompleted, events)


def test_no_block_is_discarded_when_the_abandoned_blocks_never_came() -> None:
    """The CLI sends this after an interrupt: its only block is confirmed as aborted."""
    events = events_of(recorded("07_interrupt_stream"))
    assert not only(ev.MessageDiscarded, events)
    assert [m.aborted for m in only(ev.AssistantMessage, events)] == [True, False]


def test_a_restarted_message_discards_unconfirmed_blocks() -> None:
    events = events_of(
        [
            start("m1"),
            text_start(0),
            text(0, "sure"),
            assistant(said("sure")),
            block_stop(0),
            text_start(1),
            text(1, "uns"),
            start("m2"),
        ]
    )
    first = only(ev.MessageDiscarded, events)[0]
    assert (first.message_id, first.from_index, first.reason) == ("m1", 1, "restarted")


def test_an_interrupted_message_keeps_all_confirmed_blocks() -> None:
    events = events_of(
        [start("m1"), text_start(0), assistant(said("sure")), start("m2"), message_stop()]
    )
    gone = one(ev.MessageDiscarded, events)
    assert (gone.message_id, gone.from_index) == ("m1", 1)


def test_a_message_without_blocks_is_discarded_from_the_start() -> None:
    gone = one(ev.MessageDiscarded, events_of([start("m1"), result()]))
    assert (gone.from_index, gone.reason) == (0, "turn_ended")


def test_a_retry_that_is_not_streamed_replaces_the_partial_message() -> None:
    events = events_of(
        [start("m1"), text_start(0), text(0, "par"), assistant(said("whole"), message_id="m2")]
    )
    gone = one(ev.MessageDiscarded, events)
    assert (gone.message_id, gone.from_index, gone.reason) == ("m1", 0, "replaced")
    assert one(ev.AssistantMessage, events).message_id == "m2"


def test_an_end_of_stream_ends_every_message() -> None:
    events = events_of([INIT, start(), text_start(), text(0, "hal")])
    assert kinds(events)[-2:] == ["MessageDiscarded", "TurnFailed"]
    assert one(ev.TurnFailed, events).code == "agent_lost"
    assert one(ev.MessageDiscarded, events).reason == "stream_ended"
