"""Hooks that decide about Claude's commands, and a tool that is a function of this program.

    python examples/hooks_and_tools.py             # with a key, or logged in to Claude Code
    python examples/hooks_and_tools.py --offline   # with a scripted model: no key, no network

Claude is asked to run three commands and to use a tool. A hook denies the first command and changes
the second. Another hook fails at the third, which does not stop Claude. The tool reports its
progress while it runs.

The exit code is 0 only if all of this is in the log and, with --offline, in the input of the model.
Any other outcome ends with a line that explains it.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from turnwire import ClaudeAgent, Engine, EngineSettings, SqliteStore, Talk
from turnwire import frames as f
from turnwire.agents.claude import Decision, HookCall, ToolCall, ToolServer, allow, deny, hook, tool
from turnwire.engine import Options
from turnwire.testing.model_api import ModelApi, Request, Say, ToolUse, claude_environment

PROMPT = (
    "Run these commands one by one, whatever becomes of each: `touch forbidden`, then `echo one`, "
    "then `echo two`. Then ask the tool `price` what 2 pens cost, and tell me."
)


# --- the hooks and the tool ---------------------------------------------------------------------


@hook("PreToolUse", matcher="Bash")
def house_rules(call: HookCall) -> Decision | None:
    """Denies one command, and changes another."""
    command = call.tool_input["command"]
    if "forbidden" in command:
        return deny("That is forbidden in this house.")
    if command.strip() == "echo one":
        return allow(input={**call.tool_input, "command": "echo uno"})
    return None


@hook("PreToolUse", matcher="Bash", seconds=5, on_failure="allow")
async def clumsy(call: HookCall) -> None:
    """Fails sometimes. The hook only observes, so a failure is no reason to deny a call."""
    if "two" in call.tool_input["command"]:
        raise RuntimeError("I stumbled")


@tool(needs_permission=False)
async def price(article: str, amount: int = 1, *, call: ToolCall) -> str:
    """Returns the price of an amount of an article."""
    call.progress(f"looking for {article}")
    call.progress(f"counting {amount}")
    return f"{amount * 3} euros"


# --- the conversation ---------------------------------------------------------------------------


async def play(talk: Talk) -> list[str]:
    """Sends the prompt and follows the turn to its end; returns the progress of the tool."""
    print(f"You: {PROMPT}")
    await talk.send(PROMPT)
    progress: list[str] = []
    async for frame in talk.follow():
        match frame:
            case f.AssistantChunk(payload=chunk) if not chunk.partial:
                print(f"  Claude: {chunk.text}")
            case f.AssistantToolCall(payload=called) if not called.partial:
                print(f"  Claude wants {called.tool_name}: {called.input}")
            case f.AssistantPermissionRequest(payload=asked):
                print("  You allow it.")
                await talk.decide(asked.request_id, "allow", user="you")
            case f.SessionSystemEvent(payload=news) if news.subtype == "hook_run":
                run: dict[str, Any] = news.data
                why = run.get("message") or run.get("reason") or run.get("input") or ""
                print(f"    hook {run['hook']}: {run['decision']} {why}")
            case f.AssistantToolProgress(payload=told) if told.output:
                print(f"    tool: {told.output.rstrip()}")
                progress.append(told.output)
            case f.AssistantToolResult(payload=result):
                print(f"    result: {_words(result.content)}")
            case f.AssistantComplete(payload=end):
                if end.is_error:
                    raise SystemExit(f"The turn failed: {end.error}")
                return progress
            case _:
                pass
    raise SystemExit("The conversation ended before its turn.")


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    return " ".join(str(getattr(each, "text", each)) for each in content or [])


# --- the checks ---------------------------------------------------------------------------------


async def look_at_log(store: SqliteStore) -> None:
    """Checks the log, as a later client sees it."""
    runs: dict[tuple[str, str], dict[str, Any]] = {}
    results: list[str] = []
    for each in await store.entries("talk"):
        data = each.entry.meta.get("data") or {}
        if data.get("subtype") == "hook_run":
            run = data["data"]
            runs[run["hook"], run["decision"]] = run
        if each.entry.role == "tool":
            results.append(str(each.entry.parts))
    audited = [row.data["hook"] for row in await store.audit() if row.action == "hook_run"]
    check("denied in the log", ("house_rules", "deny") in runs)
    changed = runs.get(("house_rules", "allow"), {}).get("input", {})
    check("changed in the log", changed.get("command") == "echo uno")
    broken = [run for run in runs.values() if run.get("failure") == "raised"]
    check("broken in the log", [run["message"] for run in broken] == ["RuntimeError: I stumbled"])
    check("each run in the audit trail", {"house_rules", "clumsy"} <= set(audited))
    for words in ("forbidden in this house", "uno", "two", "6 euros"):
        check(f"a result with {words!r} in the log", any(words in each for each in results))


def look_at_model(requests: list[Request]) -> None:
    """Checks the results of tool calls in the input of the model."""
    told = {call: str(block["content"]) for call, block in requests[-1].tool_results.items()}
    for call, words in (
        ("run_1", "forbidden in this house"),
        ("run_2", "uno"),
        ("run_3", "two"),
        ("price_1", "6 euros"),
    ):
        check(f"the model was told {words!r}", words in told.get(call, ""))


def check(what: str, seen: bool) -> None:
    """Exits if it was not seen."""
    if not seen:
        raise SystemExit(f"Not seen: {what}.")
    print(f"Seen: {what}.")


# --- with and without a key ---------------------------------------------------------------------


def model(request: Request) -> Say | str:
    """The script of the model."""
    steps = {
        "run_1": ToolUse("Bash", {"command": "touch forbidden"}, id="run_1"),
        "run_2": ToolUse("Bash", {"command": "echo one"}, id="run_2"),
        "run_3": ToolUse("Bash", {"command": "echo two"}, id="run_3"),
        "price_1": ToolUse("mcp__shop__price", {"article": "pens", "amount": 2}, id="price_1"),
    }
    for call, step in steps.items():
        if call not in request.tool_results:
            return Say([step])
    return "Two pens cost 6 euros."


async def main(*, offline: bool, patience: float) -> None:
    """Plays all steps, and checks the result."""
    logging.getLogger("turnwire.claude").setLevel(logging.ERROR)  # `clumsy` fails as expected
    missing = None if offline else ClaudeAgent().unavailable()
    if missing is not None:
        raise SystemExit(f"{missing}\nOr run it without a key: {sys.argv[0]} --offline")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "work").mkdir()
        async with ModelApi(*[model] * 20) if offline else nullcontext() as api:
            agent = ClaudeAgent(
                hooks=[house_rules, clumsy],
                mcp_servers={"shop": ToolServer(tools=[price])},
                env=claude_environment(api.url, place / "home") if api else None,
            )
            store = await SqliteStore.open(place / "talk.db")
            settings = EngineSettings(Options(on_disconnect="continue"))
            try:
                async with Engine(store, {"claude": agent}, settings=settings) as engine:
                    talk = await engine.create(
                        "claude", conversation_id="talk", cwd=str(place / "work")
                    )
                    try:
                        async with asyncio.timeout(patience):
                            progress = await play(talk)
                    except TimeoutError:
                        said = f"No answer in {patience:g} seconds."
                        raise SystemExit(said) from None
                check("progress of the tool, live", len(progress) == 2)
                await look_at_log(store)
            finally:
                await store.close()
            if api is not None:
                look_at_model(api.requests)
        check("no file that is forbidden", not (place / "work" / "forbidden").exists())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--offline", action="store_true", help="use a scripted model instead of Claude's"
    )
    parser.add_argument("--patience", type=float, default=180.0, help="maximum seconds of the turn")
    given = parser.parse_args()
    asyncio.run(main(offline=given.offline, patience=given.patience))
