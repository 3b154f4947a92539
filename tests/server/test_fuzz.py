"""Random frames and requests: each is answered, and other clients are not affected.

TURNWIRE_FUZZ_SECONDS says for how long; `make fuzz` and `make soak` try longer.
"""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path
from typing import Any, get_args

import msgspec
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from tests.server.helpers.invalid_input import ODD, bent, unmoved
from tests.server.helpers.raw_http import request
from tests.server.helpers.servers import Process
from turnwire.core.controls import CONTROLS
from turnwire.dialects.v2.codec import _COMMANDS
from turnwire.server.api.routes import API

SECONDS = float(os.environ.get("TURNWIRE_FUZZ_SECONDS", "10"))

FIELDS = [
    "content", "question_id", "answer", "resume_task", "request_id", "decision", "reason",
    "updated_input", "remember", "turn_id", "queue", "action", "queue_id", "before",
    "message_sequence", "dry_run", "model", "mode", "max_thinking_tokens", "control", "server",
    "enabled", "task_id", "agent", "rule_id", "steer", "option",
    "value", "extra",
]  # fmt: skip
WORDS = ["allow", "deny", "hold", "clear", "remove", "replace", "move", "resume", "long", "hello"]
WORDS += ["demo", *CONTROLS]


def test_every_field_that_a_client_can_send_is_tried() -> None:
    known = {"client_message_id"}
    for kind in _COMMANDS.values():
        payload = {each.name: each.type for each in msgspec.structs.fields(kind)}.get("payload")
        for part in get_args(payload) or [payload]:
            if isinstance(part, type) and issubclass(part, msgspec.Struct):
                known |= {each.encode_name for each in msgspec.structs.fields(part)}
    assert known - {"client_message_id"} <= set(FIELDS)


def a_frame(chance: random.Random) -> str | bytes:
    """Something like a frame of v2: right, nearly right, or nothing of the kind."""
    frame: dict[str, Any] = {"type": chance.choice([*_COMMANDS, *ODD])}
    if chance.random() < 0.7:
        frame["client_message_id"] = chance.choice([f"m-{chance.randrange(50)}", *ODD])
    if chance.random() < 0.9:
        frame["payload"] = {
            field: chance.choice([*ODD, *WORDS]) for field in chance.sample(FIELDS, 3)
        }
    else:
        frame["payload"] = chance.choice(ODD)
    return bent(frame, chance)


async def shout(server: Process, name: str, chance: random.Random, end: float) -> int:
    """Sends frames, and counts the answers of those that are still answered."""
    address = f"{server.url.replace('http', 'ws')}/ws/conversations/{name}?protocol=v2"
    headers = {"Authorization": f"Bearer {server.token}"}
    loop, sent = asyncio.get_running_loop(), 0
    codes: list[int] = []
    while loop.time() < end:
        async with connect(address, additional_headers=headers, proxy=None) as client:
            try:
                for _ in range(10):
                    await client.send(a_frame(chance))
                    sent += 1
                await client.send('{"type": "session.heartbeat", "client_message_id": "the end"}')
                async for raw in client:
                    if '"client_message_id":"the end"' in raw:
                        break
            except ConnectionClosed as closed:
                codes.append(closed.rcvd.code if closed.rcvd else 1006)
    assert set(codes) <= {4505, 1007}, "only who makes no sense has to go"
    return sent


async def knock(server: Process, chance: random.Random, end: float) -> int:
    """Sends requests; none of them may bring the server into trouble."""
    loop, sent = asyncio.get_running_loop(), 0
    places = [each for each in API if each[0] != "/api/changes"]  # its answer does not end
    while loop.time() < end:
        path, method, _ = chance.choice(places)
        for part in ("{id}", "{item}", "{blob_id}", "{sequence}"):
            path = path.replace(part, chance.choice(["x", "%00", "..", "%ff", "a" * 5000, "💥"]))
        path += chance.choice(["", "?limit=-1", "?after=%00", "?q=%22*(", "?q=%ff", "?x=&&&=%"])
        headers = [("Host", server.url[7:]), ("Authorization", f"Bearer {server.token}")]
        headers += [("Content-Type", chance.choice(["application/json", "text/html", "%"]))]
        body = a_frame(chance)
        raw = body if isinstance(body, bytes) else body.encode(errors="replace")
        path = path.encode().decode("latin-1")
        status, _, said = await request(server.url, method, path, headers, raw)
        assert status < 500 or b"AGENT_UNAVAILABLE" in said, (method, path, body, said)
        sent += 1
    return sent


def test_invalid_input_is_answered_and_other_clients_are_not_affected(tmp_path: Path) -> None:
    async def run(server: Process) -> None:
        name, quiet = await server.begin(), await server.begin()
        end = asyncio.get_running_loop().time() + SECONDS
        async with server.client(quiet) as witness:
            work = [
                *(shout(server, name, random.Random(10 + n), end) for n in range(3)),
                knock(server, random.Random(1), end),
            ]
            sent = asyncio.gather(*work)
            turns = 0
            while not sent.done():
                turns += 1
                await witness.say("hello", f"m-{turns}")
                await witness.end_of(turns)
            assert all(await sent)
            assert turns > 1

    with unmoved(tmp_path) as server:
        asyncio.run(run(server))
