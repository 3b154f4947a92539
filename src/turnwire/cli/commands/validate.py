"""`turnwire validate`: checks a recorded stream and its translations against every rule."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Callable

import click
import msgspec
from msgspec import Struct

from turnwire.cli.options import files_argument, max_line_option
from turnwire.cli.recordings.acp_check import ACP_RULES, check_acp
from turnwire.cli.recordings.agui_check import AGUI_RULES, check_agui
from turnwire.cli.recordings.aisdk_check import AISDK_RULES, check_aisdk
from turnwire.cli.recordings.codex_check import check_codex
from turnwire.cli.recordings.contract_check import CONTRACT_RULES, ContractCheck
from turnwire.cli.recordings.output_check import OUTPUT_RULES, OutputCheck
from turnwire.cli.recordings.recording import Recording, events_of, open_recording
from turnwire.cli.terminal.progress import batches_with_progress, with_progress
from turnwire.cli.terminal.words import NARROWEST, counted, plain, some
from turnwire.dialects.claude import ClaudeStreamAdapter
from turnwire.dialects.claude.check import RULES, StreamCheck, StreamReport
from turnwire.dialects.v2.validator import check as v2
from turnwire.errors import BadLine, UnreadableInput

__all__ = ["FileReport", "command"]

_SHOWN = 10  # items of each list, unless --json
_RULES = ACP_RULES | AGUI_RULES | AISDK_RULES | RULES | OUTPUT_RULES | CONTRACT_RULES


class FileReport(Struct, frozen=True, gc=False):
    """The result for one file: its report, or why it could not be read."""

    file: str
    notes: int  # notes of the recorder, not counted as lines
    report: StreamReport | v2.SessionReport | None
    unreadable: str | None = None

    @property
    def ok(self) -> bool:
        """Returns whether the file was read and no rule was broken."""
        return self.report is not None and not self.report.violation_count

    def as_json(self) -> bytes:
        """Returns the JSON object that --json prints."""
        head = {"file": self.file, "ok": self.ok}
        if self.report is None:
            return msgspec.json.encode({**head, "unreadable": self.unreadable})
        found = msgspec.structs.asdict(self.report)
        return msgspec.json.encode({**head, "notes": self.notes, **found})


@click.command("validate")
@click.option(
    "--from",
    "source",
    type=click.Choice(["claude", "acp", "codex", "v2", "aisdk", "agui"]),
    default="claude",
    show_default=True,
    help="claude, acp, codex: the stream of such an agent. v2: a session of conversation protocol v2. "
    "aisdk: UI message streams of the AI SDK. agui: runs of AG-UI.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per file.")
@max_line_option
@files_argument
@click.pass_context
def command(
    ctx: click.Context, *, source: str, as_json: bool, max_line: int, files: tuple[str, ...]
) -> None:
    """Check recorded streams and their translations.

    Checks the lines against the rules of the agent's protocol. Then translates them to RPC messages,
    which must show exactly what the agent said, and to messages and deltas, which must keep their
    contract.

    With --from v2, checks a recorded session of protocol v2, or bare frames as `convert --to v2`
    writes them, against the rules of that protocol.

    With --from aisdk, checks UI message streams: chunks as `convert --to aisdk` writes them, or
    server-sent events as a server sends them. With --from agui, checks runs of AG-UI in the same
    two forms.

    Exit code: 0 no violation, 1 violations, 2 a file could not be read.
    """
    reports = []
    for file in files:
        report = _check(file, source, max_line)
        reports.append(report)
        if as_json:
            click.echo(report.as_json())
        elif report.report is None:
            click.echo(f"turnwire: {report.unreadable}", err=True)
        else:
            _print(report, report.report)
    if len(files) > 1 and not as_json:
        _print_sum(reports)
    if any(report.unreadable for report in reports):
        ctx.exit(2)
    if not all(report.ok for report in reports):
        ctx.exit(1)


def _check(file: str, source: str, max_line: int) -> FileReport:
    check = _CHECKS[source]
    try:
        with open_recording(file, max_line=max_line) as recording:
            report = check(recording)
            return FileReport(recording.name, recording.notes, report)
    except UnreadableInput as error:
        return FileReport(error.data["path"], 0, None, error.message)


def check_recording(recording: Recording) -> StreamReport:
    """Runs every check on a recording of an agent's stream."""
    check, output, contract = StreamCheck(), OutputCheck(), ContractCheck()
    adapter = ClaudeStreamAdapter()
    last = 0
    for batch in batches_with_progress(recording):
        for entry in batch:
            line = entry.line
            check.feed(line, from_host=entry.direction == "in")
            events = events_of(entry, adapter)
            if isinstance(line, BadLine) or entry.direction == "in":
                continue
            last = line.number
            for found in [*output.feed(line, events), *contract.feed(events, last)]:
                check.violation(found.code, found.line, found.message)
    events = adapter.finish()
    at_the_end = [*output.finish(events, last), *contract.feed(events, last)]
    for found in [*at_the_end, *contract.finish(last)]:
        check.violation(found.code, found.line, found.message)
    return check.report()


