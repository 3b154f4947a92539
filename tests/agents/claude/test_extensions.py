"""Extensions of the real Claude Code: hooks, tools, MCP servers, sub-agents, structured results."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from socket import create_server
from typing import Any

import uvicorn

from tests.agents.claude.helpers import mcp_http_server, mcp_stdio_server
from tests.agents.claude.helpers.real_claude import Stage, ask, bash, programs, stage, touch
from tests.agents.helpers.processes import wait_until_gone
from turnwire.agents.claude import ClaudeOptions, HttpServer, SseServer, StdioServer, ToolServer
from turnwire.agents.claude.extensions import hooks as h
from turnwire.agents.claude.extensions.tools import ToolCall, ToolFailed, tool
from turnwire.agents.claude.options import types as o
from turnwire.dialects.v2 import frames as f
from turnwire.testing.model_api import Request, Say, ToolUse
from turnwire.testing.model_api.server import Answer


def runs(it: Stage) -> list[tuple[str, str | None, str, str | None]]:
    """Returns the hook runs in the log: hook, call, decision, failure."""
    news = [frame.payload for frame in it.seen.of(f.SessionSystemEvent)]
    told = [event.data for event in news if event.subtype == "hook_run" and event.message_sequence]
    return [(t["hook"], t.get("tool_use_id"), t["decision"], t.get("failure")) for t in told]


# --- hooks --------------------------------------------------------------------------------------


@h.hook("PreToolUse", matcher="Bash", seconds=1)
async def rules(call: h.HookCall) -> Any:
    command = call.tool_input["command"]
    match call.tool_use_id:
        case "denied":
            return h.deny("Not on this machine.")
        case "changed":
            return h.allow(input={**call.tool_input, "command": "touch b; echo instead"})
        case "asked":
            return h.ask("A person should look at this.")
        case "told":
            return h.change(context="The moon is full.")
        case "raises":
            raise ValueError(command)
        case "hangs":
            await asyncio.Event().wait()
        case "nonsense":
            return 42
        case "stopped":
            return h.stop("That is enough.")
    return None


@h.hook("UserPromptSubmit")
def prompts(call: h.HookCall) -> h.Decision | None:
    return h.deny("That word is forbidden.") if "magic" in call.data["prompt"] else None


@h.hook("PermissionRequest", matcher="Bash")
def leave(call: h.HookCall) -> h.Decision | None:
    return h.allow() if "harmless" in call.tool_input["command"] else None


@h.hook("PostToolUse", matcher="Bash", on_failure="stop", optional=True)
def never(call: h.HookCall) -> None:
    raise AssertionError("no conversation has chosen it")


async def test_each_decision_and_each_failure_of_a_hook_takes_effect(tmp_path: Path) -> None:
    calls = [
        *(touch("a", "denied"), bash("echo original", "changed"), touch("c", "asked")),
        *(bash("echo told", "told"), touch("d", "raises"), touch("e", "hangs")),
        *(touch("f", "nonsense"), touch("harmless", "free")),
    ]
    said: list[Answer] = [
        *(Say([call]) for call in calls),
        "Done.",
        Say([touch("g", "stopped")]),
        "Again.",
    ]
    hooks = [rules, prompts, leave, never]
    async with stage(tmp_path, *said, hooks=hooks) as it:
        await it.talk.send("go")
        wanted = await it.wants()
        assert (wanted.tool_use_id, wanted.reason) == ("asked", "A person should look at this.")
        await it.talk.decide(wanted.request_id, "allow")
        assert not (await it.ends()).is_error
        assert {path.name for path in it.work.iterdir()} == {"b", "c", "harmless"}
        assert "Not on this machine." in it.told["denied"]
        assert it.told["changed"] == "instead"
        assert "The moon is full." in json.dumps(it.api.requests[4].messages)
        assert "ValueError" in it.told["raises"]
        assert "more than 1 seconds" in it.told["hangs"]
        assert "int, which is not a decision" in it.told["nonsense"]
        assert runs(it) == [
            ("prompts", None, "none", None),
            ("rules", "denied", "deny", None),
            ("rules", "changed", "allow", None),
            ("rules", "asked", "ask", None),
            ("leave", "asked", "none", None),
            ("rules", "told", "none", None),
            ("rules", "raises", "deny", "raised"),
            ("rules", "hangs", "deny", "timeout"),
            ("rules", "nonsense", "deny", "nonsense"),
            ("rules", "free", "none", None),
            ("leave", "free", "allow", None),
        ]
        audit = await it.store.audit(conversation_id=it.talk.id)
        assert sum(row.action == "hook_run" for row in audit) == 11

        end = await it.says("once more")
        assert not end.is_error
        assert "That is enough." in str(it.results["stopped"].content)
        assert not (it.work / "g").exists()
        asked = len(it.api.requests)
        end = await it.says("the magic word")
        assert not end.is_error
        assert len(it.api.requests) == asked, "the model never heard it"
        assert ("prompts", None, "deny", None) in runs(it)
        end = await it.says("and now")
        assert it.text == ["Done.", "Again."]


async def test_hooks_leave_questions_to_people_unless_they_forbid_them(tmp_path: Path) -> None:
    @h.hook("PreToolUse")
    async def nosy(call: h.HookCall) -> h.Decision | None:
        return h.deny("Decide yourself.") if call.tool_use_id == "ask_1" else h.allow()

    @h.hook("Stop")
    def once(call: h.HookCall) -> h.Decision | None:
        return None if call.data["stop_hook_active"] else h.deny("Say it in Chinese, too.")

    said = (Say([ask("ask_1")]), Say([ask("ask_2")]), "Blue it is.", "蓝色。")
    async with stage(tmp_path, *said, conversation={"options": {"hooks": [nosy, once]}}) as it:
        await it.talk.send("ask me")
        await it.sleeps()
        [request] = (await it.talk.status()).requests
        assert request.request_id == "ask_2"
        assert "Decide yourself." in it.told["ask_1"]
        answer = await it.talk.answer("ask_2", "Blue")
        assert answer.ack.delivered_as == "tool_result"
        assert not (await it.ends()).is_error
        assert "Blue" in it.told["ask_2"]
        assert it.text == ["Blue it is.", "蓝色。"]
        assert "Say it in Chinese, too." in str(it.api.requests[-1].messages)
        assert runs(it) == [
            ("nosy", "ask_1", "deny", None),
            ("nosy", "ask_2", "allow", None),
            ("once", None, "deny", None),
            ("once", None, "none", None),
        ]


# --- tools, servers, helpers, results of a certain form -----------------------------------------


@tool(needs_permission=False)
async def price(article: str, amount: int = 1, *, call: ToolCall) -> str:
    """What some of an article cost."""
    if article == "moon":
        raise ToolFailed("It is not for sale.")
    call.progress("asking the shop")
    call.progress("counting")
    return f"{amount * 3} euros"


@tool
def order(article: str) -> str:
    """Order it."""
    return f"{article} is on its way"


@h.hook("PreToolUse", matcher="mcp__shop__pri.*")
def counted(call: h.HookCall) -> None:
    pass


@asynccontextmanager
async def shouting_at(app: Any, path: str) -> AsyncIterator[str]:
    """Serves the same MCP server at an address."""
    socket = create_server(("127.0.0.1", 0))
    web = uvicorn.Server(uvicorn.Config(app, log_config=None))
    serving = asyncio.create_task(web.serve([socket]))
    try:
        yield f"http://127.0.0.1:{socket.getsockname()[1]}{path}"
    finally:
        web.should_exit = True
        await serving


async def looks_on(call: h.HookCall) -> None:
    pass


async def test_local_and_remote_tools_a_sub_agent_and_a_structured_result_work_together(
    tmp_path: Path,
) -> None:
    task = {"description": "count", "prompt": "count the beans, please", "subagent_type": "counter"}
    said = [
        Say([ToolUse("mcp__shop__price", {"article": "pen", "amount": 2}, id="price_1")]),
        Say([ToolUse("mcp__shop__price", {"article": "moon"}, id="price_2")]),
        Say([ToolUse("mcp__shop__order", {"article": "pen"}, id="order_1")]),
        Say([ToolUse("mcp__loud__shout", {"words": "hello"}, id="shout_1")]),
        Say([ToolUse("mcp__web__shout", {"words": "good day"}, id="shout_2")]),
        Say([ToolUse("mcp__old__shout", {"words": "good night"}, id="shout_3")]),
        Say([ToolUse("Agent", {**task, "run_in_background": False}, id="agent_1")]),
        Say([ToolUse("StructuredOutput", {"beans": "three"}, id="form_1")]),
        Say([ToolUse("StructuredOutput", {"beans": 3}, id="form_2")]),
    ]
    beans = ToolUse("mcp__shop__price", {"article": "bean"}, id="price_3")
    schema = {"type": "object", "properties": {"beans": {"type": "integer"}}, "required": ["beans"]}
    options = ClaudeOptions(
        mcp_servers=["loud"],
        allowed_tools=["mcp__loud__shout", "mcp__web__shout", "mcp__old__shout"],
        output_format=o.JsonSchema(schema=schema),
        agents={
            "counter": o.HelperDefinition(
                description="Counts.",
                prompt="You are a counter of beans.",
                tools=["Read", "mcp__shop__price"],
            )
        },
    )
    loud = StdioServer(
        command=sys.executable, args=[mcp_stdio_server.__file__, "shout"], optional=True
    )
    off = StdioServer(command="/no/such/program", optional=True)
    shop = ToolServer(tools=[price, order])
    hooks = [counted, *(h.hook(event)(looks_on) for event in (*h.EVENTS, "NewEvent"))]
    async with (
        shouting_at(mcp_http_server.server.streamable_http_app(), "/mcp") as url,
        shouting_at(mcp_http_server.server.sse_app(), "/sse") as old_url,
        stage(
            tmp_path,
            *said,
            lanes={"count the beans": [Say([beans]), "Three."]},
            hooks=hooks,
            mcp_servers={
                "shop": shop,
                "loud": loud,
                "off": off,
                "web": HttpServer(url=url),
                "old": SseServer(url=old_url),
            },
            conversation={"options": options},
        ) as it,
    ):
        await it.talk.send("go")
        wanted = await it.wants()
        assert (wanted.tool_name, wanted.input) == ("mcp__shop__order", {"article": "pen"})
        await it.talk.decide(wanted.request_id, "allow")
        end = await it.ends()
        assert end.structured_output == {"beans": 3}
        [kept] = await it.store.turns(it.talk.id)
        assert kept.end.structured_output == {"beans": 3}

        assert it.told["price_1"].startswith("6 euros")
        assert it.told["price_2"].startswith("It is not for sale.")
        assert it.results["price_2"].is_error
        assert it.told["order_1"].startswith("pen is on its way")
        assert "HELLO" in it.told["shout_1"]
        assert "GOOD DAY" in it.told["shout_2"]
        assert "GOOD NIGHT" in it.told["shout_3"]
        progress = [frame.payload for frame in it.seen.of(f.AssistantToolProgress)]
        lines = [(e.tool_use_id, e.output, e.parent_tool_use_id) for e in progress if e.output]
        assert lines == [
            ("price_1", "asking the shop\n", None),
            ("price_1", "counting\n", None),
            ("price_3", "asking the shop\n", "agent_1"),
            ("price_3", "counting\n", "agent_1"),
        ]
        news = [frame.payload for frame in it.seen.of(f.SessionSystemEvent)]
        told = [event for event in news if event.subtype == "hook_run"]
        asked = {e.data["tool_use_id"]: e for e in told if e.data["hook"] == "counted"}
        assert [*asked] == ["price_1", "price_2", "price_3"]
        assert asked["price_3"].parent_tool_use_id == "agent_1"
        heard = {event.data["event"] for event in told if event.data["hook"] == "looks_on"}
        happened = {"PostToolUse", "PostToolUseFailure", "PermissionRequest", "UserPromptSubmit"}
        assert heard == {*happened, "PreToolUse", "SubagentStart", "SubagentStop", "Stop"}
        offered = {each["name"] for each in it.api.requests[0].body["tools"]}
        assert {"mcp__shop__price", "mcp__shop__order"} <= offered
        helper = next(each for each in it.api.requests if each.lane == "count the beans")
        assert "You are a counter of beans." in str(helper.body["system"])
        assert {each["name"] for each in helper.body["tools"]} == {"Read", "mcp__shop__price"}
        assert "must be integer" in str(it.results["form_1"].content)


async def test_a_stop_ends_a_hook_and_a_tool_that_hang(tmp_path: Path) -> None:
    at_it, ended = asyncio.Event(), []

    async def hang(what: str) -> None:
        at_it.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(what)

    @h.hook("PreToolUse", matcher="Bash")
    async def slow_hook(call: h.HookCall) -> None:
        await hang("hook")

    @tool(needs_permission=False)
    async def slow() -> None:
        """It takes long."""
        await hang("tool")

    said = (Say([touch("a")]), Say([ToolUse("mcp__mine__slow", {}, id="slow_1")]), "Good.")
    servers = {"mine": ToolServer(tools=[slow])}
    async with stage(tmp_path, *said, hooks=[slow_hook], mcp_servers=servers) as it:
        for turn_id in (1, 2):
            await it.talk.send("go")
            await at_it.wait()
            at_it.clear()
            await it.talk.interrupt(turn_id)
            end = await it.ends()
            assert end.interrupted
        assert not (await it.says("and now")).is_error
        assert ended == ["hook", "tool"]
        assert runs(it) == [("slow_hook", "bash_1", "none", "cancelled")]


# --- plans --------------------------------------------------------------------------------------


def write_plan(request: Request) -> Say:
    """The model writes its plan to the path that Claude Code gives."""
    place = re.search(r"/\S+?/plans/\S+?\.md", json.dumps(request.body))
    assert place is not None
    plan = {"file_path": place[0], "content": "1. touch a"}
    return Say([ToolUse("Write", plan, id="write_1")])


async def test_a_plan_is_a_permission_and_the_mode_after_it_is_kept(tmp_path: Path) -> None:
    said: list[Answer] = [
        *(write_plan, Say([ToolUse("ExitPlanMode", {}, id="plan_1")])),
        *(
            Say([ToolUse("ExitPlanMode", {}, id="plan_2")]),
            "Now I may.",
            Say([touch("a")]),
            "Done.",
        ),
    ]
    async with stage(tmp_path, *said, conversation={"permission_mode": "plan"}, idle=0.5) as it:
        await it.talk.send("make a plan")
        for call, decision in (("plan_1", "deny"), ("plan_2", "allow")):
            asked = await it.wants()
            assert (asked.tool_name, asked.tool_use_id) == ("ExitPlanMode", call)
            assert asked.input["plan"] == "1. touch a"
            assert (await it.talk.status()).permission_mode == "plan"
            await it.talk.decide(asked.request_id, decision, reason="Think again.")  # type: ignore[arg-type]
        await it.ends()
        assert "Think again." in it.told["plan_1"]
        assert "approved" in it.told["plan_2"]
        assert (await it.talk.status()).permission_mode == "default"
        assert not await asyncio.to_thread(wait_until_gone, list(programs()))
        await it.talk.send("do it")
        asked = await it.wants()
        assert (await it.talk.status()).permission_mode == "default"
        await it.talk.decide(asked.request_id, "allow")
        await it.ends()
        assert (it.work / "a").exists()
