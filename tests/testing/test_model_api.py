"""The scripted Messages API over HTTP."""

from __future__ import annotations

import asyncio
import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwire.testing.model_api import (
    Fail,
    Hold,
    ModelApi,
    Raw,
    RedactedThinking,
    Request,
    Say,
    Text,
    Thinking,
    ToolUse,
    claude_environment,
)
from turnwire.testing.model_api.script import Block, pieces

TOOLS = [{"name": "Bash", "input_schema": {"type": "object"}}]


def body(prompt: str = "hi", **more: Any) -> bytes:
    messages = [{"role": "user", "content": prompt}]
    return json.dumps({"model": "m", "messages": messages, "tools": TOOLS, **more}).encode()


def post(url: str, data: bytes, path: str = "/v1/messages", **headers: str) -> bytes:
    asked = HttpRequest(url + path, data=data, headers=headers, method="POST")
    with urlopen(asked, timeout=180) as answer:
        whole: bytes = answer.read()
        return whole


def events(stream: bytes) -> Iterator[dict[str, Any]]:
    for part in stream.decode().split("\n\n"):
        if part:
            name, data = part.split("\n")
            event = json.loads(data.removeprefix("data: "))
            assert name == f"event: {event['type']}"
            yield event


async def said(api: ModelApi, prompt: str = "hi", **more: Any) -> list[dict[str, Any]]:
    """The events that answer a prompt."""
    stream = await asyncio.to_thread(post, api.url, body(prompt, stream=True, **more))
    return list(events(stream))


def deltas(heard: list[dict[str, Any]], field: str) -> list[str]:
    return [e["delta"][field] for e in heard if e["type"] == "content_block_delta"]


async def api_connection(api: ModelApi) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = api.url.removeprefix("http://").split(":")
    return await asyncio.open_connection(host, int(port))


async def refusal(api: ModelApi) -> tuple[int, dict[str, Any], str | None]:
    with pytest.raises(HTTPError) as refused:
        await asyncio.to_thread(post, api.url, body())
    with refused.value as answer:
        error: dict[str, Any] = json.loads(answer.read())["error"]
        return answer.code, error, answer.headers["retry-after"]


async def test_a_string_is_a_message_with_a_text() -> None:
    async with ModelApi("Hello.") as api:
        heard = await said(api)
    assert [event["type"] for event in heard] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert deltas(heard, "text") == ["Hello."]
    assert heard[-2]["delta"]["stop_reason"] == "end_turn"


async def test_a_server_that_is_started_again_gives_other_ids() -> None:
    ids: list[str] = []
    for _ in range(2):
        async with ModelApi(Say([ToolUse("Bash")])) as api:
            heard = await said(api)
        ids.append(heard[0]["message"]["id"])
        ids += [e["content_block"]["id"] for e in heard if e["type"] == "content_block_start"]
    assert len(set(ids)) == 4


async def test_blocks_of_every_kind_and_a_tool_call_cut_anywhere() -> None:
    call = ToolUse("Bash", {"command": "echo é"}, id="call", cuts=[1, 14, 15])
    reply = Say([Thinking("Let me see.", cuts=2), RedactedThinking(), call, "So."], ping=True)
    async with ModelApi(reply) as api:
        heard = await said(api)
    assert heard[1] == {"type": "ping"}
    starts = [e["content_block"]["type"] for e in heard if e["type"] == "content_block_start"]
    assert starts == ["thinking", "redacted_thinking", "tool_use", "text"]
    parts = [e for e in heard if e.get("index") == 2 and e["type"] == "content_block_delta"]
    texts = [part["delta"]["partial_json"] for part in parts]
    assert len(texts) == 4
    assert json.loads("".join(texts)) == {"command": "echo é"}
    assert heard[-2]["delta"]["stop_reason"] == "tool_use"


