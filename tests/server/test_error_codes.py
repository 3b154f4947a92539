"""Every documented error code can be caused on a real socket."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.server.helpers.frame_checks import Away, Broken, Costly, check_error, play
from tests.server.helpers.raw_http import upgrade
from tests.server.helpers.servers import ROOT, Serving
from tests.server.helpers.stalled_client import stalled
from turnwire.core.error_codes import ERRORS

Error = dict[str, Any]
Provoke = Callable[[Serving], Awaitable[Error]]

PAGE = (ROOT / "docs/reference/protocol/v2.md").read_text("utf-8")
ON_THE_PAGE = sorted(set(re.findall(r"^\| `([A-Z][A-Z0-9_]+)` \|", PAGE, re.MULTILINE)))
LONG = 2_000  # bytes of a frame, where that is too many


# --- instead of the first frame -------------------------------------------------------------------


async def connect(server: Serving, query: str = "protocol=v2", **other: str) -> Error:
    """Returns the error of a connection with these parameters."""
    given = {"host": server.url[7:], "bearer": server.token, "name": "", **other}
    headers = [("Host", given["host"]), ("Authorization", f"Bearer {given['bearer']}")]
    name = given["name"] or await server.begin()
    frames, _, _ = await upgrade(server.url, f"/ws/conversations/{name}?{query}", headers)
    [frame] = frames
    error: Error = frame["payload"]
    return error


async def no_protocol(server: Serving) -> Error:
    return await connect(server, "last_sequence=0")


async def a_wrong_token(server: Serving) -> Error:
    return await connect(server, bearer="tw_missing")


async def another_name(server: Serving) -> Error:
    return await connect(server, host="elsewhere.example")


async def no_conversation(server: Serving) -> Error:
    return await connect(server, name="missing")


# --- in the middle --------------------------------------------------------------------------------


async def archived_meanwhile(server: Serving) -> Error:
    client = await server.client(await server.begin()).come()
    async with server.http() as http:
        await http.patch(f"/api/conversations/{client.conversation_id}", json={"archived": True})
    await client.until_closed()
    return last_error(client.frames)


async def silence(server: Serving) -> Error:
    sock = await stalled(server, await server.begin())
    raw = b""
    loop = asyncio.get_running_loop()
    while piece := await loop.sock_recv(sock, 65536):
        raw += piece
    sock.close()
    text = raw.decode("utf-8", "replace")
    frame = json.JSONDecoder().raw_decode(text, text.index('{"type":"session.error"'))[0]
    error: Error = frame["payload"]
    return error


def last_error(frames: list[dict[str, Any]]) -> Error:
    error: Error = next(f for f in reversed(frames) if f["type"] == "session.error")["payload"]
    return error


# --- of one frame ---------------------------------------------------------------------------------


def raw(text: str) -> Provoke:
    """Just this."""

    async def provoke(server: Serving) -> Error:
        client = await server.client(await server.begin()).come()
        await client.send_raw(text)
        error: Error = (await client.until("session.error"))["payload"]
        await client.leave()
        return error

    return provoke


def frames(*sent: tuple[str, Mapping[str, Any]], after: str | None = None) -> Provoke:
    """Sends the frames with one id. Returns the answer to the last one."""

    async def provoke(server: Serving) -> Error:
        async with server.client(await server.begin()) as client:
            if after is not None:
                await client.say(after, "before")
                await client.state("waiting_input")
            error: Error = {}
            for kind, payload in sent:
                await client.send(kind, "x", **payload)
                error = (await client.answer("x"))["payload"]
            if after is not None:
                await client.send("user.interrupt", "stop", turn_id=1)
                await client.state("interrupted")
            return error

    return provoke


def an_answer(ends_with: str | None, *, again: bool = False, text: str = "Blue") -> Provoke:
    """Sends an answer to a question that has ended in some way, or is open."""

    async def provoke(server: Serving) -> Error:
        async with server.client(await server.begin()) as client:
            await client.say("question", "m-1")
            question = (await client.until("assistant.request_input"))["payload"]["question_id"]
            reply = {"question_id": question, "answer": text}
            if again:
                await client.send("user.input_response", "first", **reply)
                await client.answer("first")
            if ends_with == "interrupted":
                await client.send("user.interrupt", "stop", turn_id=1)
            if ends_with is not None:
                await client.state(ends_with)
            await client.send("user.input_response", "x", **reply)
            error: Error = (await client.answer("x"))["payload"]
            return error

    return provoke


async def full_queue(server: Serving) -> Error:
    async with server.client(await server.begin()) as client:
        await client.say("question", "m-1")
        await client.state("waiting_input")
        await client.say("hello", "m-2")
        await client.answer("m-2")
        await client.say("hello", "m-3")
        error: Error = (await client.answer("m-3"))["payload"]
        return error


async def too_often(server: Serving) -> Error:
    async with server.client(await server.begin()) as client:
        for number in range(8):
            await client.send("session.heartbeat", f"h-{number}")
        error: Error = (await client.answer("h-7"))["payload"]
        return error


async def fork_in_the_middle(server: Serving) -> Error:
    name = await server.begin()
    async with server.http() as http:
        answer = await http.post(f"/api/conversations/{name}/fork", json={"at_sequence": 5})
        error: Error = answer.json()["error"]
        return error


# --- the server and the agent ---------------------------------------------------------------------


async def say_hello(server: Serving) -> Error:
    async with server.client(await server.begin()) as client:
        for agent in server.service.engine.agents.values():
            if isinstance(agent, Away):
                agent.away = True
            elif isinstance(agent, Broken):
                agent.broken = True
        await client.say("hello", "x")
        error: Error = (await client.answer("x"))["payload"]
        return error


async def owned_elsewhere(server: Serving) -> Error:
    name, now = await server.begin(), server.service.engine.clock.now()
    await server.service.store.claim(name, "elsewhere:1:a", now=now, lease=60_000)
    async with server.client(name) as client:
        await client.say("hello", "x")
        error: Error = (await client.answer("x"))["payload"]
        return error


async def a_defect(server: Serving) -> Error:
    async with server.client(await server.begin()) as client:
        server.service.engine.ask = None  # type: ignore[assignment, method-assign]
        await client.say("hello", "x")
        error: Error = (await client.answer("x"))["payload"]
        return error


MESSAGE = ("user.message", {"content": "hello"})
ANSWER = ("user.input_response", {"question_id": "missing", "answer": "a"})

PROVOKED: dict[str, tuple[Provoke, dict[str, Any]]] = {
    "CHAT_PROTOCOL_DISABLED": (connect, {"protocol_v2": False}),
    "PROTOCOL_VERSION_UNSUPPORTED": (no_protocol, {}),
    "UNAUTHORIZED": (a_wrong_token, {}),
    "FORBIDDEN": (another_name, {}),
    "CONVERSATION_NOT_FOUND": (no_conversation, {}),
    "CONVERSATION_CLOSED": (archived_meanwhile, {}),
    "HEARTBEAT_TIMEOUT": (silence, {"ping_seconds": 0.2, "pong_seconds": 0.2}),
    "RATE_LIMITED": (too_often, {"frames_at_once": 5, "frames_per_second": 1}),
    "INVALID_FORMAT": (raw("hello"), {}),
    "UNKNOWN_MESSAGE_TYPE": (raw('{"type": "user.shout"}'), {}),
    "INVALID_PAYLOAD": (raw('{"type": "user.message"}'), {}),
    "PAYLOAD_TOO_LARGE": (
        frames(("user.message", {"content": "a" * LONG})),
        {"max_frame_bytes": LONG},
    ),
    "IDEMPOTENCY_CONFLICT": (frames(MESSAGE, ("user.message", {"content": "other"})), {}),
    "NOT_SUPPORTED": (frames(("user.rewind", {"message_sequence": 1})), {}),
    "NOT_A_FORK_POINT": (fork_in_the_middle, {}),
    "BUDGET_EXCEEDED": (
        frames(MESSAGE),
        {"budget_usd_per_user": 0, "agents": {"demo": Costly()}},
    ),
    "TURN_QUEUE_FULL": (full_queue, {"max_queue": 1}),
    "QUEUE_ITEM_NOT_FOUND": (frames(("user.queue", {"action": "remove", "queue_id": "q"})), {}),
    "INVALID_QUESTION_ID": (frames(ANSWER, after="question"), {}),
    "NO_PENDING_INPUT": (frames(ANSWER), {}),
    "INPUT_REQUIRED": (an_answer(None, text=" "), {}),
    "DUPLICATE_INPUT_RESPONSE": (an_answer("active", again=True), {}),
    "INPUT_TIMEOUT": (an_answer("error"), {"question_seconds": 0.2}),
    "CONVERSATION_INTERRUPTED": (an_answer("interrupted"), {}),
    "AGENT_UNAVAILABLE": (say_hello, {"agents": {"demo": Away()}}),
    "AGENT_ERROR": (say_hello, {"agents": {"demo": Broken()}}),
    "STORAGE_UNAVAILABLE": (owned_elsewhere, {}),
    "INTERNAL_ERROR": (a_defect, {}),
}


@pytest.mark.parametrize("code", ON_THE_PAGE)
def test_each_error_code_of_the_page_can_be_caused(tmp_path: Path, code: str) -> None:
    provoke, settings = PROVOKED[code]

    async def scene(server: Serving) -> None:
        check_error(await provoke(server), code)

    play(tmp_path, scene, **settings)


def test_the_page_names_all_of_them() -> None:
    assert set(ON_THE_PAGE) == set(ERRORS) == set(PROVOKED)
