"""Hooks: functions of the application that Claude Code calls at certain events for a decision.

@hook("PreToolUse", matcher="Bash", seconds=5)
async def no_rm(call: HookCall) -> Decision | None:
    if "rm -rf" in call.tool_input["command"]:
        return deny("Not on this machine.")
    return None
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct

from turnwire.agents.claude.extensions.callbacks import find
from turnwire.agents.claude.extensions.decisions import (
    Decision,
    Nonsense,
    allow,
    ask,
    change,
    deny,
    stop,
)

__all__ = [
    "EVENTS",
    "Decision",
    "Hook",
    "HookCall",
    "OnFailure",
    "allow",
    "ask",
    "change",
    "deny",
    "hook",
    "hooks_of_sdk",
    "read_hooks",
    "stop",
]

# The events that the SDK knows. Other names are passed on to Claude Code, which may know them.
EVENTS = (
    *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest"),
    *("UserPromptSubmit", "Stop", "SubagentStart", "SubagentStop", "PreCompact", "Notification"),
)

OnFailure: TypeAlias = Literal["deny", "allow", "stop"]

_USUAL_SECONDS = 60.0
_POLICIES = get_args(OnFailure)
_ANYTHING = ("", "*")
_PLAIN = re.compile(r"[A-Za-z0-9_|]+")  # a matcher of names, not a regular expression


class HookCall(Struct, frozen=True):
    """The argument of a hook."""

    event: str
    conversation_id: str
    data: dict[str, Any]  # all data of the event from Claude Code
    tool_name: str | None = None
    tool_input: Any = None  # including changes by earlier hooks
    tool_use_id: str | None = None
    agent_id: str | None = None  # the sub-agent that calls the tool


class Hook(Struct, frozen=True):
    """A function, and when it runs. Conversations and the log use its name."""

    event: str
    run: Callable[[HookCall], Any]  # async or not; returns a Decision, None, or the SDK's own form
    name: str
    matcher: str | None = None  # tool names separated by |, or a regular expression
    seconds: float = _USUAL_SECONDS  # timeout
    on_failure: OnFailure = "deny"  # if it raises, times out, or returns an invalid result
    optional: bool = False  # only in conversations that name it

    def __post_init__(self) -> None:
        if not callable(self.run):
            raise ValueError(f"The hook {self.name!r} is not a function.")
        if not self.event:
            raise ValueError(f"The hook {self.name!r} has no event. Known: {', '.join(EVENTS)}.")
        if self.on_failure not in _POLICIES:
            known = ", ".join(_POLICIES)
            raise ValueError(f"on_failure is {self.on_failure!r}; known: {known}.")
        if not 0 < self.seconds < 1_000_000:
            raise ValueError(
                f"The hook {self.name!r} may take {self.seconds} seconds: make it more than 0."
            )
        try:
            re.compile("" if self.matcher in _ANYTHING else self.matcher or "")
        except re.error as bad:
            raise ValueError(
                f"The matcher {self.matcher!r} is not a regular expression: {bad}."
            ) from bad

    def __call__(self, call: HookCall) -> Any:
        """Calls the function itself, for tests."""
        return self.run(call)

    def matches(self, subject: str) -> bool:
        """Whether the matcher fits the subject, by the rules of Claude Code."""
        if self.matcher is None or self.matcher in _ANYTHING:
            return True
        if _PLAIN.fullmatch(self.matcher):
            return subject in self.matcher.split("|")
        return re.search(self.matcher, subject) is not None


def hook(
    event: str,
    *,
    matcher: str | None = None,
    seconds: float = _USUAL_SECONDS,
    on_failure: OnFailure = "deny",
    optional: bool = False,
    name: str | None = None,
) -> Callable[[Callable[[HookCall], Any]], Hook]:
    """Makes a hook of a function."""

    def made(function: Callable[[HookCall], Any]) -> Hook:
        called: str = name or _name_of(function)
        return Hook(event, function, called, matcher, seconds, on_failure, optional)

    return made


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def read_hooks(given: Iterable[Any]) -> list[Hook]:
    """Returns hooks from objects, or from names (`module:attribute`) of hooks or lists of hooks.

    Raises ValueError.
    """
    found: list[Hook] = []
    for each in given:
        there = find(each, "hook") if isinstance(each, str) else each
        for one in there if isinstance(there, list | tuple) else [there]:
            if not isinstance(one, Hook):
                raise ValueError(f"{each!r} is not a hook. Make one with @hook(event).")
            found.append(one)
    return found


def hooks_of_sdk(given: Mapping[str, Iterable[Any]] | None) -> list[Hook]:
    """Converts hooks of the SDK, where a failure allows the action. Raises ValueError."""
    if not isinstance(given or {}, Mapping):
        raise ValueError(
            "The SDK's hooks are a mapping of events to matchers; pass others as hooks=."
        )
    return [
        Hook(
            event,
            _as_in_sdk(function),
            _name_of(function),
            matcher.matcher,
            matcher.timeout or _USUAL_SECONDS,
            "deny" if getattr(matcher, "on_failure", None) == "block" else "allow",
        )
        for event, matchers in (given or {}).items()
        for matcher in matchers
        for function in matcher.hooks
    ]


def _as_in_sdk(function: Any) -> Callable[[HookCall], Any]:
    async def run(call: HookCall) -> Any:
        data = call.data if call.tool_name is None else {**call.data, "tool_input": call.tool_input}
        said = await function(data, call.tool_use_id, {"signal": None})
        if said is None:  # the SDK treats this as an error, too
            raise Nonsense("it returned None; return {} for no decision")
        return said

    return run
