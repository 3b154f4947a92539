"""The scripted model as the Responses API of OpenAI."""

from __future__ import annotations

import asyncio
import json
from functools import partial
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
    codex_environment,
)

INPUT = [
    {
        "type": "message",
        "role": "developer",
        "content": [{"type": "input_text", "text": "Be kind."}],
    },
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<context>"}]},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
]


def post(url: str, **body: Any) -> bytes:
    asked = {"model": "gpt-5.5", "input": INPUT, "tools": [{"name": "x"}], "stream": True, **body}
    head = {"content-type": "application/json"}
    data = json.dumps(asked).encode()
    with urlopen(HttpRequest(f"{url}/v1/responses", data=data, headers=head)) as answer:
        return bytes(answer.read())


def has_held(api: ModelApi, number: int) -> bool:
    return len(api.holding) == number


async def heard(api: ModelApi, **body: Any) -> list[dict[str, Any]]:
    stream = (await asyncio.to_thread(post, api.url, **body)).decode()
    return [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: ")]


async def test_text_streams_in_pieces_and_is_complete_in_the_end() -> None:
    async with ModelApi(
        Say([Text("Hello.", cuts=2)], ping=True, usage={"output_tokens": 5})
    ) as api:
        events = await heard(api)
    assert [event["type"].removeprefix("response.") for event in events] == [
        *("created", "in_progress", "output_item.added", "content_part.added"),
        *("output_text.delta", "output_text.delta", "output_text.done", "content_part.done"),
        *("output_item.done", "completed"),
    ]
    assert [event["sequence_number"] for event in events] == list(range(10))
    done = events[-1]["response"]
    assert done["output"][0]["content"][0]["text"] == "Hello."
    assert done["usage"]["total_tokens"] == 105
    assert api.requests[0].prompt == "hi"


async def test_reasoning_calls_and_text_for_a_tool_are_items_of_their_own() -> None:
    blocks: list[Any] = [
        Thinking("I think.", cuts=2),
        Thinking("Raw.", raw=True),
        RedactedThinking("secret"),
        ToolUse("look", {"at": 1}, id="call_1", cuts=4),
        ToolUse("apply_patch", text="*** Begin"),
        Raw("response.custom", {"type": "response.custom"}),
        "Done.",
    ]
    async with ModelApi(Say(blocks)) as api:
        events = await heard(api)
    items = events[-1]["response"]["output"]
    assert [item["type"] for item in items] == [
        *("reasoning", "reasoning", "reasoning", "function_call", "custom_tool_call", "message")
    ]
    assert items[1]["content"][0]["text"] == "Raw."
    assert items[2]["encrypted_content"] == "secret"
    assert (items[3]["call_id"], json.loads(items[3]["arguments"])) == ("call_1", {"at": 1})
    assert items[4]["call_id"].startswith("call_scripted_")
    pieces = [e["delta"] for e in events if e["type"].endswith("function_call_arguments.delta")]
    assert "".join(pieces) == items[3]["arguments"]
    assert any(event["type"] == "response.custom" for event in events)


async def test_without_a_stream_the_response_comes_whole() -> None:
    async with ModelApi(Say(["Hi.", Raw("x", {}), Thinking("Hm.")])) as api:
        answer = json.loads(await asyncio.to_thread(post, api.url, stream=False))
    assert (answer["status"], len(answer["output"])) == ("completed", 2)


async def test_a_stream_may_wait_and_may_fail() -> None:
    async with ModelApi(Say([Text("Hello.", cuts=2, hold="here"), Hold("there")])) as api:
        task = asyncio.create_task(heard(api))
        for number, name in enumerate(("here", "there"), 1):
            await api.until(partial(has_held, number=number))
            api.release(name)
        assert (await task)[-1]["type"] == "response.completed"
        api.say_next(Say(["Hello."], error_after=3, error="server_is_overloaded"))
        failed = (await heard(api))[-1]
        assert failed["type"] == "response.failed"
        assert failed["response"]["error"]["code"] == "server_is_overloaded"


@pytest.mark.parametrize(("status", "kind"), [(401, "invalid_api_key"), (500, "server_error")])
async def test_an_error_has_the_form_of_openai(status: int, kind: str) -> None:
    async with ModelApi(Fail(status, "no")) as api:
        with pytest.raises(HTTPError) as refused:
            await asyncio.to_thread(post, api.url)
        error = json.loads(refused.value.read())["error"]
    assert (refused.value.code, error["code"], error["message"]) == (status, kind, "no")


async def test_results_of_tools_are_found_by_their_call() -> None:
    results = [
        {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "seen"},
    ]
    async with ModelApi("Thanks.", "Hi.") as api:
        await heard(api, input=[*INPUT, *results])
        await heard(api, input="just text")
    assert api.requests[0].tool_results["call_1"]["output"] == "seen"
    assert api.requests[0].prompt == "hi"
    assert api.requests[1].prompt == "just text"


def test_codex_gets_only_the_address_of_the_model(tmp_path: Any) -> None:
    environment = codex_environment("http://127.0.0.1:9", tmp_path)
    config = (tmp_path / ".codex" / "config.toml").read_text()
    assert 'base_url = "http://127.0.0.1:9/v1"' in config
    assert environment["CODEX_HOME"] == str(tmp_path / ".codex")
