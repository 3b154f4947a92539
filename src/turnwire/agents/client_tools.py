"""Tools of the front end: an agent calls them, and the front end of the conversation runs them.

A call is a tool call that asks a question, so it is durable like any question: the turn waits, the
call is answered once, and the result may come after a restart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from turnwire.core import events as ev
from turnwire.core.events import Question
from turnwire.core.questions import ONLY
from turnwire.ports import AgentGone

__all__ = ["CLIENT_TOOLS", "ClientTool", "client_call", "client_tools_of"]

CLIENT_TOOLS = "client_tools"  # the option of agents that can call tools of the front end
_WHOSE = tuple[str, str, str | None, str | None]


class ClientTool(Struct, frozen=True):
    """A tool that the front end of a conversation offers."""

    name: str
    description: str = ""
    parameters: dict[str, Any] | None = None  # a JSON Schema; None: the tool takes no input


def client_tools_of(options: Mapping[str, Any]) -> list[ClientTool]:
    """Returns the tools in the options of a conversation. Raises AgentGone if they are invalid."""
    try:
        tools = msgspec.convert(options.get(CLIENT_TOOLS, []), list[ClientTool])
    except msgspec.ValidationError as error:
        said = f"The option {CLIENT_TOOLS} is a list of tools with `name`, `description` and "
        raise AgentGone(f"{said}`parameters`: {error}") from None
    names = [tool.name for tool in tools]
    twice = next((name for name in names if names.count(name) > 1 or not name), None)
    if twice is not None:
        raise AgentGone(
            f"The option {CLIENT_TOOLS} has the name {twice!r} more than once, or empty."
        )
    return tools


def client_call(whose: _WHOSE, call: str, name: str, *, request: str = "") -> ev.QuestionAsked:
    """Returns the event that has the front end run a tool. The call was announced before.

    `request`: the agent's own id of the request, if it is not the id of the call.
    """
    said = f"Run {name} in the front end, and answer with its result."
    given = {"question": said, "required": False, "metadata": {"client_tool": True}}
    asked = [Question(ONLY, said)]
    return ev.QuestionAsked(*whose, request or call, call, name, asked, given, asks=False)
