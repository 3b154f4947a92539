"""Several engines on one store, which reach each other over a bus of this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from tests.engine.helpers.scripted_agent import ScriptedAgent
from turnwire.bus.local import LocalBus, LocalNetwork
from turnwire.engine import Engine
from turnwire.engine.settings import EngineSettings
from turnwire.ports import Agent, Bus, Clock
from turnwire.stores.sqlite import SqliteStore

SETTINGS = EngineSettings(recheck=600.0)  # what is seen soon was not read from the log


class Two:
    """The two engines, each with an agent of its own."""

    def __init__(self, a: Engine, b: Engine, agents: tuple[ScriptedAgent, ScriptedAgent]) -> None:
        self.a = a
        self.b = b
        self.agent_a, self.agent_b = agents


@asynccontextmanager
async def two_engines(
    path: Path,
    *,
    buses: tuple[Bus, Bus] | None = None,
    settings: EngineSettings = SETTINGS,
    clock: Clock | None = None,
    agent: Callable[[], Agent] | None = None,
) -> AsyncIterator[Two]:
    """Runs two engines on a real file. `agent` makes the agent `demo` of each, if there is one."""
    chosen = buses or _local_buses(2)
    async with engines(path, chosen, settings=settings, clock=clock, agent=agent) as (a, b):
        yield Two(a[0], b[0], (a[1], b[1]))


def _local_buses(count: int) -> list[Bus]:
    network = LocalNetwork()
    return [LocalBus(network) for _ in range(count)]


@asynccontextmanager
async def engines(
    path: Path,
    buses: Sequence[Bus],
    *,
    settings: EngineSettings = SETTINGS,
    clock: Clock | None = None,
    agent: Callable[[], Agent] | None = None,
) -> AsyncIterator[list[tuple[Engine, ScriptedAgent]]]:
    """Runs an engine for each bus, each with a scripted agent."""
    async with AsyncExitStack() as stack:
        made = []
        for bus in buses:
            scripted = ScriptedAgent()
            known: dict[str, Agent] = {"scripted": scripted}
            if agent is not None:
                known["demo"] = agent()
            store = await SqliteStore.open(path)
            stack.push_async_callback(store.close)
            engine = Engine(store, known, bus=bus, settings=settings, clock=clock)
            made.append((await stack.enter_async_context(engine), scripted))
        yield made
