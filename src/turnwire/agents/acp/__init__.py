"""Agents that speak the Agent Client Protocol over standard input and output."""

from turnwire.agents.acp.agent import PRESETS, AcpAgent

__all__ = ["PRESETS", "AcpAgent"]
