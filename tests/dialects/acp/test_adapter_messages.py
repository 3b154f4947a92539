"""Messages of an ACP agent: the protocol has no end of a message, so the next thing ends it."""

from __future__ import annotations

import json

from tests.dialects.acp.helpers.stream import Stream, prompted
from turnwire.core import blocks
from turnwire.core import events as ev
from turnwire.dialects.acp import AcpStreamAdapter, decode

TEXT = {"type": "text", "text": "Hi"}


def blocks_of(stream: Stream) -> list[tuple[str, int, str]]:
    return [
        (event.message_id, event.index, str(block.__struct_config__.tag))
        for event in stream.all(ev.AssistantMessage)
        for block in event.content
    ]


def test_chunks_grow_one_block_until_the_turn_ends() -> None:
    stream = prompted()
    stream.text("Hel", messageId="m")
    stream.text("", messageId="m")
    assert [type(event) for event in stream.text("lo", messageId="m")] == [ev.ContentDelta]
    stream.ends()
    said = stream.only(ev.AssistantMessage)
    assert (said.message_id, said.content) == ("m", [blocks.TextBlock("Hello", "completed")])
    assert stream.only(ev.MessageCompleted).message_id == "m"


def test_an_empty_chunk_begins_nothing() -> None:
    stream = prompted()
    assert stream.text("", messageId="m") == []


def test_another_kind_ends_the_block_and_another_id_ends_the_message() -> None:
    stream = prompted()
    stream.thought("Hm", messageId="m")
    stream.text("Yes", messageId="m")
    stream.text("And", messageId="n")
    stream.ends()
    assert blocks_of(stream) == [("m", 0, "thinking"), ("m", 1, "text"), ("n", 0, "text")]


def test_text_after_a_tool_call_is_a_further_message_also_under_the_same_id() -> None:
    stream = prompted()
    stream.text("First", messageId="m")
    stream.tool("t", title="bash", status="in_progress")
    stream.text("Second", messageId="m")
    stream.text("Third")
    stream.ends()
    assert blocks_of(stream) == [
        ("m", 0, "text"),
        ("m", 1, "tool_use"),
        ("k-1", 0, "text"),
        ("k-2", 0, "text"),
    ]


def test_other_content_is_a_block_of_its_own() -> None:
    stream = prompted()
    stream.text("See:")
    for content in (
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "resource_link", "uri": "file:///a", "name": "a", "size": 3},
        {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
        {"type": "smell", "notes": 1},
    ):
        stream.update("agent_message_chunk", content=content)
    stream.ends()
    finished = [event.block for event in stream.all(ev.ContentCompleted)]
    assert finished[1:] == [
        blocks.ImageBlock("completed", "image/png", "aGk="),
        blocks.FileRefBlock("file:///a", "completed", None, 3),
        blocks.UnknownBlock("audio", {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}),
        blocks.UnknownBlock("smell", {"type": "smell", "notes": 1}),
    ]


def test_an_echo_of_the_prompt_is_not_said_again() -> None:
    stream = prompted()
    assert stream.update("user_message_chunk", content=TEXT) == []


def test_a_loaded_session_does_not_say_again_what_the_log_has() -> None:
    stream = Stream()
    opening = {"sessionId": "s", "cwd": "/w"}
    stream.host({"id": 1, "method": "session/load", "params": opening})
    stream.update("user_message_chunk", content=TEXT)
    assert stream.text("Old words") == []
    assert stream.tool("old", status="completed") == []
    stream.agent({"id": 1, "result": {"modes": {"currentModeId": "plan"}}})
    stream.prompt()
    stream.text("New words")
    stream.ends()
    assert stream.only(ev.SessionInit).permission_mode == "plan"
    assert stream.only(ev.SessionInit).cwd == "/w"
    assert len(blocks_of(stream)) == 1


def test_an_update_outside_of_a_turn_is_kept_as_unknown() -> None:
    stream = prompted()
    stream.ends()
    (late,) = stream.text("Too late")
    assert isinstance(late, ev.UnknownEvent)
    assert (late.original_type, late.reason) == ("session/update", "it came outside of a turn")
    (late,) = stream.tool("t", status="in_progress")
    assert isinstance(late, ev.UnknownEvent)


def test_without_the_lines_of_the_host_the_first_words_begin_a_turn() -> None:
    adapter = AcpStreamAdapter()
    params = {"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk", "content": TEXT}}
    update = json.dumps({"method": "session/update", "params": params}).encode()
    lines = [b'{"id":0,"result":{"protocolVersion":1}}', b'{"id":1,"result":{"sessionId":"s"}}']
    lines += [update, b'{"id":2,"result":{"stopReason":"end_turn"}}', b'{"id":3,"result":1}']
    events = adapter.feed_all(decode(raw) for raw in lines)
    assert [type(event) for event in events] == [
        *(ev.SessionInit, ev.TurnStarted, ev.MessageStarted, ev.ContentStarted, ev.ContentDelta),
        *(ev.AssistantMessage, ev.ContentCompleted, ev.MessageCompleted),
        *(ev.TurnCompleted, ev.ResultSummary),
    ]
    assert {event.session_id for event in events} == {"s"}
