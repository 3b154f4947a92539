"""The npm packages with the `Chat` of `useChat`, for tests that run it under node."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

from tests.helpers.npm_packages import installed

__all__ = ["CHATS", "run"]

FOLDER = Path(__file__).parent
CHATS = {
    6: ["ai@6.0.326", "@ai-sdk/react@3.0.323", "react@19.3.1", "ws@8.18.3"],
    7: ["ai@7.0.173", "@ai-sdk/react@4.0.177", "react@19.3.1", "ws@8.18.3"],
}


async def run(script: str, version: int, *arguments: str) -> Any:
    """Runs a script of this folder with one version of the packages. Returns what it printed."""
    packages = await asyncio.to_thread(installed, f"ai-chat-{version}", CHATS[version])
    command = ["node", str(FOLDER / script), str(packages), *arguments]
    done = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, check=False, timeout=500
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)
