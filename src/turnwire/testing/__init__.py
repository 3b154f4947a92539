"""Test tools for extensions: checks of a store, an agent, a bus, a projector; a manual clock."""

from turnwire.testing.check_agent import AgentBroken, AgentReport, Prompts, check_agent
from turnwire.testing.check_bus import BUS_CHECKS, BusBroken, check_bus
from turnwire.testing.check_projector import PROJECTOR_CHECKS, ProjectorBroken, check_projector
from turnwire.testing.check_store import STORE_CHECKS, StoreBroken, check_store
from turnwire.testing.clock import ManualClock
from turnwire.testing.faulty_bus import FaultyBus

__all__ = [
    "BUS_CHECKS",
    "PROJECTOR_CHECKS",
    "STORE_CHECKS",
    "AgentBroken",
    "AgentReport",
    "BusBroken",
    "FaultyBus",
    "ManualClock",
    "ProjectorBroken",
    "Prompts",
    "StoreBroken",
    "check_agent",
    "check_bus",
    "check_projector",
    "check_store",
]
