"""Serves a scripted model until Ctrl-C: `python -m turnwire.testing.model_api script.json`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

import msgspec

from turnwire.testing.model_api.script import Script
from turnwire.testing.model_api.server import ModelApi


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{port} is not a port; choose one from 0 to 65535")
    return port


async def _serve(script: Script, port: int, log: Path | None) -> None:
    api = ModelApi.of(script, log=log)
    await api.start(port)
    print(f"ANTHROPIC_BASE_URL={api.url}", flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        await api.stop()


def main() -> int:
    """Reads the script and serves it."""
    parser = argparse.ArgumentParser(
        prog="python -m turnwire.testing.model_api", description=__doc__
    )
    parser.add_argument("script", type=Path, help="a JSON file: replies, lanes, aside")
    parser.add_argument(
        "--port", type=_port, default=0, help="port; 0 chooses a free port (default)"
    )
    parser.add_argument(
        "--log", type=Path, help="append every request to this file, one JSON line each"
    )
    given = parser.parse_args()
    try:
        script = msgspec.json.decode(given.script.read_bytes(), type=Script)
    except (OSError, msgspec.DecodeError) as problem:
        print(f"{given.script}: {problem}", file=sys.stderr)
        return 1
    try:
        asyncio.run(_serve(script, given.port, given.log))
    except OSError as problem:
        print(f"The script cannot be served: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
