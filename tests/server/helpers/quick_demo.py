"""A demo agent without delays, for servers in their own processes."""

from __future__ import annotations

from turnwire.agents.child import ChildAgent
from turnwire.agents.demo import DemoAgent


def make() -> DemoAgent:
    return DemoAgent(delay=0)


def make_child() -> ChildAgent:
    return ChildAgent("demo", delay=0)
