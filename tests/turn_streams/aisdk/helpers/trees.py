"""What a person sees of the agent, block for block and in order: of our view, and of UI messages.

Each voice has a list of its own: the agent itself (None), and each sub-agent, by its call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tests.turn_streams.agui.helpers.streams import plain
from tests.turn_streams.agui.helpers.trees import Tree, tree_of_frames
from turnwire.dialects.v2 import frames as f

__all__ = ["begins", "tree_of_ui", "tree_of_view"]

_QUIET = ("step-start", "data-usage", "data-permission", "source-url", "source-document")


def tree_of_view(frames: Sequence[f.Frame]) -> Tree:
    """Returns the blocks of our view of a connection, without what belongs to no turn.

    A UI message has no ids of texts, and no messages of people: these are messages of their own.
    """
    strangers = {
        each.payload.tool_use_id
        for each in frames
        if isinstance(each, f.AssistantToolResult) and each.turn_id is None
    }
    questions = {
        each.payload.question_id for each in frames if isinstance(each, f.AssistantRequestInput)
    }
    questions -= {  # tools of a front end are calls
        each.payload.tool_use_id for each in frames if isinstance(each, f.AssistantToolCall)
    }
    out: Tree = {}
    for voice, said in tree_of_frames(frames).items():
        kept: list[tuple[Any, ...]] = []
        for kind, *what in said:
            match kind:
                case "text" | "reasoning":
                    kept.append((kind, what[1]))
                case "tool" | "result" if what[0] in strangers:
                    pass
                case "tool" if what[0] in questions:
                    kept.append(("question", what[0], what[1]))
                case "user":
                    pass
                case _:
                    kept.append((kind, *what))
        if kept:
            out[voice] = kept
    return out


def tree_of_ui(messages: Iterable[Any]) -> Tree:
    """Returns the same of the UI messages of a conversation, without what the agent has discarded."""
    out: Tree = {}
    plan: Any = None
    for message in messages:
        parts = message["parts"] if message["role"] == "assistant" else []
        calls = {part.get("toolCallId") for part in parts}
        for part in parts:
            kind, data = part["type"], part.get("data")
            about = part.get("providerMetadata") or part.get("callProviderMetadata") or {}
            ours = about.get("turnwire", {})
            if ours.get("discarded") or part.get("errorText") == "The call was discarded.":
                continue
            parent = ours.get("parentToolCallId")
            if kind in ("data-question", "data-permission"):
                parent = data["parentToolCallId"]
            said = out.setdefault(parent, [])
            match kind:
                case "text" | "reasoning":
                    said.append((kind, part["text"]))
                case "dynamic-tool":
                    said += _call(part)
                case "data-question" if part["id"] in calls:
                    pass  # a tool of a front end
                case "data-question":
                    said.append(("question", part["id"], data["toolName"]))
                    if "result" in data:
                        said.append(("result", part["id"], plain(data["result"]), data["isError"]))
                case "data-block":
                    said.append(("block", part["id"], data))
                case "data-plan":
                    plan = data["items"]
                case _:
                    assert kind in _QUIET, kind
    if plan:
        out["plan"] = [("plan", plan)]
    return {voice: said for voice, said in out.items() if said}


def _call(part: Any) -> list[tuple[Any, ...]]:
    name, state = part["toolCallId"], part["state"]
    said: list[tuple[Any, ...]] = [("tool", name, part["toolName"], part.get("input"))]
    if state == "output-available" and not part.get("preliminary"):
        said.append(("result", name, plain(part["output"]), False))
    elif state == "output-error":
        said.append(("result", name, plain(part["errorText"]), True))
    return said


def begins(said: Tree, whole: Tree) -> bool:
    """Returns whether each voice has said the beginning of the whole."""
    return all(whole.get(voice, [])[: len(part)] == part for voice, part in said.items())
