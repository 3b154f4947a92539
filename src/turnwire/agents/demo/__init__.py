"""An agent that needs no key and no network: it shows everything that an agent can do."""

from turnwire.agents.demo.agent import DemoAgent
from turnwire.agents.demo.options import DemoOptions

__all__ = ["DemoAgent", "DemoOptions"]
