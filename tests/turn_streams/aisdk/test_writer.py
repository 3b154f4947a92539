"""The rules of a UI message stream, with literal frames."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.turn_streams.aisdk.helpers.streams import reader_of
from turnwire.core.content import (
    Blob,
    Content,
    FileContent,
    ImageContent,
    OtherContent,
    TextContent,
)
from turnwire.core.error_codes import Refused
from turnwire.core.status import (
    Capabilities,
    Limits,
    OpenRequest,
    QueueItem,
    Status,
    TurnEnd,
    TurnError,
)
from turnwire.dialects.aisdk import chunks as u
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.reply import ReplyReader
from turnwire.turn_streams.aisdk.history import history_of
from turnwire.turn_streams.aisdk.writer import UiWriter

AT = "2026-01-01T12:00:00.000Z"
OURS = {"turnId": 7, "conversation": "talk"}
START = [u.Start("turn-7", {"turnwire": OURS}), u.StartStep()]
ABOUT = p.SessionInfo("c", "me", "epoch 1", 1, 0, Capabilities("demo", []), Limits(1, 1, 1))
GONE = {"turnwire": {"discarded": True}}


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


def result(number: int, content: Any, *, name: str = "t-1", is_error: bool = False) -> Any:
    return frame(f.AssistantToolResult, p.ToolResult(name, is_error, content, number))


def state(
    *requests: OpenRequest, queue: list[QueueItem] | None = None, turn: int | None = 7
) -> Any:
    status = Status("streaming", True, queue or [], [*requests], turn_id=turn)
    return frame(f.SessionState, status, None)


def complete(**more: Any) -> Any:
    return frame(f.AssistantComplete, TurnEnd(**{"is_error": False, "interrupted": False, **more}))


def replayed(inner: Any) -> Any:
    number = getattr(inner.payload, "message_sequence", None)
    return frame(f.MessageReplay, f.Replay(number, inner))


def writer(**more: Any) -> UiWriter:
    return UiWriter(reader_of(7), **more)


def wrote(*frames: Any, on: UiWriter | None = None) -> list[u.Chunk]:
    """Returns the chunks of these frames, without the beginning of the message."""
    out = on or writer()
    chunks = [chunk for each in frames for chunk in out.feed(each)]
    return [each for each in chunks if not isinstance(each, u.Start | u.StartStep)]


def test_the_id_of_an_event_names_the_entry_and_its_log() -> None:
    out = writer()
    assert out.event_id(4) == "4"
    out.feed(frame(f.SessionResumed, ABOUT, None))
    assert out.event_id(4) == "4@epoch%201/talk"


def test_a_message_begins_with_the_turn_of_its_own_id() -> None:
    queued = UiWriter(ReplyReader("own", after=0))
    item = QueueItem("q", [TextContent("hello")], "own")
    assert queued.feed(state(queue=[item], turn=3)) == []
    assert queued.feed(frame(f.TurnStarted, p.TurnStart(3, "user"), 3)) == []
    assert queued.turn_id is None
    assert queued.feed(frame(f.TurnStarted, p.TurnStart(7, "user", "q", "own"))) == START
    assert queued.turn_id == 7
    assert writer().feed(state()) == START, "a state says as well that it runs"


def test_a_message_that_was_removed_from_the_queue_is_refused() -> None:
    queued = UiWriter(ReplyReader("own", after=0))
    queued.feed(state(queue=[QueueItem("q", [TextContent("hello")], "own")]))
    with pytest.raises(Refused) as error:
        queued.feed(state())
    assert queued.refuse(error.value) == [u.Error(error.value.message)]
    assert queued.is_over
    assert queued.feed(piece("late")) == []


def test_unknown_frames_give_no_chunks() -> None:
    unknown = f.UnknownFrame("new.kind", {"type": "new.kind"})
    assert writer().feed(unknown) == []
    assert writer().feed(frame(f.MessageReplay, f.Replay(1, unknown))) == []
    assert not writer().is_next_piece(unknown)


def test_a_text_grows_and_is_finished() -> None:
    out = [u.TextStart("m:0"), u.TextDelta("m:0", "a"), u.TextDelta("m:0", "b")]
    assert wrote(piece("a"), piece("b", 2)) == out
    assert wrote(piece("a"), text("abc", 1)) == [
        *out[:2],
        u.TextDelta("m:0", "bc"),
        u.TextEnd("m:0"),
    ]
    assert wrote(piece("a"), text("a", 1), text("a", 2), piece("late", 3)) == [
        *out[:2],
        u.TextEnd("m:0"),
    ]
    assert wrote(text("", 1)) == [u.TextStart("m:0"), u.TextEnd("m:0")]
    assert wrote(piece("")) == [u.TextStart("m:0")]


def test_a_finished_text_that_differs_is_another_part() -> None:
    whole = [u.TextStart("m:0"), u.TextDelta("m:0", "x"), u.TextEnd("m:0")]
    assert wrote(piece("a"), text("x", 1))[2:] == [u.TextEnd("m:0", GONE), *whole]


def test_a_snapshot_continues_what_was_sent() -> None:
    assert wrote(piece("ab", 2, snapshot=True)) == [u.TextStart("m:0"), u.TextDelta("m:0", "ab")]
    assert wrote(piece("a"), piece("ab", 2, snapshot=True))[2:] == [u.TextDelta("m:0", "b")]
    assert wrote(piece("a"), piece("a", 1, snapshot=True))[2:] == []


def test_a_shared_piece_is_noted_only_while_its_block_grows() -> None:
    out = writer()
    assert not out.is_next_piece(piece("a")), "the block has to begin first"
    out.feed(piece("a"))
    assert out.is_next_piece(piece("b", 2))
    assert not out.is_next_piece(piece("ab", 2, snapshot=True))
    assert not out.is_next_piece(text("abc", 1))
    assert not out.is_next_piece(state())
    assert wrote(text("abc", 1), on=out) == [u.TextDelta("m:0", "c"), u.TextEnd("m:0")]


def test_reasoning_and_what_a_block_has_besides_its_text() -> None:
    ours = {"parentToolCallId": "t-0", "aborted": True, "blob": {"blob_id": "b"}}
    about = {"turnwire": ours}
    more = {"parent_tool_use_id": "t-0", "aborted": True, "blob": Blob("b")}
    assert wrote(thought("why", 1, **more)) == [
        u.ReasoningStart("m:1", about),
        u.ReasoningDelta("m:1", "why"),
        u.ReasoningEnd("m:1", about),
    ]
    assert wrote(thought("w", None))[1:] == [u.ReasoningDelta("m:1", "w")]


def test_sources_follow_their_text() -> None:
    cited = [{"url": "https://a.example", "title": "A"}, {"document_title": "B"}, "odd"]
    assert wrote(text("x", 1, citations=cited))[3:] == [
        u.SourceUrl("m:0:0", "https://a.example", "A"),
        u.SourceDocument("m:0:1", "text/plain", "B"),
        u.SourceDocument("m:0:2", "text/plain", "Source"),
    ]


def test_a_tool_call_grows_and_has_a_result() -> None:
    assert wrote(call(None, input_text='{"a"'), call(1, input={"a": 1}), call(None)) == [
        u.ToolInputStart("t-1", "Read"),
        u.ToolInputDelta("t-1", '{"a"'),
        u.ToolInputAvailable("t-1", "Read", {"a": 1}),
    ]
    output = [{"type": "text", "text": "x"}]
    assert wrote(call(1, input={}), result(2, output))[1:] == [u.ToolOutputAvailable("t-1", "x")]
    assert wrote(call(1, input={}), result(2, "no", is_error=True))[1:] == [
        u.ToolOutputError("t-1", "no")
    ]
    assert wrote(call(1, input={}), result(2, {"a": 1}, is_error=True))[1:] == [
        u.ToolOutputError("t-1", '{"a":1}')
    ]
    assert wrote(result(2, "of another turn")) == []
    [wrong] = wrote(call(1, input_text="{"))
    assert wrong == u.ToolInputError("t-1", "Read", "{", "The input is not valid JSON.")


def test_a_call_of_a_sub_agent_names_the_call_that_started_it() -> None:
    about = {"turnwire": {"parentToolCallId": "t-0"}}
    [told] = wrote(call(1, input={}, parent_tool_use_id="t-0"))
    assert told == u.ToolInputAvailable("t-1", "Read", {}, about)
    asked = msgspec.structs.replace(PERMISSION, parent_tool_use_id="t-0")
    tool, _, data = wrote(frame(f.AssistantPermissionRequest, asked))
    assert tool == u.ToolInputAvailable("t-1", "Read", {"a": 1}, about)
    assert isinstance(data, u.DataChunk)
    assert data.data["parentToolCallId"] == "t-0"


def test_progress_is_a_preliminary_output() -> None:
    def more(output: str | None, name: str = "t-1") -> Any:
        return frame(f.AssistantToolProgress, p.ToolProgressed(name, output))

    shown = wrote(call(1, input={}), more("a"), more(None), more("b"), more("x", "unknown"))
    assert shown[1:] == [u.ToolProgress("t-1", "a"), u.ToolProgress("t-1", "ab")]


def test_discarded_blocks_are_marked() -> None:
    void = frame(f.AssistantDiscarded, p.Discarded(["m:0", "m:1", "t-1", "unknown"]))
    chunks = wrote(piece("a"), thought("w", None), call(None, input_text="{"), void)
    assert chunks[-3:] == [
        u.TextEnd("m:0", GONE),
        u.ReasoningEnd("m:1", GONE),
        u.ToolInputError("t-1", "Read", "{", "The call was discarded."),
    ]
    ended = wrote(piece("a"), complete())
    assert ended[2] == u.TextEnd("m:0", GONE), "the end of a turn ends what is left"


def test_images_are_files_and_other_blocks_are_data() -> None:
    def block(value: Any, *, partial: bool = False) -> Any:
        other = p.OtherBlock("m:3", "m", 3, partial, value, message_sequence=1)
        return frame(f.AssistantBlock, other)

    def image(**more: Any) -> Any:
        return block({"type": "image", "mime_type": "image/png", **more})

    assert wrote(image(url="https://a.example")) == [u.File("https://a.example", "image/png")]
    assert wrote(image(data="AAAA")) == [u.File("data:image/png;base64,AAAA", "image/png")]
    assert wrote(image(blob={"blob_id": "b"})) == [u.File("/api/blobs/b", "image/png")]
    mounted = writer(blob_url="/agents/api/blobs/{}".format)
    pictured = wrote(image(blob={"blob_id": "b"}), on=mounted)
    assert pictured == [u.File("/agents/api/blobs/b", "image/png")]
    empty = {"type": "image", "mime_type": "image/png"}
    assert wrote(image()) == [u.DataChunk("data-block", "m:3", empty)]
    assert wrote(block(["odd"])) == [u.DataChunk("data-block", "m:3", ["odd"])]
    assert wrote(block({"type": "x"}, partial=True)) == []


def test_a_plan_is_data_and_other_news_are_not_shown() -> None:
    def news(subtype: str, number: int | None) -> Any:
        return frame(f.SessionSystemEvent, p.SystemNews(subtype, number, data={"items": []}))

    assert wrote(news("plan", 1)) == [u.DataChunk("data-plan", "plan", {"items": []})]
    assert wrote(news("plan", None), news("init", 2)) == []


PERMISSION = p.PermissionAsked("r-1", "t-1", "Read", {"a": 1}, 2)
OPEN = OpenRequest("r-1", "permission", "t-1", "Read", turn_id=7)


def test_a_permission_waits_and_is_resolved() -> None:
    asked = frame(f.AssistantPermissionRequest, PERMISSION)
    out = writer()
    tool, approval, data, *end = wrote(asked, state(OPEN), on=out)
    assert tool == u.ToolInputAvailable("t-1", "Read", {"a": 1}), "it was not announced before"
    assert approval == u.ToolApprovalRequest("r-1", "t-1")
    assert isinstance(data, u.DataChunk)
    assert data.data["state"] == "open"
    waiting = {"turnwire": {"turnId": 7, "state": "waiting", "sequence": 2}}
    assert end == [u.FinishStep(), u.Finish("tool-calls", waiting)]
    assert out.is_over
    assert len(wrote(call(1, input={}), asked, on=writer(version=5))) == 2, "not for version 5"
    growing = wrote(piece("a"), asked, state(OPEN))
    assert growing[-1] == data, "a stream does not end while a block grows"
    resolved = p.RequestResolved("r-1", "answered", 3, "ann", decision="deny", reason="No.")
    [told] = wrote(replayed(asked), frame(f.AssistantRequestResolved, resolved), on=writer(after=2))
    assert isinstance(told, u.DataChunk)
    ended = {"state": "answered", "by": "ann", "decision": "deny", "reason": "No."}
    assert told.data == {**data.data, **ended}
    unknown = p.RequestResolved("r-2", "answered", 3)
    assert wrote(frame(f.AssistantRequestResolved, unknown)) == []


def test_a_question_has_its_answer() -> None:
    none: Any = None
    asked = p.RequestInput("q-1", "Why?", [], True, none, "i", none, [], "q-1", "m", 0, 1, "Ask")
    answered = p.RequestResolved("q-1", "answered", 2, answer="Because")
    first, second = wrote(
        frame(f.AssistantRequestInput, asked), frame(f.AssistantRequestResolved, answered)
    )
    assert isinstance(first, u.DataChunk)
    assert isinstance(second, u.DataChunk)
    assert (first.id, first.data["state"]) == ("q-1", "open")
    assert (second.data["state"], second.data["answer"]) == ("answered", "Because")


def test_a_question_has_what_the_agent_was_told() -> None:
    none: Any = None
    asked = p.RequestInput("q-1", "Why?", [], True, none, "i", none, [], "q-1", "m", 0, 1, "Ask")
    first, second = wrote(
        frame(f.AssistantRequestInput, asked), result(2, "No answer.", name="q-1", is_error=True)
    )
    assert isinstance(first, u.DataChunk)
    assert second == u.DataChunk(
        "data-question", "q-1", {**first.data, "result": "No answer.", "isError": True}
    )


def test_a_stream_that_continues_sends_only_what_is_new() -> None:
    out = writer(after=1)
    chunks = [
        chunk for each in (text("a", 1), text("b", 2, block="m:5")) for chunk in out.feed(each)
    ]
    assert chunks[0] == START[0]
    assert chunks[1] == u.TextStart("m:5"), "without another step"


def test_a_turn_ends_well_or_not() -> None:
    def metadata(state: str, **more: Any) -> Any:
        return {"turnwire": {"turnId": 7, "state": state, "sequence": 4, **more}}

    place = {"after_sequence": 4}
    assert wrote(complete(stop_reason="max_tokens", cost_usd=0.5, **place)) == [
        u.FinishStep(),
        u.Finish("length", metadata("ended", costUsd=0.5)),
    ]
    assert wrote(complete(interrupted=True, **place)) == [
        u.FinishStep(),
        u.MessageMetadata(metadata("interrupted")),
        u.Abort(),
    ]
    failed = TurnError("api_error", "Overloaded.")
    told = metadata("error", error={"code": "api_error", "message": "Overloaded."})
    assert wrote(complete(is_error=True, error=failed, **place)) == [
        u.FinishStep(),
        u.MessageMetadata(told),
        u.Error("Overloaded."),
    ]
    assert wrote(complete(is_error=True, **place))[-1] == u.Error("The turn has failed.")


# --- the history -------------------------------------------------------------------------------------


def test_the_history_has_what_people_said() -> None:
    content: list[Content] = [
        TextContent("hello"),
        ImageContent("image/png", data="AAAA"),
        ImageContent("image/png", url="https://a.example"),
        ImageContent("image/png", blob=Blob("b")),
        FileContent("notes.txt"),
        OtherContent("new", {"a": 1}),
    ]
    said = frame(f.UserMessage, p.UserWords(content, 1))
    helper = frame(f.UserMessage, p.UserWords([], 2, parent_tool_use_id="t-0"))
    unasked = frame(f.SessionSystemEvent, p.SystemNews("init", 3), None)
    idle = Status("active", False, [], [])
    [message] = history_of([said, helper, unasked], idle)
    assert message["id"] == "message-1"
    file = {"type": "file", "mediaType": "image/png"}
    assert message["parts"] == [
        {"type": "text", "text": "hello"},
        {**file, "url": "data:image/png;base64,AAAA"},
        {**file, "url": "https://a.example"},
        {**file, "url": "/api/blobs/b"},
        {
            "type": "file",
            "mediaType": "application/octet-stream",
            "url": "notes.txt",
            "filename": "notes.txt",
        },
        {"type": "data-content", "id": "new", "data": {"a": 1}},
    ]
    running = Status("streaming", True, [], [], turn_id=7)
    assert history_of([text("a", 1)], running) == [], "its stream has it"
    waiting = Status("waiting_input", True, [], [OPEN], turn_id=7)
    [asked] = history_of([frame(f.AssistantPermissionRequest, PERMISSION)], waiting)
    assert asked["metadata"]["turnwire"]["state"] == "waiting"
    assert msgspec.json.encode(asked)


@pytest.mark.parametrize(
    ("decision", "approval"), [("allow", {"id": "r-1", "approved": True}), ("deny", None)]
)
def test_the_history_has_the_approval_of_a_call_that_ran(decision: Any, approval: Any) -> None:
    asked = frame(f.AssistantPermissionRequest, PERMISSION)
    resolved = p.RequestResolved("r-1", "answered", 3, "ann", decision=decision)
    told = [asked, frame(f.AssistantRequestResolved, resolved), result(4, "done"), complete()]
    [message] = history_of(told, Status("active", False, [], []))
    [tool] = [part for part in message["parts"] if part["type"] == "dynamic-tool"]
    assert tool.get("approval") == approval, "the package rejects any other"
