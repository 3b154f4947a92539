"""Imported by nothing: `test_import_powers` shows that it is not."""

from turnwire.agents.demo import DemoAgent as Agent

__all__ = ["Agent"]
