"""Describes the end of a turn: its figures, the receipt of a stop, and what to do next."""

from __future__ import annotations

from rich.text import Text

from turnwire.cli.terminal.visible import safe
from turnwire.cli.terminal.words import amount, duration, money, plain, some
from turnwire.core.status import TurnEnd
from turnwire.dialects.v2.payloads import Interrupted

__all__ = ["figures", "next_step", "receipt"]

_REASONS = {
    "user": "you stopped it",
    "disconnect": "no client was connected",
    "server_restart": "the process that ran it was killed",
    "server_stopped": "the program ended",
    "archived": "the conversation was archived",
    "deleted": "the conversation was deleted",
    "agent_lost": "the agent process has ended",
    "agent": "the agent stopped by itself",
}

# The next step after failures whose message does not name one.
_NEXT = {
    "AGENT_UNAVAILABLE": "Fix the cause, then send the message again.",
    "INPUT_TIMEOUT": "If the answer still matters, send it as a message.",
    "agent_lost": "The conversation is kept. Send a message to go on.",
    "api_error": "The model's service failed. Try again later.",
}

# For these codes the agent's own message names the next step; a second one would confuse.
_IS_SAID = frozenset(
    [
        "authentication_failed",
        "billing_error",
        "BUDGET_EXCEEDED",
        "budget_exhausted",
        "image_error",
        "invalid_request",
        "max_output_tokens",
        "max_turns",
        "model_not_found",
        "overloaded",
        "prompt_too_long",
        "rate_limit",
        "server_error",
    ]
)


def figures(end: TurnEnd) -> list[Text]:
    """Returns the error, if any, then `✓ 3.2 s · 412 tokens in, 96 out · $0.0012`."""
    lines: list[Text] = []
    if end.error is not None and not end.interrupted:  # the receipt describes an interruption
        words = plain(safe(end.error.message))
        lines.append(
            Text.assemble(("✗ ", "red"), (words, "red"), (f"  ({plain(end.error.code)})", "dim"))
        )
    if end.interrupted:
        mark, style = "■", "yellow"
    else:
        mark, style = ("✗", "red") if end.is_error else ("✓", "green")
    parts = [duration(end.duration_ms / 1000)] if end.duration_ms is not None else []
    usage = end.usage
    if usage is not None:
        read = (usage.input_tokens or 0) + (usage.cache_read_input_tokens or 0)
        read += usage.cache_creation_input_tokens or 0
        wrote = usage.output_tokens or 0
        if read or wrote:
            parts.append(f"{amount(read)} tokens in, {amount(wrote)} out")
    if end.cost_usd:  # a cost of zero is not shown
        parts.append(money(end.cost_usd))
    word = "interrupted" if end.interrupted else "failed" if end.is_error else ""
    text = " · ".join([word, *parts] if word else parts) or "done"
    lines.append(Text.assemble((mark, style), " ", (text, "dim")))
    return lines


def next_step(end: TurnEnd) -> str | None:
    """Returns the next step after a failure. Returns None if its message names one already."""
    if end.error is None or end.interrupted or end.error.code in _IS_SAID:
        return None
    return _NEXT.get(end.error.code, "The conversation is kept. Send a message to try again.")


def receipt(stop: Interrupted, *, by_us: bool = True) -> Text:
    """Returns the result of a stop: its reason, the agent's reaction, and its processes."""
    why = _REASONS.get(stop.reason, plain(stop.reason))
    if stop.reason == "user" and not by_us:
        why = "another person stopped it"
    parts = []
    if stop.forced:
        parts.append("the agent did not stop and was ended by force")
    elif stop.lost and stop.reason != "agent_lost":  # agent_lost says the same
        parts.append("the agent was killed, or ended by itself, before it acknowledged the stop")
    elif stop.acknowledged:
        parts.append("the agent acknowledged it")
    if ended := _named(stop, left=False):
        parts.append(f"{_processes(len(ended))} ended: {some(ended, 5)}")
    if left := _named(stop, left=True):
        parts.append(f"{_processes(len(left))} could not be ended: {some(left, 5)}")
    if stop.acknowledged and not stop.forced and not stop.processes:
        parts.append("no process had to be ended")
    return Text.assemble(("■ Interrupted", "yellow"), f": {'; '.join([why, *parts])}.")


def _named(stop: Interrupted, *, left: bool) -> list[str]:
    return [f"{plain(p.name or 'process')} {p.pid}" for p in stop.processes if p.left is left]


def _processes(number: int) -> str:
    return "1 process" if number == 1 else f"{number:,} processes"
