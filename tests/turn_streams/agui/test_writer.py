"""The rules of a run of AG-UI, with literal frames."""

from __future__ import annotations

from typing import Any

import pytest

from turnwire.core.content import (
    Blob,
    Content,
    FileContent,
    ImageContent,
    OtherContent,
    TextContent,
)
from turnwire.core.error_codes import Refused
from turnwire.core.events import Question, QuestionOption
from turnwire.core.status import Capabilities, Limits, OpenRequest, QueueItem, Status, TurnEnd
from turnwire.core.status import TurnError as Failure
from turnwire.core.usage import Usage
from turnwire.dialects.agui import events as e
from turnwire.dialects.agui.messages import MessagesBuilder
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.reply import ReplyReader
from turnwire.turn_streams.agui.writer import AguiWriter, Run, messages_of
from turnwire.turn_streams.place import StreamPlace, place_of

AT = "2026-01-01T12:00:00.000Z"
RUN = Run("thread-1", "run-1", {"mine": 1})
STARTED = e.RunStarted("thread-1", "run-1", "1.0")
GONE = {"turnwire": {"discarded": True}}
ABOUT = p.SessionInfo("c", "me", "epoch 1", 1, 0, Capabilities("demo", []), Limits(1, 1, 1))


def frame(kind: Any, payload: Any, turn_id: int | None = 7) -> Any:
    return kind("talk", turn_id, 1, AT, None, payload)


def piece(text: str, number: int = 1, *, snapshot: bool = False, block: str = "m:0") -> Any:
    chunk = p.Chunk(block, "m", 0, True, text, number, snapshot=snapshot)
    return frame(f.AssistantChunk, chunk)


def text(words: str, number: int, *, block: str = "m:0", **more: Any) -> Any:
    chunk = p.Chunk(block, "m", 0, False, words, message_sequence=number, **more)
    return frame(f.AssistantChunk, chunk)


def thought(words: str, number: int | None, **more: Any) -> Any:
    known: dict[str, Any] = {"message_sequence": number} if number else {"chunk_seq": 1}
    block = p.Thinking("m:1", "m", 1, number is None, words, **known, **more)
    return frame(f.AssistantThinking, block)


def call(number: int | None, name: str = "t-1", **more: Any) -> Any:
    known: dict[str, Any] = {"message_sequence": number} if number else {"chunk_seq": 1}
    payload = p.ToolCall(name, "m", 2, number is None, name, "Read", **known, **more)
    return frame(f.AssistantToolCall, payload)


def result(number: int, content: Any, *, name: str = "t-1", **more: Any) -> Any:
    told = p.ToolResult(name, more.pop("is_error", False), content, number, **more)
    return frame(f.AssistantToolResult, told)


def state(*requests: OpenRequest, turn: int | None = 7, **more: Any) -> Any:
    status = Status("streaming", True, more.pop("queue", []), [*requests], turn_id=turn, **more)
    return frame(f.SessionState, status, None)


def complete(**more: Any) -> Any:
    return frame(f.AssistantComplete, TurnEnd(**{"is_error": False, "interrupted": False, **more}))


def replayed(inner: Any) -> Any:
    number = getattr(inner.payload, "message_sequence", None)
    return frame(f.MessageReplay, f.Replay(number, inner))


def said(content: list[Content], number: int, name: str | None = "own", **more: Any) -> Any:
    return frame(f.UserMessage, p.UserWords(content, number, name, **more))


def permission(name: str = "r-1", **more: Any) -> OpenRequest:
    return OpenRequest(name, "permission", "t-1", "Read", {"a": 1}, 7, **more)


def writer(place: StreamPlace | None = None, **more: Any) -> AguiWriter:
    return AguiWriter(more.pop("run", RUN), place or StreamPlace(0), **more)


def wrote(*frames: Any, on: AguiWriter | None = None) -> list[e.Event]:
    """Returns the events of these frames, without those of the run, the step and the state."""
    out = on or writer()
    events = [event for each in frames for event in out.feed(each)]
    left_out = e.RunStarted | e.StepStarted | e.StepFinished | e.StateSnapshot | e.StateDelta
    return [each for each in events if not isinstance(each, left_out)]


