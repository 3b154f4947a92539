"""Agents that play the recorded streams; `played:01_text` names one in the setting `agents`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from turnwire.agents.replay import ReplayAgent

RECORDINGS = Path(__file__).parents[4] / "fixtures" / "claude"


def __getattr__(name: str) -> Callable[[], ReplayAgent]:
    path = RECORDINGS / f"{name}.jsonl"
    if not path.is_file():
        raise AttributeError(name)

    def make() -> ReplayAgent:
        agent = ReplayAgent(path, speed=200)
        agent.name = name
        return agent

    return make
