"""Formats tool calls and the plan as lines of text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct
from rich.text import Text

from turnwire.cli.live.tool_names import name_of
from turnwire.cli.terminal.visible import printed, runs, safe
from turnwire.cli.terminal.words import counted, duration, plain
from turnwire.core.changed_files import ChangedFile, changed_files
from turnwire.core.content import TextContent

__all__ = [
    "Call",
    "Voice",
    "brief_of",
    "head_of",
    "input_of",
    "output_of",
    "plan_of",
    "result_of",
]

_INPUT = 6  # lines of one value of a call's input
_OUTPUT = 12  # lines of a call's result
_LIVE = 6  # lines of a running call's output
_LINE = 400  # characters of a line; the rest is cut

_SIGNS = {"+": "green", "-": "red"}  # of the lines of a diff
_MARKS = {"completed": ("✓", "green"), "in_progress": ("▸", "yellow")}


class Voice(Struct, frozen=True):
    """The speaker: the agent, or a sub-agent with the call that started it."""

    id: str | None = None
    depth: int = 0
    name: str = ""


class Call(Struct):
    """A tool call, from its first piece to its result."""

    id: str
    name: str
    voice: Voice
    input: Any = None
    input_text: str = ""  # while the input streams, or if it is not JSON
    printed: str = ""  # the output while it runs
    elapsed: float | None = None
    result: Any = None
    is_error: bool = False
    is_over: bool = False
    is_shown: bool = False  # its head was drawn already

    @property
    def about(self) -> str:
        """Returns the purpose of the call, if the agent gives one."""
        match self.input:
            case {"description": str(words)}:
                return plain(words)
            case _:
                return ""


def head_of(call: Call) -> Text:
    """Returns the first line: `● Command  List the files`; at the end `✓` or `✗` and the duration."""
    head = _title(call)
    if call.elapsed is not None:
        head.append(f"  {duration(call.elapsed)}", "dim")
    return head


def _title(call: Call) -> Text:
    if not call.is_over:
        mark, style = "●", "yellow"
    else:
        mark, style = ("✗", "red") if call.is_error else ("✓", "green")
    head = Text.assemble((mark, style), " ", (plain(name_of(call.name)), "bold"))
    if call.about:
        head.append(f"  {call.about}")
    return head


def brief_of(call: Call) -> Text:
    """Returns a call in one line: `✓ Command  List the files  $ ls -la  0.4 s  4 lines`."""
    line = _title(call)
    if not call.is_shown and (given := input_of(call)):
        line.append("  ").append_text(given[0])
    if call.elapsed is not None:
        line.append(f"  {duration(call.elapsed)}", "dim")
    lines = [each for each in _output(call).split("\n") if each.strip()]
    if call.is_error:
        line.append(f"  {plain(lines[0]) if lines else 'failed'}", "red")
    elif call.is_over and len(lines) > 1:
        line.append(f"  {counted(len(lines), 'line')}", "dim")
    elif lines:
        line.append(f"  {plain(lines[-1])}", "dim")
    return line


def _output(call: Call) -> str:
    return printed(words_of(call.result) if call.is_over else call.printed[-8192:])


def input_of(call: Call, *, whole: bool = False, told: Iterable[str | None] = ()) -> list[Text]:
    """Returns the input, value by value. With `whole`, nothing is cut: a person decides on it.

    A description that was `told` already, and hides no character, is left out.
    """
    given = call.input
    if given is None and call.input_text:
        return _trimmed([_value(call.input_text)], None if whole else _INPUT)
    if not isinstance(given, dict):
        return [] if given is None else _labelled("", given, whole)
    changes, rest = changed_files(given)
    lines: list[Text] = []
    for key, value in rest.items():
        if key != "description" or (whole and not _is_told(value, told)):
            lines += _labelled(plain(str(key)), value, whole)
    for change in changes:
        lines += _change(change, whole)
    return lines


def _is_told(value: Any, told: Iterable[str | None]) -> bool:
    return isinstance(value, str) and value in told and value == plain(safe(value))


def _change(change: ChangedFile, whole: bool) -> list[Text]:
    """Returns a changed file: its path, and the lines of its diff in colours."""
    head = Text.assemble(
        (f"{plain(change.kind)} " if change.kind else "", "dim"), _value(change.path)
    )
    lines = []
    for line in change.diff.rstrip("\n").split("\n") if change.diff else []:
        shown = _value(line)
        shown.stylize(_SIGNS.get(line[:1], "dim"))
        lines.append(Text.assemble("  ", shown))
    return [head, *(lines if whole else _trimmed(lines, _INPUT))]


def _labelled(key: str, value: Any, whole: bool) -> list[Text]:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    lines = [_value(line) for line in text.split("\n")]
    if not whole:
        lines = _trimmed(lines, _INPUT)
    if key == "command":
        return [Text.assemble("$ " if not at else "  ", line) for at, line in enumerate(lines)]
    if not key:
        return lines
    if len(lines) == 1:
        return [Text.assemble((f"{key}: ", "dim"), lines[0])]
    return [Text(f"{key}:", "dim"), *(Text.assemble("  ", line) for line in lines)]


def _value(text: str) -> Text:
    """Returns the exact text, with the names of invisible characters in red."""
    shown = Text()
    for run, hidden in runs(text):
        shown.append(run, "bold red" if hidden else "")
    return shown


def output_of(call: Call) -> list[Text]:
    """Returns the last lines of a running call's output."""
    lines = printed(call.printed[-8192:]).rstrip("\n").split("\n") if call.printed else []
    over = len(lines) - _LIVE
    shown = [Text(line[:_LINE], "dim") for line in lines[-_LIVE:]]
    return [Text(f"… {counted(over, 'line')} above", "dim italic"), *shown] if over > 0 else shown


