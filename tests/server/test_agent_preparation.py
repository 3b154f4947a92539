"""The default agent is prepared in the background after the start."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from turnwire.agents.demo import DemoAgent
from turnwire.server.service import Service
from turnwire.settings import Settings
from turnwire.testing.clock import ManualClock

SOON = 2.0  # seconds


class Slow(DemoAgent):
    """An agent that has to load something."""

    def __init__(self, *, missing: str | None = None, error: Exception | None = None) -> None:
        super().__init__()
        self.prepared = 0
        self._missing = missing
        self._error = error

    def unavailable(self) -> str | None:
        return self._missing

    async def prepare(self) -> None:
        self.prepared += 1
        if self._error is not None:
            raise self._error


async def started(folder: Path, agent: Slow, usual: str = "slow") -> None:
    """Runs a server with this agent for a while."""
    clock = ManualClock()
    agents = {"slow": agent, "demo": DemoAgent()}
    service = await Service.open(
        Settings(data_dir=str(folder), made_agents=agents, agent=usual), clock
    )
    assert agent.prepared == 0, "pages that wait for the server come first"
    clock.forward(SOON)
    await service.close()


async def test_the_usual_agent_is_prepared_once(tmp_path: Path) -> None:
    agent = Slow()
    await started(tmp_path, agent)
    assert agent.prepared == 1


@pytest.mark.parametrize(
    ("agent", "usual"), [(Slow(), "demo"), (Slow(missing="It is not installed."), "slow")]
)
async def test_only_the_default_agent_is_prepared_and_only_if_it_is_available(
    tmp_path: Path, agent: Slow, usual: str
) -> None:
    await started(tmp_path, agent, usual)
    assert agent.prepared == 0


async def test_a_server_whose_preparation_fails_logs_it_and_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "turnwire"):
        await started(tmp_path, Slow(error=ImportError("no module")))
    assert "the default agent cannot be prepared: ImportError: no module" in caplog.text