async def test_without_a_stream_the_message_comes_whole() -> None:
    blocks: list[Block | str] = [
        "Text.",
        Text("More."),
        Thinking("Hm."),
        RedactedThinking(),
        ToolUse("Bash"),
        Hold(),
    ]
    async with ModelApi(Say(blocks)) as api:
        api.release()
        message = json.loads(await asyncio.to_thread(post, api.url, body()))
    kinds = [block["type"] for block in message["content"]]
    assert kinds == ["text", "text", "thinking", "redacted_thinking", "tool_use"]
    assert (message["stop_reason"], message["model"]) == ("tool_use", "m")


async def test_replies_come_in_order_and_a_finished_script_is_an_error() -> None:
    async with ModelApi("One.") as api:
        api.say_next("Two.", lambda request: f"You said {request.prompt}.")
        assert deltas(await said(api), "text") == ["One."]
        assert deltas(await said(api), "text") == ["Two."]
        assert deltas(await said(api, "three"), "text") == ["You said three."]
        status, error, _ = await refusal(api)
    assert status == 400
    assert error["message"] == "The script has no reply to request 4 of the main conversation."


async def test_sub_agents_have_lanes_and_requests_without_tools_do_not_count() -> None:
    async with ModelApi("Main.", lanes={"helper": ["Helped."]}, aside="A title") as api:
        assert deltas(await said(api, "you are a helper"), "text") == ["Helped."]
        assert deltas(await said(api, tools=[]), "text") == ["A title"]
        assert deltas(await said(api), "text") == ["Main."]
        assert [request.lane for request in api.requests] == ["helper", "aside", ""]
    async with ModelApi("Main.", aside=None) as api:
        assert deltas(await said(api, tools=[]), "text") == ["Main."]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
    ],
)
async def test_an_error_is_chosen_by_its_status(status: int, kind: str) -> None:
    async with ModelApi(Fail(status, "no", headers={"retry-after": "3"})) as api:
        assert await refusal(api) == (status, {"type": kind, "message": "no"}, "3")


async def test_a_stream_that_ends_with_an_error() -> None:
    async with ModelApi(Say(["Half a"], error_after=3)) as api:
        heard = await said(api)
    assert [event["type"] for event in heard][2:] == ["content_block_delta", "error"]
    assert heard[-1]["error"]["type"] == "overloaded_error"


async def test_a_connection_that_breaks_off() -> None:
    async with ModelApi(Say(["Half a"], cut_after=3)) as api:
        with pytest.raises((OSError, HTTPException)):
            await said(api)


@pytest.mark.parametrize("number", range(10))
async def test_holds_are_no_events_and_an_error_may_come_after_any_of_them(number: int) -> None:
    reply = Say(["ab", Hold("h"), "cd"], error_after=number, error="api_error")
    async with ModelApi(reply) as api:
        api.release("h")
        heard = await said(api)
    assert len(heard) == number + 1
    assert heard[-1]["type"] == "error"
    assert all(event["type"] != "error" for event in heard[:-1])


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("number", [0, 4, 6])
async def test_a_connection_breaks_off_also_after_the_last_event_and_without_a_stream(
    number: int, *, streams: bool
) -> None:
    async with ModelApi(Say([Hold("h"), "Half a"], cut_after=number)) as api:
        api.release("h")
        with pytest.raises((OSError, HTTPException)):
            await asyncio.to_thread(post, api.url, body(stream=streams))
        assert [each.whole for each in api.said.values()] == [False]


async def test_an_error_in_a_stream_has_a_message() -> None:
    async with ModelApi(Say(["a"], error_after=1, error_message="Too much to do.")) as api:
        assert (await said(api))[-1]["error"]["message"] == "Too much to do."


async def test_a_tool_call_may_have_invalid_json_and_a_stream_unknown_events() -> None:
    strange: list[Block | str] = [
        Raw("hologram", {"type": "hologram", "depth": 3}),
        ToolUse("Bash", json='{"command": "ls', cuts=2),
        Raw("ping", "no JSON"),
    ]
    async with ModelApi(Say(strange), Say(strange)) as api:
        stream = await asyncio.to_thread(post, api.url, body(stream=True))
        message = json.loads(await asyncio.to_thread(post, api.url, body()))
    parts = stream.decode().split("\n\n")
    assert 'event: hologram\ndata: {"type":"hologram","depth":3}' in parts
    assert "event: ping\ndata: no JSON" in parts
    known = list(events("\n\n".join(p for p in parts if "no JSON" not in p).encode()))
    assert "".join(deltas(known, "partial_json")) == '{"command": "ls'
    assert [block["type"] for block in message["content"]] == ["tool_use"], "of a whole message"


