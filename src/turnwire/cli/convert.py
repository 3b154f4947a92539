"""`turnwire convert`: a recorded stream in, JSON lines of another vocabulary out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, BinaryIO, TypeAlias

import click
import msgspec

from turnwire.cli.options import file_argument, from_option, max_line_option
from turnwire.cli.progress import batches_with_progress
from turnwire.cli.recording import events_of, open_recording
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.ui import UiStreamAdapter, UiStreamEvent
from turnwire.dialects.claude import ClaudeStreamAdapter
from turnwire.dialects.rpc import RpcBridge, ToolProgressMode
from turnwire.errors import BadLine

__all__ = ["command"]

_SHOWN = 10  # bad lines told one by one; a file that is no stream at all has thousands

Translate: TypeAlias = Callable[[list[NormalizedStreamEvent]], list[Any]]


@click.command("convert")
@from_option
@click.option(
    "--to",
    "target",
    type=click.Choice(["events", "ui", "rpc"]),
    required=True,
    help="events: normalized events. ui: what a front end consumes. rpc: RPC messages.",
)
@click.option(
    "--tool-progress",
    type=click.Choice(["off", "text_delta", "output_delta"]),
    default="off",
    show_default=True,
    help="rpc: what becomes of a running tool's output.",
)
@click.option(
    "--system/--no-system",
    default=False,
    show_default=True,
    help="rpc: whether news about the session goes out too.",
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

    Writes one JSON object per line. A line that cannot be read is told on standard error as
    FILE:LINE: CAUSE, the lines around it are translated all the same, and the exit code is 1.
    """
    translate = _translation(target, tool_progress=tool_progress, system=system)
    adapter = ClaudeStreamAdapter()
    stdout = sys.stdout.buffer
    on_screen = stdout.isatty()
    bad = 0
    with open_recording(file, max_line=max_line) as recording:
        for batch in batches_with_progress(recording, hidden=on_screen):
            events: list[NormalizedStreamEvent] = []
            for entry in batch:
                if isinstance(entry.line, BadLine):
                    bad += 1
                    if bad <= _SHOWN:
                        _tell(recording.name, entry.line)
                events += events_of(entry, adapter)
            _write(stdout, translate(events))
            if on_screen or recording.size is None:
                stdout.flush()  # what we read may be an agent at work: pass it on at once
    _write(stdout, translate(adapter.finish()))
    stdout.flush()
    if bad > _SHOWN:
        click.echo(f"{recording.name}: and {bad - _SHOWN} more bad lines", err=True)
    if bad:
        ctx.exit(1)


_encode_lines = msgspec.json.Encoder().encode_lines


def _write(stdout: BinaryIO, translated: list[Any]) -> None:
    left = memoryview(_encode_lines(translated))
    while left:  # with PYTHONUNBUFFERED a write may take only a part
        left = left[stdout.write(left) :]


def _translation(target: str, *, tool_progress: ToolProgressMode, system: bool) -> Translate:
    """How events become what was asked for.

    Each stage takes all events of a batch before the next one does: that is a tenth faster than
    taking each event through all stages, and nothing is held back, since a batch is what was there.
    """
    if target == "events":
        return lambda events: events
    ui = UiStreamAdapter()

    def to_ui(events: list[NormalizedStreamEvent]) -> list[UiStreamEvent]:
        return [shown for event in events for shown in ui.feed(event)]

    if target == "ui":
        return to_ui
    bridge = RpcBridge(tool_progress=tool_progress, system=system)
    return lambda events: [message for shown in to_ui(events) for message in bridge.feed(shown)]


def _tell(name: str, bad: BadLine) -> None:
    click.echo(f"{name}:{bad.line}: {bad.detail}", err=True)
