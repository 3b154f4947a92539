"""A module that no test may import: `test_import_permissions` checks it."""

from turnwire.agents.demo import DemoAgent as Agent

__all__ = ["Agent"]
