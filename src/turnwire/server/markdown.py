"""A conversation as a Markdown document, to be read by people."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec

from turnwire.core.view import BlockView, EventView, MessageView, TextView, ThinkingView, ToolView
from turnwire.dialects.v2.fold import ViewReducer
from turnwire.engine.record import as_frame, told
from turnwire.ports import ConversationRow, Store

__all__ = ["markdown_of"]

_TICKS = re.compile("`+")


async def markdown_of(store: Store, row: ConversationRow) -> AsyncIterator[bytes]:
    """Message by message, complete: who speaks is a heading, a call is code."""
    reducer = ViewReducer()
    async for item in told(store, row):
        reducer.apply(as_frame(item, row.conversation_id))  # type: ignore[arg-type]  # each is one
    title = " ".join((row.title or row.conversation_id).split())
    yield f"# {title}\n\n".encode(errors="replace")
    yield f"Conversation {row.conversation_id} with {row.agent}, {row.created_at[:10]}\n".encode()
    speaker = ""
    for message in reducer.view().messages:
        text = "\n\n".join(_message(message, row.agent))
        name = "You" if message.role == "user" else row.agent
        if message.role != "system" and name != speaker:
            speaker = name
            text = f"## {name}\n\n{text}"
        yield f"\n{text}\n".encode(errors="replace")


def _message(message: MessageView, agent: str) -> Iterator[str]:
    for block in message.blocks:
        yield from _block(block, agent)


def _block(block: BlockView, agent: str) -> Iterator[str]:
    match block:
        case TextView(text=text):
            yield text.strip("\n")
        case ThinkingView(text=text):
            yield _quoted(f"*Thinking:* {text}")
        case ToolView():
            yield from _call(block, agent)
        case EventView(name=name, subtype=subtype, text=text):
            yield f"*{text or subtype or name}*"
        case _:
            yield _fenced(_json(block.block), "json")


def _call(call: ToolView, agent: str) -> Iterator[str]:
    """A tool with all of its input, what its sub-agent said, and all of its result."""
    yield f"**{call.tool_name}**"
    yield _fenced(call.input_text or _json(call.input), "json")
    for message in call.messages:
        yield _quoted("\n\n".join(_message(message, agent)))
    if call.request is not None and call.request.outcome is not None:
        said = call.request.decision or call.request.answer
        yield f"*{call.request.outcome}*" + (f": {_words(said)}" if said is not None else "")
    if call.result is not None:
        yield "*failed*" if call.result.is_error else "*ok*"
        if printed := _words(call.result.content).strip("\n"):
            yield _fenced(printed)


def _words(content: Any) -> str:
    """What a tool gave back: its words, or the JSON of what has none."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_words(each) for each in content)
    text = getattr(content, "text", None)
    if text is None and isinstance(content, dict):
        text = content.get("text")
    return text if isinstance(text, str) else _json(content)


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value)).decode()


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip("\n").split("\n"))


def _fenced(text: str, language: str = "") -> str:
    """As code, whatever backticks are in it."""
    longest = max(map(len, _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