def ended(*frames: Any, on: AguiWriter | None = None) -> e.Event:
    """Returns the last event of a run that these frames end."""
    out = on or writer()
    events = [event for each in frames for event in out.feed(each)]
    assert out.is_over
    assert out.feed(state()) == []
    return events[-1]


# --- the run --------------------------------------------------------------------------------------


def test_a_run_begins_with_the_first_frame_and_shows_its_turn_as_a_step() -> None:
    out = writer(run=Run("thread-1", "run-1", {"mine": 1}, {"conversation": "talk"}))
    ours = {"turnwire": {"conversation": "talk"}}
    assert out.feed(frame(f.SessionConnected, ABOUT, None)) == [
        e.RunStarted("thread-1", "run-1", "1.0", ours)
    ]
    first = out.feed(state())
    assert isinstance(first[0], e.StateSnapshot)
    assert first[0].snapshot["mine"] == 1
    assert first[1] == e.StepStarted("turn-7", {"turnwire": {"turnId": 7}})
    assert out.feed(frame(f.TurnStarted, p.TurnStart(7, "user"))) == []
    assert out.feed(frame(f.TurnStarted, p.TurnStart(8, "user"), 8)) == [
        e.StepFinished("turn-7"),
        e.StepStarted("turn-8", {"turnwire": {"turnId": 8}}),
    ]
    assert out.feed(frame(f.ConversationUpdated, p.ConversationNews("t"), None)) == []
    assert out.feed(f.UnknownFrame("new.kind", {"type": "new.kind"})) == []


def test_the_state_is_changed_field_by_field() -> None:
    out = writer()
    out.feed(state(reason="a"))
    [change] = out.feed(state(title="t"))
    assert change == e.StateDelta(
        [e.Patch("remove", "/turnwire/reason"), e.Patch("add", "/turnwire/title", "t")]
    )
    assert out.feed(state(title="t")) == []
    unknown = writer(run=Run("thread-1", "run-1"))
    [_, first, _] = unknown.feed(state())
    assert isinstance(first, e.StateDelta)
    assert first.delta[0].path == "/turnwire"
    odd = writer(run=Run("thread-1", "run-1", "text"))
    assert odd.feed(state())[1].snapshot.keys() == {"turnwire"}  # type: ignore[union-attr]


def test_a_run_ends_after_the_turn_of_its_message() -> None:
    reader = ReplyReader("own", after=0)
    out = writer(own=reader)
    out.feed(state(turn=None))
    assert not out.is_over, "its turn has not begun"
    out.feed(frame(f.TurnStarted, p.TurnStart(7, "user", None, "own")))
    usage = Usage(1, 2, 3, 4)
    end = {"usage": usage, "cost_usd": 0.5, "stop_reason": "end_turn", "after_sequence": 9}
    out.feed(complete(structured_output={"a": 1}, **end))
    assert not out.is_over, "the state after it follows"
    last = out.feed(state(turn=None))[-1]
    ours = {"sequence": 9, "turnId": 7, "costUsd": 0.5, "stopReason": "end_turn"}
    assert last == e.RunFinished(
        "thread-1",
        "run-1",
        e.Outcome("success"),
        {"a": 1},
        [e.TokenUsage(8, 2, 10, 4, 3)],
        {"turnwire": ours},
    )


def test_a_message_that_was_removed_from_the_queue_is_refused() -> None:
    out = writer(own=ReplyReader("own", after=0))
    out.feed(state(turn=None, queue=[QueueItem("q", [TextContent("hello")], "own")]))
    with pytest.raises(Refused) as error:
        out.feed(state(turn=None))
    assert out.refuse(error.value) == [e.RunError(error.value.message, "QUEUE_ITEM_NOT_FOUND")]
    early = writer().refuse(Refused("INTERNAL_ERROR", "No."))
    assert early == [STARTED, e.RunError("No.", "INTERNAL_ERROR")]


