"""What an agent can do behind this door, in the words of AG-UI."""

from __future__ import annotations

from typing import Any

from turnwire.agents.client_tools import CLIENT_TOOLS
from turnwire.core.pictures import is_among
from turnwire.engine import Engine

__all__ = ["capabilities_of", "takes_client_tools"]


def takes_client_tools(engine: Engine, agent: str) -> bool:
    """Returns whether an agent can call tools that the front end runs."""
    known = engine.agents.get(agent)
    return known is not None and CLIENT_TOOLS in known.capabilities.options


def capabilities_of(engine: Engine, agent: str, *, is_owner: bool) -> dict[str, Any]:
    """Returns the capabilities of an agent."""
    able = engine.capabilities(agent, is_owner=is_owner)
    own = engine.agents[agent].capabilities
    description = getattr(engine.agents.get(agent), "description", None)
    identity = {"name": agent, "type": "turnwire"}
    if description is not None:
        identity["description"] = description
    return {
        "identity": identity,
        "transport": {
            "streaming": True,
            "websocket": False,
            "httpBinary": False,
            "pushNotifications": False,
            "resumable": True,
        },
        "tools": {"supported": True, "clientProvided": takes_client_tools(engine, agent)},
        "state": {"snapshots": True, "deltas": True, "memory": False, "persistentState": True},
        "multiAgent": {"supported": own.delegates, "delegation": own.delegates},
        "reasoning": {"supported": own.reasons, "streaming": own.reasons},
        "multimodal": {
            "input": {
                "image": able.images,
                "pdf": is_among("application/pdf", able.files),
                "file": "*/*" in able.files,
            }
        },
        "humanInTheLoop": {
            "supported": True,
            "approvals": True,
            "interrupts": True,
            "approveWithEdits": own.edits_calls,
        },
        "custom": {
            # `context` of a run is not given to the agent.
            "turnwire": {"commands": able.commands, "models": able.models, "context": False}
        },
    }
