"""Agents that are functions, named as --agent takes them."""

from __future__ import annotations

from turnwire import AgentTurn, agent


@agent("greeter")
async def greeter(turn: AgentTurn) -> None:
    await turn.say("Hello.")
