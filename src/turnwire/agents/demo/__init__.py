"""The agent `demo`: shows everything that an agent can do, without a key and without a network."""

from turnwire.agents.demo.agent import DemoAgent
from turnwire.agents.demo.options import DemoOptions

__all__ = ["DemoAgent", "DemoOptions"]
