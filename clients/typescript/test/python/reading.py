"""An agent that reads pictures and files; `reading:reader` names it in the setting `agents`."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import AsyncGenerator

from turnwire import AgentTurn, Plan, UseTool, agent
from turnwire.core.content import ImageContent, LoadedFile

__all__ = ["reader"]


@agent("reader", images=True, files=["application/pdf"])
async def reader(turn: AgentTurn) -> AsyncGenerator[str | UseTool | Plan, str]:
    """Says what it was given, and asks for a permission or shows a plan on demand."""
    if turn.text == "plan":
        yield Plan([("Look", "completed"), ("Write", "in_progress"), ("Test", "pending")])
    if turn.text == "permission":
        yield UseTool("send", {"to": "Ann"}, "sent", needs_permission=True)
    for part in turn.content:
        if isinstance(part, LoadedFile) and part.data is not None:
            yield f"{part.path} has {len(b64decode(part.data))} bytes. "
        elif isinstance(part, ImageContent):
            yield "There is a picture. "
    yield "That is all."
