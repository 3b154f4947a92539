"""Projects a conversation into messages that a client of the profile `classic` knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, structs

from turnwire.core import happenings as h
from turnwire.dialects.rpc import messages as rpc
from turnwire.dialects.rpc.messages import ClassicMessage, RpcBlock
from turnwire.dialects.rpc.projector import Line, RpcProjector

__all__ = ["ClassicProjector"]

_DISCARDED = "The agent has discarded this call before it ran."
_STOPPED = "[Request interrupted"  # Claude's own note in the log; clients show the end themselves


class ClassicProjector(RpcProjector):
    """Changes the lines of RPC where a client of this profile does not know them.

    - A prompt has its own kind, because the client that has sent it shows it already.
    - Discarded blocks are emptied before their message ends: the client cannot drop blocks.
    - Stream events of sub-agents are left out: the client knows one growing message. Their finished
      messages are sent.
    - A result has the text of the error, and says that its turn was interrupted.
    - Of the news about the session, only compaction is sent.
    """

    def __init__(
        self, provider: str, session_id: str | None, stream_id: str, **about: bool
    ) -> None:
        super().__init__(provider, session_id, stream_id, **about)
        self._growing: str | None = None  # the id of the message that grows
        self._blocks: dict[int, RpcBlock] = {}  # those that grow, by index

    def project(self, happened: Sequence[h.Happening]) -> list[Line]:
        """Returns the messages of what happened, in order, and the news for each connection."""
        out: list[Line] = []
        for line in super().project(happened):
            if line.kind == "grows":
                self._grows(line, line.message, out)  # type: ignore[arg-type]  # of that kind
            elif line.kind == "whole" and line.message is not None:
                out.append(self._whole(line))
            elif line.kind == "system":
                out.append(_news(line))
            elif line.message is None:
                out.append(line)
        return out

    # --- growing messages -------------------------------------------------------------------------

    def _grows(self, line: Line, message: rpc.RpcStreamEvent, out: list[Line]) -> None:
        if message.parent_tool_use_id is not None:
            return
        event = message.event
        kind = type(event)
        if kind is rpc.RpcContentBlockStartEvent:
            self._blocks[event.index] = event.content_block  # type: ignore[union-attr]
        elif kind is rpc.RpcMessageStartEvent:
            begun = event.message  # type: ignore[union-attr]
            self._growing = begun.id if begun is not None else None
            self._blocks = {}
        elif kind is rpc.RpcMessageStopEvent:
            first = event.discarded_from  # type: ignore[union-attr]
            if first is not None:
                empty = self._emptied(line, message, first)
                out[-1:] = [*empty, out[-1]]  # before its `message_delta`
                stop = structs.replace(message, event=rpc.RpcMessageStopEvent())
                line = Line("grows", stop, line.turn_id)
            self._blocks = {}
        out.append(line)

    def _emptied(self, line: Line, message: rpc.RpcStreamEvent, first: int) -> list[Line]:
        """Returns the lines that empty the blocks of a discarded message."""
        out: list[Line] = []
        for index, block in sorted(self._blocks.items()):
            if index < first:
                continue
            if isinstance(block, rpc.RpcToolUseBlock):
                result = rpc.RpcToolResultBlock(block.id, _DISCARDED, True)
                said = rpc.RpcUserMessage(rpc.RpcMessageContent([result]), message.provider)
                out.append(Line("whole", said, line.turn_id))
                continue
            events: list[rpc.RpcStreamEventData]
            empty: RpcBlock = rpc.RpcTextBlock("")
            delta: rpc.RpcDelta = rpc.RpcTextDelta("")
            if isinstance(block, rpc.RpcThinkingBlock):
                empty, delta = rpc.RpcThinkingBlock(""), rpc.RpcThinkingDelta("")
            events = [
                rpc.RpcContentBlockStartEvent(index, empty),
                rpc.RpcContentBlockDeltaEvent(index, delta),
                rpc.RpcContentBlockStopEvent(index),
            ]
            for number, event in enumerate(events):
                uuid = f"{message.uuid}-{index}-{number}"
                said_so = structs.replace(message, uuid=uuid, event=event)
                out.append(Line("grows", said_so, line.turn_id))
        return out

    # --- finished messages ------------------------------------------------------------------------

    def _whole(self, line: Line) -> Line:
        match line.message:
            case rpc.RpcAssistantMessage(message=body) if body.id == self._growing:
                for index in range(body.index or 0, (body.index or 0) + len(body.content or [])):
                    self._blocks.pop(index, None)
            case rpc.RpcUserMessage() as said:
                if _is_prompt(said):
                    return Line("prompt", said, line.turn_id, line.number)
                if said.isSynthetic and _text(said).startswith(_STOPPED):
                    return Line("system", said, line.turn_id, line.number)
            case rpc.RpcResultMessage() as result if isinstance(line.news, h.TurnEnded):
                end = line.news.end
                subtype = "interrupted" if end.interrupted else result.subtype
                text = result.result
                if end.error is not None:
                    text = text or end.error.message
                told = structs.replace(result, subtype=subtype, result=text)
                return Line("whole", told, line.turn_id, line.number, line.news)
            case _:
                pass
        return line


def _is_prompt(said: rpc.RpcUserMessage) -> bool:
    if said.isSynthetic or said.isReplay or said.parent_tool_use_id is not None:
        return False
    if said.steered_as is not None:
        return False
    return not any(isinstance(each, rpc.RpcToolResultBlock) for each in said.message.content or [])


def _text(said: rpc.RpcUserMessage) -> str:
    blocks = said.message.content or []
    return "".join(each.text for each in blocks if isinstance(each, rpc.RpcTextBlock))


def _news(line: Line) -> Line:
    """Returns the news about compaction as messages that a client knows; other news unchanged."""
    news = line.message
    assert isinstance(news, rpc.RpcSystemMessage)
    make = _KNOWN.get(news.subtype)
    if make is None:
        return line
    data: Any = {} if news.data is UNSET else msgspec.json.decode(news.data)
    told = make(news, data if isinstance(data, dict) else {})
    return Line("whole", told, line.turn_id, line.number)


def _status(news: rpc.RpcSystemMessage, data: dict[str, Any]) -> ClassicMessage:
    status = data.get("status")
    known = status if isinstance(status, str) else None
    return rpc.RpcStatusMessage(news.session_id, news.provider, known)


def _boundary(news: rpc.RpcSystemMessage, data: dict[str, Any]) -> ClassicMessage:
    about = data.get("compact_metadata")
    return rpc.RpcCompactBoundaryMessage(news.session_id, news.provider, about)


_KNOWN: dict[str, Callable[[rpc.RpcSystemMessage, dict[str, Any]], ClassicMessage]] = {
    "status": _status,
    "compact_boundary": _boundary,
}
