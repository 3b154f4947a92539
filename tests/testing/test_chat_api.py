"""The scripted model as the Chat Completions API of OpenAI."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

import pytest

from turnwire.testing.model_api import (
    Fail,
    Hold,
    ModelApi,
    Raw,
    RedactedThinking,
    Say,
    Text,
    Thinking,
    ToolUse,
)

MESSAGES = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}]


def post(url: str, **body: Any) -> bytes:
    asked = {"model": "m", "messages": MESSAGES, "tools": [{"x": 1}], "stream": True, **body}
    head = {"content-type": "application/json"}
    data = json.dumps(asked).encode()
    with urlopen(HttpRequest(f"{url}/v1/chat/completions", data=data, headers=head)) as answer:
        return bytes(answer.read())


async def heard(api: ModelApi, **body: Any) -> list[dict[str, Any]]:
    """The chunks of a stream, which ends with [DONE]."""
    lines = (await asyncio.to_thread(post, api.url, **body)).decode().splitlines()
    data = [line[6:] for line in lines if line.startswith("data: ")]
    assert data.pop() == "[DONE]"
    return [json.loads(each) for each in data]


def deltas(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [chunk["choices"][0]["delta"] for chunk in chunks if chunk.get("choices")]


async def test_text_and_reasoning_stream_in_pieces() -> None:
    reply = Say([Thinking("Hm."), RedactedThinking(), Text("Hello.", cuts=2)])
    async with ModelApi(reply) as api:
        chunks = await heard(api)
        assert deltas(chunks) == [
            {"role": "assistant", "content": ""},
            {"reasoning_content": "Hm."},
            {"content": "Hel"},
            {"content": "lo."},
            {},
        ]
        assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
        assert chunks[-1]["usage"]["total_tokens"] == 120
        assert api.requests[0].prompt == "hi"


async def test_calls_of_tools_stream_their_arguments() -> None:
    calls = [ToolUse("add", {"a": 1}, id="c1", cuts=2), ToolUse("add", json="{oops", id="c2")]
    async with ModelApi(Say([*calls])) as api:
        pieces = [
            each["tool_calls"][0] for each in deltas(await heard(api)) if "tool_calls" in each
        ]
        said = {0: "", 1: ""}
        for piece in pieces:
            said[piece["index"]] += piece["function"]["arguments"]
        assert said == {0: '{"a": 1}', 1: "{oops"}
        assert [piece["id"] for piece in pieces if "id" in piece] == ["c1", "c2"]


async def test_a_client_without_a_stream_gets_the_whole_message() -> None:
    reply = Say(["Hi", Thinking("Hm."), ToolUse("add", {}, id="c1")])
    async with ModelApi(reply, "plain") as api:
        whole = json.loads(await asyncio.to_thread(post, api.url, stream=False))
        choice = whole["choices"][0]
        assert (choice["message"]["content"], choice["finish_reason"]) == ("Hi", "tool_calls")
        assert choice["message"]["reasoning_content"] == "Hm."
        assert choice["message"]["tool_calls"][0]["id"] == "c1"
        plain = json.loads(await asyncio.to_thread(post, api.url, stream=False))
        assert "tool_calls" not in plain["choices"][0]["message"]


async def test_results_of_tools_are_found_by_their_call() -> None:
    result = {"role": "tool", "tool_call_id": "c1", "content": "3"}
    async with ModelApi("ok") as api:
        await heard(api, messages=[*MESSAGES, result])
        assert api.requests[0].tool_results == {"c1": result}


async def test_errors_have_the_form_of_the_api() -> None:
    async with ModelApi(Fail(401, "no key"), Say(["Hello"], error_after=1)) as api:
        with pytest.raises(HTTPError) as refused:
            await asyncio.to_thread(post, api.url)
        assert json.loads(refused.value.read())["error"]["code"] == "invalid_api_key"
        assert (await heard(api))[-1]["error"]["message"] == "scripted"


async def test_a_stream_waits_at_a_hold_and_sends_raw_events() -> None:
    async with ModelApi(Say([Text("ab", cuts=2, hold="b"), Hold("c"), Raw("", {"odd": 1})])) as api:
        answer = asyncio.create_task(heard(api))
        await api.until(lambda each: each.holding == ["b"])
        api.release("b")
        await api.until(lambda each: each.holding == ["b", "c"])
        api.release("c")
        assert {"odd": 1} in await answer
