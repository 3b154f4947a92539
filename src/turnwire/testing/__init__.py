"""Checks and stand-ins for those who build on Turnwire: `check_store` for a store, `check_agent` for an agent."""

from turnwire.testing.check_agent import AgentBroken, AgentReport, Prompts, check_agent
from turnwire.testing.check_store import STORE_CHECKS, StoreBroken, check_store

__all__ = [
    "STORE_CHECKS",
    "AgentBroken",
    "AgentReport",
    "Prompts",
    "StoreBroken",
    "check_agent",
    "check_store",
]