async def test_a_connection_that_is_to_be_closed_is_closed() -> None:
    async with ModelApi("Hello.") as api:
        reader, writer = await api_connection(api)
        head = b"POST /v1/messages HTTP/1.1\r\nConnection: close\r\ncontent-length: %d\r\n\r\n"
        writer.write(head % len(body()) + body())
        async with asyncio.timeout(180):
            assert b"Hello." in await reader.read(), "which waits for the end of the connection"
        writer.close()


async def test_without_a_stream_an_error_is_a_status_and_text_takes_as_long() -> None:
    loop = asyncio.get_running_loop()
    slow = Say([Text("Slow.", cuts=5, delay=0.01)], delay=0.01)
    async with ModelApi(Say(["Half a"], error_after=3), slow) as api:
        status, error, _ = await refusal(api)
        assert (status, error["type"]) == (529, "overloaded_error")
        begun = loop.time()
        await asyncio.to_thread(post, api.url, body())
    assert loop.time() - begun >= 0.06


async def test_a_stream_waits_until_it_is_released() -> None:
    async with ModelApi(Say(["One", Hold("gate"), "two"])) as api:
        asking = asyncio.create_task(said(api))
        await api.until(lambda api: api.holding == ["gate"])
        assert not asking.done()
        api.release("gate")
        assert deltas(await asking, "text") == ["One", "two"]


