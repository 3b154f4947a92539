"""Kill everything while Claude asks a question. Answer it later. Claude gets it as that tool's result.

    python examples/claude_live.py             # with a key, or logged in to Claude Code
    python examples/claude_live.py --offline   # with a scripted model: no key, no network

A server runs in a process of its own. Claude wants to run a command, and is allowed to; then it asks
a question, and the server is killed with kill -9, and Claude with it. Another server takes the
answer, Claude is resumed, and goes on. The exit code is 0 only if the answer came back as the result
of that very call.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import msgspec

from turnwire.agents.claude import ClaudeAgent
from turnwire.agents.guard import descendants_of, running
from turnwire.core.conversation.state import Options
from turnwire.engine import Engine, EngineSettings, Talk
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.model_api import ModelApi, Request, Say, ToolUse, claude_environment

PROMPT = (
    "Run the command `touch made_by_claude`, then ask me with the AskUserQuestion tool whether I "
    "like Blue or Red, then tell me in one sentence what I answered."
)
LEASE = 2.0  # seconds until a server takes over what a killed one had


# --- the server ---------------------------------------------------------------------------------


async def serve(place: Path) -> None:
    """One conversation; commands come as JSON lines, frames of protocol v2 go."""
    store = await SqliteStore.open(place / "talk.db")
    settings = EngineSettings(Options(on_disconnect="continue"), lease=LEASE)
    async with Engine(store, {"claude": ClaudeAgent()}, settings=settings) as engine:
        if await store.conversation("talk") is None:
            await engine.create("claude", conversation_id="talk", cwd=str(place / "work"))
        talk = await engine.open("talk")
        showing = asyncio.create_task(_show(talk))
        lines = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        while line := await lines.readline():
            match json.loads(line):
                case ["say", text]:
                    await talk.send(text)
                case ["allow", request_id]:
                    await talk.decide(request_id, "allow", user="you")
                case ["answer", question_id, answer]:
                    await talk.answer(question_id, answer, user="you")
        showing.cancel()
    await store.close()


async def _show(talk: Talk) -> None:
    async for frame in talk.follow():
        kind = frame.__struct_config__.tag
        sys.stdout.buffer.write(
            msgspec.json.encode([kind, getattr(frame, "payload", None)]) + b"\n"
        )
        sys.stdout.flush()


# --- the person in front of it ------------------------------------------------------------------


class Server:
    """A server, as somebody sees it who talks to it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    def tell(self, *command: object) -> None:
        """One of its commands."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command).encode() + b"\n")

    async def until(self, kind: str, **wanted: Any) -> dict[str, Any]:
        """The next frame of a kind; what Claude says meanwhile is shown."""
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            said, payload = json.loads(line)
            if said == "message.replay":
                said, payload = payload["event"]["type"], payload["event"]["payload"]
            if said == "assistant.chunk" and not payload["partial"]:
                print(f"  Claude: {payload['text']}")
            if said == kind and wanted.items() <= payload.items():
                found: dict[str, Any] = payload
                return found
        raise SystemExit("The server has ended.")

    async def kill(self) -> int:
        """kill -9; returns how many processes went with it."""
        children = [each.pid for each in descendants_of(self.process.pid, running())]
        self.process.kill()
        await self.process.wait()
        while any(pid in running() for pid in children):  # noqa: ASYNC110  # they tell nobody
            await asyncio.sleep(0.05)
        return len(children)


@asynccontextmanager
async def server(place: Path, env: dict[str, str]) -> AsyncIterator[Server]:
    """A server in a process of its own, for as long as the block lasts."""
    command = [sys.executable, __file__, "--serve", str(place)]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, env={**os.environ, **env}, limit=1 << 24
    )
    try:
        yield Server(process)
    finally:
        if process.returncode is None:
            assert process.stdin is not None
            process.stdin.close()
            await process.wait()


async def play(place: Path, env: dict[str, str]) -> str:
    """The whole story; returns the id of the call that was the question."""
    print(f"You: {PROMPT}")
    async with server(place, env) as first:
        first.tell("say", PROMPT)
        asked = await first.until("assistant.permission_request")
        print(f"  Claude wants to run {asked['tool_name']}: {asked['input']}. You allow it.")
        first.tell("allow", asked["request_id"])
        question = await first.until("assistant.request_input")
        print(f"  Claude asks: {question['questions'][0]['question']}")
        await first.until("session.state", state="waiting_input", running=False)
        gone = await first.kill()
        print(f"kill -9: the server is gone, and {gone} processes with it.")
    print("Later, another server: you answer Blue.")
    await asyncio.sleep(LEASE)
    call = str(question["question_id"])
    async with server(place, env) as second:
        await second.until("session.state")
        second.tell("answer", call, "Blue")
        resolved = await second.until("assistant.request_resolved")
        result = await second.until("assistant.tool_result", tool_use_id=call)
        end = await second.until("assistant.complete", is_error=False)
    print(f"The turn ended: {end.get('stop_reason')}. The result of the call: {result['content']}")
    if resolved["delivered_as"] != "tool_result" or "Blue" not in str(result["content"]):
        raise SystemExit("The answer did not come back as the result of that call.")
    return call


# --- with and without a key ---------------------------------------------------------------------


def model(request: Request) -> Say | str:
    """What the model says in this story."""
    if "ask_1" in request.tool_results:
        return "You answered Blue."
    if "run_1" in request.tool_results:
        options = [{"label": colour, "description": colour} for colour in ("Blue", "Red")]
        asked = {"question": "Blue or Red?", "header": "Colour", "options": options}
        asked["multiSelect"] = False  # type: ignore[assignment]
        return Say([ToolUse("AskUserQuestion", {"questions": [asked]}, id="ask_1")])
    return Say([ToolUse("Bash", {"command": "touch made_by_claude"}, id="run_1")])


async def main(*, offline: bool) -> int:
    """Play it, and see whether the answer arrived."""
    missing = None if offline else ClaudeAgent().unavailable()
    if missing is not None:
        print(f"{missing}\nOr see it without: {sys.argv[0]} --offline", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "work").mkdir()
        async with ModelApi(*[model] * 20) if offline else nullcontext() as api:
            env = claude_environment(api.url, place / "home") if api else {}
            call = await play(place, env)
            made = (place / "work" / "made_by_claude").exists()
            if api is not None:
                told = api.requests[-1].tool_results[call]
                print(f"The model was told: {json.dumps(told)}")
                if "Blue" not in str(told["content"]):
                    return 1
        return 0 if made else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--offline", action="store_true", help="a scripted model instead of Claude's"
    )
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve is not None:
        asyncio.run(serve(given.serve))
    else:
        sys.exit(asyncio.run(main(offline=given.offline)))
