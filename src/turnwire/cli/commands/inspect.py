"""`turnwire inspect`: prints a summary of a recorded stream."""

from __future__ import annotations

from collections.abc import Iterator

import click
import msgspec
from rich.console import Console
from rich.text import Text

from turnwire.cli.options import dialect_option, file_argument, max_line_option
from turnwire.cli.recordings.recording import Recording, events_of, open_recording
from turnwire.cli.recordings.rpc_stream import RPC_AGENTS
from turnwire.cli.recordings.summary import Summarizer, Summary, ToolSummary, TurnSummary
from turnwire.cli.terminal.progress import batches_with_progress, with_progress
from turnwire.cli.terminal.words import NARROWEST, amount, counted, duration, money, plain, some
from turnwire.dialects.claude import ClaudeStreamAdapter

__all__ = ["command", "summarize"]

_WIDEST = 110  # columns; longer lines are hard to read
_LEAST = 16  # columns that the text keeps, however long the figures on the right are

_SHOWN = 5  # unknown kinds, bad lines, retries

_STYLE = {
    "completed": "green",
    "interrupted": "yellow",
    "paused": "yellow",
    "failed": "bold red",
    "lost": "bold red",
}

_MARKS = {"ok": ("✓", "green"), "failed": ("✗", "red"), "open": ("…", "yellow")}


@click.command("inspect")
@dialect_option
@click.option("--json", "as_json", is_flag=True, help="Print the summary as a JSON object.")
@max_line_option
@file_argument
def command(*, source: str, as_json: bool, max_line: int, file: str) -> None:
    """Print a summary of a recorded stream.

    Shows the session, each turn with its tools (sub-agents under the call that started them), their
    durations, thinking, questions, cost, errors, and everything that was not understood. The tokens
    of a turn do not include sub-agents; its cost does.
    """
    with open_recording(file, max_line=max_line) as recording:
        summary = summarize(recording, source)
    if as_json:
        click.echo(msgspec.json.encode(summary))
    else:
        _print(summary)


def summarize(recording: Recording, source: str = "claude") -> Summary:
    """Reads a recording to its end and returns its summary. `source`: the name of its dialect."""
    summarizer = Summarizer(recording.name)
    if source in RPC_AGENTS:
        stream = RPC_AGENTS[source]()
        for heard_batch in with_progress(recording, stream.batches(recording)):
            for heard in heard_batch:
                summarizer.feed(
                    heard.line, heard.events, from_host=heard.from_host, time=heard.time
                )
        summary = summarizer.finish(stream.finish())
        summary.agent_name = stream.agent_name
    else:
        adapter = ClaudeStreamAdapter()
        for batch in batches_with_progress(recording):
            for entry in batch:
                is_host = entry.direction == "in"
                events = events_of(entry, adapter)
                summarizer.feed(entry.line, events, from_host=is_host, time=entry.time)
        summary = summarizer.finish(adapter.finish())
        summary.agent_name = "Claude Code"
    summary.bytes = recording.position
    return summary


# --- printing ---------------------------------------------------------------------------------


def _print(summary: Summary) -> None:
    page = _Page()
    page.line(Text(plain(summary.file), style="bold"))
    if not summary.lines:
        page.line(Text("no lines", style="yellow"))
        return
    _print_head(summary, page)
    for turn in summary.turns:
        page.line()
        _print_turn(turn, page)
    page.line()
    page.line(Text(_sum(summary), style="bold"))


class _Page:
    """Prints lines that fit the screen."""

    def __init__(self) -> None:
        self._console = Console(highlight=False)
        self._width = max(NARROWEST, min(self._console.width, _WIDEST))

    def line(self, left: Text | None = None, right: Text | None = None) -> None:
        """Prints text on the left, cut to fit, and figures on the right."""
        left = left or Text()
        if right:
            room = max(_LEAST, self._width - right.cell_len - 2)
            left.truncate(room, overflow="ellipsis", pad=True)
            left = Text.assemble(left, "  ", right)
        if self._console.color_system is None or self._console.no_color:
            click.echo(left.plain)  # a pipe: rich would be slow for a long recording
        else:
            self._console.print(left, soft_wrap=True)

    def fact(self, label: str, text: str, *, style: str = "dim", short: bool = False) -> None:
        """Prints a label and its text, on several lines if needed. With `short`, cuts it to one."""
        head = Text(f"  {label:<10}", style=style)
        body = Text(plain(text))
        width = self._width - head.cell_len
        if short:
            body.truncate(width, overflow="ellipsis")
        for number, line in enumerate(body.wrap(self._console, width)):
            line.rstrip()
            self.line(Text.assemble(Text(" " * head.cell_len) if number else head, line))


