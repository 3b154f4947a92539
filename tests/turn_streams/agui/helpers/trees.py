"""What a person sees, block for block and in order: of our view, and of a client's messages.

Each voice has a list of its own: the agent itself (None), and each sub-agent, by its call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from tests.turn_streams.agui.helpers.streams import decoded, plain, view_of
from turnwire.core.message import to_json
from turnwire.core.view import MessageView, OtherView, TextView, ThinkingView, ToolView, View
from turnwire.dialects.v2 import frames as f

__all__ = ["Tree", "tree_of_frames", "tree_of_messages", "tree_of_view"]

Tree: TypeAlias = dict[str | None, list[tuple[Any, ...]]]


def tree_of_frames(frames: Iterable[f.Frame]) -> Tree:
    """Returns the blocks of our view of a connection.

    Our view of a tool of the front end has the question that its call became. A front end needs the
    arguments of the call.
    """
    told = list(frames)
    calls = [each.payload for each in told if isinstance(each, f.AssistantToolCall)]
    return tree_of_view(view_of(told), {call.tool_use_id: call.input for call in calls})


def tree_of_view(view: View, inputs: Mapping[str, Any] | None = None) -> Tree:
    """Returns the blocks of our view. `inputs`: of the calls of tools of the front end."""
    out: Tree = {}
    for message in view.messages:
        _add(message, None, out, inputs or {})
    out.setdefault(None, [])
    if view.plan:
        out["plan"] = [("plan", to_json(view.plan))]
    return out


def _add(message: MessageView, parent: str | None, out: Tree, inputs: Mapping[str, Any]) -> None:
    said = out.setdefault(parent, [])
    if message.role == "system" or (
        message.role == "user" and message.origin not in (None, "user")
    ):
        return
    if message.role == "user":
        if parent is None:
            texts = [block.text for block in message.blocks if isinstance(block, TextView)]
            said.append(("user", "\n".join(texts)))
        return
    for block in message.blocks:
        match block:
            case TextView():
                said.append(("text", block.id, block.text))
            case ThinkingView():
                said.append(("reasoning", block.id, block.text))
            case ToolView():
                given = block.input if block.input_text is None else block.input_text
                match given:
                    case {"metadata": {"client_tool": True}}:
                        given = inputs[block.id]
                    case _:
                        pass
                said.append(("tool", block.id, block.tool_name, to_json(given)))
                if block.result is not None:
                    told = plain(to_json(block.result.content))
                    said.append(("result", block.id, told, block.result.is_error))
                for each in block.messages:
                    _add(each, block.id, out, inputs)
            case OtherView():
                said.append(("block", block.id, to_json(block.block)))
            case _:
                pass


def tree_of_messages(messages: Any) -> Tree:
    """Returns the same of a client's messages, without what the agent has discarded."""
    out: Tree = {None: []}
    plan = None
    for each in messages:
        said = out.setdefault(each.get("subagentRunId"), [])
        ours = each.get("metadata", {}).get("turnwire", {})
        name = each["id"].removesuffix(":again")
        if ours.get("discarded"):
            continue
        match each["role"]:
            case "user":
                content = each["content"]
                if isinstance(content, list):
                    texts = [part["text"] for part in content if part["type"] == "text"]
                    content = "\n".join(texts)
                said.append(("user", content))
            case "tool":
                told = plain(decoded(each["content"]))
                said.append(("result", each["toolCallId"], told, bool(ours.get("isError"))))
            case "reasoning":
                said.append(("reasoning", name, each["content"]))
            case "activity" if each["activityType"] == "turnwire.plan":
                plan = each["content"]["plan"]["items"]
            case "activity":
                said.append(("block", name, each["content"]["block"]))
            case _:
                if "content" in each:
                    said.append(("text", name, each["content"]))
                for call in each.get("toolCalls", ()):
                    about = call.get("metadata", {}).get("turnwire", {})
                    if not about.get("discarded"):
                        given = about.get("arguments", call["function"]["arguments"])
                        said.append(("tool", call["id"], call["function"]["name"], decoded(given)))
    if plan:
        out["plan"] = [("plan", plan)]
    return {voice: said for voice, said in out.items() if said or voice is None}
