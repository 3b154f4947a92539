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

import msgspec
from msgspec import Struct

from turnwire.agents.claude.calling import find

__all__ = [
    "EVENTS",
    "Decision",
    "Hook",
    "HookCall",
    "Nonsense",
    "OnFailure",
    "allow",
    "ask",
    "change",
    "decision_of",
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

Verdict: TypeAlias = Literal["allow", "deny", "ask", "stop"]
OnFailure: TypeAlias = Literal["deny", "allow", "stop"]

_USUAL_SECONDS = 60.0
_VERDICTS = get_args(Verdict)
_POLICIES = get_args(OnFailure)
_ANYTHING = ("", "*")
_PLAIN = re.compile(r"[A-Za-z0-9_|]+")  # a matcher of names, not a regular expression


class Nonsense(Exception):
    """A hook has answered something that is no answer."""


class HookCall(Struct, frozen=True):
    """What a hook is told."""

    event: str
    conversation_id: str
    data: dict[str, Any]  # all that Claude Code says of it
    tool_name: str | None = None
    tool_input: Any = None  # as the hooks before this one have changed it
    tool_use_id: str | None = None
    agent_id: str | None = None  # the sub-agent that wants it


class Decision(Struct, frozen=True, omit_defaults=True):
    """What a hook answers. Nothing in it: as if there were no hook."""

    verdict: Verdict | None = None
    reason: str | None = None  # for the model, or, of `ask`, for the person
    input: dict[str, Any] | None = None  # what the tool is to run with instead
    context: str | None = None  # what the model is told besides
    more: dict[str, Any] = {}  # whatever else Claude Code takes, in its own words
    own: dict[str, Any] = {}  # the same, of what belongs to one event only


def allow(
    reason: str | None = None,
    *,
    input: dict[str, Any] | None = None,  # noqa: A002  (what the tool calls it)
    context: str | None = None,
) -> Decision:
    """The tool may run, perhaps with another input; nobody is asked."""
    return Decision("allow", reason, input, context)


def deny(reason: str, *, context: str | None = None) -> Decision:
    """It may not. The model is told why. At `Stop` and `SubagentStop`: go on, it is not the end."""
    return Decision("deny", reason, None, context)


def ask(
    reason: str | None = None,
    *,
    input: dict[str, Any] | None = None,  # noqa: A002
) -> Decision:
    """A person has to allow it, even where the rules would."""
    return Decision("ask", reason, input)


def change(
    input: dict[str, Any] | None = None,  # noqa: A002
    *,
    context: str | None = None,
) -> Decision:
    """Another input, or something that the model should know; the rules decide as ever."""
    return Decision(None, None, input, context)


def stop(reason: str) -> Decision:
    """The turn ends here; what was about to happen does not."""
    return Decision("stop", reason)


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


# --- the answer ---------------------------------------------------------------------------------

_FIELDS = {
    *("continue", "continue_", "stopReason", "suppressOutput", "decision", "systemMessage"),
    *("reason", "hookSpecificOutput"),
}


def decision_of(said: Any) -> Decision:
    """What a hook means. Raises Nonsense."""
    if said is None:
        return Decision()
    try:
        if isinstance(said, Decision):
            decision = msgspec.convert(msgspec.to_builtins(said), Decision)
        elif isinstance(said, Mapping):
            decision = _of_sdk(msgspec.convert(dict(said), dict[str, Any]))
        else:
            raise Nonsense(f"it returned {type(said).__name__}, which is no decision")
        msgspec.json.encode(decision)
    except (TypeError, ValueError, RecursionError) as bad:  # msgspec's errors are such
        raise Nonsense(f"its answer cannot be read: {bad}") from bad
    return decision


def _of_sdk(said: dict[str, Any]) -> Decision:
    strange = sorted(said.keys() - _FIELDS)
    if strange:
        raise Nonsense(f"there is no {strange[0]!r} in an answer")
    said = dict(said)
    own = dict(said.pop("hookSpecificOutput", None) or {})
    own.pop("hookEventName", None)
    goes_on = said.pop("continue", said.pop("continue_", True))
    block = said.pop("decision", None)
    reason = said.pop("reason", None)
    verdict = own.pop("permissionDecision", None) or {"block": "deny", "approve": "allow"}.get(
        block
    )
    if block is not None and verdict is None:
        raise Nonsense(f"there is no decision {block!r}")
    if verdict not in (None, "allow", "deny", "ask"):
        raise Nonsense(f"there is no permissionDecision {verdict!r} for a hook")
    if goes_on is False:
        verdict, reason = "stop", said.pop("stopReason", None) or reason
    reason = own.pop("permissionDecisionReason", None) or reason
    changed, context = own.pop("updatedInput", None), own.pop("additionalContext", None)
    plain = {"verdict": verdict, "reason": reason, "input": changed, "context": context}
    return msgspec.convert({**plain, "more": said, "own": own}, Decision)
