"""Kills every process while Claude asks a question, then answers: Claude gets the tool's result.

    python examples/claude_live.py             # with a key, or logged in to Claude Code
    python examples/claude_live.py --offline   # with a scripted model: no key, no network

A server runs in its own process. Claude asks to run a command, which is allowed, and then asks a
question. As soon as the question is stored, kill -9 ends the server, the guard and Claude Code.
Another server takes the answer and resumes Claude, which continues its turn.

The exit code is 0 only if the answer arrives as the result of the same tool call. Any other outcome
ends with a line that explains it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import msgspec

from turnwire import ClaudeAgent, Engine, EngineSettings, SqliteStore, Talk
from turnwire.agents.guard import descendants_of, running
from turnwire.engine import Options
from turnwire.testing.model_api import ModelApi, Request, Say, ToolUse, claude_environment

PROMPT = (
    "Run the command `touch made_by_claude`, then ask me with the AskUserQuestion tool whether I "
    "like Blue or Red, then tell me in one sentence what I answered."
)
LEASE = 2.0  # seconds until a server takes over the conversations of a killed one


# --- the server ---------------------------------------------------------------------------------


async def serve(place: Path) -> None:
    """Serves one conversation: reads commands as JSON lines, writes frames of protocol v2."""
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


# --- the client ---------------------------------------------------------------------------------


class Server:
    """A server process, as its client sees it."""

    def __init__(self, process: asyncio.subprocess.Process, patience: float) -> None:
        self.process = process
        self.patience = patience

    def tell(self, *command: object) -> None:
        """Sends a command."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command).encode() + b"\n")

    async def until(self, kind: str, **wanted: Any) -> dict[str, Any]:
        """Returns the next frame of this type. Prints text and allows tool calls until then."""
        try:
            async with asyncio.timeout(self.patience):
                return await self._until(kind, wanted)
        except TimeoutError:
            raise SystemExit(f"No answer in {self.patience:g} seconds.") from None

    async def _until(self, kind: str, wanted: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            said, payload = json.loads(line)
            if said == "message.replay":
                continue  # from before the kill
            match said:
                case "assistant.chunk" if not payload["partial"]:
                    print(f"  Claude: {payload['text']}")
                case "assistant.permission_request":
                    print(
                        f"  Claude wants {payload['tool_name']}: {payload['input']}. You allow it."
                    )
                    self.tell("allow", payload["request_id"])
                case "assistant.complete" if payload["is_error"]:
                    raise SystemExit(f"The turn failed: {payload['error']['message']}")
            if said == kind and wanted.items() <= payload.items():
                found: dict[str, Any] = payload
                return found
            if said == "assistant.complete":
                raise SystemExit("Claude ended its turn without doing what it was asked to do.")
        raise SystemExit("The server has ended.")

    async def kill(self) -> list[str]:
        """Ends the server and all processes that it started with kill -9; returns their names."""
        below = [each for each in descendants_of(self.process.pid, running()) if not each.dead]
        killed = []
        self.process.kill()
        for each in below:
            with suppress(ProcessLookupError):
                os.kill(each.pid, signal.SIGKILL)
                killed.append("its guard" if "python" in each.name else each.name)
        await self.process.wait()
        while any(each.pid in running() for each in below):  # noqa: ASYNC110  # no event tells their end
            await asyncio.sleep(0.05)
        return killed


@asynccontextmanager
async def server(place: Path, env: dict[str, str], patience: float) -> AsyncIterator[Server]:
    """Runs a server in its own process inside of the `async with` block."""
    command = [sys.executable, __file__, "--serve", str(place)]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, env={**os.environ, **env}, limit=1 << 24
    )
    it = Server(process, patience)
    try:
        yield it
    finally:
        if process.returncode is None:
            assert process.stdin is not None
            process.stdin.close()
            try:
                async with asyncio.timeout(patience):
                    await process.communicate()
            except TimeoutError:
                await it.kill()


async def play(place: Path, env: dict[str, str], patience: float) -> str:
    """Plays all steps; returns the id of the question's tool call."""
    print(f"You: {PROMPT}")
    async with server(place, env, patience) as first:
        first.tell("say", PROMPT)
        question = await first.until("assistant.request_input")
        print(f"  Claude asks: {question['questions'][0]['question']}")
        await first.until("session.state", state="waiting_input", running=False)
        killed = await first.kill()
        print(f"kill -9 of every process: {', '.join(['the server', *killed])}.")
    print("Later, on another server: you answer Blue.")
    await asyncio.sleep(LEASE)
    call = str(question["question_id"])
    async with server(place, env, patience) as second:
        await second.until("session.state")
        second.tell("answer", call, "Blue")
        resolved = await second.until("assistant.request_resolved", request_id=call)
        result = await second.until("assistant.tool_result", tool_use_id=call)
        end = await second.until("assistant.complete")
    print(f"The turn ended: {end.get('stop_reason')}. The result of the call: {result['content']}")
    if resolved["delivered_as"] != "tool_result" or "Blue" not in str(result["content"]):
        raise SystemExit("The answer did not arrive as the result of that call.")
    return call


# --- with and without a key ---------------------------------------------------------------------


def model(request: Request) -> Say | str:
    """The script of the model."""
    if "ask_1" in request.tool_results:
        return "You answered Blue."
    if "run_1" in request.tool_results:
        options = [{"label": colour, "description": colour} for colour in ("Blue", "Red")]
        asked = {"question": "Blue or Red?", "header": "Colour", "options": options}
        asked["multiSelect"] = False  # type: ignore[assignment]
        return Say([ToolUse("AskUserQuestion", {"questions": [asked]}, id="ask_1")])
    return Say([ToolUse("Bash", {"command": "touch made_by_claude"}, id="run_1")])


def told(requests: list[Request], call: str) -> None:
    """Checks in the log of the model that the answer was the result of that call."""
    result = requests[-1].tool_results.get(call)
    print(f"The model got: {json.dumps(result)}")
    if result is None or "Blue" not in str(result["content"]):
        raise SystemExit("The model did not get the answer as the result of that call.")


async def main(*, offline: bool, patience: float) -> None:
    """Plays all steps, and checks the answer."""
    missing = None if offline else ClaudeAgent().unavailable()
    if missing is not None:
        raise SystemExit(f"{missing}\nOr run it without a key: {sys.argv[0]} --offline")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "work").mkdir()
        async with ModelApi(*[model] * 20) if offline else nullcontext() as api:
            env = claude_environment(api.url, place / "home") if api else {}
            call = await play(place, env, patience)
            if api is not None:
                told(api.requests, call)
        if not (place / "work" / "made_by_claude").exists():
            raise SystemExit("The command was not run.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--offline", action="store_true", help="use a scripted model instead of Claude's"
    )
    parser.add_argument(
        "--patience", type=float, default=180.0, help="maximum seconds of each step"
    )
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve is not None:
        asyncio.run(serve(given.serve))
    else:
        asyncio.run(main(offline=given.offline, patience=given.patience))
