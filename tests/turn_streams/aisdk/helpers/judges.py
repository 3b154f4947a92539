"""The npm packages of the AI SDK as judges: they validate the chunks of streams, and assemble them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests.helpers.npm_packages import installed
from tests.turn_streams.aisdk.helpers.cuts import Cut
from turnwire.dialects.aisdk import chunks as u

__all__ = ["VERSIONS", "judged", "judged_chats", "package"]

VERSIONS = (5, 6, 7)
PACKAGES = {
    5: ["ai@5.0.277", "@ai-sdk/react@2.0.280", "react@19.3.1", "ws@8.18.3"],
    6: ["ai@6.0.326", "@ai-sdk/react@3.0.323", "react@19.3.1", "ws@8.18.3"],
    7: ["ai@7.0.173", "@ai-sdk/react@4.0.177", "react@19.3.1", "ws@8.18.3"],
}
HERE = Path(__file__).parent


def package(version: int) -> Path:
    """Returns the folder with the packages of one version, installed once into a cache folder."""
    return installed(f"ai-chat-{version}", PACKAGES[version])


def judged(
    version: int, cases: Sequence[Sequence[Sequence[u.Chunk | dict[str, Any]]]]
) -> list[Any]:
    """Returns the message that each case assembles to, and the errors on the way."""
    return _run("judge.mjs", version, {"cases": cases})


def judged_chats(version: int, cuts: Iterable[Cut], *, reloads: bool) -> list[Any]:
    """Returns the messages of a `Chat` for each cut, and its errors.

    `reloads`: the chat resumes in a new page. The streams may have most of their chunks in common.
    """
    numbers: dict[bytes, int] = {}

    def placed(streams: list[list[u.Chunk]]) -> list[list[int]]:
        return [
            [numbers.setdefault(msgspec.json.encode(each), len(numbers)) for each in stream]
            for stream in streams
        ]

    cases = [
        {"before": placed(cut.before), "later": placed(cut.later), "reloads": reloads}
        for cut in cuts
    ]
    pool = [msgspec.Raw(raw) for raw in numbers]
    return _run("chat.mjs", version, {"cases": cases, "pool": pool})


def _run(script: str, version: int, said: dict[str, Any]) -> list[Any]:
    command = ["node", str(HERE / script), str(package(version))]
    done = subprocess.run(
        command, input=msgspec.json.encode(said), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    out: list[Any] = json.loads(done.stdout)
    return out
