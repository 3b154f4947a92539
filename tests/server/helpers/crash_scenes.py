"""The crash points of saving, and a new conversation for a crash."""

from __future__ import annotations

from pathlib import Path

from tests.engine.helpers.watcher import engine_on
from turnwire.agents.demo import DemoAgent
from turnwire.core.conversation.state import Options

SAVING = ["saves:2", "saved:2"]  # partials: tests/server/test_shown_text.py


async def begin(path: Path, delay: float = 0) -> str:
    """Creates a conversation that goes on without followers. Returns its id."""
    async with engine_on(path / "turnwire.db", agent=DemoAgent()) as engine:
        rules = Options(on_disconnect="continue")
        return (await engine.create("demo", options={"delay": delay}, rules=rules)).id
