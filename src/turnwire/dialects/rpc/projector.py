"""Projects a conversation into RPC messages, encoded once for all its followers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from turnwire.core import events as ev
from turnwire.core import happenings as h
from turnwire.core import ui
from turnwire.core.message import known_meta
from turnwire.core.opening import Opening
from turnwire.core.ui import UiStreamAdapter
from turnwire.dialects.rpc.bridge import RpcBridge
from turnwire.dialects.rpc.entries import end_of_turn, message_of, system_message
from turnwire.dialects.rpc.frames import stream_tail
from turnwire.dialects.rpc.messages import ClassicMessage, RpcSystemMessage, encode

__all__ = ["Kind", "Line", "News", "RpcProjector", "Steered"]

# The kinds of messages, by which connections filter.
Kind: TypeAlias = Literal["whole", "grows", "text_delta", "output_delta", "system", "prompt"]

# Events that each connection handles itself: for the ids of its streams and its own calls.
News: TypeAlias = "Opening | h.TurnBegan | h.TurnEnded | h.StateChanged | Steered"


class Steered(Struct, frozen=True):
    """A message has left the queue, and has gone into the running turn."""

    queue_id: str


_NEWS = 400  # approximate bytes of news without a message


class Line:
    """A message with its turn and number, or news for the connection itself."""

    __slots__ = ("_written", "holders", "kind", "message", "news", "number", "turn_id")

    def __init__(
        self,
        kind: Kind,
        message: ClassicMessage | None,
        turn_id: int | None = None,
        number: int | None = None,
        news: News | None = None,
        *,
        written: bytes | None = None,
    ) -> None:
        """`written`: the bytes, if another node has encoded the message."""
        self.kind = kind
        self.message = message
        self.turn_id = turn_id  # the turn of the stream that gets it
        self.number = number  # the number of its entry
        self.news = news
        self.holders = 0  # the clients whose queue holds this line: see `server.sockets.backlog`
        self._written = written

    @property
    def size(self) -> int:
        """Estimates the size in bytes."""
        return len(self.written) or _NEWS

    @property
    def written(self) -> bytes:
        """Returns the bytes of the frame after its id; empty if this is only news."""
        if self._written is None:
            if self.message is None:
                self._written = b""
            else:
                names_turn = self.number is not None or self.news is not None
                tail = stream_tail(self.number, self.turn_id) if names_turn else b"}"
                self._written = encode(self.message) + tail
        return self._written


_GROWS = frozenset(
    [
        ui.UiTextDelta,
        ui.UiThinkingDelta,
        ui.UiToolInputDelta,
        ui.UiMessageStart,
        ui.UiBlockStart,
        ui.UiToolStart,
        ui.UiBlockStop,
        ui.UiMessageComplete,
    ]
)


class RpcProjector:
    """Projects finished messages from the log, so that live and replayed messages are the same.

    Growing messages come from the agent's events. The figures of a turn are sent with its end.
    """

    def __init__(
        self,
        provider: str,
        session_id: str | None,
        stream_id: str,
        *,
        has_several: bool = False,
    ) -> None:
        """`stream_id`: part of the uuid of every stream event.

        `has_several`: several agents spoke in the conversation, so each entry says who it was.
        """
        self._session_id = session_id or ""
        self._has_several = has_several
        self._adapter = UiStreamAdapter()
        self._bridge = RpcBridge(tool_progress="output_delta", system=True, stream_id=stream_id)
        self._as_text = RpcBridge(tool_progress="text_delta", stream_id=f"{stream_id}t")
        self._speaks(provider)

    def _speaks(self, provider: str) -> None:
        """Names the agent that speaks from now on."""
        self._provider = self._bridge.provider = self._as_text.provider = provider

    def project(self, happened: Sequence[h.Happening]) -> list[Line]:
        """Returns the messages of what happened, in order, and the news for each connection."""
        out: list[Line] = []
        figures: ev.ResultSummary | None = None
        for each in happened:
            match each:
                case h.AgentSpoke(events=events, turn_id=turn_id):
                    figures = self._spoke(events, turn_id, out) or figures
                case h.EntryAdded():
                    self._entry(each, out)
                case h.StateChanged(status=status):
                    if status.agent is not None and status.agent != self._provider:
                        self._has_several = True
                        self._speaks(status.agent)
                    out.append(self._news("session_state", status))
                    out.append(Line("whole", None, news=each))
                case h.Changed(title=title, totals=totals):
                    news: dict[str, Any] = {"title": title, "totals": totals}
                    news = {name: value for name, value in news.items() if value is not None}
                    out.append(self._news("conversation_updated", news))
                case h.TurnBegan():
                    out.append(Line("whole", None, news=each))
                case _:  # a turn has ended
                    self._ended(each, figures, out)
                    figures = None
        return out

    def greet(self, opening: Opening) -> list[Line]:
        """Returns the opening as news: each connection answers its own `connect` call."""
        return [Line("whole", None, news=opening)]

    def replay(self, kept: h.Kept, now: str) -> list[Line]:
        """Returns missed messages, in the same form as live."""
        return self.project((kept,))

    def present(self, now: h.Now) -> list[Line]:
        """Returns the state, and repeats each unfinished message from its start."""
        return self.project(
            [
                h.StateChanged(now.at, now.status),
                *(
                    h.AgentSpoke(now.at, each.turn_id, each.trace_id, each.events, [])
                    for each in now.growing.open_messages()
                ),
            ]
        )

    # --- one kind of event each -----------------------------------------------------------------

    def _spoke(
        self, events: list[ev.NormalizedStreamEvent], turn_id: int | None, out: list[Line]
    ) -> ev.ResultSummary | None:
        """Adds messages that are not stored, as growing blocks. Returns the turn's figures."""
        figures = None
        for event in events:
            shown = self._adapter.feed(event)
            if type(event) is ev.ResultSummary:
                figures = event
                continue
            for each in shown:
                if type(each) in _GROWS:
                    self._session_id = each.session_id
                    for message in self._bridge.feed(each):
                        out.append(Line("grows", message, turn_id))  # noqa: PERF401 (mostly one)
                elif type(each) is ui.UiToolProgress:
                    out += [Line("output_delta", said, turn_id) for said in self._bridge.feed(each)]
                    out += [Line("text_delta", said, turn_id) for said in self._as_text.feed(each)]
                elif isinstance(event, ev.SystemEvent) and event.ephemeral:
                    out.append(self._news(event.subtype, event.data, turn_id))
        return figures

    def _entry(self, added: h.EntryAdded, out: list[Line]) -> None:
        entry, number = added.entry, added.sequence
        meta = known_meta(entry)
        provider = meta.provider if self._has_several else None
        message = message_of(entry, meta, number, provider or self._provider, self._session_id)
        kind: Kind = "system" if isinstance(message, RpcSystemMessage) else "whole"
        out.append(Line(kind, message, meta.turn_id, number))
        if meta.steered_as is not None:
            out.append(Line("whole", None, news=Steered(meta.steered_as)))

    def _ended(self, ended: h.TurnEnded, figures: ev.ResultSummary | None, out: list[Line]) -> None:
        told = end_of_turn(ended.end, self._provider, self._session_id, figures)
        *before, result = told
        out += [Line("whole", each, ended.turn_id) for each in before]
        out.append(Line("whole", result, ended.turn_id, news=ended))

    def _news(self, subtype: str, data: object, turn_id: int | None = None) -> Line:
        message = system_message(subtype, data, self._provider, self._session_id)
        return Line("system", message, turn_id)