async def test_a_client_that_leaves_during_a_hold_is_forgotten() -> None:
    async with ModelApi(Say(["One", Hold()]), "Next.") as api:
        _, writer = await api_connection(api)
        data = body(stream=True)
        writer.write(b"POST /v1/messages HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(data) + data)
        await api.until(lambda api: api.holding)
        writer.close()
        assert deltas(await said(api), "text") == ["Next."]


async def test_a_slow_model_takes_its_time() -> None:
    loop = asyncio.get_running_loop()
    async with ModelApi(Say([Text("Slow.", cuts=5, delay=0.01)], delay=0.01)) as api:
        begun = loop.time()
        assert "".join(deltas(await said(api), "text")) == "Slow."
    assert loop.time() - begun >= 0.06


async def test_requests_are_remembered_with_the_results_of_tools(tmp_path: Path) -> None:
    result = {"type": "tool_result", "tool_use_id": "call", "content": "done"}
    later = [{"role": "user", "content": "hi"}, {"role": "user", "content": [result]}]
    async with ModelApi("Good.", log=tmp_path / "log.jsonl") as api:
        await said(api, messages=later)
        assert api.requests[0].tool_results == {"call": result}
    [line] = (tmp_path / "log.jsonl").read_text().splitlines()
    assert json.loads(line)["body"]["messages"] == later


def broken(request: Request) -> str:
    raise LookupError("no such page")


def nothing(request: Request) -> Any:
    return None


@pytest.mark.parametrize(
    ("reply", "why"),
    [(broken, "LookupError: no such page"), (nothing, "a Say, a Fail or a string, not None")],
)
async def test_a_function_without_a_reply_is_an_error(reply: Any, why: str) -> None:
    async with ModelApi(reply, "Next.") as api:
        status, error, _ = await refusal(api)
        assert (status, error["type"]) == (400, "invalid_request_error")
        assert why in error["message"]
        assert deltas(await said(api), "text") == ["Next."]


def test_an_invalid_reply_is_refused_at_once() -> None:
    wrong: Any = None
    with pytest.raises(TypeError, match="a Say, a Fail or a string, not None"):
        ModelApi("One.", wrong)


@pytest.mark.parametrize(
    "sent",
    [
        b"POST /v1/messages HTTP/1.1\r\ncontent-length: 5\r\n\r\n{nope",
        b"POST /v1/messages HTTP/1.1\r\ncontent-length: 2\r\n\r\n[]",
        b'POST /v1/messages HTTP/1.1\r\ncontent-length: 16\r\n\r\n{"messages":[7]}',
        b"POST /v1/messages HTTP/1.1\r\ncontent-length: many\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\ncontent-length: 1\r\ncontent-encoding: gzip\r\n\r\nx",
        b"hello\r\n\r\n",
    ],
)
async def test_an_invalid_request_is_refused_with_a_message(sent: bytes) -> None:
    async with ModelApi("Next.") as api:
        reader, writer = await api_connection(api)
        writer.write(sent)
        head, _, error = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        assert head.startswith(b"HTTP/1.1 400 ")
        assert json.loads(error)["error"]["type"] == "invalid_request_error"
        assert deltas(await said(api), "text") == ["Next."]


async def test_the_other_addresses_of_the_api_are_answered() -> None:
    async with ModelApi("Zipped.") as api:
        counted = await asyncio.to_thread(post, api.url, body(), "/v1/messages/count_tokens")
        assert json.loads(counted)["input_tokens"] > 0
        head = HttpRequest(api.url, method="HEAD")
        with await asyncio.to_thread(urlopen, head) as answer:
            assert answer.status == 200
        with pytest.raises(HTTPError) as missing:
            await asyncio.to_thread(post, api.url, b"", "/elsewhere")
        missing.value.close()
        zipped = gzip.compress(body())
        answer = await asyncio.to_thread(
            lambda: post(api.url, zipped, **{"content-encoding": "gzip"})
        )
        assert json.loads(answer)["content"] == [{"type": "text", "text": "Zipped."}]


@given(st.text(), st.none() | st.integers(-2, 20) | st.lists(st.integers(-2, 20)))
def test_the_text_is_the_same_for_any_cuts(text: str, cuts: int | list[int] | None) -> None:
    cut = pieces(text, cuts)
    assert "".join(cut) == text
    assert len(cut) == 1 or all(cut)


def test_claude_gets_only_the_address_of_the_model(tmp_path: Path) -> None:
    env = claude_environment("http://127.0.0.1:1", tmp_path)
    assert env["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:1"
    assert env["HOME"] == str(tmp_path)


def test_a_script_in_a_file_is_served_until_it_is_stopped(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    say = {"type": "say", "blocks": [{"type": "text", "text": "From a file."}]}
    script.write_text(json.dumps({"replies": [say]}))
    command = [sys.executable, "-m", "turnwire.testing.model_api"]
    with subprocess.Popen([*command, str(script)], stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        url = serving.stdout.readline().strip().removeprefix("ANTHROPIC_BASE_URL=")
        assert json.loads(post(url, body()))["content"][0]["text"] == "From a file."
        serving.terminate()


@pytest.mark.parametrize(
    ("script", "port", "code", "why"),
    [
        ('{"replies": [{"type": "shout"}]}', "0", 1, "shout"),
        ('{"replys": ["Hello."]}', "0", 1, "replys"),
        ('{"replies": [{"type": "say", "blocks": [], "cut": 3}]}', "0", 1, "`cut`"),
        ('{"replies": []}', "99999", 2, "99999 is not a port"),
        ('{"replies": []}', "taken", 1, "The script cannot be served: "),
    ],
)
async def test_an_invalid_script_or_port_is_reported_in_a_line(
    tmp_path: Path, script: str, port: str, code: int, why: str
) -> None:
    path = tmp_path / "script.json"
    path.write_text(script)
    async with ModelApi() as other:
        port = other.url.rpartition(":")[2] if port == "taken" else port
        command = [sys.executable, "-m", "turnwire.testing.model_api", str(path), "--port", port]
        run = partial(subprocess.run, capture_output=True, text=True, check=False)
        wrong = await asyncio.to_thread(run, command)
    assert wrong.returncode == code
    assert why in wrong.stderr
    assert "Traceback" not in wrong.stderr