def check_session(recording: Recording) -> v2.SessionReport:
    """Runs the check of protocol v2 on a recorded session."""
    check = v2.SessionCheck()
    for batch in with_progress(recording, recording.raw_batches()):
        for line in batch:
            if isinstance(line, BadLine):
                check.bad_line(line)
            else:
                check.feed(line.raw, line.number)
    check.finish()
    return check.report()


_CHECKS: dict[str, Callable[[Recording], StreamReport | v2.SessionReport]] = {
    "acp": check_acp,
    "agui": check_agui,
    "aisdk": check_aisdk,
    "codex": check_codex,
    "claude": check_recording,
    "v2": check_session,
}


# --- printing ---------------------------------------------------------------------------------


def _print(file: FileReport, report: StreamReport | v2.SessionReport) -> None:
    if not report.lines:
        verdict = click.style("no lines", fg="yellow")
    elif file.ok:
        verdict = click.style("clean", fg="green")
    else:
        verdict = click.style(counted(report.violation_count, "violation"), fg="red", bold=True)
    click.echo(f"{click.style(file.file, bold=True)}  {verdict}")
    if not report.lines:
        return
    notes = f" (and {counted(file.notes, 'note')} of the recorder)" if file.notes else ""
    _row(
        "lines",
        f"{report.lines:,} = {report.typed:,} typed + {report.unknown:,} unknown"
        f" + {counted(report.errors, 'error')}{notes}",
    )
    if isinstance(report, v2.SessionReport):
        _print_session(report)
    else:
        _print_content(report)
    if report.unknown_kinds:
        kinds = [f"{kind} ({times:,})" for kind, times in report.unknown_kinds.items()]
        _row("unknown", some(kinds, _SHOWN), fg="yellow")
    if isinstance(report, StreamReport) and report.open_tools:
        tools = [f"{tool.name} {tool.id} (line {tool.line:,})" for tool in report.open_tools]
        _row("left open", some(tools, _SHOWN), fg="yellow")
    rules = v2.SESSION_RULES if isinstance(report, v2.SessionReport) else _RULES
    explained: set[str] = set()
    for violation in report.violations[:_SHOWN]:
        _row(f"line {violation.line:,}", f"{violation.code}: {violation.message}", fg="red")
        if violation.code not in explained:
            explained.add(violation.code)
            _row("", rules[violation.code])
    if report.violation_count > _SHOWN:
        _row("", f"and {report.violation_count - _SHOWN:,} more; --json lists the first 1,000")


def _print_content(report: StreamReport) -> None:
    _row(
        "content",
        f"{counted(report.messages, 'message')}, {counted(report.blocks, 'block')},"
        f" {counted(report.tools, 'tool')}",
    )
    if report.inputs_rewritten:
        inputs = counted(report.inputs_rewritten, "tool input")
        _row("rewritten", f"{inputs} by the agent, after the model had streamed them")


def _print_session(report: v2.SessionReport) -> None:
    _row(
        "frames",
        f"{report.server_frames:,} of the server, {report.client_frames:,} of the client,"
        f" on {counted(report.connections, 'connection')}",
    )
    entries = f"{report.entries:,} {'entry' if report.entries == 1 else 'entries'}"
    _row(
        "content",
        f"{entries} of the log, {counted(report.turns, 'turn')}, {counted(report.tools, 'tool')}",
    )


def _print_sum(reports: list[FileReport]) -> None:
    clean = sum(report.ok for report in reports)
    unreadable = sum(report.unreadable is not None for report in reports)
    lines = sum(report.report.lines for report in reports if report.report)
    parts = [counted(clean, "clean file")]
    if len(reports) - clean - unreadable:
        parts.append(f"{len(reports) - clean - unreadable:,} with violations")
    if unreadable:
        parts.append(f"{unreadable:,} unreadable")
    click.echo(f"\n{', '.join(parts)}; {counted(lines, 'line')}")


def _row(label: str, text: str, fg: str | None = None) -> None:
    """Prints a label and its text. Folds the text on a terminal, but not in a pipe."""
    head, text = f"  {label:<10} ", plain(text)
    if sys.stdout.isatty():
        width = max(NARROWEST, shutil.get_terminal_size().columns)
        text = textwrap.fill(text, width, initial_indent=head, subsequent_indent=" " * len(head))
        text = text[len(head) :]
    click.echo(click.style(head, fg=fg) + text)
