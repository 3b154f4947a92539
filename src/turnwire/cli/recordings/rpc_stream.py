"""Reads recorded streams of agents that speak JSON-RPC: both directions belong to the stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, Protocol

import msgspec
from msgspec import Raw, Struct

from turnwire.cli.recordings.recording import Recording
from turnwire.core.events import NormalizedStreamEvent
from turnwire.dialects import acp, codex
from turnwire.errors import BadLine

__all__ = ["RPC_AGENTS", "Heard", "RpcStream"]


class _Adapter(Protocol):
    """The adapter of a JSON-RPC dialect."""

    def feed(self, line: Any) -> list[NormalizedStreamEvent]:
        """Returns the events of a line of the agent."""

    def sent(self, line: Any) -> list[NormalizedStreamEvent]:
        """Returns the events of a line of the host."""

    def finish(self) -> list[NormalizedStreamEvent]:
        """Returns the events of the end of the stream."""


class Heard(NamedTuple):
    """One line of a recording, with its events."""

    line: Any  # a line of the dialect, or a BadLine
    events: list[NormalizedStreamEvent]
    from_host: bool = False
    time: float | None = None  # seconds, if the recording has times


class _Envelope(Struct, frozen=True, gc=False):
    """A message as a recorder of both directions writes it."""

    dir: Literal["out", "in", "note"]
    msg: Raw
    t: float | None = None


_decode_envelope = msgspec.json.Decoder(_Envelope).decode


class RpcStream:
    """The events of a recording. A line without an envelope is one of the agent."""

    def __init__(self, adapter: _Adapter, decode: Callable[[bytes, int], Any]) -> None:
        self.finish = adapter.finish
        self._adapter = adapter
        self._decode = decode

    @property
    def agent_name(self) -> str | None:
        """Returns the name of the program, as far as the recording says it."""
        if isinstance(self._adapter, acp.AcpStreamAdapter):
            info = self._adapter.agent.agent_info
            return None if info is None else info.title or info.name
        return "Codex"

    def batches(self, recording: Recording) -> Iterator[list[Heard]]:
        """Yields the lines of each chunk as soon as it is read."""
        for lines in recording.raw_batches():
            batch: list[Heard] = []
            for line in lines:
                heard = (
                    Heard(line, [])
                    if isinstance(line, BadLine)
                    else self._hear(line.raw, line.number, recording)
                )
                if heard is not None:
                    batch.append(heard)
            yield batch

    def _hear(self, raw: bytes, number: int, recording: Recording) -> Heard | None:
        """Returns a line with its events. Returns None for a note of the recorder."""
        from_host, time = False, None
        try:
            envelope = _decode_envelope(raw)
        except msgspec.DecodeError:
            pass  # a message without an envelope
        else:
            if envelope.dir == "note":
                recording.notes += 1
                return None
            raw, from_host, time = bytes(envelope.msg), envelope.dir == "in", envelope.t
        try:
            line = self._decode(raw, number)
        except BadLine as bad:
            return Heard(bad, [], from_host, time)
        take = self._adapter.sent if from_host else self._adapter.feed
        return Heard(line, take(line), from_host, time)


RPC_AGENTS: dict[str, Callable[[], RpcStream]] = {
    "acp": lambda: RpcStream(acp.AcpStreamAdapter(), acp.decode),
    "codex": lambda: RpcStream(codex.CodexStreamAdapter(), codex.decode),
}
"""The agents that speak JSON-RPC, by the name of their dialect."""
