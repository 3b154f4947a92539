"""`python -m turnwire.testing.model_api script.json`: serve a script until Ctrl-C."""

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
        raise argparse.ArgumentTypeError(f"{port} is no port: they go from 1 to 65535")
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
    """Read the script and serve it."""
    parser = argparse.ArgumentParser(
        prog="python -m turnwire.testing.model_api", description=__doc__
    )
    parser.add_argument("script", type=Path, help="a JSON file: replies, lanes, aside")
    parser.add_argument("--port", type=_port, default=0, help="otherwise any that is free")
    parser.add_argument("--log", type=Path, help="write every request here, a JSON line each")
    given = parser.parse_args()
    try:
        script = msgspec.json.decode(given.script.read_bytes(), type=Script)
    except (OSError, msgspec.DecodeError) as problem:
        print(f"{given.script}: {problem}", file=sys.stderr)
        return 1
    try:
        asyncio.run(_serve(script, given.port, given.log))
    except OSError as problem:
        print(f"It cannot be served: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
