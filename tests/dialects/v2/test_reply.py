"""The reply to one message, read from the frames of a conversation."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from turnwire.core.content import TextContent
from turnwire.core.error_codes import Refused
from turnwire.core.status import OpenRequest, QueueItem, Status, TurnEnd
from turnwire.core.usage import Usage
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.reply import Reply, ReplyReader, ToolUse, call_for_requests

OWN = "own"
AT = "2026-01-01T12:00:00.000Z"
END = TurnEnd(False, False, "end_turn", usage=Usage(input_tokens=3), cost_usd=0.5)


def frame(kind: Any, payload: Any, turn_id: int | None = 7) -> Any:
    return kind("talk", turn_id, 1, AT, None, payload)


def said(number: int, *, client_message_id: str = OWN, turn_id: int = 7) -> Any:
    words = p.UserWords([TextContent("hello")], number, client_message_id)
    return frame(f.UserMessage, words, turn_id)


def text(number: int | None, words: str, **other: Any) -> Any:
    place = ("m:0", "m", 0, number is None)
    return frame(f.AssistantChunk, p.Chunk(*place, words, message_sequence=number, **other))


def state(
    *, queue: list[QueueItem] | None = None, requests: list[OpenRequest] | None = None
) -> Any:
    return frame(f.SessionState, Status("streaming", True, queue or [], requests or []), None)


def question(request_id: str, turn_id: int = 7) -> OpenRequest:
    return OpenRequest(request_id, "question", request_id, "Ask", turn_id=turn_id)


def complete(turn_id: int = 7) -> Any:
    return frame(f.AssistantComplete, END, turn_id)


def read(*frames: Any, after: int = 0) -> Reply:
    reader = ReplyReader(OWN, after=after)
    replies = [reader.feed(each) for each in frames]
    assert replies[:-1] == [None] * (len(frames) - 1)
    [last] = replies[-1:]
    assert last is not None
    return last


def test_a_reply_has_the_texts_of_its_turn_and_how_it_ended() -> None:
    told = [said(1), text(2, "One."), text(3, "Two.")]
    reply = read(*told, text(None, "Thr"), complete())
    assert reply.text == "One.\n\nTwo."
    assert reply.frames == [*told, complete()]
    assert (reply.turn_id, reply.cursor, reply.end) == (7, 3, END)
    assert (reply.usage, reply.cost_usd) == (END.usage, 0.5)
    assert (reply.is_error, reply.was_interrupted) == (False, False)


def test_frames_of_other_turns_and_repeated_entries_are_left_out() -> None:
    reply = read(
        said(1, client_message_id="another", turn_id=6),
        complete(6),
        said(2),
        text(3, "One."),
        text(3, "One."),
        f.UnknownFrame("assistant.song", {}),
        complete(),
    )
    assert reply.text == "One."


def test_texts_of_sub_agents_are_in_the_frames_alone() -> None:
    inner = text(2, "Looking.", parent_tool_use_id="task")
    reply = read(said(1), inner, complete())
    assert reply.text == ""
    assert inner in reply.frames


def test_tool_calls_have_their_results() -> None:
    call = p.ToolCall("a", "m", 0, False, "a", "Read", input={"path": "x"}, message_sequence=2)
    other = p.ToolCall("b", "m", 1, False, "b", "Read", message_sequence=3)
    reply = read(
        said(1),
        frame(f.AssistantToolCall, call),
        frame(f.AssistantToolCall, other),
        frame(f.AssistantToolResult, p.ToolResult("a", True, "no such file", 4)),
        frame(f.AssistantToolResult, p.ToolResult("unknown", False, "", 5)),
        complete(),
    )
    first = ToolUse("a", "Read", {"path": "x"}, "no such file", True)
    assert reply.tools == [first, ToolUse("b", "Read")]


def test_replayed_frames_count_as_much_as_live_frames() -> None:
    missed = [f.Replay(1, said(1)), f.Replay(2, text(2, "One.")), f.Replay(None, complete())]
    reply = read(*(frame(f.MessageReplay, each, None) for each in missed))
    assert reply.text == "One."


def test_the_start_of_a_turn_names_its_message_too() -> None:
    start = frame(f.TurnStarted, p.TurnStart(7, "user", None, OWN))
    assert read(start, complete()).turn_id == 7


def test_a_turn_that_waits_for_a_person_gives_a_reply_without_an_end() -> None:
    asks = question("q")
    reply = read(said(1), text(2, "Well."), state(requests=[asks, question("other", 6)]))
    assert (reply.end, reply.requests, reply.text) == (None, [asks], "Well.")
    assert (reply.is_error, reply.was_interrupted) == (False, False)
    assert (reply.usage, reply.cost_usd) == (None, None)


def test_a_reader_goes_on_after_a_reply_that_waits() -> None:
    waits = read(said(1), text(2, "Well."), state(requests=[question("q")]))
    reader = ReplyReader.resumed(waits)
    assert reader.feed(state(requests=[question("q")])) is None  # as before
    again = reader.feed(state(requests=[question("q"), question("r")]))
    assert again is not None
    assert len(again.requests) == 2
    assert reader.feed(state()) is None
    assert reader.feed(text(3, "Done.")) is None
    last = reader.feed(complete())
    assert last is not None
    assert (last.text, last.end) == ("Well.\n\nDone.", END)


def test_a_message_that_is_removed_from_the_queue_has_no_reply() -> None:
    item = QueueItem("q1", [TextContent("hello")], OWN)
    reader = ReplyReader(OWN, after=0)
    assert reader.feed(state()) is None  # before it is in the queue
    assert reader.feed(state(queue=[item])) is None
    with pytest.raises(Refused, match="removed from the queue"):
        reader.feed(state())


def test_a_queued_message_that_was_removed_before_a_state_came_has_no_reply() -> None:
    reader = ReplyReader(OWN, after=0)
    reader.acknowledged(None, "q1")
    with pytest.raises(Refused, match="removed from the queue"):
        reader.feed(state())


def test_the_answer_to_the_message_names_its_turn() -> None:
    reader = ReplyReader(OWN, after=5)
    reader.acknowledged(7, None)
    reader.acknowledged(8, None)  # the first counts
    reply = reader.feed(complete())
    assert reply is not None
    assert reply.turn_id == 7


@pytest.mark.parametrize(("reason", "kept"), [("tail", "One.\n\nTwo."), ("epoch", "Two.")])
def test_after_a_reset_numbers_begin_again(reason: str, kept: str) -> None:
    reset = frame(f.SessionReset, p.Reset(reason, "e2", 1), None)
    assert read(said(4), text(5, "One."), reset, text(1, "Two."), complete()).text == kept


@pytest.mark.parametrize("is_async", [False, True])
def test_a_function_is_called_once_with_each_request(is_async: bool) -> None:
    asked: list[str] = []

    def plain(request: OpenRequest) -> None:
        asked.append(request.request_id)

    async def later(request: OpenRequest) -> None:
        plain(request)

    replies = [[question("q"), question("r")], [question("r")]]

    async def wait(reply: Reply) -> Reply:
        left = replies.pop(0) if replies else []
        return Reply(7, None if left else END, left, [], 0)

    async def run() -> None:
        waits = Reply(7, None, [question("q")], [], 0)
        reply = await call_for_requests(waits, later if is_async else plain, wait)
        assert reply.end == END
        assert await call_for_requests(waits, None, wait) is waits

    asyncio.run(run())
    assert asked == ["q", "r"]


def test_a_reader_that_keeps_no_frames_still_finds_the_turn_and_its_end() -> None:
    reader = ReplyReader(OWN, after=0)
    reader.keeps_frames = False
    assert reader.turn_id is None
    for each in (said(1), text(2, "hello")):
        assert reader.feed(each) is None
    assert reader.turn_id == 7
    reply = reader.feed(complete())
    assert reply is not None
    assert (reply.end, reply.text, reply.cursor) == (END, "", 2)
