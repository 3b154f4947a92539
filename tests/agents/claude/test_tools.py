"""Tools of the application without a program: the schema that Claude sees, and the results."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Literal

import msgspec
import pytest

from turnwire.agents.claude import HttpServer, SseServer, StdioServer, ToolServer
from turnwire.agents.claude.extensions.servers import read_servers
from turnwire.agents.claude.extensions.tool_host import ToolHost
from turnwire.agents.claude.extensions.tools import Tool, ToolCall, ToolFailed, read_tools, tool


class Article(msgspec.Struct):
    name: str
    colour: Literal["red", "blue"] = "red"


@tool
async def price(
    article: Article,
    amount: Annotated[int, msgspec.Meta(ge=1, description="How many.")] = 1,
    *,
    call: ToolCall,
) -> dict[str, Any]:
    """What some of an article cost."""
    call.progress("asking the shop")
    await asyncio.sleep(0)
    call.progress("half way\n")
    return {"euros": amount * 3, "of": article.name}


@tool(name="plain-one", read_only=True, deferred=True, needs_permission=False)
def plain(words: list[str] = [], call: ToolCall | None = None) -> None:  # noqa: B006
    """Without an event loop."""
    words.append("x")
    if words == ["bad", "x"]:
        raise ToolFailed("Not that.")
    if words == ["worse", "x"]:
        raise KeyError("what")


def test_claude_sees_the_name_the_description_and_the_types() -> None:
    seen = price.listed()
    assert (seen["name"], seen["description"]) == ("price", "What some of an article cost.")
    schema = seen["inputSchema"]
    assert (schema["type"], schema["required"]) == ("object", ["article"])
    assert schema["properties"]["amount"] == {
        "type": "integer",
        "minimum": 1,
        "description": "How many.",
        "default": 1,
    }
    assert schema["properties"]["article"] == {"$ref": "#/$defs/Article"}
    assert schema["$defs"]["Article"]["properties"]["colour"]["enum"] == ["blue", "red"]
    assert "call" not in schema["properties"]
    assert schema["additionalProperties"] is False
    assert seen["_meta"] == {"anthropic/alwaysLoad": True}
    assert plain.listed()["annotations"] == {"readOnlyHint": True}
    assert plain.listed()["_meta"] == {"anthropic/alwaysLoad": False}


class Desk:
    """A host with one server, and the answers of that server."""

    def __init__(self, *tools: Tool) -> None:
        self.answers: dict[str, Any] = {}
        self.lines: list[tuple[str, str, str]] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.host = ToolHost(
            {"shop": tools},
            "talk",
            answer=lambda request_id, said: self.answers.update({request_id: said["mcp_response"]}),
            progress=lambda *line: self.lines.append(line),
            start=self._start,
        )

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        self.tasks.append(asyncio.create_task(work))
        return self.tasks[-1]

    async def call(self, name: str, arguments: Any = None) -> tuple[str, bool]:
        meta = {"claudecode/toolUseId": "c1"}
        params = {"name": name, "arguments": arguments, "_meta": meta}
        self.host.take("r1", "shop", {"id": 7, "method": "tools/call", "params": params})
        await asyncio.wait(self.tasks)
        result = self.answers["r1"]["result"]
        return result["content"][0]["text"], result["isError"]


async def test_a_call_gets_its_result_and_reports_its_progress() -> None:
    desk = Desk(price)
    assert await desk.call("price", {"article": {"name": "pen"}, "amount": 2}) == (
        '{"euros":6,"of":"pen"}',
        False,
    )
    name = "mcp__shop__price"
    assert desk.lines == [("c1", name, "asking the shop\n"), ("c1", name, "half way\n")]
    assert desk.answers["r1"]["id"] == 7


async def test_a_plain_function_runs_in_a_thread() -> None:
    where: list[str] = []

    @tool
    def here(call: ToolCall) -> str:
        where.append(threading.current_thread().name)
        call.progress("from a thread")
        return call.conversation_id

    desk = Desk(here, plain)
    assert await desk.call("here") == ("talk", False)
    assert where == ["turnwire here"]
    assert desk.lines[0][2] == "from a thread\n"
    for _ in range(2):
        assert await desk.call("plain-one") == ("Done.", False)


async def test_halves_of_characters_are_left_out() -> None:
    @tool
    async def half(call: ToolCall) -> str:
        call.progress("\ud83d")
        return "\ud83d"

    desk = Desk(half)
    assert await desk.call("half") == ("?", False)
    assert desk.lines[0][2] == "?\n"


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("price", {"amount": 0}, "arguments are invalid"),
        ("price", {"article": {"name": "pen"}, "amount": 0}, "`int` >= 1 - at `$.amount`"),
        ("price", {"article": {"name": "pen"}, "call": 1}, "unknown field `call`"),
        ("price", "pen", "arguments are invalid"),
        ("plain-one", {"words": ["bad"]}, "Not that."),
        ("plain-one", {"words": ["worse"]}, "The tool failed: KeyError: 'what'"),
        ("slow", None, "more than 0.05 seconds"),
        ("another", None, "no tool 'another'"),
    ],
)
async def test_an_error_of_a_tool_is_reported_to_the_model(
    name: str, arguments: Any, said: str
) -> None:
    @tool(seconds=0.05)
    async def slow() -> None:
        await asyncio.Event().wait()

    words, failed = await Desk(price, plain, slow).call(name, arguments)
    assert failed
    assert said in words


@pytest.mark.parametrize("by_protocol", [True, False])
async def test_a_withdrawn_call_ends_without_an_answer(by_protocol: bool) -> None:
    ended: list[str] = []

    @tool
    async def slow() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("it")

    desk = Desk(slow)
    desk.host.take("r1", "shop", {"id": 7, "method": "tools/call", "params": {"name": "slow"}})
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    if by_protocol:
        gone = {"method": "notifications/cancelled", "params": {"requestId": 7}}
        desk.host.take("r2", "shop", gone)
    else:
        desk.host.cancel("r1")
    await asyncio.wait(desk.tasks)
    await asyncio.sleep(0)
    assert ended == ["it"]
    assert "r1" not in desk.answers


async def test_the_rest_of_the_protocol_is_answered() -> None:
    desk = Desk(price)
    for method in ("initialize", "tools/list", "ping", "prompts/list", "notifications/initialized"):
        desk.host.take(method, "shop", {"id": 1, "method": method})
    assert desk.answers["initialize"]["result"]["serverInfo"]["name"] == "shop"
    assert [each["name"] for each in desk.answers["tools/list"]["result"]["tools"]] == ["price"]
    assert desk.answers["ping"]["result"] == {}
    assert desk.answers["prompts/list"]["error"]["code"] == -32601
    desk.host.take("odd", "shop", "nonsense")
    assert desk.answers["odd"]["result"] == {}
    assert (desk.host.has("shop"), desk.host.has("other")) == (True, False)


def untyped(a) -> None:  # type: ignore[no-untyped-def]
    pass


def many(*a: int) -> None:
    pass


def strange(a: threading.Lock) -> None:
    pass


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: tool(untyped), "Annotate the type of 'a'"),
        (lambda: tool(many), "by name"),
        (lambda: tool(strange), "cannot be offered"),
        (lambda: tool(name="two words")(many), "cannot be called"),
        (lambda: tool(seconds=0)(plain.run), "more than 0"),
        (lambda: read_tools([many]), "is not a tool"),
        (lambda: read_tools([price, price]), "Two tools"),
        (lambda: read_servers({"a b": StdioServer(command="x")}), "cannot be called"),
        (lambda: read_servers({"turnwire": StdioServer(command="x")}), "Turnwire's own"),
        (lambda: read_servers({"a": StdioServer(command="")}), "no command"),
        (lambda: read_servers({"a": HttpServer(url="file:///x")}), "use http or https"),
        (lambda: read_servers({"a": {"command": "x", "shell": True}}), "unknown field `shell`"),
        (lambda: read_servers({"a": "x"}), "is not an MCP server"),
        (lambda: read_servers({"a": {"tools": ["no.such:tool"]}}), "cannot be imported"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_named(make: Callable[[], Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        make()


def test_servers_are_given_or_written_down() -> None:
    found = read_servers(
        {
            "docs": {"command": "docs", "args": ["-v"], "env": {"A": "1"}, "optional": True},
            "web": {"url": "https://example.com/mcp"},
            "old": SseServer(url="https://example.com/sse", headers={"A": "1"}),
            "shop": {"tools": [f"{__name__}:price"]},
        }
    )
    docs, web, old, shop = found.values()
    assert docs == StdioServer(command="docs", args=["-v"], env={"A": "1"}, optional=True)
    assert isinstance(docs, StdioServer)
    assert docs.told() == {"type": "stdio", "command": "docs", "args": ["-v"], "env": {"A": "1"}}
    assert isinstance(web, HttpServer)
    assert web.told()["type"] == "http"
    assert isinstance(old, SseServer)
    assert old.told()["headers"] == {"A": "1"}
    assert isinstance(shop, ToolServer)
    assert [each.name for each in shop.tools] == ["price"]
