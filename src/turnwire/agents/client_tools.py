"""Tools of the front end: an agent calls them, and the front end of the conversation runs them.

A call is a tool call that asks a question, so it is durable like any question: the turn waits, the
call is answered once, and the result may come after a restart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from turnwire.core import events as ev
from turnwire.core.error_codes import Refused
from turnwire.core.question_names import asked_by_name
from turnwire.core.questions import client_tool_question, questions_of
from turnwire.ports import AgentGone

__all__ = ["CLIENT_TOOLS", "ClientTool", "check_client_tools", "client_call", "client_tools_of"]

CLIENT_TOOLS = "client_tools"  # the option of agents that can call tools of the front end
_LONGEST_NAME = 49  # the API of Claude takes 64 characters, with the name of our MCP server
_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{_LONGEST_NAME}}}")
_MOST_TOOLS = 128  # the API of OpenAI takes no more
_SHOWN = 60  # characters of a wrong name that are repeated
_WHOSE = tuple[str, str, str | None, str | None]


class ClientTool(Struct, frozen=True):
    """A tool that the front end of a conversation offers."""

    name: str
    description: str = ""
    parameters: dict[str, Any] | None = None  # a JSON Schema; None: the tool takes no input

    @property
    def input_schema(self) -> dict[str, Any]:
        """Returns the JSON Schema of the input, also if the tool takes none."""
        given = self.parameters or {"properties": {}}
        return {"type": "object", **given}


def client_tools_of(options: Mapping[str, Any]) -> list[ClientTool]:
    """Returns the tools in the options of a conversation. Raises AgentGone if they are invalid."""
    try:
        return check_client_tools(options.get(CLIENT_TOOLS, []))
    except Refused as refused:
        raise AgentGone(f"The option {CLIENT_TOOLS} is invalid. {refused.message}") from None


def check_client_tools(given: Any) -> list[ClientTool]:
    """Returns tools that any agent can call. Raises Refused with what to change.

    The rule is the same for all agents, because a conversation keeps its tools, and another agent
    may take over: what the APIs of models accept.
    """
    try:
        tools = msgspec.convert(given, list[ClientTool])
    except msgspec.ValidationError as error:
        said = "Tools of the front end are a list of objects with `name`, `description` and "
        raise _refused(f"{said}`parameters`, a JSON Schema of an object: {error}.") from None
    if len(tools) > _MOST_TOOLS:
        raise _refused(f"A front end offers at most {_MOST_TOOLS} tools: leave some out.")
    names: set[str] = set()
    for tool in tools:
        if not _NAME.fullmatch(tool.name):
            said = f"A tool of the front end cannot be called {tool.name[:_SHOWN]!r}"
            raise _refused(f"{said}: use 1 to {_LONGEST_NAME} letters, digits, - and _.")
        if tool.name in names:
            said = f"The front end offers two tools with the name {tool.name!r}"
            raise _refused(f"{said}: give each a name of its own.")
        if asked_by_name(tool.name):
            said = f"A tool of the front end cannot be called {tool.name!r}"
            raise _refused(f"{said}: calls of that name ask people. Rename it.")
        names.add(tool.name)
        if (tool.parameters or {}).get("type", "object") != "object":
            said = f"The `parameters` of the tool {tool.name!r} have to be a JSON Schema with"
            raise _refused(f'{said} "type": "object", because the input of a tool is an object.')
    return tools


def _refused(said: str) -> Refused:
    return Refused("INVALID_PAYLOAD", said)


def client_call(whose: _WHOSE, call: str, name: str, *, request: str = "") -> ev.QuestionAsked:
    """Returns the event that has the front end run a tool. The call was announced before.

    `request`: the agent's own id of the request, if it is not the id of the call.
    """
    given = client_tool_question(name)
    asked = questions_of(given)
    return ev.QuestionAsked(*whose, request or call, call, name, asked, given, asks=False)
