"""Recorded streams as views: the same through every protocol and after every reconnect."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.helpers.recorded_streams import RECORDED, events_of, rpc_of, ui_of
from tests.helpers.recorded_views import PAUSES, sent, v2_view
from tests.helpers.shown_content import (
    all_messages,
    check_ids,
    said_by_the_frames,
    said_in_v2,
    shown_in,
)
from turnwire.core.status import Totals
from turnwire.core.view import View
from turnwire.dialects import rpc
from turnwire.dialects.rpc import RpcBridge, RpcMessage
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.codec import decode, encode
from turnwire.dialects.v2.view_reducer import ViewReducer
from turnwire.engine.recording_view import Recording

every_stream = pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
with_and_without_stream_events = pytest.mark.parametrize(
    "streamed", [True, False], ids=["streamed", "frames only"]
)


@cache
def lines_of(path: Path, streamed: bool = True) -> list[bytes]:
    lines = path.read_bytes().splitlines()
    return lines if streamed else [raw for raw in lines if b'"type":"stream_event"' not in raw]


def new_session() -> Recording:
    return Recording("conv-1", trace_of=lambda turn: f"{turn:032x}", keep=True)


@cache
def v2_frames(path: Path, streamed: bool = True) -> list[Any]:
    """Returns the frames of a client that is connected from start to end, partial by partial."""
    session = new_session()
    frames = session.connect()
    for event in events_of(lines_of(path, streamed)):
        frames += session.feed(event)
    return sent([*frames, *session.finish()])


@cache
def rpc_messages(path: Path, streamed: bool = True) -> list[RpcMessage]:
    bridge = RpcBridge(tool_progress="output_delta")
    messages = rpc_of(ui_of(events_of(lines_of(path, streamed))), bridge)
    return [rpc.decode(rpc.encode(message)) for message in messages]


def rpc_view(messages: Iterable[RpcMessage]) -> View:
    transcript = rpc.Transcript()
    for message in messages:
        transcript.apply(message)
    return transcript.view()


def written(view: View) -> bytes:
    """A view to compare: two are the same if every byte is."""
    return msgspec.json.encode(view)


def twice_running(things: Iterable[Any]) -> list[Any]:
    return [thing for thing in things for _ in range(2)]


# --- the view has the content of the frames -----------------------------------------------------


@every_stream
@with_and_without_stream_events
def test_a_v2_client_shows_the_content_of_the_finished_frames(path: Path, streamed: bool) -> None:
    view = v2_view(v2_frames(path, streamed))
    assert shown_in(view) == said_in_v2(lines_of(path))
    assert not view.behind
    assert not any(message.streaming for message in all_messages(view))


@every_stream
@with_and_without_stream_events
def test_an_rpc_client_shows_the_content_of_the_finished_frames(path: Path, streamed: bool) -> None:
    view = rpc_view(rpc_messages(path, streamed))
    assert shown_in(view) == said_by_the_frames(lines_of(path))
    assert not any(message.streaming for message in all_messages(view))


@every_stream
def test_both_clients_show_the_same_messages_in_the_same_order(path: Path) -> None:
    def names(view: View) -> list[str]:
        return [m.id for m in view.messages if m.role == "assistant"]

    assert names(v2_view(v2_frames(path))) == names(rpc_view(rpc_messages(path)))


def results_of(path: Path) -> int:
    """Returns the number of results of the agent."""
    return sum(isinstance(m, rpc.messages.RpcResultMessage) for m in rpc_messages(path))


DIES = "22e_kill_permission_resend"  # the agent's process ends in the middle of a turn


@pytest.mark.parametrize(
    "path", [p for p in RECORDED if p.stem not in (PAUSES, DIES)], ids=lambda path: path.stem
)
def test_both_clients_count_the_same_turns(path: Path) -> None:
    v2, over_rpc = v2_view(v2_frames(path)), rpc_view(rpc_messages(path))
    assert len(v2.turns) == len(over_rpc.turns) == results_of(path)
    told = [(t.end.is_error, t.end.interrupted, t.end.usage) for t in v2.turns]
    assert told == [(t.end.is_error, t.end.interrupted, t.end.usage) for t in over_rpc.turns]
    assert v2.totals == over_rpc.totals


def test_a_turn_that_waits_has_not_ended_in_v2_though_its_process_has() -> None:
    (path,) = (path for path in RECORDED if path.stem == PAUSES)
    v2, over_rpc = v2_view(v2_frames(path)), rpc_view(rpc_messages(path))
    assert (v2.turns, v2.totals) == ([], Totals())
    assert v2.status is not None
    assert (v2.status.state, len(v2.status.requests)) == ("waiting_input", 1)
    assert len(over_rpc.turns) == results_of(path) == 1


def test_a_turn_whose_agent_was_lost_ends_in_v2_without_a_result() -> None:
    (path,) = (path for path in RECORDED if path.stem == DIES)
    v2, over_rpc = v2_view(v2_frames(path)), rpc_view(rpc_messages(path))
    (turn,) = v2.turns
    assert turn.end.error is not None
    assert (turn.end.error.code, turn.end.usage, v2.totals) == ("agent_lost", None, Totals())
    assert (over_rpc.turns, over_rpc.totals, results_of(path)) == ([], None, 0)


# --- whatever comes again changes nothing -------------------------------------------------------


@every_stream
def test_repeated_frames_change_nothing(path: Path) -> None:
    frames = v2_frames(path)
    once = written(v2_view(frames))
    assert written(v2_view(twice_running(frames))) == once
    assert written(v2_view([*frames, *frames])) == once


@every_stream
def test_repeated_messages_change_nothing(path: Path) -> None:
    messages = rpc_messages(path)
    once = written(rpc_view(messages))
    assert written(rpc_view(twice_running(messages))) == once
    assert written(rpc_view([*messages, *messages])) == once


# --- a connection that ends anywhere ------------------------------------------------------------


def resumed_everywhere(path: Path) -> Iterable[tuple[list[Any], list[Any]]]:
    """For each place where the connection can end: what came before, and what the next one gets.

    The server has gone on by then: it has sent all that the event meant, heard or not.
    """
    before, cursor = new_session(), 0
    batches: list[list[f.Frame]] = [before.connect()]
    events = events_of(lines_of(path))
    hellos: list[tuple[int, int, list[f.Frame]]] = []  # frames heard, batches sent, the answer
    heard = 0
    for number, event in enumerate([*events, None]):
        batch = before.feed(event) if event else before.finish()
        batches.append(batch)
        for frame in [*(batches[0] if number == 0 else []), *batch]:
            heard += 1
            cursor = getattr(frame.payload, "message_sequence", None) or cursor  # type: ignore[attr-defined]
            hellos.append((heard, len(batches), before.connect(cursor, epoch="recorded")))
    frames = [frame for batch in batches for frame in batch]
    for heard, batches_sent, hello in hellos:
        rest = [frame for batch in batches[batches_sent:] for frame in batch]
        yield sent(frames[:heard]), sent([*hello, *rest])


@every_stream
def test_a_client_that_reconnects_has_the_same_view_as_without_a_break(path: Path) -> None:
    whole = written(v2_view(v2_frames(path)))
    places = 0
    for first, second in resumed_everywhere(path):
        places += 1
        assert written(v2_view([*first, *second])) == whole
        assert written(v2_view(twice_running([*first, *second]))) == whole
        assert written(v2_view([*first, *second, *first, *second])) == whole
    assert places == len(v2_frames(path))


@every_stream
def test_a_late_client_has_the_same_view_as_an_early_one(path: Path) -> None:
    session = new_session()
    session.feed_all(events_of(lines_of(path)))
    session.finish()
    assert written(v2_view(sent(session.connect()))) == written(v2_view(v2_frames(path)))


# --- pieces, however they are cut ---------------------------------------------------------------


@every_stream
def test_pieces_that_are_joined_show_the_same(path: Path) -> None:
    session = new_session()
    frames = [*session.connect(), *session.feed_all(events_of(lines_of(path))), *session.finish()]
    assert written(v2_view(sent(frames))) == written(v2_view(v2_frames(path)))


@given(st.data())
def test_any_joining_shows_the_same(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(RECORDED))
    events = events_of(lines_of(path))
    sizes = data.draw(st.lists(st.integers(1, 12), min_size=len(events), max_size=len(events)))
    session = new_session()
    frames = session.connect()
    for start, end in pairwise([0, *accumulate(sizes)]):
        frames += session.feed_all(events[start:end])
    view = v2_view(sent([*frames, *session.finish()]))
    assert written(view) == written(v2_view(v2_frames(path)))


def is_piece(frame: Any) -> bool:
    return getattr(frame.payload, "partial", False) and not isinstance(frame, f.AssistantBlock)


def cut_anew(frames: list[Any], data: st.DataObject) -> list[Any]:
    """Returns the same text in other pieces: each is cut at random and numbered again."""
    out: list[Any] = []
    numbers: dict[str, int] = {}
    for frame in frames:
        if not is_piece(frame):
            out.append(frame)
            continue
        payload = frame.payload
        field = "input_text" if isinstance(frame, f.AssistantToolCall) else "text"
        text = getattr(payload, field) or ""
        cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=3).map(sorted))
        for start, end in pairwise([0, *cuts, len(text)]):
            number = numbers[payload.block_id] = numbers.get(payload.block_id, 0) + 1
            piece = replace(payload, chunk_seq=number, **{field: text[start:end]})
            out.append(replace(frame, payload=piece))
    return [replace(frame, sequence=n) for n, frame in enumerate(out, 1)]


@given(st.data())
def test_any_cuts_give_the_same_views(data: st.DataObject) -> None:
    frames = v2_frames(data.draw(st.sampled_from(RECORDED)))
    otherwise = iter(cut_anew(frames, data))
    one, other = ViewReducer(), ViewReducer()
    for frame in frames:
        one.apply(frame)
        if not is_piece(frame):
            for each in otherwise:
                other.apply(each)
                if not is_piece(each):
                    break
            assert written(other.view()) == written(one.view())


@given(st.data())
def test_a_lost_partial_does_not_change_the_final_view(data: st.DataObject) -> None:
    frames = v2_frames(data.draw(st.sampled_from(RECORDED)))
    pieces = [n for n, frame in enumerate(frames) if is_piece(frame)]
    lost = data.draw(st.sets(st.sampled_from(pieces), max_size=8)) if pieces else set()
    left = [frame for n, frame in enumerate(frames) if n not in lost]
    assert written(v2_view(left)) == written(v2_view(frames))


# --- whatever comes -----------------------------------------------------------------------------

SOME = [path for path in RECORDED if path.stem.startswith(("05", "06_", "07_", "09", "22b"))]
FRAMES = [frame for path in SOME for frame in v2_frames(path)]
MESSAGES = [message for path in SOME for message in rpc_messages(path)]


def bent(frame: Any, data: st.DataObject) -> Any:
    """Returns a frame with another index or of another sub-agent, as it is read: perhaps unknown."""
    payload = frame.payload
    changes = {
        name: data.draw(values)
        for name, values in {
            "block_id": st.sampled_from("ab"),
            "message_id": st.sampled_from("ab"),
            "index": st.integers(0, 2),
            "partial": st.booleans(),
            "snapshot": st.booleans(),
            "chunk_seq": st.none() | st.integers(0, 3),
            "tool_use_id": st.sampled_from("ab"),
            "parent_tool_use_id": st.none() | st.sampled_from("ab"),
            "message_sequence": st.none() | st.integers(1, 5),
        }.items()
        if hasattr(payload, name)
    }
    return decode(encode(replace(frame, payload=replace(payload, **changes))).replayed())


@given(st.data())
def test_frames_that_make_no_sense_never_break_a_view(data: st.DataObject) -> None:
    reducer, cursor = ViewReducer(), 0
    for frame in data.draw(st.lists(st.sampled_from(FRAMES), max_size=30)):
        reducer.apply(bent(frame, data))
        view = reducer.view()
        msgspec.json.encode(view)
        check_ids(view)
        assert view.cursor >= cursor  # there is no reset among them
        cursor = view.cursor


@given(st.lists(st.sampled_from(MESSAGES), max_size=40))
def test_messages_in_any_order_never_break_a_view(messages: list[RpcMessage]) -> None:
    transcript = rpc.Transcript()
    for message in messages:
        transcript.apply(message)
        view = transcript.view()
        msgspec.json.encode(view)
        check_ids(view)


@given(st.lists(st.tuples(st.sampled_from(MESSAGES), st.none() | st.integers(0, 9)), max_size=20))
def test_the_cursor_of_an_rpc_view_never_goes_back(
    messages: list[tuple[RpcMessage, int | None]],
) -> None:
    transcript, cursor = rpc.Transcript(), 0
    for message, sequence in messages:
        transcript.apply(message, sequence)
        assert transcript.view().cursor == max(cursor, sequence or 0)
        cursor = transcript.view().cursor