def _print_head(summary: Summary, page: _Page) -> None:
    if summary.sessions:
        page.fact("session", some(summary.sessions, 1))
    agent = [*summary.models]
    if summary.agent_version:
        agent.append(f"{plain(summary.agent_name or 'version')} {summary.agent_version}")
    if summary.permission_mode:
        agent.append(f"permission mode {summary.permission_mode}")
    if agent:
        page.fact("agent", ", ".join(agent))
    if summary.cwd:
        page.fact("directory", summary.cwd)
    page.fact("recording", f"{counted(summary.lines, 'line')}, {_size(summary.bytes)}")
    if summary.unknown:
        kinds = [f"{kind} ({times:,})" for kind, times in summary.unknown.items()]
        page.fact("unknown", some(kinds, _SHOWN), style="yellow")
    for detail in summary.bad_line_details[:_SHOWN]:
        page.fact("bad line", detail, style="red", short=True)
    if summary.bad_lines > _SHOWN:
        page.fact("", f"and {summary.bad_lines - _SHOWN:,} more bad lines")


def _print_turn(turn: TurnSummary, page: _Page) -> None:
    title = Text.assemble((f"Turn {turn.number:,}  ", "bold"), (turn.outcome, _STYLE[turn.outcome]))
    if turn.reason:
        title.append(f" ({plain(turn.reason)})", "dim")
    page.line(title, Text(_figures(turn)))
    if turn.prompt:
        page.fact("prompt", turn.prompt, short=True)
    for tool, depth in _flat(turn.tools):
        _print_tool(tool, depth, page)
    if turn.thinking_blocks:
        characters = counted(turn.thinking_characters, "character")
        page.fact("thinking", f"{counted(turn.thinking_blocks, 'block')}, {characters}")
    for question in turn.questions:
        page.fact("asked", question)
    if turn.plan:
        done = sum(item.status == "completed" for item in turn.plan)
        page.fact("plan", f"{done} of {len(turn.plan)} done")
    if turn.retries:
        times = counted(len(turn.retries), "time")
        page.fact("retried", f"{times}: {some(turn.retries, _SHOWN)}", style="yellow")
    if turn.error:
        page.fact("error", turn.error, style="red")
    if turn.said:
        page.fact("said", turn.said, short=True)


def _print_tool(tool: ToolSummary, depth: int, page: _Page) -> None:
    mark, style = _MARKS[tool.status]
    name = (plain(tool.name), "bold")
    left = Text.assemble("  " * (depth + 1), (mark, style), " ", name, "  ", plain(tool.about))
    if tool.status == "open":
        took = "no result"
    else:
        took = duration(tool.seconds) if tool.seconds is not None else "?"
    page.line(left, Text.assemble((f"{tool.asked}  " if tool.asked else "", "dim"), took))


def _flat(tools: list[ToolSummary], depth: int = 0) -> Iterator[tuple[ToolSummary, int]]:
    for tool in tools:
        yield tool, depth
        yield from _flat(tool.tools, depth + 1)


def _figures(turn: TurnSummary) -> str:
    parts = [
        duration(turn.seconds) if turn.seconds is not None else "",
        money(turn.cost_usd) if turn.cost_usd is not None else "",
        _tokens([turn]),
    ]
    return "  ".join(part for part in parts if part)


def _sum(summary: Summary) -> str:
    turns = summary.turns
    tools = [tool for turn in turns for tool, _ in _flat(turn.tools)]
    parts = [counted(len(turns), "turn"), counted(len(tools), "tool call")]
    for status, words in (("failed", "failed"), ("open", "without a result")):
        if number := sum(tool.status == status for tool in tools):
            parts.append(f"{number:,} {words}")
    costs = [turn.cost_usd for turn in turns if turn.cost_usd is not None]
    if costs:
        parts.append(money(sum(costs)))
    parts.append(_tokens(turns))
    return ", ".join(part for part in parts if part)


def _tokens(turns: list[TurnSummary]) -> str:
    """Returns the tokens in and out, in words. Tokens from the cache count as input."""
    usages = [turn.usage for turn in turns if turn.usage]
    if not usages:
        return ""
    read = sum(
        (usage.input_tokens or 0)
        + (usage.cache_read_input_tokens or 0)
        + (usage.cache_creation_input_tokens or 0)
        for usage in usages
    )
    written = sum(usage.output_tokens or 0 for usage in usages)
    return f"{amount(read)} tokens in, {amount(written)} out"


def _size(number: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if number < 999.5:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} GB"
