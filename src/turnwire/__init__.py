"""Turnwire: durable conversations between people and agents.

    from turnwire import ClaudeAgent, Client, DemoAgent, Engine, Settings, SqliteStore, create_app, frames

The layers; each imports only the ones below it:

    cli       the command line, one file per command
    server    conversations over HTTP and WebSockets, with authentication; its `settings`
    engine    runs conversations, on the ports: agents, stores, a bus, a clock
    dialects  the protocols at the edges: `claude` is read, `rpc` is written; pure
    errors    the exceptions, also returned where raising would end a stream
    core      the internal format (events, blocks) and the data of front ends (ui); pure
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnwire.lazy import fetcher
from turnwire.version import __version__

# The module of each public name. It is imported at the first access, so that `turnwire --help` and
# programs that need one layer do not load the whole package.
if TYPE_CHECKING:
    from turnwire.agents.agent_turn import AgentTurn, Denied
    from turnwire.agents.asking import Ask
    from turnwire.agents.claude import ClaudeAgent
    from turnwire.agents.demo import DemoAgent
    from turnwire.agents.function import FunctionAgent, agent
    from turnwire.agents.local import LocalSession
    from turnwire.agents.turn_session import TurnSession
    from turnwire.agents.yielded import Plan, Think, UseClientTool, UseTool
    from turnwire.client import Client, Closed, Unreachable
    from turnwire.core import blocks, controls, events
    from turnwire.core.error_codes import Refused
    from turnwire.core.events import NormalizedStreamEvent
    from turnwire.core.status import OpenRequest, Status, TurnEnd
    from turnwire.core.ui import UiStreamAdapter, UiStreamEvent
    from turnwire.core.usage import Usage
    from turnwire.dialects.claude import ClaudeStreamAdapter
    from turnwire.dialects.rpc import RpcBridge, RpcMessage
    from turnwire.dialects.v2 import frames
    from turnwire.dialects.v2.reply import Reply, ToolUse
    from turnwire.engine import Engine, EngineSettings, Talk
    from turnwire.errors import BadLine, TurnwireError
    from turnwire.server.app import create_app
    from turnwire.settings import Settings
    from turnwire.stores.open_store import open_store
    from turnwire.stores.postgres import PostgresStore
    from turnwire.stores.sqlite import SqliteStore

__all__ = [
    "AgentTurn",
    "Ask",
    "BadLine",
    "ClaudeAgent",
    "ClaudeStreamAdapter",
    "Client",
    "Closed",
    "DemoAgent",
    "Denied",
    "Engine",
    "EngineSettings",
    "FunctionAgent",
    "LocalSession",
    "NormalizedStreamEvent",
    "OpenRequest",
    "Plan",
    "PostgresStore",
    "Refused",
    "Reply",
    "RpcBridge",
    "RpcMessage",
    "Settings",
    "SqliteStore",
    "Status",
    "Talk",
    "Think",
    "ToolUse",
    "TurnEnd",
    "TurnSession",
    "TurnwireError",
    "UiStreamAdapter",
    "UiStreamEvent",
    "Unreachable",
    "Usage",
    "UseClientTool",
    "UseTool",
    "__version__",
    "agent",
    "blocks",
    "controls",
    "create_app",
    "events",
    "frames",
    "open_store",
]

_HOME = {
    "AgentTurn": "turnwire.agents.agent_turn",
    "Ask": "turnwire.agents.asking",
    "BadLine": "turnwire.errors",
    "ClaudeAgent": "turnwire.agents.claude",
    "ClaudeStreamAdapter": "turnwire.dialects.claude",
    "Client": "turnwire.client",
    "Closed": "turnwire.client",
    "DemoAgent": "turnwire.agents.demo",
    "Denied": "turnwire.agents.agent_turn",
    "Engine": "turnwire.engine",
    "EngineSettings": "turnwire.engine",
    "FunctionAgent": "turnwire.agents.function",
    "LocalSession": "turnwire.agents.local",
    "NormalizedStreamEvent": "turnwire.core.events",
    "OpenRequest": "turnwire.core.status",
    "Plan": "turnwire.agents.yielded",
    "PostgresStore": "turnwire.stores.postgres",
    "Refused": "turnwire.core.error_codes",
    "Reply": "turnwire.dialects.v2.reply",
    "RpcBridge": "turnwire.dialects.rpc",
    "RpcMessage": "turnwire.dialects.rpc",
    "Settings": "turnwire.settings",
    "SqliteStore": "turnwire.stores.sqlite",
    "Status": "turnwire.core.status",
    "Talk": "turnwire.engine",
    "Think": "turnwire.agents.yielded",
    "ToolUse": "turnwire.dialects.v2.reply",
    "TurnEnd": "turnwire.core.status",
    "TurnSession": "turnwire.agents.turn_session",
    "TurnwireError": "turnwire.errors",
    "UiStreamAdapter": "turnwire.core.ui",
    "UiStreamEvent": "turnwire.core.ui",
    "Unreachable": "turnwire.client",
    "Usage": "turnwire.core.usage",
    "UseClientTool": "turnwire.agents.yielded",
    "UseTool": "turnwire.agents.yielded",
    "agent": "turnwire.agents.function",
    "blocks": "turnwire.core",
    "controls": "turnwire.core",
    "create_app": "turnwire.server.app",
    "events": "turnwire.core",
    "frames": "turnwire.dialects.v2",
    "open_store": "turnwire.stores.open_store",
}


if not TYPE_CHECKING:  # otherwise every misspelt name would pass for Any
    __getattr__ = fetcher(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
