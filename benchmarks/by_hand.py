"""A socket as a team writes it with FastAPI, without a log: what the benchmarks compare with."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from math import inf
from typing import Any

import uvicorn
from fastapi import FastAPI, WebSocket, WebSocketDisconnect

# What an agent writes to its standard output: for each line of input, a number of deltas.
_AGENT = """
import json, sys, time
event = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "some words "}}
line = {"type": "stream_event", "event": event, "session_id": "s" * 36, "uuid": "u" * 36}
for _ in sys.stdin:
    for n in range(int(sys.argv[1])):
        print(json.dumps(line), flush=True)
        time.sleep(float(sys.argv[2]))
    print(json.dumps({"type": "result", "session_id": "s" * 36}), flush=True)
"""


class ByHand:
    """The socket that a team writes with FastAPI: an agent's lines, decoded, numbered and sent."""

    def __init__(self, pieces: int, pause: float) -> None:
        self.turns = 0.0  # turns that have been asked for; infinite at the end
        self._asked = asyncio.Condition()
        self.app = FastAPI()
        self._command = [sys.executable, "-c", _AGENT, str(pieces), str(pause)]
        self.app.websocket("/ws/{conversation_id}")(self.serve)

    async def ask(self, turns: float = 1) -> None:
        """Asks every agent for a turn. With infinite turns, the sockets end."""
        async with self._asked:
            self.turns += turns
            self._asked.notify_all()

    def _has_asked(self, turns: int) -> bool:
        return self.turns >= turns

    async def serve(self, socket: WebSocket, conversation_id: str) -> None:
        """Serves one conversation."""
        await socket.accept()
        agent = await asyncio.create_subprocess_exec(
            *self._command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert agent.stdin is not None
        assert agent.stdout is not None
        number = turns = 0

        async def send(kind: str, payload: Any) -> None:
            nonlocal number
            number += 1
            now = datetime.now(UTC).isoformat()
            frame = {"type": kind, "sequence": number, "timestamp": now, "payload": payload}
            await socket.send_json({"conversation_id": conversation_id, **frame})

        try:
            await send("session.state", {"running": False})
            while True:
                turns += 1
                async with self._asked:
                    await self._asked.wait_for(partial(self._has_asked, turns))
                if self.turns == inf:
                    break
                agent.stdin.write(b"go\n")
                async for line in agent.stdout:
                    said = json.loads(line)
                    if said["type"] == "result":
                        await send("assistant.complete", {})
                        break
                    text = said["event"]["delta"]["text"]
                    await send("assistant.chunk", {"text": text, "partial": True})
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            agent.kill()
            await agent.wait()


@asynccontextmanager
async def by_hand(pieces: int, pause: float) -> AsyncIterator[tuple[ByHand, str]]:
    """Starts such a server. Yields it with its address."""
    hand = ByHand(pieces, pause)
    server = uvicorn.Server(
        uvicorn.Config(hand.app, port=0, log_level="error", ws_ping_interval=None)
    )
    running = asyncio.create_task(server._serve())
    while not server.started:  # noqa: ASYNC110  # uvicorn has no event for it
        await asyncio.sleep(0.01)
    try:
        port = server.servers[0].sockets[0].getsockname()[1]
        yield hand, f"http://127.0.0.1:{port}"
    finally:
        await hand.ask(inf)
        server.should_exit = True
        await running
