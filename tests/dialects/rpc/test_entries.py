"""Entries of the log as RPC messages: other front ends show the same as a v2 client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.helpers.recorded_streams import RECORDED, events_of
from tests.helpers.recorded_views import PAUSES, sent, v2_view
from tests.helpers.shown_content import shown_in
from turnwire.core import blocks as b
from turnwire.core import happenings as h
from turnwire.core.blocks import ContentBlock
from turnwire.core.conversation.state import Conversation
from turnwire.core.entries import entry_of, event_entry
from turnwire.core.events import ResultSummary
from turnwire.core.message import (
    BlobRef,
    ImagePart,
    ImagePayload,
    Message,
    TextPart,
    TextPayload,
    ToolCallPart,
    ToolCallPayload,
    ToolResultPart,
    ToolResultPayload,
    UnknownPart,
    known_meta,
)
from turnwire.core.status import TurnEnd, TurnError
from turnwire.core.usage import Usage
from turnwire.dialects import rpc
from turnwire.dialects.rpc import messages as r
from turnwire.dialects.rpc.entries import end_of_turn, message_of
from turnwire.dialects.rpc.projector import RpcProjector
from turnwire.dialects.v2.projector import V2Projector
from turnwire.engine.actor.agent_events import AgentEvents
from turnwire.engine.fanout.channel import Channel

AT: Any = {"run_id": "conv-1:1", "timestamp": "2026-01-01T12:00:00.000Z"}


def told(entry: Message, number: int = 7) -> Any:
    return message_of(entry, known_meta(entry), number, "demo", "s-1")


def block_in(entry: Message) -> Any:
    message = told(entry)
    assert isinstance(message, r.RpcAssistantMessage)
    assert message.message.content is not None
    [block] = message.message.content
    return block


def said(block: ContentBlock, **known: Any) -> Message:
    return entry_of("assistant", [block], **AT, message_id="m", **known)


def with_part(part: Any, role: Any = "assistant", **meta: Any) -> Message:
    return Message(AT["run_id"], role, [part], AT["timestamp"], {"turnId": 1, **meta})


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_log_alone_shows_everything(path: Path) -> None:
    state = Conversation("conv-1")
    hearing = AgentEvents(Channel(state), lambda: "0" * 32, is_owners=True, modes=[])
    happened: list[h.Happening] = []
    for event in events_of(path.read_bytes().splitlines()):
        heard = hearing.take(state, [event], 1_700_000_000_000)
        state = heard.state
        happened += heard.happened
    kept = [each for each in happened if isinstance(each, h.EntryAdded | h.TurnEnded)]
    transcript = rpc.Transcript()
    for line in RpcProjector("claude", "s-1", "x").project(kept):
        if line.message is not None and line.kind == "whole":
            message = rpc.decode(rpc.encode(line.message))
            transcript.apply(message, line.number, line.turn_id)
    view, expected = transcript.view(), v2_view(sent(V2Projector("conv-1").frames(happened)))
    assert shown_in(view) == shown_in(expected)
    ends = [(t.turn_id, t.end.error, t.end.interrupted, t.end.usage) for t in view.turns]
    assert ends == [
        (t.turn_id, t.end.error, t.end.interrupted, t.end.usage) for t in expected.turns
    ]
    assert ends or path.stem == PAUSES


# --- messages -----------------------------------------------------------------------------------


def test_text_pictures_and_files_of_a_person_are_sent() -> None:
    content: list[ContentBlock] = [
        b.TextBlock("Look", "completed"),
        b.ImageBlock("completed", "image/png", "aGk="),
        b.ImageBlock("completed", url="https://example.com/a.png"),
        b.FileRefBlock("notes.txt", "completed", "text/plain", 3),
        b.UnknownBlock("hologram", {"type": "hologram"}),
    ]
    user = told(entry_of("user", content, **AT, origin="synthetic"))
    assert (user.isSynthetic, user.isReplay) == (True, None)
    assert user.message.content == [
        r.RpcTextBlock("Look"),
        r.RpcImageBlock(r.RpcImageSource("base64", "image/png", "aGk=")),
        r.RpcImageBlock(r.RpcImageSource("url", "image/*", None, "https://example.com/a.png")),
        b.FileRefBlock("notes.txt", "completed", "text/plain", 3),
        b.UnknownBlock("hologram", {"type": "hologram"}),
    ]
    again = told(entry_of("user", content[:1], **AT, origin="replay"))
    assert (again.isSynthetic, again.isReplay) == (None, True)


def test_a_picture_in_a_blob_has_an_address() -> None:
    picture = ImagePart(ImagePayload("image/png", blob=BlobRef("b-1", "image/png", 3)))
    [block] = told(with_part(picture, "user")).message.content
    assert block.source.url == "/api/blobs/b-1"


def test_finished_blocks_have_their_index_and_their_sub_agent() -> None:
    about = {"parent_tool_use_id": "t-0", "agent_id": "a", "model_id": "m-1", "aborted": True}
    message = told(said(b.TextBlock("Hi", "completed"), index=2, error="rate_limit", **about))
    body = r.RpcMessageContent([r.RpcTextBlock("Hi")], "m", "m-1", 2)
    assert message == r.RpcAssistantMessage(body, "demo", "t-0", "rate_limit", True, "a")
    block = block_in(said(b.ThinkingBlock("hm", "completed", "proof", "hidden"), index=0))
    assert block == r.RpcThinkingBlock("hm", "proof", "hidden")
    nameless = told(with_part(TextPart(TextPayload("Hi"))))
    assert (nameless.message.id, nameless.message.index) == ("entry-7", 0)


def test_a_block_that_no_part_says_is_the_same_block() -> None:
    todo = b.TodoListBlock([], "completed")
    assert block_in(said(todo, index=0)) == todo
    unknown = block_in(with_part(UnknownPart("hologram", {"n": 1})))
    assert unknown == b.UnknownBlock("hologram", {"n": 1})


def test_tool_calls_and_questions_wait_for_their_result() -> None:
    call = b.ToolUseBlock("t-1", "Bash", "UNKNOWN", {"command": "ls"}, "in_progress")
    assert block_in(said(call, index=1)) == r.RpcToolUseBlock(
        "t-1", "Bash", "UNKNOWN", {"command": "ls"}, "in_progress"
    )
    asks = b.ToolUseBlock("q-1", "AskUserQuestion", "ASK", {"questions": []}, "in_progress")
    question = told(said(asks, index=1, aborted=True))
    [block] = question.message.content
    assert block == r.RpcToolUseBlock(
        "q-1", "AskUserQuestion", "ASK", {"questions": []}, "in_progress"
    )
    assert question.aborted is False


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (ToolCallPayload("t-1", "Bash", {}, raw_args_text="{half"), "{half"),
        (ToolCallPayload("t-1", "Bash", {}, preview="{", blob=BlobRef("b", "x", 9)), "{"),
    ],
    ids=["no JSON", "too large"],
)
def test_arguments_without_a_json_object_are_sent_as_text(payload: Any, text: str) -> None:
    block = block_in(with_part(ToolCallPart(payload)))
    assert block == r.RpcToolUseBlock("t-1", "Bash", "UNKNOWN", None, "in_progress", text)


def test_a_result_goes_to_its_call() -> None:
    result = ToolResultPart(ToolResultPayload("t-1", True, [TextPart(TextPayload("no"))]))
    message = told(with_part(result, "tool", parentToolUseId="t-0", agentId="a"))
    assert (message.parent_tool_use_id, message.agent_id) == ("t-0", "a")
    [block] = message.message.content
    assert (block.tool_use_id, block.is_error) == ("t-1", True)
    assert json.loads(msgspec.json.encode(block.content)) == [{"type": "text", "text": "no"}]
    plain = ToolResultPart(ToolResultPayload("t-1", False, "yes"))
    [block] = told(with_part(plain, "tool")).message.content
    assert block.content == "yes"


# --- events -------------------------------------------------------------------------------------

ASKED = {
    "question_id": "q-1",
    "question": "Well?",
    "options": [],
    "required": True,
    "metadata": None,
    "inbox_item_id": None,
    "deadline_at": None,
    "questions": [],
    "block_id": "q-1",
    "message_id": "m",
    "index": 2,
    "tool_name": "request_input",
}


def test_a_question_is_a_call_unless_its_call_was_shown_before() -> None:
    asked = told(event_entry("input_request", "asks", **AT, data=ASKED))
    [block] = asked.message.content
    assert block == r.RpcToolUseBlock("q-1", "request_input", "UNKNOWN", None, "in_progress")
    assert (asked.message.id, asked.message.index) == ("m", 2)
    again = told(event_entry("input_request", "asks", **AT, data={**ASKED, "announced": True}))
    assert isinstance(again, r.RpcSystemMessage)
    assert again.subtype == "input_request"


@pytest.mark.parametrize(
    ("name", "given", "subtype", "data"),
    [
        ("system", {"subtype": "status", "data": {"a": 1}}, "status", {"a": 1}),
        ("system", {"subtype": "status"}, "status", None),
        ("system", {"subtype": "status", "more": 1}, "status", {"subtype": "status", "more": 1}),
        ("rewind", {"files": []}, "rewind", {"files": []}),
        (
            "interrupted",
            {"reason": "user"},
            "interrupted",
            {"reason": "user", "message_sequence": 7},
        ),
        ("interrupted", {"by": "ann"}, "interrupted", {"by": "ann"}),
        ("interrupted", "nothing", "interrupted", "nothing"),
    ],
    ids=["news", "bare", "ours", "rewind", "event", "half an event", "no event"],
)
def test_an_event_entry_is_a_system_message(name: Any, given: Any, subtype: str, data: Any) -> None:
    news = told(event_entry(name, "words", **AT, data=given))
    assert isinstance(news, r.RpcSystemMessage)
    assert (news.subtype, news.session_id, news.provider) == (subtype, "s-1", "demo")
    found = json.loads(rpc.encode(news)).get("data")
    assert found == data


def test_an_entry_without_a_name_is_a_system_message() -> None:
    assert told(Message(AT["run_id"], "system", [], AT["timestamp"], {})).subtype == "system"


# --- the end of a turn ------------------------------------------------------------------------------

WHO = ("claude", "s-2", None, None)
FIGURES = ResultSummary(*WHO, "success", False, 5, 4, 3, 0.5, 0.7, Usage(9), {}, result="Done.")


def result_of(*given: Any) -> r.RpcResultMessage:
    [result] = end_of_turn(*given)
    assert isinstance(result, r.RpcResultMessage)
    return result


def test_the_agents_figures_are_merged_with_the_stored_ones() -> None:
    end = TurnEnd(False, False, "end_turn", usage=Usage(1), duration_ms=7)
    result = result_of(end, "demo", "s-1", FIGURES)
    assert (result.provider, result.session_id, result.num_turns) == ("demo", "s-2", 3)
    assert (result.usage, result.duration_ms, result.duration_api_ms) == (Usage(1), 7, 4)
    assert (result.result, result.total_cost_usd) == ("Done.", 0.7)


def test_without_figures_the_stored_ones_are_sent() -> None:
    result = result_of(TurnEnd(False, False), "demo", "s-1")
    assert result == r.RpcResultMessage("success", 0, 0, False, 0, "s-1", "demo")
    end = TurnEnd(False, False, structured_output={"n": 3})
    assert result_of(end, "demo", "s-1").structured_output == {"n": 3}


def test_a_turn_that_failed_says_why_first() -> None:
    end = TurnEnd(True, False, error=TurnError("agent_lost", "It is gone."))
    error, result = end_of_turn(end, "demo", "s-1")
    assert isinstance(error, r.RpcErrorMessage)
    assert isinstance(result, r.RpcResultMessage)
    assert (error.code, error.message) == ("agent_lost", "It is gone.")
    assert (result.subtype, result.is_error) == ("error_during_execution", True)
    assert result.errors == ["It is gone."]


@pytest.mark.parametrize(
    ("reason", "expected"), [(None, "aborted"), ("aborted_streaming", "aborted_streaming")]
)
def test_a_stopped_turn_is_marked_as_interrupted(reason: str | None, expected: str) -> None:
    figures = msgspec.structs.replace(FIGURES, terminal_reason=reason, errors=["stopped"])
    result = result_of(TurnEnd(False, True), "demo", "s-1", figures)
    assert (result.terminal_reason, result.errors) == (expected, ["stopped"])
