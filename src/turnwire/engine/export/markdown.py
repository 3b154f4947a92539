"""Exports a conversation as a Markdown document for people."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from turnwire.core.events import Question
from turnwire.core.questions import questions_of
from turnwire.core.status import TurnEnd
from turnwire.core.view import (
    BlockView,
    EventView,
    MessageView,
    RequestView,
    TextView,
    ThinkingView,
    ToolView,
    View,
)
from turnwire.dialects.v2.view_reducer import ViewReducer
from turnwire.engine.export.attachments import attached, in_words
from turnwire.engine.export.jsonl import as_frame, told
from turnwire.engine.export.tool_markdown import (
    block_markdown,
    checklist,
    fenced,
    input_markdown,
    json_of,
    one_line,
)
from turnwire.long_work import LongWork
from turnwire.ports import ConversationRow, Store, StoredEntry

__all__ = ["markdown_of"]

_NAMES = {"command_execution": "command", "file_change": "file change"}  # of unified calls


async def markdown_of(
    store: Store, row: ConversationRow, read: Callable[[int], object] = lambda sequence: None
) -> AsyncIterator[str]:
    """Yields the complete document in parts. Speakers are headings, tool calls are code.

    `read` is called with the sequence of each entry that was read.
    """
    reducer = ViewReducer()
    async for item in told(store, row):
        reducer.apply(as_frame(item, row.conversation_id))  # type: ignore[arg-type]  # is valid
        if isinstance(item, StoredEntry):
            read(item.sequence)
    yield f"# {one_line(row.title or row.conversation_id)}\n\n"
    yield f"Conversation {row.conversation_id} with {row.agent}, {row.created_at[:10]}\n"
    work = LongWork()
    for part in _parts(reducer.view(), row.agent):
        if work.is_due:
            await work.give_way()
        yield f"\n{part}\n"


def _parts(view: View, agent: str) -> Iterator[str]:
    ends = {turn.turn_id: turn.end for turn in view.turns}
    last = {message.turn_id: message for message in view.messages}  # the last message of each turn
    speaker = ""
    changes = [change for message in view.messages if (change := _handover(message))]
    agent = changes[0][0] if changes else agent
    for message in view.messages:
        change = _handover(message)
        agent = change[1] if change else agent
        name = "You" if message.role == "user" else agent
        if message.role != "system" and name != speaker:
            speaker = name
            yield f"## {one_line(name)}"
        yield from _message(message)
        end = ends.get(message.turn_id) if message.turn_id is not None else None
        if end is not None and last[message.turn_id] is message:
            yield from _end(end)
    if view.plan:
        yield "## Plan"
        yield checklist(view.plan)


def _handover(message: MessageView) -> tuple[str, str] | None:
    """Returns the agents before and after a handover. Returns None for any other message."""
    match message.blocks:
        case [EventView(subtype="agent", data={"agent": str(agent), "from": str(before)})]:
            return before, agent
        case _:
            return None


def _message(message: MessageView) -> Iterator[str]:
    for block in message.blocks:
        yield from _block(block)


def _block(block: BlockView) -> Iterator[str]:
    match block:
        case TextView(text=text):
            yield text.strip("\n")
        case ThinkingView(text=text):
            yield _quoted(f"*Thinking:* {text}")
        case ToolView():
            yield from _call(block)
        case EventView(name=name, subtype=subtype, text=text):
            yield f"*{text or subtype or name}*"
        case _:
            said = attached(block.block)
            yield from [said] if said else block_markdown(block.block)


def _call(call: ToolView) -> Iterator[str]:
    """Yields a tool call: its input, the messages of its sub-agent, and its result."""
    about = call.input.get("description") if isinstance(call.input, dict) else None
    name = _NAMES.get(call.tool_name) or one_line(call.tool_name)
    yield f"**{name}**" + (f": {one_line(about)}" if isinstance(about, str) else "")
    asks = call.request is not None and call.request.kind == "question"
    if asks and isinstance(call.input, dict):
        for question in questions_of(call.input):
            yield from _question(question)
    else:
        yield from (
            [fenced(call.input_text, "json")] if call.input_text else input_markdown(call.input)
        )
    for message in call.messages:
        yield _quoted("\n\n".join(_message(message)))
    if call.request is not None:
        yield _request(call.request)
    if call.result is not None:
        yield "*failed*" if call.result.is_error else "*ok*"
        if printed := _words(call.result.content).strip("\n"):
            yield fenced(printed)


def _question(question: Question) -> Iterator[str]:
    about = f" ({one_line(question.header)})" if question.header else ""
    yield f"{question.question}{about}"
    if question.options:
        yield "\n".join(
            f"{number}. {one_line(option.label)}"
            + (f": {one_line(option.description)}" if option.description else "")
            for number, option in enumerate(question.options, 1)
        )


def _request(request: RequestView) -> str:
    if request.outcome is None:
        return "*waits for an answer*"
    said = request.decision or request.answer
    return f"*{request.outcome}*" + (f": {_words(said)}" if said is not None else "")


def _end(end: TurnEnd) -> Iterator[str]:
    """Yields the error of a failed turn. An interrupt has an event of its own."""
    if end.error is not None and not end.interrupted:
        yield f"*failed: {one_line(end.error.message)} ({end.error.code})*"


def _words(content: Any) -> str:
    """Returns the result of a tool as text, or as JSON if it has no text."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_words(each) for each in content)
    if (said := in_words(content)) is not None:
        return f"[{said}]"
    text = getattr(content, "text", None)
    if text is None and isinstance(content, dict):
        text = content.get("text")
    return text if isinstance(text, str) else json_of(content)


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip("\n").split("\n"))
