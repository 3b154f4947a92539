"""Resets the permissions of an imported conversation to those of a new one."""

from __future__ import annotations

from typing import Any

from msgspec import convert, to_builtins

from turnwire.core.conversation.state import Options
from turnwire.engine.export.jsonl import HeadLine
from turnwire.ports import AgentCapabilities

__all__ = ["without_powers"]

_OF_THE_AGENT = "rules.questions_survive"  # a fact about the agent, not a choice


def without_powers(head: HeadLine, able: AgentCapabilities) -> tuple[HeadLine, list[str]]:
    """Returns the first line of a file as it is imported, and the names of the values it resets.

    A file is untrusted input. The result is built from an empty line, so a field that is added to
    `HeadLine` later is reset until it is listed here. `able` is the agent of this machine. Raises
    ValueError if the line is invalid.
    """
    told = convert(head.rules, Options)
    rules = Options(max_budget_usd=told.max_budget_usd, questions_survive=able.questions_survive)
    tokens = head.max_thinking_tokens
    kept = HeadLine(
        head.version,
        head.conversation_id,
        head.agent,
        head.created_at,
        head.updated_at,
        head.state,
        head.title,
        options={
            name: value for name, value in head.options.items() if name in able.narrowing_options
        },
        rules=to_builtins(rules),
        totals=head.totals,
        max_thinking_tokens=tokens if tokens is not None and tokens >= 0 else None,
        mcp_off=head.mcp_off,
    )
    before = to_builtins(head) | {"rules": to_builtins(told)}
    return kept, _reset(before, to_builtins(kept))


def _reset(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Returns the names of the values that were reset, such as `cwd` and `options.NAME`."""
    names: list[str] = []
    for name, value in before.items():
        if isinstance(value, dict):
            inner = after.get(name, {})
            names += [f"{name}.{each}" for each in value if value[each] != inner.get(each)]
        elif value != after.get(name):
            names.append(name)
    return [name for name in names if name != _OF_THE_AGENT]
