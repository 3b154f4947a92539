"""Lines of the Agent Client Protocol: typed where they are known, kept where they are not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET, Raw

from tests.helpers.recorded_streams import FIXTURES
from turnwire.dialects.acp import decode, encode, messages, read, updates
from turnwire.dialects.acp.content import TextContent, UnknownContent
from turnwire.errors import BadLine

RECORDED = sorted((FIXTURES / "acp").glob("*.io.jsonl"))


def line(message: Any) -> bytes:
    return json.dumps(message).encode()


def update(**fields: Any) -> bytes:
    params = {"sessionId": "s", "update": fields}
    return line({"jsonrpc": "2.0", "method": "session/update", "params": params})


def test_every_message_of_the_recordings_is_typed_except_extensions_of_an_agent() -> None:
    assert len(RECORDED) == 25
    kinds = set()
    for path in RECORDED:
        for raw in path.read_bytes().splitlines():
            found = decode(line(json.loads(raw)["msg"]))
            kinds |= set(found.unknown)
    assert kinds == {"_auth/status_update"}


def test_a_chunk_is_read() -> None:
    raw = update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "Hé"})
    found = decode(raw, 7)
    assert found.message == messages.Update(
        messages.UpdateParams("s", updates.AgentMessageChunk(TextContent("Hé")))
    )
    assert (found.raw, found.number, found.unknown) == (raw, 7, ())


def test_bytes_that_are_not_ascii_are_kept() -> None:
    raw = '{"id":1,"result":{"stopReason":"é"}}'.encode()
    assert decode(raw).raw == raw


def test_an_unknown_update_is_kept_whole() -> None:
    found = decode(update(sessionUpdate="mood", value=1))
    assert isinstance(found.message, messages.Update)
    assert found.message.params.update == updates.UnknownUpdate(
        "mood", {"sessionUpdate": "mood", "value": 1}
    )
    assert found.unknown == ("update/mood",)


def test_unknown_content_is_kept_whole() -> None:
    content = {"type": "smell", "notes": ["rose"]}
    found = decode(update(sessionUpdate="agent_message_chunk", content=content))
    assert isinstance(found.message, messages.Update)
    assert found.message.params.update == updates.AgentMessageChunk(
        UnknownContent("smell", content)
    )


def test_a_field_of_the_wrong_type_gets_its_default() -> None:
    found = decode(update(sessionUpdate="usage_update", used=5, size="large"))
    assert isinstance(found.message, messages.Update)
    assert found.message.params.update == updates.UsageUpdate(5)
    assert found.unknown == ("usage_update.size",)


@pytest.mark.parametrize(
    ("message", "name", "wanted"),
    [
        ({"method": "_own/news", "params": 1}, "_own/news", UNSET),
        ({"method": "_own/question", "id": "q"}, "_own/question", "q"),
        ({"method": "_own/question", "id": True}, "_own/question", None),
        ({"method": "session/update", "params": {"sessionId": "s"}}, "session/update", UNSET),
        ({"method": 5}, "", UNSET),
        ({"id": 4}, "", 4),
        ({}, "", UNSET),
    ],
)
def test_an_unknown_message_is_kept_and_says_whether_it_wants_an_answer(
    message: dict[str, Any], name: str, wanted: Any
) -> None:
    found = decode(line(message)).message
    assert isinstance(found, messages.UnknownMessage)
    assert (found.original_type, found.data, found.id) == (name, message, wanted)
    assert json.loads(encode(found)) == message


def test_responses_are_read_also_if_they_are_nearly_right() -> None:
    assert decode(b'{"id":1,"result":null}').message == messages.Response(1, Raw(b"null"))
    failed = decode(b'{"id":"a","error":{"code":-1,"message":"no","data":[1]}}').message
    assert failed == messages.Response("a", UNSET, messages.RpcError(-1, "no", [1]))
    odd = decode(b'{"id":[],"error":"no"}')
    assert odd.message == messages.Response(None, UNSET, messages.RpcError(0, "no"))
    assert odd.unknown == ("response",)
    assert decode(b'{"id":[],"result":1}').message == messages.Response(None, Raw(b"1"))
    both = decode(b'{"id":{},"result":{"a":1},"error":{"code":"x"}}').message
    assert both == messages.Response(None, Raw(b'{"a":1}'), messages.RpcError())


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"{", "invalid_json"),
        (b"[1]", "not_an_object"),
        (b'{"method":"\xff"}', "invalid_utf8"),
        (b'{"a":' * 3000, "too_deep"),
    ],
)
def test_a_bad_line_says_why(raw: bytes, reason: str) -> None:
    with pytest.raises(BadLine) as bad:
        decode(raw, 3)
    assert (bad.value.reason, bad.value.line) == (reason, 3)


def test_half_a_character_is_replaced() -> None:
    raw = rb'{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":'
    raw += rb'"agent_message_chunk","content":{"type":"text","text":"\ud83d"}}}}'
    found = decode(raw)
    assert found.unknown == ("lone surrogate",)
    assert b"ufffd" in found.raw


def test_read_skips_empty_lines_and_goes_on_after_bad_ones() -> None:
    found = list(read([b'{"id":1,"result":{}}\n', b"\n", b"nonsense\n", b'{"id":2,"result":{}}']))
    assert [each.line if isinstance(each, BadLine) else each.number for each in found] == [1, 3, 4]


def test_a_message_of_the_host_is_json_rpc_and_can_be_read_again() -> None:
    prompt = messages.Prompt(3, messages.PromptParams("s", [TextContent("Hi")]))
    assert json.loads(encode(prompt)) == {
        "jsonrpc": "2.0",
        "method": "session/prompt",
        "id": 3,
        "params": {"sessionId": "s", "prompt": [{"type": "text", "text": "Hi"}]},
    }
    assert decode(encode(prompt)).message == prompt
