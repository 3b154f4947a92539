"""Requests a title for a conversation from the program, by its first message."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from turnwire.agents.claude.process.control_runner import Send
from turnwire.core.content import Content, TextContent
from turnwire.core.error_codes import Refused
from turnwire.ports import AgentGone

__all__ = ["find_title"]

_NAMED_BY = 2000  # characters of the first message


async def find_title(content: Sequence[Content], send: Send) -> str | None:
    """Returns a title, or None if the program has none; then the first words are the title."""
    words = "\n".join(part.text for part in content if isinstance(part, TextContent))
    asked = {"subtype": "generate_session_title", "description": words[:_NAMED_BY]}
    with suppress(Refused, AgentGone, TimeoutError):
        answer = await send({**asked, "persist": True})
        title = answer.get("title") if isinstance(answer, dict) else None
        return title if isinstance(title, str) else None
    return None
