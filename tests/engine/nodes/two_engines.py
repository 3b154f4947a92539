"""Two engines on one store, which reach each other over a bus of this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
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
    network = LocalNetwork()
    agents = ScriptedAgent(), ScriptedAgent()
    async with AsyncExitStack() as stack:
        engines = []
        for scripted, bus in zip(agents, buses or (None, None), strict=True):
            known: dict[str, Agent] = {"scripted": scripted}
            if agent is not None:
                known["demo"] = agent()
            store = await SqliteStore.open(path)
            stack.push_async_callback(store.close)
            engine = Engine(
                store,
                known,
                bus=bus or LocalBus(network),
                settings=settings,
                clock=clock,
            )
            engines.append(await stack.enter_async_context(engine))
        yield Two(engines[0], engines[1], agents)
