"""Measures the dialects: a line of each agent to the bytes of a v2 frame, compared with Claude's.

A turn of each agent's recording is filled with text deltas whose lines have the same length for all
agents. The runs are interleaved.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.live import Live
from benchmarks.measuring import judged
from turnwire.dialects import acp, claude, codex

FIXTURES = Path(__file__).parent.parent / "fixtures"
DELTAS = 20_000
LENGTH = 400  # bytes of a delta's line
ROUNDS = 9
TOGETHER = 256  # lines that are ready together
MOST = 1.2  # times Claude's


class Stream(NamedTuple):
    """A turn: the lines before the deltas, the deltas, and the lines after them."""

    before: list[tuple[bytes, bool]]  # and whether the host has sent it
    deltas: list[bytes]
    after: list[tuple[bytes, bool]]


class Agent(NamedTuple):
    """One dialect and where its deltas are."""

    recording: Path
    is_delta: Callable[[dict[str, Any]], bool]
    set_text: Callable[[dict[str, Any], str], None]
    decode: Callable[[bytes], Any]
    adapter: Callable[[], Any]


def _claude_text(line: dict[str, Any], text: str) -> None:
    line["event"]["delta"]["text"] = text


def _codex_text(line: dict[str, Any], text: str) -> None:
    line["params"]["delta"] = text


def _acp_text(line: dict[str, Any], text: str) -> None:
    line["params"]["update"]["content"]["text"] = text


AGENTS = {
    "claude": Agent(
        FIXTURES / "claude" / "01_text.jsonl",
        lambda line: line.get("event", {}).get("delta", {}).get("type") == "text_delta",
        _claude_text,
        claude.decode,
        claude.ClaudeStreamAdapter,
    ),
    "codex": Agent(
        FIXTURES / "codex" / "text.jsonl",
        lambda line: line.get("method") == "item/agentMessage/delta",
        _codex_text,
        codex.decode,
        codex.CodexStreamAdapter,
    ),
    "acp": Agent(
        FIXTURES / "acp" / "opencode_text.io.jsonl",
        lambda line: (
            line.get("params", {}).get("update", {}).get("sessionUpdate") == "agent_message_chunk"
        ),
        _acp_text,
        acp.decode,
        acp.AcpStreamAdapter,
    ),
}


def stream_of(agent: Agent) -> Stream:
    """Returns the recorded turn with many deltas of one length in the place of its own."""
    stream = Stream([], [], [])
    for raw in agent.recording.read_bytes().splitlines():
        line = json.loads(raw)
        by_host = line.get("dir") == "in"
        line = line.get("msg", line)
        if not agent.is_delta(line):
            written = json.dumps(line, separators=(",", ":")).encode()
            (stream.after if stream.deltas else stream.before).append((written, by_host))
        elif not stream.deltas:
            agent.set_text(line, "")
            room = LENGTH - len(json.dumps(line, separators=(",", ":")))
            agent.set_text(line, "x" * room)
            written = json.dumps(line, separators=(",", ":")).encode()
            assert len(written) == LENGTH
            stream.deltas.extend([written] * DELTAS)
    assert stream.deltas, agent.recording
    return stream


def seconds(agent: Agent, stream: Stream, together: int) -> float:
    """Returns the processor seconds of the deltas of one turn."""
    adapter, live, decode = agent.adapter(), Live(), agent.decode
    for raw, by_host in stream.before:
        live.take(adapter.sent(decode(raw)) if by_host else adapter.feed(decode(raw)))
    gc.collect()
    deltas, start, size = stream.deltas, time.process_time(), live.size
    for place in range(0, len(deltas), together):
        live.take(adapter.feed_all([decode(raw) for raw in deltas[place : place + together]]))
    spent = time.process_time() - start
    assert live.size - size > DELTAS * LENGTH / 4, "the deltas were sent to the client"
    for raw, by_host in stream.after:
        live.take(adapter.sent(decode(raw)) if by_host else adapter.feed(decode(raw)))
    return spent


def run() -> int:
    """Runs all measurements. Returns 1 if a target is missed."""
    streams = {name: stream_of(agent) for name, agent in AGENTS.items()}
    met = True
    for together, words in ((TOGETHER, "ready together"), (1, "each alone")):
        print(f"deltas, {words}: {DELTAS} lines of {LENGTH} bytes, {ROUNDS} interleaved rounds")
        rounds: dict[str, list[float]] = {name: [] for name in AGENTS}
        for _ in range(ROUNDS):
            for name, agent in AGENTS.items():
                rounds[name].append(seconds(agent, streams[name], together))
        for name, values in rounds.items():
            print(f"  {name:<9} {statistics.median(values) / DELTAS * 1e6:7.2f} us per line")
        for name in ("codex", "acp"):
            pairs = zip(rounds[name], rounds["claude"], strict=True)
            ratio = statistics.median(one / other for one, other in pairs)
            met &= judged(f"{name} / claude", ratio, MOST)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(run())
