"""`turnwire nodes`: which processes run conversations."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from pathlib import Path

from tests.cli.conftest import Start, Tell
from tests.engine.helpers.watcher import engine_on, talk_with
from tests.helpers.owner_names import owner_with, pid_that_has_ended
from turnwire import __version__
from turnwire.agents.demo import DemoAgent
from turnwire.ports import NodeRow


def test_no_process_runs_conversations_at_first(tell: Tell) -> None:
    said = tell("nodes")
    assert said.exit_code == 0
    assert "Start one: turnwire serve" in said.stdout
    assert tell("nodes", "--json").stdout == ""
    tell("run", "--agent", "demo", "hello")
    assert "Start one" in tell("nodes").stdout, "the process has left"


def test_processes_are_listed_with_their_load_and_lease(start: Start, home: Path) -> None:
    async def scene() -> None:
        async with engine_on(home / "turnwire.db", agent=DemoAgent(delay=0)) as engine:
            await (await talk_with(engine)).wake()
            now, store = engine.clock.now(), engine.store
            for name, owner, lease in [
                ("silent", "elsewhere:7:a", -5000),
                ("ended", owner_with(pid_that_has_ended()), 60_000),
                ("unknown", "somewhere", 60_000),
            ]:
                row = NodeRow(owner, name, "inbox", [], {}, "2026-01-01T12:00:00.000Z")
                await store.join(row, now=now, lease=lease)
            await engine._ownership._renew()  # reports the load
            await asyncio.to_thread(check)

    def said(*options: str) -> str:
        return start("nodes", *options, env={"TURNWIRE_DATA_DIR": str(home)}).stdout.decode()

    def check() -> None:
        nodes = {node["node"]: node for node in map(json.loads, said("--json").splitlines())}
        here = socket.gethostname()
        mine = nodes[here]
        assert (mine["state"], mine["host"], mine["pid"]) == ("alive", here, os.getpid())
        assert (mine["conversations"], mine["running_agents"], mine["agents"]) == (1, 0, ["demo"])
        assert mine["versions"]["turnwire"] == __version__
        assert 0 < mine["lease_seconds"] <= 10
        states = {name: node["state"] for name, node in nodes.items() if name != here}
        assert states == {"silent": "silent", "ended": "ended", "unknown": "alive"}
        assert nodes["silent"]["lease_seconds"] <= -5
        assert nodes["unknown"]["pid"] is None
        text = said()
        assert (
            f"{here:<7}  alive     1 conversation, 0 running turns, 0 running agents, 0 sockets; lease"
            in text
        )
        assert "; lag 0 ms, store 0 ms; no agents" in text
        assert f"process {os.getpid()} on {here}, version {__version__}" in text
        assert "silent   silent    0 conversations, 0 running turns" in text
        assert "lease expired" in text
        assert "no agents" in text

    home.mkdir()
    asyncio.run(scene())


def test_processes_with_different_buses_are_named(start: Start, home: Path) -> None:
    async def scene() -> None:
        async with engine_on(home / "turnwire.db", agent=DemoAgent(delay=0)) as engine:
            for name, bus in [("one", "nats://bus:4222"), ("two", "store")]:
                row = NodeRow(name, name, name, [], {"bus": bus}, "2026-01-01T12:00:00.000Z")
                await engine.store.join(row, now=engine.clock.now(), lease=60_000)
            await asyncio.to_thread(check)

    def check() -> None:
        listed = start("nodes", env={"TURNWIRE_DATA_DIR": str(home)})
        assert "bus nats://bus:4222, version unknown" in listed.stdout.decode()
        assert "different buses (nats://bus:4222, store)" in listed.stderr.decode()

    home.mkdir()
    asyncio.run(scene())
