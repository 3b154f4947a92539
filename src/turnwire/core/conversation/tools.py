"""Tool calls: each gets exactly one result, from the agent or, failing that, from the server."""

from __future__ import annotations

from turnwire.core import blocks
from turnwire.core.conversation.draft import Draft
from turnwire.core.conversation.state import OpenTool, Reply
from turnwire.core.entries import entry_of
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.message import Message

__all__ = ["close_tools", "give_result", "is_background", "open_tool", "turn_of_call", "was_called"]

_CLOSED = 64  # maximum number of closed calls to remember, which an agent may still refer to


def is_background(d: Draft, voice: str | None) -> bool:
    """Returns whether a sub-agent outlives its turn: its parent call has a result already."""
    if voice is None:
        return False
    above = d.tools.get(voice)
    return above is None or above.background


def was_called(d: Draft, tool_use_id: str) -> bool:
    """Returns whether the log has this call already."""
    return tool_use_id in d.tools or tool_use_id in d.closed


def turn_of_call(d: Draft, tool_use_id: str | None, otherwise: int | None) -> int | None:
    """Returns the turn that made a call, also after this side gave the call its result.

    Returns `otherwise` if the call is not known.
    """
    if tool_use_id is None:
        return otherwise
    call = d.tools.get(tool_use_id)
    return d.closed_turns.get(tool_use_id, otherwise) if call is None else call.turn_id


def open_tool(
    d: Draft, entry: Message, tool_use_id: str, turn_id: int | None, event: NormalizedStreamEvent
) -> None:
    """Records an open call, and whether it outlives its turn: its parent may be closed later."""
    voice = event.parent_tool_use_id
    message_id, index = entry.meta.get("messageId"), entry.meta.get("index")
    d.tools[tool_use_id] = OpenTool(
        tool_use_id,
        turn_id,
        voice,
        event.agent_id,
        is_background(d, voice),
        message_id if isinstance(message_id, str) else f"entry-{d.head + 1}",
        index if isinstance(index, int) else 0,
    )


def close_tools(d: Draft, why: str, *, background: bool) -> None:
    """Gives every open call its one result, except calls with an open question, which wait."""
    waiting = {request.request_id for request in d.requests if request.kind == "question"}
    waiting |= {reply.request_id for reply in d.replies}
    for tool in list(d.tools.values()):
        if tool.tool_use_id not in waiting and (background or not tool.background):
            _close(d, tool, blocks.ToolResultBlock(tool.tool_use_id, why, True, "failed"))


def give_result(d: Draft, reply: Reply) -> None:
    """Closes the call of a question whose agent has ended, with the answer as its result."""
    tool = d.tools.get(reply.request_id)
    if tool is not None:
        answer = blocks.ToolResultBlock(tool.tool_use_id, reply.answer, False, "completed")
        _close(d, tool, answer)


def _close(d: Draft, tool: OpenTool, result: blocks.ToolResultBlock) -> None:
    del d.tools[tool.tool_use_id]
    d.closed.append(tool.tool_use_id)
    del d.closed[:-_CLOSED]
    turns = {**d.closed_turns, tool.tool_use_id: tool.turn_id}
    d.closed_turns = {closed: turns[closed] for closed in d.closed if closed in turns}
    entry = entry_of(
        "tool",
        [result],
        run_id=d.run(tool.turn_id),
        timestamp=d.now,
        parent_tool_use_id=tool.parent_tool_use_id,
        agent_id=tool.agent_id,
    )
    d.add(entry, tool.turn_id)
