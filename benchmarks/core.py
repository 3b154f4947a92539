"""Measures the pure chain: ratios of interleaved runs on the same lines.

    turnwire  line -> typed -> event -> UI event -> RPC bytes
    v2        line -> typed -> event -> step or partial -> frame -> v2 bytes, as in a server
    v2 single the same, but each event alone: no two deltas of a text are joined
    usual     json -> claude_agent_sdk's parse_message -> ag-ui-protocol's EventEncoder
    floor     msgspec alone: decodes a line to its struct, and encodes one envelope around it
    bare      msgspec alone, and the line is only skipped

All chains except the last two forward everything that they understand, including system messages.

The lines come from the recordings, which have many short turns. A second run uses a stream with
three quarters of deltas, as users have it.

Two more measurements must not grow: the cost of a frame at the end of a long conversation, compared
with its beginning; and the memory to convert a large stream.
"""

from __future__ import annotations

import gc
import itertools
import json
import logging
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Union, get_args

import msgspec
from ag_ui.core import (
    BaseEvent,
    EventType,
    RawEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from ag_ui.encoder import EventEncoder
from claude_agent_sdk import (
    AssistantMessage,
    ResultMessage,
    StreamEvent,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from claude_agent_sdk import SystemMessage as SdkSystemMessage
from claude_agent_sdk._internal.message_parser import parse_message

from benchmarks.live import Live
from turnwire.core.ui import UiStreamAdapter
from turnwire.dialects import claude, rpc
from turnwire.dialects.claude.messages import ClaudeMessage, UnknownMessage
from turnwire.dialects.claude.system import SystemMessage
from turnwire.dialects.v2.codec import decode
from turnwire.dialects.v2.view_reducer import ViewReducer

SystemMessages: Any = SystemMessage
OtherMessages: Any = Union[  # noqa: UP007 (made from a tuple)
    tuple(
        kind
        for kind in get_args(ClaudeMessage)
        if kind not in get_args(SystemMessage) and kind is not UnknownMessage
    )
]

FIXTURES = Path(__file__).parent.parent / "fixtures" / "claude"
LINES = 20_000
ROUNDS = 9
BATCH = 256  # about as many lines as `turnwire convert` reads at once


IDS = re.compile(rb'(?<=")(?=msg_|toolu_)|(?<="uuid":")|(?<="request_id":")')


def recorded_lines(count: int) -> list[bytes]:
    """Returns the recorded streams, repeated up to `count` lines.

    Each repetition has new ids, so that no line counts as a repeat of an earlier one.
    """
    recorded = [
        path.read_bytes().splitlines()
        for path in sorted(FIXTURES.glob("*.jsonl"))
        if not path.name.endswith(".io.jsonl")
    ]
    lines: list[bytes] = []
    for number, stream in enumerate(itertools.cycle(recorded)):
        if len(lines) >= count:
            break
        lines += [IDS.sub(b"%d-" % number, raw) for raw in stream]
    return lines[:count]


def delta_lines(count: int) -> list[bytes]:
    """Returns the recorded streams with more deltas: three of four lines are deltas."""
    recorded = recorded_lines(count)
    pieces = sum(PIECE in raw for raw in recorded)
    others = len(recorded) - pieces
    each, more = divmod(3 * others, pieces)  # how often each delta is repeated
    lines: list[bytes] = []
    for raw in recorded:
        if PIECE not in raw:
            lines.append(raw)
            continue
        more -= 1
        for number in range(each + (more >= 0)):
            lines.append(UUID.sub(b"%d-" % number, raw))  # noqa: PERF401
    return lines[:count]


PIECE = b'"type":"text_delta"'
UUID = re.compile(rb'(?<="uuid":")')

encode_lines = msgspec.json.Encoder().encode_lines


# --- the chains -------------------------------------------------------------------------


def turnwire_chain(lines: list[bytes]) -> int:
    """Runs Turnwire's chain as `turnwire convert --to rpc` does."""
    adapter, ui_adapter = claude.ClaudeStreamAdapter(), UiStreamAdapter()
    bridge = rpc.RpcBridge(system=True)
    size = 0
    for batch in batches(lines):
        events = adapter.feed_all([claude.decode(raw) for raw in batch])
        size += len(encode_lines(bridge.feed_all(ui_adapter.feed_all(events))))
    return size


def v2_chain(lines: list[bytes]) -> int:
    """Runs Turnwire's chain as a server does.

    Deltas of a text that are ready together are joined.
    """
    adapter, live = claude.ClaudeStreamAdapter(), Live()
    for batch in batches(lines):
        live.take(adapter.feed_all([claude.decode(raw) for raw in batch]))
    return live.size


def v2_single_chain(lines: list[bytes]) -> int:
    """Runs the same chain for a stream so slow that no two deltas are ready together."""
    adapter, live = claude.ClaudeStreamAdapter(), Live()
    for batch in batches(lines):
        for event in adapter.feed_all([claude.decode(raw) for raw in batch]):
            live.take([event])
    return live.size


def usual_chain(lines: list[bytes]) -> int:
    """Runs the chain that a careful team writes with the SDK's parser and ag-ui's encoder."""
    encoder = EventEncoder()
    size = 0
    for batch in batches(lines):
        read = [parse_message(json.loads(raw)) for raw in batch]
        events = [event for message in read for event in ag_ui_events(message)]
        size += sum([len(encoder.encode(event)) for event in events])
    return size


def batches(lines: list[bytes]) -> Iterator[list[bytes]]:
    """Yields the lines in batches: all chains process a batch stage by stage."""
    for start in range(0, len(lines), BATCH):
        yield lines[start : start + BATCH]


def ag_ui_events(message: object) -> Iterator[BaseEvent]:
    """Yields an SDK message as AG-UI events, in the simplest way."""
    match message:
        case StreamEvent():
            inner = message.event
            kind = inner["type"]
            if kind == "content_block_delta":
                delta = inner["delta"]
                if delta["type"] == "text_delta":
                    yield TextMessageContentEvent(
                        type=EventType.TEXT_MESSAGE_CONTENT,
                        message_id=message.uuid,
                        delta=delta["text"],
                    )
                elif delta["type"] == "input_json_delta" and delta["partial_json"]:
                    yield ToolCallArgsEvent(
                        type=EventType.TOOL_CALL_ARGS,
                        tool_call_id=message.uuid,
                        delta=delta["partial_json"],
                    )
            elif kind == "content_block_start":
                block = inner["content_block"]
                if block["type"] == "tool_use":
                    yield ToolCallStartEvent(
                        type=EventType.TOOL_CALL_START,
                        tool_call_id=block["id"],
                        tool_call_name=block["name"],
                    )
                else:
                    yield TextMessageStartEvent(
                        type=EventType.TEXT_MESSAGE_START,
                        message_id=message.uuid,
                        role="assistant",
                    )
            elif kind == "content_block_stop":
                yield TextMessageEndEvent(type=EventType.TEXT_MESSAGE_END, message_id=message.uuid)
            else:
                yield RawEvent(type=EventType.RAW, event=inner)
        case AssistantMessage():
            for block in message.content:
                if isinstance(block, ToolUseBlock):
                    yield ToolCallEndEvent(type=EventType.TOOL_CALL_END, tool_call_id=block.id)
                else:
                    yield RawEvent(type=EventType.RAW, event=block)
        case UserMessage():
            content = message.content if isinstance(message.content, list) else []
            for block in content:
                if isinstance(block, ToolResultBlock):
                    yield ToolCallResultEvent(
                        type=EventType.TOOL_CALL_RESULT,
                        message_id=message.uuid or "",
                        tool_call_id=block.tool_use_id,
                        content=str(block.content),
                    )
                else:
                    yield RawEvent(type=EventType.RAW, event=block)
        case ResultMessage():
            yield RawEvent(type=EventType.RAW, event=vars(message))
        case SdkSystemMessage():
            yield RawEvent(type=EventType.RAW, event=message.data)
        case _:
            pass


class Envelope(msgspec.Struct, gc=False):
    """The minimum output for a line that is useful to a client."""

    type: str
    sequence: int
    payload: msgspec.Struct


def floor_chain(lines: list[bytes]) -> int:
    """Runs the floor: msgspec decodes each line to its struct, and encodes one envelope."""
    decode_system = msgspec.json.Decoder(SystemMessages).decode
    decode_other = msgspec.json.Decoder(OtherMessages).decode
    size = 0
    for batch in batches(lines):
        read = [
            decode_system(raw) if raw.startswith(b'{"type":"system"') else decode_other(raw)
            for raw in batch
        ]
        size += len(encode_lines([Envelope("message", 1, message) for message in read]))
    return size


class Head(msgspec.Struct, gc=False):
    """The input of a program that reads only the top level of a line."""

    type: str = ""
    session_id: str | None = None
    event: msgspec.Raw = msgspec.Raw(b"null")


class BareEnvelope(msgspec.Struct, gc=False):
    """The output of a program that does not understand the line."""

    type: str
    sequence: int
    payload: msgspec.Raw


def bare_chain(lines: list[bytes]) -> int:
    """Runs below the floor, for orientation: the line is skipped, not decoded."""
    decode = msgspec.json.Decoder(Head).decode
    size = 0
    for batch in batches(lines):
        read = [decode(raw) for raw in batch]
        size += len(encode_lines([BareEnvelope(head.type, 1, head.event) for head in read]))
    return size


# --- measuring --------------------------------------------------------------------------------


def seconds(chain: Callable[[list[bytes]], int], lines: list[bytes]) -> float:
    """Returns the processor seconds of one pass."""
    gc.collect()
    start = time.process_time()
    chain(lines)
    return time.process_time() - start


def speed(lines: list[bytes], of_usual: dict[str, float]) -> bool:
    """Prints the ratios, and returns whether all targets are met.

    `of_usual` has the maximum ratio of each chain to `usual`.
    """
    chains = {
        "turnwire": turnwire_chain,
        "v2": v2_chain,
        "v2 single": v2_single_chain,
        "usual": usual_chain,
        "floor": floor_chain,
        "bare": bare_chain,
    }
    for chain in chains.values():
        chain(lines[:2000])
    rounds: dict[str, list[float]] = {name: [] for name in chains}
    for _ in range(ROUNDS):
        for name, chain in chains.items():
            rounds[name].append(seconds(chain, lines))
    medians = {name: statistics.median(values) for name, values in rounds.items()}
    for name, value in medians.items():
        print(f"  {name:<9} {value / len(lines) * 1e6:7.2f} us per line")

    def ratio(ours: str, theirs: str) -> float:
        pairs = zip(rounds[ours], rounds[theirs], strict=True)
        return statistics.median(one / other for one, other in pairs)

    met = True
    for name, most in of_usual.items():
        to_usual, to_floor = ratio(name, "usual"), ratio(name, "floor")
        missed = "" if to_usual <= most else " MISSED"
        print(f"  {name + ' / usual':<18} {to_usual:5.3f}   (target at most {most:.3f}){missed}")
        missed = "" if to_floor <= 4 else " MISSED"
        print(f"  {name + ' / floor':<18} {to_floor:5.2f}    (target at most 4.00){missed}")
        met = met and to_usual <= most and to_floor <= 4
    for name, other in (("v2 single", "usual"), ("v2 single", "floor"), ("turnwire", "bare")):
        print(f"  {name + ' / ' + other:<18} {ratio(name, other):5.3f}   (for orientation)")
    return met


FRAMES, SAMPLE, VIEW_ROUNDS = 100_000, 10_000, 5


def growth() -> bool:
    """Prints the cost of a frame in a long conversation, and returns whether it stays constant."""
    adapter, live, ui_adapter = claude.ClaudeStreamAdapter(), Live(), UiStreamAdapter()
    bridge = rpc.RpcBridge()
    frames: list[Any] = []
    messages: list[Any] = []
    for line in map(claude.decode, recorded_lines(2 * FRAMES)):
        events = adapter.feed(line)
        frames += [decode(sent.written) for sent in live.take(events)]
        messages += bridge.feed_all(ui_adapter.feed_all(events))
        if min(len(frames), len(messages)) >= FRAMES:
            break
    gc.collect()
    gc.freeze()  # exclude the input from garbage collection during the measurement
    met = [growth_of("v2", ViewReducer, frames), growth_of("rpc", rpc.Transcript, messages)]
    gc.unfreeze()
    return all(met)


def growth_of(name: str, new: Callable[[], Any], fed: list[Any]) -> bool:
    """Compares the last frames of a conversation with its first ones."""
    first, between, last = (
        fed[:SAMPLE],
        fed[SAMPLE : FRAMES - SAMPLE],
        fed[FRAMES - SAMPLE : FRAMES],
    )
    rounds = []
    for _ in range(VIEW_ROUNDS):
        apply = new().apply
        early = seconds_of(apply, first)
        seconds_of(apply, between)
        rounds.append((early, seconds_of(apply, last)))
    early, late = (statistics.median(times) / SAMPLE * 1e6 for times in zip(*rounds, strict=True))
    ratio = statistics.median(late / early for early, late in rounds)
    print(f"  {name:<4} {early:5.2f} us for each of the first {SAMPLE}, {late:5.2f} of the last")
    print(f"  {name + ' last / first':<18} {ratio:5.2f}    (target at most 1.30)")
    return ratio <= 1.3


def seconds_of(apply: Callable[[Any], None], fed: list[Any]) -> float:
    """Returns the processor seconds of applying all frames."""
    start = time.process_time()
    for each in fed:
        apply(each)
    return time.process_time() - start


def peak_mib(size: int, folder: Path) -> float:
    """Returns the peak memory of a process that converts a stream of about `size` bytes."""
    stream = folder / f"{size}.jsonl"
    chunk = b"\n".join(recorded_lines(1000)) + b"\n"
    with stream.open("wb") as file:
        for _ in range(size // len(chunk) + 1):
            file.write(chunk)
    command = [sys.executable, "-m", "benchmarks.core", "--convert", str(stream)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    stream.unlink()
    return int(output) / 1024


def convert(path: str) -> None:
    """Runs `turnwire convert --to rpc` on the file, and prints the peak memory in KiB."""
    from turnwire.cli.main import main

    with Path("/dev/null").open("w") as nowhere:
        sys.stdout, stdout = nowhere, sys.stdout
        try:
            main(["convert", "--from", "claude", "--to", "rpc", path], standalone_mode=False)
        finally:
            sys.stdout = stdout
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def memory() -> bool:
    """Prints how peak memory grows with the stream, and returns whether the target is met."""
    with tempfile.TemporaryDirectory() as folder:
        small = peak_mib(100_000_000, Path(folder))
        large = peak_mib(1_000_000_000, Path(folder))
    print(f"  converting 100 MB: {small:.1f} MiB; converting 1 GB: {large:.1f} MiB")
    print(f"  1 GB / 100 MB         {large / small:.2f}    (target at most 1.20)")
    return large / small <= 1.2


def run() -> int:
    """Runs all measurements. Returns 1 if a target is missed."""
    logging.disable()
    print(f"speed: {LINES} recorded lines, median of {ROUNDS} interleaved rounds")
    fast = speed(recorded_lines(LINES), {"turnwire": 0.25, "v2": 0.35})
    lines = delta_lines(LINES)
    print(f"speed: {len(lines)} lines, three quarters of them deltas")
    fast &= speed(lines, {"turnwire": 0.25, "v2": 0.25})
    print(f"views: a conversation of {FRAMES} frames, median of {VIEW_ROUNDS} rounds")
    steady = growth()
    print("memory: peak of a process that converts to RPC")
    lean = memory()
    return 0 if fast and steady and lean else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--convert"]:
        convert(sys.argv[2])
    else:
        sys.exit(run())