def result_of(call: Call) -> list[Text]:
    """Returns the first lines of the result."""
    text = printed(words_of(call.result)).strip("\n")
    style = "red" if call.is_error else "dim"
    return _trimmed([Text(line, style) for line in text.split("\n")] if text else [], _OUTPUT)


def words_of(content: Any) -> str:
    """Returns a result as text: the texts of a list, or the JSON of anything else."""
    match content:
        case None:
            return ""
        case str():
            return content
        case list():
            return "\n".join(words_of(item) for item in content)
        case {"type": "text", "text": str(text)}:
            return text
        case TextContent():
            return content.text
        case _:
            return msgspec.json.encode(content).decode()


def _trimmed(lines: list[Text], most: int | None) -> list[Text]:
    """Returns the first lines, cut to a maximum length, and the number of the others."""
    if most is None:
        return lines
    out = []
    for line in lines[: most if len(lines) > most + 1 else most + 1]:
        rest = len(line) - _LINE
        if rest > 0:
            line = line[:_LINE]
            line.append(f" … {counted(rest, 'more character')}", "dim italic")
        out.append(line)
    if (more := len(lines) - len(out)) > 0:
        out.append(Text(f"… {counted(more, 'more line')}", "dim italic"))
    return out


def plan_of(items: Iterable[Any]) -> list[Text]:
    """Returns the plan as a checklist."""
    rows = [_step(item) for item in items]
    done = sum(status == "completed" for status, _ in rows)
    lines = [Text.assemble(("Plan", "bold"), (f"  {done} of {len(rows)} done", "dim"))]
    for status, words in rows:
        mark, style = _MARKS.get(status, ("○", "dim"))
        weight = "dim" if status == "completed" else "bold" if status == "in_progress" else ""
        lines.append(Text.assemble("  ", (mark, style), " ", (words, weight)))
    return lines


def _step(item: Any) -> tuple[str, str]:
    fields = item if isinstance(item, dict) else msgspec.to_builtins(item)
    if not isinstance(fields, dict):
        return "pending", plain(str(fields))
    status = str(fields.get("status") or "pending")
    active = fields.get("activeForm") or fields.get("active_form")
    words = active if status == "in_progress" and isinstance(active, str) else fields.get("content")
    return status, plain(safe(str(words or "")))
