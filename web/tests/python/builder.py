"""An agent whose model calls several tools at once: TURNWIRE_AGENTS=web.tests.python.builder:builder."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pydantic_ai
from pydantic_ai import messages as ai
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from turnwire.agents.pydantic_ai import PydanticAgent

TARGETS = ("check", "test", "docs")


async def model(messages: list[Any], info: AgentInfo) -> AsyncIterator[Any]:
    """Wants to run every target, and repeats what became of each."""
    del info
    results = [part for part in messages[-1].parts if isinstance(part, ai.ToolReturnPart)]
    if results:
        yield ", ".join(str(each.content) for each in results)
        return
    for number, target in enumerate(TARGETS):
        call = f"call-{len(messages)}-{target}"
        yield {
            number: DeltaToolCall(
                "Bash", json.dumps({"command": f"make {target}"}), tool_call_id=call
            )
        }


def builder() -> PydanticAgent:
    """Returns the agent."""
    made = pydantic_ai.Agent(FunctionModel(stream_function=model), name="builder")

    def run(command: str) -> str:
        return f"ran {command}"

    made.tool_plain(requires_approval=True, name="Bash")(run)
    return PydanticAgent(made)