def test_a_run_without_a_message_ends_when_nothing_is_left_to_do() -> None:
    done = e.RunFinished("thread-1", "run-1", e.Outcome("success"))
    assert ended(state(turn=None)) == done
    item = QueueItem("q", [TextContent("hello")], "own")
    assert ended(state(turn=None, queue=[item], queue_held=True)) == done
    waiting = writer()
    waiting.feed(state(turn=None, queue=[item]))
    assert not waiting.is_over
    stopped = ended(state(), complete(interrupted=True), state(turn=None))
    assert isinstance(stopped, e.RunFinished)
    assert stopped.outcome == e.Outcome("cancelled")
    older = writer(run=Run("thread-1", "run-1", knows_cancelled=False))
    [*_, last] = wrote(state(), complete(interrupted=True), state(turn=None), on=older)
    assert isinstance(last, e.RunFinished)
    assert last.outcome == e.Outcome("success")
    assert last.metadata == {"turnwire": {"sequence": 0, "turnId": 7, "interrupted": True}}
    failed = ended(state(), complete(is_error=True, error=Failure("c", "No.")), state(turn=None))
    assert isinstance(failed, e.RunError)
    assert (failed.message, failed.code) == ("No.", "c")
    plain = ended(state(), complete(is_error=True), state(turn=None))
    assert isinstance(plain, e.RunError)
    assert (plain.message, plain.code) == ("The turn has failed.", None)


def test_a_turn_that_waits_ends_the_run() -> None:
    asked = permission(title="Read a file", deadline_at=AT)
    last = ended(state(asked))
    assert isinstance(last, e.RunFinished)
    assert last.outcome.interrupts is not None
    [told] = last.outcome.interrupts
    assert (told.id, told.reason, told.message) == ("r-1", "tool_call", "Read a file")
    assert (told.tool_call_id, told.expires_at) == ("t-1", AT)
    one = Question("a", "Which?", [QuestionOption("Blue")])
    many = Question("b", "And?", multi=True)
    question = OpenRequest("q-1", "question", "q-1", "ask", None, 7, questions=[one, many])
    last = ended(state(question))
    assert isinstance(last, e.RunFinished)
    assert last.outcome.interrupts is not None
    [told] = last.outcome.interrupts
    assert (told.reason, told.message) == ("input_required", "Which?")
    assert told.response_schema == {
        "type": "object",
        "properties": {
            "a": {"title": "Which?", "type": "string", "examples": ["Blue"]},
            "b": {"title": "And?", "type": "array", "items": {"type": "string"}},
        },
    }


def test_a_permission_names_only_answers_that_its_agent_takes() -> None:
    for is_decision_only, offers, names in (
        (False, [], {"approved", "reason", "editedArgs"}),
        (True, [], {"approved"}),
        (False, ["a"], {"approved", "reason", "editedArgs", "always", "remember"}),
        (True, ["a", "b"], {"approved", "always", "remember"}),
    ):
        asked = permission(decision_only=is_decision_only, suggestions=offers)
        last = ended(state(asked))
        assert isinstance(last, e.RunFinished)
        assert last.outcome.interrupts is not None
        [told] = last.outcome.interrupts
        assert told.response_schema is not None
        form = told.response_schema["properties"]
        assert set(form) == names
        if offers:
            assert form["remember"].get("maxItems") == (1 if is_decision_only else None)


def test_a_tool_of_the_front_end_is_a_pending_call() -> None:
    own = OpenRequest("t-2", "question", "t-2", "paint", None, 7, metadata={"client_tool": True})
    last = ended(state(own))
    assert isinstance(last, e.RunFinished)
    assert last.outcome == e.Outcome("success", None, ["t-2"])
    older = writer(run=Run("thread-1", "run-1", knows_cancelled=False))
    [*_, last] = wrote(state(own), on=older)
    assert isinstance(last, e.RunFinished)
    assert last.outcome == e.Outcome("success"), "it refuses fields that it does not know"


