"""`turnwire convert`: translates a recorded stream into JSON lines of another vocabulary."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

import click
import msgspec
from msgspec import Raw

from turnwire.cli.options import dialect_option, file_argument, max_line_option
from turnwire.cli.recordings.recording import Recording as FileRecording
from turnwire.cli.recordings.recording import events_of, open_recording
from turnwire.cli.recordings.rpc_stream import RPC_AGENTS, Heard
from turnwire.cli.recordings.runs import NO_TIME, Runs, first_time
from turnwire.cli.terminal.progress import with_progress
from turnwire.core.deltas import DeltaStream
from turnwire.core.entries import EntryStream
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.ui import UiStreamAdapter
from turnwire.dialects.claude import ClaudeStreamAdapter
from turnwire.dialects.rpc import RpcBridge, ToolProgressMode
from turnwire.dialects.v2.codec import decode, encode
from turnwire.dialects.v2.frames import Frame
from turnwire.dialects.v2.view_reducer import ViewReducer
from turnwire.engine.recording_view import Recording
from turnwire.errors import BadLine
from turnwire.turn_streams.agui.runs import RunsWriter
from turnwire.turn_streams.aisdk.writer import UiWriter
from turnwire.turn_streams.turns import MakeWriter, TurnsWriter

__all__ = ["command"]

# Protocols that have a stream for each turn.
_TURN_STREAMS: dict[str, MakeWriter[Any]] = {
    "aisdk": lambda reader, after: UiWriter(reader, after=after),
}
_SHOWN = 10  # bad lines reported one by one; a file that is not a stream has thousands


@click.command("convert")
@dialect_option
@click.option(
    "--to",
    "target",
    type=click.Choice(
        ["events", "ui", "rpc", "delta", "messages", "v2", "view", *_TURN_STREAMS, "agui"]
    ),
    required=True,
    help="events: normalized events. ui: events for a front end. rpc: RPC messages. "
    "delta: message deltas. messages: finished messages, as in the log. "
    "v2: the frames that a client of protocol v2 receives. view: the final state of that client. "
    "aisdk: the UI message stream of each turn. agui: runs of AG-UI.",
)
@click.option(
    "--tool-progress",
    type=click.Choice(["off", "text_delta", "output_delta"]),
    default="off",
    show_default=True,
    help="rpc: how to send the output of a running tool.",
)
@click.option(
    "--system/--no-system",
    default=False,
    show_default=True,
    help="rpc: also write system messages about the session.",
)
@max_line_option
@file_argument
@click.pass_context
def command(
    ctx: click.Context,
    *,
    source: str,
    target: str,
    tool_progress: ToolProgressMode,
    system: bool,
    max_line: int,
    file: str,
) -> None:
    """Translate a recorded stream into another vocabulary.

    Writes one JSON object per line. A line that cannot be read is reported on standard error as
    FILE:LINE: CAUSE and skipped; the exit code is then 1.
    """
    translate = _translation(target, tool_progress=tool_progress, system=system)
    stream = RPC_AGENTS[source]() if source in RPC_AGENTS else _ClaudeStream()
    stdout = sys.stdout.buffer
    on_screen = stdout.isatty()
    bad = 0
    with open_recording(file, max_line=max_line) as recording:
        for batch in with_progress(recording, stream.batches(recording), hidden=on_screen):
            events: list[NormalizedStreamEvent] = []
            for heard in batch:
                if isinstance(heard.line, BadLine):
                    bad += 1
                    if bad <= _SHOWN:
                        _tell(recording.name, heard.line)
                events += heard.events
            _write(stdout, translate(events))
            if on_screen or recording.size is None:
                stdout.flush()  # the source may be a running agent: pass its output on at once
    _write(stdout, [*translate(stream.finish()), *translate.finish()])
    stdout.flush()
    if bad > _SHOWN:
        click.echo(f"{recording.name}: and {bad - _SHOWN} more bad lines", err=True)
    if bad:
        ctx.exit(1)


class _ClaudeStream:
    """The events of a recording of Claude Code."""

    def __init__(self) -> None:
        self._adapter = ClaudeStreamAdapter()
        self.finish = self._adapter.finish

    def batches(self, recording: FileRecording) -> Iterator[list[Heard]]:
        """Yields the lines of each chunk as soon as it is read."""
        for batch in recording.batches():
            yield [Heard(entry.line, events_of(entry, self._adapter)) for entry in batch]


_encode_lines = msgspec.json.Encoder().encode_lines


def _write(stdout: BinaryIO, translated: list[Any]) -> None:
    left = memoryview(_encode_lines(translated))
    while left:  # with PYTHONUNBUFFERED a write may be partial
        left = left[stdout.write(left) :]


class _Translation:
    """Translates events into a target vocabulary. This base class writes the events themselves.

    Each stage handles a whole batch before the next stage does. That is a tenth faster than one
    event at a time, and delays nothing: a batch is only what one read returned.
    """

    def __call__(self, events: list[NormalizedStreamEvent]) -> list[Any]:
        return events

    def finish(self) -> list[Any]:
        """Returns the output that only the end of the stream completes."""
        return []


class _ToUi(_Translation):
    def __init__(self) -> None:
        self._ui = UiStreamAdapter()

    def __call__(self, events: list[NormalizedStreamEvent]) -> list[Any]:
        return self._ui.feed_all(events)


class _ToRpc(_ToUi):
    def __init__(self, bridge: RpcBridge) -> None:
        super().__init__()
        self._bridge = bridge

    def __call__(self, events: list[NormalizedStreamEvent]) -> list[Any]:
        return self._bridge.feed_all(super().__call__(events))


class _ToMessages(_Translation):
    def __init__(self, stream: DeltaStream | EntryStream) -> None:
        self._stream = stream
        self._runs = Runs()

    def __call__(self, events: list[NormalizedStreamEvent]) -> list[Any]:
        out: list[Any] = []
        if self._runs.now == NO_TIME:
            self._runs.now = first_time(events)
        for event in events:
            run = self._runs.of(event)
            out += self._stream.feed(event, run_id=run, now=self._runs.now)
        return out

    def finish(self) -> list[Any]:
        if isinstance(self._stream, DeltaStream):
            return list(self._stream.finish(now=self._runs.now))
        return []


class _ToV2(_Translation):
    """Writes the frames of one client, connected from the start. The session id names the conversation."""

    def __init__(self) -> None:
        self._session: Recording | None = None
        self._sent = 0

    def frames(self, events: list[NormalizedStreamEvent]) -> list[Frame]:
        """Returns the frames that the client receives for these events."""
        if not events:
            return []
        if self._session is None:
            conversation = events[0].session_id or "session"
            self._session = Recording(
                conversation,
                trace_of=lambda turn: _trace(conversation, turn),
                agent=events[0].provider,
                began=first_time(events),
            )
            return [*self._session.connect(), *self._session.feed_all(events)]
        return self._session.feed_all(events)

    def last_frames(self) -> list[Frame]:
        """Returns the frames that the client receives at the end of the stream."""
        return [] if self._session is None else self._session.finish()

    def __call__(self, events: list[NormalizedStreamEvent]) -> list[Any]:
        return self._numbered(self.frames(events))

    def finish(self) -> list[Any]:
        return self._numbered(self.last_frames())

    def _numbered(self, frames: list[Frame]) -> list[Any]:
        first = self._sent + 1
        self._sent += len(frames)
        return [Raw(encode(frame).at(number)) for number, frame in enumerate(frames, first)]


class _ToView(_ToV2):
    """Writes the final state of a client. Writes nothing before the end."""

    def __init__(self) -> None:
        super().__init__()
        self._reducer = ViewReducer()

    def __call__(self, events: list[NormalizedStreamEvent]) -> list[Any]:
        self._show(self.frames(events))
        return []

    def finish(self) -> list[Any]:
        self._show(self.last_frames())
        return [self._reducer.view()]

    def _show(self, frames: list[Frame]) -> None:
        for frame in frames:
            # Encodes and decodes, because a client receives bytes.
            self._reducer.apply(decode(encode(frame).replayed()))


class _ToTurnStreams(_ToV2):
    """Writes the events of each turn, or of each run."""

    def __init__(self, turns: TurnsWriter[Any] | RunsWriter) -> None:
        super().__init__()
        self._turns = turns

    def __call__(self, events: list[NormalizedStreamEvent]) -> list[Any]:
        return self._written(self.frames(events))

    def finish(self) -> list[Any]:
        return self._written(self.last_frames())

    def _written(self, frames: list[Frame]) -> list[Any]:
        return [event for frame in frames for event in self._turns.feed(frame)]


def _trace(conversation: str, turn: int) -> str:
    """Returns 32 hex digits, always the same for one turn of one recording."""
    return hashlib.sha256(f"{conversation}:{turn}".encode()).hexdigest()[:32]


def _translation(target: str, *, tool_progress: ToolProgressMode, system: bool) -> _Translation:
    match target:
        case "ui":
            return _ToUi()
        case "rpc":
            return _ToRpc(RpcBridge(tool_progress=tool_progress, system=system))
        case "delta":
            return _ToMessages(DeltaStream())
        case "messages":
            return _ToMessages(EntryStream())
        case "v2":
            return _ToV2()
        case "view":
            return _ToView()
        case _ if target in _TURN_STREAMS:
            return _ToTurnStreams(TurnsWriter(_TURN_STREAMS[target]))
        case "agui":
            return _ToTurnStreams(RunsWriter())
        case _:
            return _Translation()


def _tell(name: str, bad: BadLine) -> None:
    click.echo(f"{name}:{bad.line}: {bad.detail}", err=True)
