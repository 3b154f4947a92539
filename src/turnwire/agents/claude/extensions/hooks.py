"""Hooks: functions of the application that Claude Code asks at certain points, and that may decide.

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

# Those that the SDK knows. Any other name is passed on to Claude Code, which may know it.
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
    """What a hook is told."""

    event: str
    conversation_id: str
    data: dict[str, Any]  # all that Claude Code says of it
    tool_name: str | None = None
    tool_input: Any = None  # as the hooks before this one have changed it
    tool_use_id: str | None = None
    agent_id: str | None = None  # the sub-agent that wants it


class Hook(Struct, frozen=True):
    """A function, and when it is asked. Its name is what conversations and the log call it."""

    event: str
    run: Callable[[HookCall], Any]  # async or not; returns a Decision, none, or the SDK's own form
    name: str
    matcher: str | None = None  # names of tools with | between them, or a regular expression
    seconds: float = _USUAL_SECONDS  # that it may take
    on_failure: OnFailure = "deny"  # if it raises, takes longer, or answers nonsense
    optional: bool = False  # only in conversations that name it

    def __post_init__(self) -> None:
        if not callable(self.run):
            raise ValueError(f"The hook {self.name!r} is no function.")
        if not self.event:
            raise ValueError(f"The hook {self.name!r} has no event. There is: {', '.join(EVENTS)}.")
        if self.on_failure not in _POLICIES:
            known = ", ".join(_POLICIES)
            raise ValueError(f"on_failure is {self.on_failure!r}; there is: {known}.")
        if not 0 < self.seconds < 1_000_000:
            raise ValueError(
                f"The hook {self.name!r} may take {self.seconds} seconds: make it more than 0."
            )
        try:
            re.compile("" if self.matcher in _ANYTHING else self.matcher or "")
        except re.error as bad:
            raise ValueError(
                f"The matcher {self.matcher!r} is no regular expression: {bad}."
            ) from bad

    def __call__(self, call: HookCall) -> Any:
        """The function itself, so that a test can call it."""
        return self.run(call)

    def matches(self, subject: str) -> bool:
        """Whether it wants to be asked about this, by the rules of Claude Code."""
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
    """Make a hook of a function."""

    def made(function: Callable[[HookCall], Any]) -> Hook:
        called: str = name or _name_of(function)
        return Hook(event, function, called, matcher, seconds, on_failure, optional)

    return made


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def read_hooks(given: Iterable[Any]) -> list[Hook]:
    """Hooks, or where they are as `module:attribute`, which may be a list of them. Raises ValueError."""
    found: list[Hook] = []
    for each in given:
        there = find(each, "hook") if isinstance(each, str) else each
        for one in there if isinstance(there, list | tuple) else [there]:
            if not isinstance(one, Hook):
                raise ValueError(f"{each!r} is no hook. Make one of a function with @hook(event).")
            found.append(one)
    return found


def hooks_of_sdk(given: Mapping[str, Iterable[Any]] | None) -> list[Hook]:
    """The SDK's own form: matchers with functions, by event. There a failure lets things pass."""
    if not isinstance(given or {}, Mapping):
        raise ValueError(
            "The SDK's hooks are a mapping of events to matchers; others go to hooks=."
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
        if said is None:  # which the SDK takes for a mistake, too
            raise Nonsense("it returned nothing; return {} where there is nothing to say")
        return said

    return run