def test_a_result_that_the_front_end_has_sent_is_not_sent_back() -> None:
    frames = [state(), call(1, input={}), result(2, "done")]
    assert any(isinstance(each, e.ToolCallResult) for each in wrote(*frames))
    told = wrote(*frames, on=writer(answered=["t-1"]))
    assert not any(isinstance(each, e.ToolCallResult) for each in told)
    again = AguiWriter(RUN, None, answered=["t-1"])
    for each in frames[1:]:
        again.feed(replayed(each))
    [snapshot] = [each for each in again.feed(state()) if isinstance(each, e.MessagesSnapshot)]
    assert [each["role"] for each in snapshot.messages] == ["assistant", "tool"]


def test_a_run_waits_until_growing_blocks_are_finished() -> None:
    out = writer()
    out.feed(piece("a"))
    out.feed(state(permission()))
    assert not out.is_over
    assert isinstance(out.feed(text("ab", 1))[-1], e.RunFinished)


def test_a_block_that_still_grows_at_the_end_is_marked() -> None:
    grown = [piece("a"), thought("b", None), call(None, input_text="{")]
    own = ReplyReader("", after=0)
    own.acknowledged(7, None)
    events = wrote(state(), *grown, complete(), state(turn=None), on=writer(own=own))
    assert events[-5:-1] == [
        e.TextEnd("m:0", GONE),
        e.ReasoningMessageEnd("m:1", GONE),
        e.ReasoningEnd("m:1"),
        e.ToolCallEnd("t-1", GONE),
    ]


def test_frames_on_demand() -> None:
    out = writer(run=Run("thread-1", "run-1", {}, {}, True))
    [_, first, *_] = out.feed(state())
    assert isinstance(first, e.RawEvent)
    assert first.event["type"] == "session.state"
    out.feed(piece("a"))
    assert not out.is_next_piece(piece("b", 2)), "it has a frame as well"
    unknown = f.UnknownFrame("new.kind", {"type": "new.kind"})
    assert len(out.feed(unknown)) == 1


# --- what a reader has ----------------------------------------------------------------------------


def test_the_id_of_an_event_says_what_the_reader_has() -> None:
    out = writer()
    out.feed(frame(f.SessionResumed, ABOUT, None))
    assert out.event_id == "0@epoch%201/talk"
    out.feed(text("hello", 4, block="m:9"))
    out.feed(piece("abc", block="m=;é:0"))
    assert out.is_next_piece(piece("de", 2, block="m=;é:0"))
    assert not out.is_next_piece(piece("abcde", 2, snapshot=True, block="m=;é:0"))
    assert not out.is_next_piece(state())
    assert out.event_id == "4@epoch%201/talk;m%3D%3B%C3%A9:0=5"
    place = place_of(out.event_id)
    assert place == StreamPlace(4, "epoch 1", {"m=;é:0": 5}, "talk")
    assert place.is_of("epoch 1", "talk", 4)
    assert not place.is_of("epoch 1", "talk", 3), "the log has no such entry"
    assert not place.is_of("epoch 1", "a fork", 4)
    assert not place.is_of("epoch 2", "talk", 4)
    assert place_of("4") == StreamPlace(4)
    assert place_of("4@e") == StreamPlace(4, "e")
    with pytest.raises(Refused):
        place_of("4;")


def test_a_run_continues_at_a_place() -> None:
    place = StreamPlace(4, None, {"m:0": 2})
    old = replayed(text("old", 4, block="m:8"))
    more = [e.TextStart("m:0", "assistant"), e.TextContent("m:0", "c")]
    grown = wrote(old, piece("abc", 3, snapshot=True), text("abcd", 5), on=writer(place))
    assert grown == [*more, e.TextContent("m:0", "d"), e.TextEnd("m:0")]
    finished = wrote(old, text("abc", 5), on=writer(place))
    assert finished == [*more, e.TextEnd("m:0")]
    again = [text("abc", 5), piece("abc", 3, snapshot=True), text("abc", 6)]
    assert wrote(*again, on=writer(place)) == finished
    call_place = StreamPlace(4, None, {"t-1": 2})
    ours = {"turnwire": {"arguments": '{"a":1}'}}
    assert wrote(call(5, input={"a": 1}), on=writer(call_place)) == [
        e.ToolCallStart("t-1", "Read"),
        e.ToolCallEnd("t-1", ours),
    ]


