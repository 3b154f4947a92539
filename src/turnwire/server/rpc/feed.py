"""One conversation in the words of RPC: translated and written once, for everyone who listens."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from turnwire.core import ui
from turnwire.core.ui import UiStreamAdapter, UiStreamEvent
from turnwire.dialects.rpc import RpcBridge, encode
from turnwire.dialects.rpc.frames import stream_tail
from turnwire.dialects.rpc.messages import RpcMessage
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.ui import end_of_turn, shown
from turnwire.engine import Talk
from turnwire.engine.channel import Sent, Spoken

__all__ = ["Feed", "Feeds", "Kind", "Line", "News"]

# What a message is, for those who do not want all of them.
Kind: TypeAlias = Literal["whole", "grows", "text_delta", "output_delta", "system"]

News: TypeAlias = f.TurnStarted | f.AssistantComplete | f.SessionState


_NEWS = 400  # bytes, about, of news without a message


class Line:
    """A message, and what stands beside it; or news that a connection has to know."""

    __slots__ = ("_written", "holders", "kind", "message", "news", "sequence", "turn_id")

    def __init__(
        self,
        kind: Kind,
        message: RpcMessage | None,
        turn_id: int | None = None,
        sequence: int | None = None,
        news: News | None = None,
    ) -> None:
        self.kind = kind
        self.message = message
        self.turn_id = turn_id  # whose stream it belongs to
        self.sequence = sequence
        self.news = news
        self.holders = 0  # clients for whom it waits: see `server.backlog`
        self._written: bytes | None = None

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return _NEWS if self.message is None else len(self.written)

    @property
    def written(self) -> bytes:
        """All that stands behind the id in its frame, once somebody needs it."""
        if self._written is None:
            names_turn = self.sequence is not None or self.news is not None
            tail = stream_tail(self.sequence, self.turn_id) if names_turn else b"}"
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


class Feed:
    """What those are told who listen to one conversation."""

    def __init__(self, provider: str, session_id: str | None, stream_id: str) -> None:
        self._provider = provider
        self._session_id = session_id or ""
        self._adapter = UiStreamAdapter()
        self._bridge = RpcBridge(
            tool_progress="output_delta", system=True, stream_id=stream_id, provider=provider
        )
        self._as_text = RpcBridge(
            tool_progress="text_delta", stream_id=f"{stream_id}t", provider=provider
        )
        self._latest: tuple[list[Sent | Spoken], list[Line]] | None = None

    def hear(self, together: list[Sent | Spoken]) -> list[Line]:
        """What is told now. Everybody who listens gets the same list, and so the same lines."""
        latest = self._latest
        if latest is None or latest[0] is not together:
            latest = self._latest = (together, self.lines(together))
        return latest[1]

    def lines(self, together: Iterable[Sent | Spoken]) -> list[Line]:
        """The same for what only one of them is told."""
        out: list[Line] = []
        figures: ui.UiResultMessage | None = None
        for each in together:
            if isinstance(each, Spoken):
                figures = self._spoken(each, out) or figures
            elif isinstance(each.frame, f.AssistantComplete):
                self._ended(each.frame, figures, out)
                figures = None
            else:
                self._told(each.frame, out)
        return out

    # --- what grows -------------------------------------------------------------------------------

    def _spoken(self, spoken: Spoken, out: list[Line]) -> ui.UiResultMessage | None:
        """What grows; what is finished comes with its number. Returns a turn's figures."""
        figures = None
        turn_id = spoken.turn_id
        for event in self._adapter.feed_all(spoken.events):
            if type(event) in _GROWS:
                self._session_id = event.session_id
                for message in self._bridge.feed(event):
                    out.append(Line("grows", message, turn_id))  # noqa: PERF401 (mostly one)
            elif isinstance(event, ui.UiToolProgress):
                out += [Line("output_delta", each, turn_id) for each in self._bridge.feed(event)]
                out += [Line("text_delta", each, turn_id) for each in self._as_text.feed(event)]
            elif isinstance(event, ui.UiResultMessage):
                figures = event
        return figures

    # --- what is finished -------------------------------------------------------------------------

    def _told(self, frame: f.Frame, out: list[Line]) -> None:
        if isinstance(frame, f.MessageReplay):
            again = frame.payload.event
            if isinstance(again, f.AssistantComplete):
                self._ended(again, None, out)
            elif isinstance(again, f.Frame):
                self._told(again, out)
            return
        event = shown(frame, self._provider, self._session_id)
        if event is not None:
            kind: Kind = "system" if isinstance(event, ui.UiSystemMessage) else "whole"
            number = getattr(frame.payload, "message_sequence", None)  # type: ignore[attr-defined]
            out += [Line(kind, each, frame.turn_id, number) for each in self._bridge.feed(event)]
        if isinstance(frame, f.TurnStarted | f.SessionState):
            out.append(Line("whole", None, news=frame))

    def _ended(
        self, frame: f.AssistantComplete, figures: ui.UiResultMessage | None, out: list[Line]
    ) -> None:
        events: list[UiStreamEvent] = end_of_turn(
            frame.payload, self._provider, self._session_id, figures
        )
        *before, result = self._bridge.feed_all(events)
        out += [Line("whole", each, frame.turn_id) for each in before]
        out.append(Line("whole", result, frame.turn_id, news=frame))


class Feeds:
    """The feed of each conversation that somebody listens to."""

    def __init__(self, new_id: Callable[[], str]) -> None:
        self._new_id = new_id
        self._feeds: dict[str, tuple[Feed, int]] = {}  # and how many listen

    def join(self, talk: Talk) -> Feed:
        """One more listens. To be ended with `leave`."""
        feed, listeners = self._feeds.get(talk.id) or (self._new(talk), 0)
        self._feeds[talk.id] = (feed, listeners + 1)
        return feed

    def leave(self, conversation_id: str) -> None:
        """One listens no longer."""
        feed, listeners = self._feeds.pop(conversation_id)
        if listeners > 1:
            self._feeds[conversation_id] = (feed, listeners - 1)

    def _new(self, talk: Talk) -> Feed:
        return Feed(talk.row.agent, talk.row.native_session_id, self._new_id()[:8])
