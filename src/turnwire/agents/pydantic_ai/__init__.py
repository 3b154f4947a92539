"""Agents of pydantic-ai, and so plain models of any provider."""

from turnwire.agents.pydantic_ai.agent import PydanticAgent

__all__ = ["PydanticAgent"]