def test_a_turn_that_is_replayed_is_a_step_and_its_background_work_is_not() -> None:
    out = writer(StreamPlace(4))
    assert out.feed(replayed(text("old", 4, block="m:8"))) == [STARTED]
    begun = out.feed(replayed(text("new", 5)))
    assert begun[0] == e.StepStarted("turn-7", {"turnwire": {"turnId": 7}})
    assert not [each for each in out.feed(replayed(text("more", 6, block="m:1"))) if is_step(each)]
    assert out.feed(replayed(complete())) == [e.StepFinished("turn-7")]
    assert not [each for each in out.feed(replayed(text("late", 7, block="m:2"))) if is_step(each)]


def is_step(event: e.Event) -> bool:
    return isinstance(event, e.StepStarted | e.StepFinished)


def snapshot_of(*frames: Any, status: Any = None) -> Any:
    out = AguiWriter(RUN, None)
    assert out.feed(frame(f.SessionConnected, ABOUT, None)) == [STARTED]
    assert out.event_id is None
    for each in frames:
        assert out.feed(each) == []
    told = [each for each in out.feed(status or state()) if isinstance(each, e.MessagesSnapshot)]
    return told[0].messages


def test_a_reader_that_lacks_something_gets_all_messages() -> None:
    tag = {"parent_tool_use_id": "t-1"}
    item = QueueItem("q", [TextContent("later")], "own-2")
    assert snapshot_of(
        frame(f.TurnStarted, p.TurnStart(7, "user")),
        replayed(said([TextContent("hello")], 1)),
        replayed(call(2, input={"a": 1})),
        replayed(text("inner", 3, block="m:3", **tag)),
        replayed(result(4, "done")),
        replayed(complete()),
        status=state(queue=[item, QueueItem("q-2", [TextContent("last")])]),
    ) == [
        {"id": "own", "role": "user", "content": "hello"},
        {
            "id": "t-1",
            "role": "assistant",
            "toolCalls": [
                {
                    "id": "t-1",
                    "type": "function",
                    "function": {"name": "Read", "arguments": '{"a":1}'},
                }
            ],
        },
        {"id": "t-1:result", "toolCallId": "t-1", "role": "tool", "content": "done"},
        {"id": "m:3", "role": "assistant", "content": "inner", "subagentRunId": "t-1"},
        {"id": "own-2", "role": "user", "content": "later"},
        {"id": "q-2", "role": "user", "content": "last"},
    ]


def test_a_reset_makes_a_snapshot_necessary() -> None:
    out = writer(StreamPlace(900), said=["own"])
    out.feed(frame(f.SessionReset, p.Reset("beyond_head", "e", 1), None))
    out.feed(replayed(said([TextContent("hello")], 1)))
    [told] = [each for each in out.feed(state()) if isinstance(each, e.MessagesSnapshot)]
    assert told.messages == [{"id": "own", "role": "user", "content": "hello"}]
    assert out.event_id == "1"


def test_reasoning_that_grows_is_in_a_snapshot_of_its_own() -> None:
    out = AguiWriter(RUN, None)
    out.feed(state())
    [snapshot, *rest] = out.feed(thought("why", None, snapshot=True, parent_tool_use_id="t-0"))[1:]
    assert isinstance(snapshot, e.MessagesSnapshot)
    [message] = snapshot.messages
    assert (message["content"], message["subagentRunId"]) == ("why", "t-0")
    assert [type(each) for each in rest] == [e.ReasoningStart, e.ReasoningMessageStart]
    plain = AguiWriter(RUN, None)
    plain.feed(state())
    assert "subagentRunId" not in plain.feed(thought("why", None, snapshot=True))[0].messages[0]  # type: ignore[union-attr]
    known = AguiWriter(RUN, None)
    known.feed(replayed(thought("before", 1)))
    known.feed(state())
    assert known.feed(thought("why", None, snapshot=True)) == [], "it is finished already"


