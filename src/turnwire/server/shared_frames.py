"""What a share link shows of the log: a list of what is kept; everything else is left out.

People without an account read it. So it has what was said and done, and nothing about the machine,
the users or the state of the conversation: no events of the session (working directory, settings,
tasks), no permissions, no open requests, no user names, no usage and costs, no structured details
of tools, no blocks in an unknown form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import UNSET, structs

from turnwire.core.content import FileContent, ImageContent, TextContent
from turnwire.core.status import TurnEnd, TurnError
from turnwire.dialects.v2 import frames as f
from turnwire.engine.export.jsonl import as_frame
from turnwire.engine.fanout.log_pages import LogItem
from turnwire.ports import StoredEntry
from turnwire.stores.blob_refs import refs_of

__all__ = ["SHARED", "shared_blobs", "shared_frame"]

SHARED = "shared"  # the conversation id of every frame

# Messages of other origins are what programs insert: reminders, skills, texts of tools.
_PEOPLE = ("user", "agent")
# Blocks that are shown, and their fields.
_BLOCKS: dict[str, tuple[str, ...]] = {
    "image": ("type", "status", "mime_type", "data", "url"),
    "file_ref": ("type", "status", "path", "mime_type", "size"),
    "command_execution": ("type", "status", "id", "command", "output", "exit_code", "duration_ms"),
    "file_change": ("type", "status", "id", "changes"),
    "mcp_tool_call": (
        *("type", "status", "id", "server", "tool_name", "arguments", "result", "error"),
    ),
    "web_search": ("type", "status", "id", "query", "results"),
    "todo_list": ("type", "status", "items"),
}
_PICTURES = ("image", "file_ref")  # blocks whose blob has the content itself


def shared_frame(item: LogItem, hidden: frozenset[str]) -> f.Frame | None:
    """Returns the frame of an item of the log as a share link shows it.

    Returns None if it is not shown. `hidden` has the requests that were open, and their tool calls.
    """
    frame = as_frame(item, SHARED)
    show = _SHOWN.get(type(frame))
    shown = None if show is None else show(frame, hidden)
    return None if shown is None else structs.replace(shown, trace_id=None)


def shared_blobs(entry: StoredEntry, hidden: frozenset[str]) -> Iterator[str]:
    """Yields the ids of the blobs that the shown frame of an entry refers to.

    Only references that the server itself has written count, so that no content of an agent or a
    person can name other blobs.
    """
    frame = shared_frame(entry, hidden)
    if frame is None:
        return
    named = set(_named(frame.payload))  # type: ignore[attr-defined]  # every shown frame has one
    for ref in refs_of(entry.entry):
        if ref.blob_id in named:
            yield ref.blob_id


def _named(payload: Any) -> Iterator[str]:
    """Yields the ids of the blobs of a payload, and of the content in it."""
    blob = getattr(payload, "blob", None)
    if blob is not None:
        yield blob.blob_id
    content = getattr(payload, "content", None)
    for each in content if isinstance(content, list) else ():
        if each.blob is not None:
            yield each.blob.blob_id


def _content(items: list[Any]) -> list[Any]:
    return [each for each in items if isinstance(each, TextContent | ImageContent | FileContent)]


def _user(frame: f.UserMessage, hidden: frozenset[str]) -> f.Frame | None:
    said = frame.payload
    if said.origin not in _PEOPLE:
        return None
    content = _content(said.content)
    said = structs.replace(said, content=content, client_message_id=None, by=None, steered_as=None)
    return structs.replace(frame, payload=said)


def _text(frame: f.AssistantChunk, hidden: frozenset[str]) -> f.Frame | None:
    return None if frame.payload.error else frame  # it may tell of the account at the provider


def _thinking(frame: f.AssistantThinking, hidden: frozenset[str]) -> f.Frame | None:
    thought = frame.payload
    if not thought.text:
        return None
    return structs.replace(frame, payload=structs.replace(thought, signature=None, redacted=None))


def _tool_call(frame: f.AssistantToolCall, hidden: frozenset[str]) -> f.Frame | None:
    call = frame.payload
    if call.tool_use_id in hidden:
        return None
    shown = structs.replace(call, input=_without_directory(call.input))
    return structs.replace(frame, payload=shown)


def _tool_result(frame: f.AssistantToolResult, hidden: frozenset[str]) -> f.Frame | None:
    result = frame.payload
    if result.tool_use_id in hidden:
        return None
    content = result.content
    if isinstance(content, list):
        content = _content(content)
    shown = structs.replace(
        result, content=_without_directory(content), details=UNSET, details_blob=None
    )
    return structs.replace(frame, payload=shown)


def _other(frame: f.AssistantBlock, hidden: frozenset[str]) -> f.Frame | None:
    other = frame.payload
    block = other.block
    if not isinstance(block, dict):
        return None  # in a blob as a whole, also with what is not shown
    kind = block.get("type")
    fields = _BLOCKS.get(kind) if isinstance(kind, str) else None
    if fields is None or block.get("id") in hidden:
        return None
    shown = {name: block[name] for name in fields if name in block}
    blob = other.blob if kind in _PICTURES else None
    return structs.replace(frame, payload=structs.replace(other, block=shown, blob=blob))


def _question(frame: f.AssistantRequestInput, hidden: frozenset[str]) -> f.Frame | None:
    asked = frame.payload
    if asked.question_id in hidden:
        return None
    shown = structs.replace(asked, metadata=None, inbox_item_id=None, deadline_at=None, input=None)
    return structs.replace(frame, payload=shown)


def _resolved(frame: f.AssistantRequestResolved, hidden: frozenset[str]) -> f.Frame | None:
    ended = frame.payload
    if ended.request_id in hidden or ended.decision is not None:  # of a permission
        return None
    shown = structs.replace(
        ended,
        by=None,
        delivered_as=None,
        reason=None,
        updated_input=None,
        remembered=[],
        narrowed=[],
    )
    return structs.replace(frame, payload=shown)


def _interrupted(frame: f.ConversationInterrupted, hidden: frozenset[str]) -> f.Frame | None:
    shown = structs.replace(frame.payload, by=None, requested_at=None, processes=[])
    return structs.replace(frame, payload=shown)


def _end(frame: f.AssistantComplete, hidden: frozenset[str]) -> f.Frame | None:
    end = frame.payload
    error = None if end.error is None else TurnError(end.error.code, "")
    shown = TurnEnd(
        end.is_error,
        end.interrupted,
        end.stop_reason,
        error,
        end.origin,
        after_sequence=end.after_sequence,
    )
    return structs.replace(frame, payload=shown)


def _without_directory(value: Any) -> Any:
    """Returns arguments or a result without the working directory."""
    if not isinstance(value, dict):
        return value
    return {name: each for name, each in value.items() if name not in ("cwd", "workdir")}


_SHOWN: dict[type[f.Frame], Callable[[Any, frozenset[str]], f.Frame | None]] = {
    f.UserMessage: _user,
    f.AssistantChunk: _text,
    f.AssistantThinking: _thinking,
    f.AssistantToolCall: _tool_call,
    f.AssistantBlock: _other,
    f.AssistantToolResult: _tool_result,
    f.AssistantRequestInput: _question,
    f.AssistantRequestResolved: _resolved,
    f.ConversationInterrupted: _interrupted,
    f.AssistantComplete: _end,
}
