"""The tools that wait at the gate: AskUserQuestion, Turnwire's `request_input`, the front end's tools.

This module has their form for Claude Code: the tool definition, and the outputs of the hook before
them. How a question waits for a person is in `question_machine`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from turnwire.agents.claude.extensions.tool_host import answer_plain, call_id, said_by_tool
from turnwire.agents.client_tools import ClientTool
from turnwire.core.answers import as_text
from turnwire.core.conversation.state import Reply
from turnwire.core.questions import questions_of

__all__ = [
    "GATE",
    "OWN_TOOLS",
    "SERVER",
    "SERVER_CONFIG",
    "allow",
    "answer_call",
    "defer",
    "deny",
    "is_gated",
]

SERVER = "turnwire"
OWN_TOOLS = f"mcp__{SERVER}__"  # begins the program's names of the tools of this server
SERVER_CONFIG = {"type": "sdk", "name": SERVER}
_NO_ANSWER = "(not answered)"  # Claude Code would omit the question if others have answers
GATE = f"^(AskUserQuestion|{OWN_TOOLS}.+)$"  # the tools whose calls wait at the gate

_TOOL = {
    "name": "request_input",
    "description": (
        "Ask the person you work for, and wait for the answer, which may take days. "
        "Ask one question at a time."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "question": {"type": "string", "description": "What you want to know."},
            "options": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Answers to choose from. Leave it out to let them use their own words.",
            },
            "free_text": {
                "type": "boolean",
                "description": "False: they have to take one of the options.",
            },
            "required": {
                "type": "boolean",
                "description": "False: they may leave the answer empty.",
            },
            "metadata": {
                "type": "object",
                "description": "Any extra data for the client that shows the question.",
            },
        },
        "required": ["question"],
    },
    "_meta": {"anthropic/alwaysLoad": True},  # otherwise the model has to search for it first
}


def is_gated(tool_name: Any) -> bool:
    """Whether calls of a tool wait at the gate."""
    return isinstance(tool_name, str) and re.search(GATE, tool_name) is not None


# --- outputs of the hook ------------------------------------------------------------------------


def allow(reply: Reply, tool_input: Any, context: str | None = None) -> dict[str, Any]:
    """Allows the tool to run: AskUserQuestion finds the answers in its input.

    The model gets the text `context` together with the tool's result.
    """
    more = {} if context is None else {"additionalContext": context}
    if not isinstance(tool_input, dict) or "questions" not in tool_input:
        return _decision("allow", **more)
    answers = {
        question.question: as_text(_part(reply.answer, question.id))
        for question in questions_of(tool_input)
    }
    if any(answers.values()):  # otherwise Claude Code itself reports that there is no answer
        answers = {asked: said or _NO_ANSWER for asked, said in answers.items()}
    return _decision("allow", updatedInput={**tool_input, "answers": answers}, **more)


def deny(why: str) -> dict[str, Any]:
    """Denies the tool, with a reason for the model."""
    return _decision("deny", permissionDecisionReason=why)


def defer() -> dict[str, Any]:
    """Defers the tool: it runs when the session is resumed."""
    return _decision("defer")


def _decision(decision: str, **more: Any) -> dict[str, Any]:
    said = {"hookEventName": "PreToolUse", "permissionDecision": decision, **more}
    return {"hookSpecificOutput": said}


# --- answers ------------------------------------------------------------------------------------


def _part(answer: Any, question_id: str) -> Any:
    """Returns the answer to one question of several. A single value answers each question."""
    return answer.get(question_id, "") if isinstance(answer, dict) else answer


# --- the server with the tools ------------------------------------------------------------------


def _listed(tool: ClientTool) -> dict[str, Any]:
    """Returns a tool of the front end in the format of the Model Context Protocol."""
    about = {"name": tool.name, "description": tool.description}
    return {**about, "inputSchema": tool.input_schema, "_meta": _TOOL["_meta"]}


def answer_call(
    message: Any, answers: dict[str, Reply], tools: Sequence[ClientTool]
) -> dict[str, Any]:
    """Answers a JSON-RPC message of Claude Code's MCP client. `answers` come from the hook."""
    if not isinstance(message, dict) or message.get("method") != "tools/call":
        return answer_plain(SERVER, message, [_TOOL, *map(_listed, tools)])
    reply = answers.pop(str(call_id(message)), None)
    said = "There is no answer." if reply is None else as_text(reply.answer)
    return said_by_tool(message, said, failed=reply is None)