def test_the_history_has_pictures_and_files() -> None:
    content: list[Content] = [
        TextContent("see"),
        ImageContent("image/png", data="AAAA"),
        ImageContent("image/png", url="https://a.example/b.png"),
        ImageContent("image/png", blob=Blob("b-1")),
        FileContent("a.csv", "text/csv"),
        FileContent("a.csv", None, blob=Blob("b-2")),
        OtherContent("odd", {}),
    ]
    frames = [said(content, 3, None), said([TextContent("x")], 4, "n", origin="agent")]
    [message] = messages_of(frames, Status("active", False, [], []), "/blobs/{}".format)
    assert message["id"] == "message-3"
    assert message["content"] == [
        {"type": "text", "text": "see"},
        _part("image", "data", "image/png", "AAAA"),
        _part("image", "url", "image/png", "https://a.example/b.png"),
        _part("image", "url", "image/png", "/blobs/b-1"),
        _part("document", "url", "text/csv", "a.csv"),
        _part("document", "url", "application/octet-stream", "/blobs/b-2"),
        {"type": "text", "text": "[odd]"},
    ]


def _part(kind: str, source: str, media_type: str, value: str) -> Any:
    return {"type": kind, "source": {"type": source, "mimeType": media_type, "value": value}}


def test_messages_of_other_people_are_shown_once() -> None:
    out = writer(said=["mine"])
    assert wrote(said([TextContent("hello")], 1, "mine"), on=out) == []
    other = said([TextContent("hello"), ImageContent("image/png", url="x")], 2, "other")
    assert wrote(other, other, on=out) == [
        e.TextStart("other", "user"),
        e.TextContent("other", "hello"),
        e.TextEnd("other"),
    ]
    picture = said([ImageContent("image/png", url="x")], 3, "third")
    assert wrote(picture, on=out) == [e.TextStart("third", "user"), e.TextEnd("third")]
    inner = said([TextContent("go")], 4, "fourth", parent_tool_use_id="t-1")
    assert wrote(inner, on=out) == []


# --- blocks ---------------------------------------------------------------------------------------


def test_texts_and_reasoning_grow() -> None:
    assert wrote(piece("a"), piece("b", 2), text("abc", 1), text("abc", 1)) == [
        e.TextStart("m:0", "assistant"),
        e.TextContent("m:0", "a"),
        e.TextContent("m:0", "b"),
        e.TextContent("m:0", "c"),
        e.TextEnd("m:0"),
    ]
    assert wrote(piece("")) == [e.TextStart("m:0", "assistant")]
    assert wrote(text("", 1)) == [e.TextStart("m:0", "assistant"), e.TextEnd("m:0")]
    begin = [e.ReasoningStart("m:1"), e.ReasoningMessageStart("m:1")]
    end = [e.ReasoningMessageEnd("m:1"), e.ReasoningEnd("m:1")]
    more = e.ReasoningContent("m:1", "w")
    assert wrote(thought("w", None), thought("w", 1), thought("w", 1)) == [*begin, more, *end]
    secret = e.ReasoningEncryptedValue("message", "m:1", "xyz")
    assert wrote(thought("", 1, redacted="xyz")) == [*begin, *end, secret]


def test_a_finished_text_that_differs_is_another_message() -> None:
    assert wrote(piece("a"), text("x", 1))[2:] == [
        e.TextEnd("m:0", GONE),
        e.TextStart("m:0:again", "assistant"),
        e.TextContent("m:0:again", "x"),
        e.TextEnd("m:0:again"),
    ]
    assert wrote(thought("a", None), thought("x", 1))[3:5] == [
        e.ReasoningMessageEnd("m:1", GONE),
        e.ReasoningEnd("m:1"),
    ]


