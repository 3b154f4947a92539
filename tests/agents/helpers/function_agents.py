"""Agents that are functions, named as --agent takes them."""

from __future__ import annotations

from turnwire import AgentTurn, agent


@agent("greeter")
async def greeter(turn: AgentTurn) -> None:
    await turn.say("Hello.")


@agent("remembers")
async def remembers(turn: AgentTurn) -> None:
    """Repeats what was said before."""
    said = [f"{who} {text}" for who, text in await turn.history()]
    await turn.say("; ".join([*said, f"now {turn.text}"]))
