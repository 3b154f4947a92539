"""The golden transcripts on a real server: all clients disconnect at a frame and reconnect."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.server.helpers.golden_agent import GATES, TRANSCRIPTS, lines_of
from tests.server.helpers.reconnects import drop_and_return, until_all_is_there
from tests.server.helpers.servers import Process, process
from tests.server.helpers.v2_client import Client, Frame

AGENT = "tests.server.helpers.golden_agent:Golden"
EXPIRES = "05_question_expired"
# The frame that the person waits for before the next action.
WAITED = (
    *("turn.started", "assistant.request_input", "assistant.permission_request"),
    *("assistant.request_resolved", "assistant.complete", "conversation.interrupted"),
    *("assistant.chunk", "assistant.tool_call"),
)


def _comes_here(frame: Frame) -> bool:
    """Leaves out growing text; the agent that asks stays, so that its turn is not resumed."""
    return not frame["payload"].get("partial") and frame["payload"].get("origin") != "resume"


class Person:
    """Repeats the actions of the transcript's client."""

    def __init__(self, client: Client, gates: Path) -> None:
        self.client = client
        self.gates = gates / client.conversation_id
        self.said = 0
        self.names: dict[
            str, str
        ] = {}  # by the id of a queue item in the transcript: its present id

    async def perform(self, transcript: str) -> None:
        self.gates.mkdir()
        due: Counter[str] = Counter()
        sent: Frame | None = None
        for line in lines_of(transcript):
            frame: Frame = line.get("server", {})
            kind = frame.get("type", "")
            if "client" in line:
                await self._until(due)
                sent = line["client"]
                await self._do(sent)
            elif kind in WAITED and _comes_here(frame):
                due[kind] += 1
            elif kind.endswith(".ack") and sent is not None:
                self._learn(frame["payload"])
        await self._until(due)

    async def _until(self, due: Counter[str]) -> None:
        """Returns all frames up to this place in the transcript."""
        while due - Counter(
            f["type"] for f in self.client.frames if not f["payload"].get("partial")
        ):
            await self.client.next()

    async def _do(self, frame: Frame) -> None:
        self.said += 1
        own_id = f"own-{self.said}"
        payload = dict(frame.get("payload") or {})
        if "request_id" in payload:
            payload["request_id"] = self._open_request()
        if "agent" in payload:
            payload["agent"] = "demo"
        if isinstance(payload.get("content"), list):
            payload["content"] = [c for c in payload["content"] if c["type"] == "text"]
        for name in ("queue_id", "before"):
            if name in payload:
                payload[name] = self.names.get(payload[name], payload[name])
        await self.client.send(frame["type"], own_id, **payload)
        self.answer = await self.client.answer(own_id)
        (self.gates / str(self.said)).touch()

    def _learn(self, told: Frame) -> None:
        if told.get("queue_id") and self.answer["payload"].get("queue_id"):
            self.names.setdefault(told["queue_id"], self.answer["payload"]["queue_id"])

    def _open_request(self) -> str:
        asked = [f for f in self.client.frames if f["type"] == "assistant.permission_request"]
        name: str = asked[-1]["payload"]["request_id"]
        return name


async def drop_everywhere(server: Process, transcript: str, gates: Path) -> None:
    async with server.http() as http:
        wish = {"agent": "golden", "options": {"transcript": transcript}}
        answer = await http.post("/api/conversations", json=wish)
        name = str(answer.json()["id"])
    frames = sum("server" in line for line in lines_of(transcript))
    clients = [await server.client(name).come() for _ in range(frames)]
    over = asyncio.Event()
    dropped = [
        asyncio.create_task(drop_and_return(client, number, over))
        for number, client in enumerate(clients)
    ]
    async with server.client(name) as witness:
        await Person(witness, gates).perform(transcript)
        while _last_state(witness)["running"]:
            await witness.next()
        over.set()
        await asyncio.gather(*dropped)
        for client in (witness, *clients):
            await until_all_is_there(client, 0)
        seen = witness.view()
        check_played(transcript, witness)
    for number, client in enumerate(clients):
        await client.leave()
        view = client.view()
        told = f"{transcript}, dropped after {number} frames"
        assert client.numbers() == witness.numbers(), told
        assert (view.messages, view.turns, view.plan) == (seen.messages, seen.turns, seen.plan), (
            told
        )
        client.check()


def _last_state(client: Client) -> Frame:
    told = [f["payload"] for f in client.frames if f["type"] == "session.state"]
    state: Frame = told[-1]
    return state


def check_played(transcript: str, witness: Client) -> None:
    """Checks that all durable content of the transcript was sent in its order."""
    live = [line["server"] for line in lines_of(transcript) if "server" in line]
    assert _texts(live) == _texts(witness.frames)


def _texts(frames: list[Frame]) -> list[Any]:
    told = [f["payload"] for f in frames if f["type"] == "assistant.chunk"]
    return [
        each["text"]
        for each in told
        if not (each.get("partial") or each.get("snapshot") or each.get("aborted"))
    ]


@pytest.mark.parametrize(
    "transcripts",
    [[each for each in TRANSCRIPTS if each != EXPIRES], [EXPIRES]],
    ids=["all", "with_a_deadline"],
)
def test_a_drop_at_every_frame_of_every_transcript(tmp_path: Path, transcripts: list[str]) -> None:
    gates = tmp_path / "gates"
    gates.mkdir()
    settings: dict[str, Any] = {
        "TURNWIRE_AGENT": AGENT,
        "TURNWIRE_AGENTS": f"{AGENT},demo",
        "TURNWIRE_MAX_QUEUE": "2",
        GATES: str(gates),
    }
    if EXPIRES in transcripts:
        settings["TURNWIRE_QUESTION_SECONDS"] = "1"

    async def run() -> None:
        with process(tmp_path / "data", **settings) as server:
            drops = (drop_everywhere(server, each, gates) for each in transcripts)
            await asyncio.gather(*drops)

    asyncio.run(run())