def test_a_text_has_more_than_its_words() -> None:
    more: dict[str, Any] = {
        "aborted": True,
        "blob": Blob("b"),
        "citations": [{"url": "https://a.example"}],
    }
    ours = {"aborted": True, "blob": {"blob_id": "b"}, "citations": [{"url": "https://a.example"}]}
    assert wrote(text("x", 1, **more))[-1] == e.TextEnd("m:0", {"turnwire": ours})


def test_discarded_blocks_are_marked() -> None:
    void = frame(f.AssistantDiscarded, p.Discarded(["m:0", "unknown"]))
    assert wrote(piece("a"), void, piece("b"))[2:] == [
        e.TextEnd("m:0", GONE),
        e.TextStart("m:0", "assistant"),
        e.TextContent("m:0", "b"),
    ]


def test_a_tool_call_grows_and_has_a_result() -> None:
    grown = wrote(call(None, input_text='{"a": 1}'), call(1, input={"a": 1}), call(None), call(1))
    assert grown == [
        e.ToolCallStart("t-1", "Read"),
        e.ToolCallArgs("t-1", '{"a": 1}'),
        e.ToolCallEnd("t-1"),
    ]
    other = wrote(call(None, input_text='{"a'), call(1, input={"a": 1}))
    assert other[-1] == e.ToolCallEnd("t-1", {"turnwire": {"arguments": '{"a":1}'}})
    whole = wrote(call(None), call(1, input={"a": 1}))
    assert whole == [
        e.ToolCallStart("t-1", "Read"),
        e.ToolCallArgs("t-1", '{"a":1}'),
        e.ToolCallEnd("t-1"),
    ], "not all agents stream the input"
    wrong = wrote(call(None, input_text="{"), call(1, input_text="{", aborted=True))
    assert wrong[-1] == e.ToolCallEnd("t-1", {"turnwire": {"aborted": True}})
    assert wrote(result(2, [{"type": "text", "text": "x"}])) == [
        e.ToolCallResult("t-1:result", "t-1", "x", "tool")
    ]
    failed = wrote(result(2, {"a": 1}, is_error=True, blob=Blob("b")))
    ours = {"turnwire": {"isError": True, "blob": {"blob_id": "b"}}}
    assert failed == [e.ToolCallResult("t-1:result", "t-1", '{"a":1}', "tool", None, ours)]


def test_other_blocks_and_plans_are_activities() -> None:
    block = p.OtherBlock("m:2", "m", 2, False, {"type": "odd"}, message_sequence=1, blob=Blob("b"))
    growing = p.OtherBlock("m:2", "m", 2, True, {"type": "odd"})
    content = {"block": {"type": "odd"}, "blob": {"blob_id": "b"}}
    shown = wrote(frame(f.AssistantBlock, growing), frame(f.AssistantBlock, block))
    assert shown == [e.ActivitySnapshot("m:2", "turnwire.block", content)]
    small = p.OtherBlock("m:3", "m", 3, False, "odd", message_sequence=2)
    assert wrote(frame(f.AssistantBlock, small)) == [
        e.ActivitySnapshot("m:3", "turnwire.block", {"block": "odd"})
    ]
    plan = frame(f.SessionSystemEvent, p.SystemNews("plan", 4, data=[{"text": "a"}]))
    passing = frame(f.SessionSystemEvent, p.SystemNews("plan", data=[]))
    other = frame(f.SessionSystemEvent, p.SystemNews("status", text="x"))
    assert wrote(plan, passing, other) == [
        e.ActivitySnapshot("plan-7", "turnwire.plan", {"plan": [{"text": "a"}]}),
        e.Custom("turnwire.system", {"subtype": "status", "text": "x"}),
    ]


