"""Prints what the Python reducers make of streams, as JSON: the reference for the TypeScript tests.

reference.py recordings              every recorded stream: its frames, its messages, its views
reference.py fold                    streams on standard input, as [{dialect, frames}]: their views
reference.py views URL TOKEN ID...   what the Python client shows of these conversations
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
from click.testing import CliRunner

from turnwire.agents.recording import turns_of
from turnwire.cli.commands.convert import command as convert
from turnwire.client import Client
from turnwire.dialects import rpc
from turnwire.dialects.v2.codec import decode
from turnwire.dialects.v2.view_reducer import ViewReducer

RECORDINGS = Path(__file__).parents[4] / "fixtures" / "claude"


def recordings() -> list[dict[str, Any]]:
    found = sorted(path for path in RECORDINGS.glob("*.jsonl") if ".io." not in path.name)
    return [_recording(path) for path in found]


def _recording(path: Path) -> dict[str, Any]:
    messages = _converted(path, "rpc", "--tool-progress", "output_delta")
    frames = [{"data": message} for message in messages]
    return {
        "name": path.stem,
        "turns": len(turns_of(path)),
        "v2": _converted(path, "v2"),
        "view": _converted(path, "view")[0],
        "rpc": frames,
        "rpc_view": _fold("rpc", frames),
    }


def _converted(path: Path, target: str, *more: str) -> list[Any]:
    result = CliRunner().invoke(convert, ["--to", target, *more, str(path)])
    return [json.loads(line) for line in result.stdout.splitlines()]


def _fold(dialect: str, frames: list[Any]) -> Any:
    if dialect == "v2":
        reducer = ViewReducer()
        for frame in frames:
            reducer.apply(decode(json.dumps(frame)))
        return reducer.view()
    transcript = rpc.Transcript()
    for frame in frames:
        message = rpc.decode(json.dumps(frame["data"]).encode())
        transcript.apply(message, frame.get("sequence"), frame.get("turn_id"))
    return transcript.view()


async def _views(url: str, token: str, ids: list[str]) -> dict[str, Any]:
    views: dict[str, Any] = {}
    for name in ids:
        async with Client(url, token).conversation(name) as talk:
            await talk.connected.wait()
            views[name] = talk.view()
    return views


def main() -> None:
    match sys.argv[1:]:
        case ["recordings"]:
            told: Any = recordings()
        case ["fold"]:
            told = [_fold(each["dialect"], each["frames"]) for each in json.load(sys.stdin)]
        case ["views", url, token, *ids]:
            told = asyncio.run(_views(url, token, ids))
        case _:
            sys.exit(__doc__)
    sys.stdout.buffer.write(msgspec.json.encode(told))


if __name__ == "__main__":
    main()