def test_requests_show_their_calls_and_their_end() -> None:
    asked = p.PermissionAsked("r-1", "t-1", "Read", {"a": 1}, 2)
    shown = [
        e.ToolCallStart("t-1", "Read"),
        e.ToolCallArgs("t-1", '{"a":1}'),
        e.ToolCallEnd("t-1"),
    ]
    wants = frame(f.AssistantPermissionRequest, asked)
    assert wrote(wants, wants, call(3, input={"a": 1})) == shown
    question = p.RequestInput(
        "q-1", "Which?", [], True, None, None, None, [], "q-1", "m", 0, 2, "ask", None, {"q": 1}
    )
    asks = frame(f.AssistantRequestInput, question)
    assert wrote(asks, asks) == [
        e.ToolCallStart("q-1", "ask"),
        e.ToolCallArgs("q-1", '{"q":1}'),
        e.ToolCallEnd("q-1"),
    ]
    over = frame(f.AssistantRequestResolved, p.RequestResolved("r-1", "answered", 3))
    [told] = wrote(over)
    assert isinstance(told, e.Custom)
    assert told.name == "turnwire.request_resolved"
    receipt = frame(f.ConversationInterrupted, p.Interrupted("user", 4))
    progress = frame(f.AssistantToolProgress, p.ToolProgressed("t-1", "x"))
    names = [each.name for each in wrote(receipt, progress) if isinstance(each, e.Custom)]
    assert names == ["turnwire.interrupted", "turnwire.tool_progress"]


# --- sub-agents -----------------------------------------------------------------------------------


def test_a_sub_agent_begins_with_its_first_block_and_ends_with_its_result() -> None:
    events = wrote(
        call(1, input={}),
        call(2, "t-2", input={}, parent_tool_use_id="t-1"),
        text("a", 3, parent_tool_use_id="t-2"),
        result(4, "done", name="t-2", parent_tool_use_id="t-1"),
        result(5, "No.", is_error=True),
        text("late", 6, block="m:6", parent_tool_use_id="t-1"),
    )
    lives = e.SubagentStarted | e.SubagentFinished | e.SubagentError
    assert [each for each in events if isinstance(each, lives)] == [
        e.SubagentStarted("t-1", "Read", None, "t-1"),
        e.SubagentStarted("t-2", "Read", "t-1", "t-2"),
        e.SubagentFinished("t-2", e.SubagentOutcome("success")),
        e.SubagentError("t-1", "No."),
    ]
    tagged = [each for each in events if isinstance(each, e.TextStart)]
    assert [each.subagent_run_id for each in tagged] == ["t-2", "t-1"]


def test_a_sub_agent_that_waits_is_suspended_and_one_of_a_stopped_turn_has_ended() -> None:
    inner = text("a", 3, parent_tool_use_id="t-9", agent_id="helper")
    deep = call(1, "t-8", input={}, parent_tool_use_id="t-9")
    begun = [e.SubagentStarted("t-9", "helper", None, "t-9")]
    asked = permission(parent_tool_use_id="t-9")
    waits = wrote(inner, state(asked))
    assert waits[:1] == begun
    assert waits[-2] == e.SubagentFinished("t-9", e.SubagentOutcome("suspended", ["r-1"]))
    named = wrote(deep, text("b", 4, block="m:4", parent_tool_use_id="t-8"))
    assert isinstance(named[0], e.SubagentStarted)
    assert named[0].name == "subagent"
    stopped = wrote(inner, state(), complete(interrupted=True), state(turn=None))
    assert stopped[-2] == e.SubagentError("t-9", "The turn has ended.")
    out = writer(StreamPlace(3))
    assert wrote(inner, on=out) == [], "the reader has it"
    again = wrote(text("c", 4, block="m:4", parent_tool_use_id="t-9"), on=out)
    assert isinstance(again[0], e.SubagentStarted), "it continues in this run"


def test_the_builder_takes_what_the_writer_makes() -> None:
    builder = MessagesBuilder()
    for event in wrote(said([TextContent("hello")], 1), call(2, input={}), result(3, "x")):
        builder.add(event)
    assert [each["role"] for each in builder.messages] == ["user", "assistant", "tool"]
