"""Hooks without a program: their decisions, their order, their failures."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from turnwire.agents.claude.extensions.hook_runs import HookRuns
from turnwire.agents.claude.extensions.hooks import (
    Decision,
    Hook,
    HookCall,
    allow,
    ask,
    change,
    deny,
    hook,
    hooks_of_sdk,
    read_hooks,
    stop,
)
from turnwire.core.events import HookRun

BASH: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "c1"}


def saying(answer: Any, event: str = "PreToolUse", **more: Any) -> Hook:
    """A hook that always says the same; a function is called."""

    async def said(call: HookCall) -> Any:
        return answer(call) if callable(answer) else answer

    return Hook(event, said, more.pop("name", "said"), **more)


async def run(*hooks: Hook, event: str = "PreToolUse", **data: Any) -> tuple[Any, list[HookRun]]:
    """Returns the answer to Claude Code and the reported runs."""
    told: list[HookRun] = []
    runs = HookRuns(hooks, "talk", told.append)
    [registered] = runs.registered()[event]
    answer = await registered.callback({"hook_event_name": event, **BASH, **data}, "c1", None)
    return answer, told


def before_tool(**said: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **said}}


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (None, {}),
        (allow(), before_tool(permissionDecision="allow")),
        (
            allow("fine", input={"command": "pwd"}),
            before_tool(
                permissionDecision="allow",
                permissionDecisionReason="fine",
                updatedInput={"command": "pwd"},
            ),
        ),
        (deny("no"), before_tool(permissionDecision="deny", permissionDecisionReason="no")),
        (ask("look"), before_tool(permissionDecision="ask", permissionDecisionReason="look")),
        (change({"command": "pwd"}), before_tool(updatedInput={"command": "pwd"})),
        (change(context="by the way"), before_tool(additionalContext="by the way")),
        (
            stop("enough"),
            {
                "continue": False,
                "stopReason": "enough",
                **before_tool(permissionDecision="deny", permissionDecisionReason="enough"),
            },
        ),
        ({}, {}),
        ({"continue_": True, "systemMessage": "hm"}, {"systemMessage": "hm"}),
        (
            {"decision": "block", "reason": "no"},
            before_tool(permissionDecision="deny", permissionDecisionReason="no"),
        ),
        (before_tool(permissionDecision="allow"), before_tool(permissionDecision="allow")),
        ({"async_": True, "asyncTimeout": 5000}, {}),
        ({"async": True}, {}),
    ],
)
async def test_a_hook_before_a_tool_returns_its_decision(said: Any, answer: dict[str, Any]) -> None:
    given, [told] = await run(saying(said))
    assert given == answer
    assert (told.failure, told.tool_use_id) == (None, "c1")


@pytest.mark.parametrize(
    ("event", "said", "answer"),
    [
        ("UserPromptSubmit", deny("no"), {"decision": "block", "reason": "no"}),
        (
            "UserPromptSubmit",
            stop("no"),
            {"continue": False, "stopReason": "no", "decision": "block", "reason": "no"},
        ),
        ("Stop", deny("go on"), {"decision": "block", "reason": "go on"}),
        ("Stop", stop("now"), {"continue": False, "stopReason": "now"}),
        ("PostToolUse", allow(), {}),
        (
            "PostToolUse",
            change(context="note"),
            {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "note"}},
        ),
        (
            "PostToolUse",
            {"hookSpecificOutput": {"updatedToolOutput": "x"}},
            {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": "x"}},
        ),
    ],
)
async def test_a_hook_of_another_event_returns_its_decision(
    event: str, said: Any, answer: dict[str, Any]
) -> None:
    given, [told] = await run(saying(said, event), event=event)
    assert given == answer
    assert (told.event, told.failure) == (event, None)


@pytest.mark.parametrize(
    ("said", "decision"),
    [
        (
            allow(input={"command": "pwd"}),
            {"behavior": "allow", "updatedInput": {"command": "pwd"}},
        ),
        (deny("no"), {"behavior": "deny", "message": "no"}),
        (stop("no"), {"behavior": "deny", "message": "no"}),
    ],
)
async def test_a_hook_of_a_permission_returns_its_decision(
    said: Any, decision: dict[str, Any]
) -> None:
    given, _ = await run(saying(said, "PermissionRequest"), event="PermissionRequest")
    assert given["hookSpecificOutput"]["decision"] == decision


async def test_hooks_are_asked_in_order_and_the_stricter_one_decides() -> None:
    seen: list[str] = []

    def note(call: HookCall) -> Decision:
        seen.append(call.tool_input["command"])
        return change(context="note")

    first = saying(allow("fine", input={"command": "pwd"}), name="first")
    answer, told = await run(first, saying(note, name="second"), saying(ask("look")))
    assert seen == ["pwd"], "it sees what the one before it has changed"
    assert answer["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "ask",
        "permissionDecisionReason": "look",
        "updatedInput": {"command": "pwd"},
        "additionalContext": "note",
    }
    assert [(each.hook, each.decision) for each in told] == [
        ("first", "allow"),
        ("second", "none"),
        ("said", "ask"),
    ]
    answer, told = await run(saying(deny("no")), saying(allow()))
    assert len(told) == 1, "who comes behind a no is not asked"


@pytest.mark.parametrize(
    ("matcher", "is_asked"),
    [
        (None, True),
        ("*", True),
        ("Bash", True),
        ("Read|Bash", True),
        ("Bas", False),
        ("Ba.*", True),
        ("mcp__.*", False),
    ],
)
async def test_a_matcher_chooses_tools(matcher: str | None, is_asked: bool) -> None:
    other = saying(None, matcher="Read", name="other")
    _, told = await run(other, saying(None, matcher=matcher))
    assert bool(told) is is_asked


def test_claude_code_calls_once_for_an_event_and_by_each_matcher_of_those_that_it_alone_knows() -> (
    None
):
    hooks = [saying(None, matcher="Bash", seconds=5), saying(None, matcher="Read", seconds=6)]
    new = [saying(None, "NewEvent", matcher=each) for each in ("a", "b")]
    registered = HookRuns([*hooks, *new], "talk", print).registered()
    [once] = registered["PreToolUse"]
    assert (once.matcher, once.seconds) == (None, 41.0)
    assert [each.matcher for each in registered["NewEvent"]] == ["a", "b"]
    [alone] = HookRuns(hooks[:1], "talk", print).registered()["PreToolUse"]
    assert alone.matcher == "Bash"


# --- how they fail ------------------------------------------------------------------------------


def raises(call: HookCall) -> None:
    raise ValueError("oops")


def leaves(call: HookCall) -> None:
    raise SystemExit(3)


def cancels(call: HookCall) -> None:
    raise asyncio.CancelledError


def half(call: HookCall) -> None:
    raise ValueError("\ud83d")


BROKEN: dict[str, tuple[Any, str, str]] = {
    "raises": (raises, "raised", "ValueError: oops"),
    "leaves": (leaves, "raised", "SystemExit"),
    "cancels": (cancels, "raised", "cancelled"),
    "number": (42, "nonsense", "int"),
    "field": ({"decide": "no"}, "nonsense", "unknown field 'decide'"),
    "word": (before_tool(permissionDecision="Deny"), "nonsense", "'Deny'"),
    "defer": (before_tool(permissionDecision="defer"), "nonsense", "'defer'"),
    "block": ({"decision": "stop it"}, "nonsense", "'stop it'"),
    "continue": ({"continue": 0}, "nonsense", "continue is 0"),
    "half": (deny("\ud83d"), "nonsense", "cannot be read"),
    "halves": (half, "raised", "ValueError: ?"),
    "later": ({"async_": "perhaps"}, "nonsense", "async_"),
    "unwritten": (change({"command": object()}), "nonsense", "cannot be read"),
    "verdict": (Decision("maybe"), "nonsense", "maybe"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_hook_that_fails_denies_unless_it_says_otherwise(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "turnwire")  # half a character fits into no report of a test
    said, failure, why = BROKEN[name]
    answer, [told] = await run(saying(said))
    assert (told.failure, told.decision, told.on_failure) == (failure, "deny", "deny")
    assert why in (told.message or "")
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert why in answer["hookSpecificOutput"]["permissionDecisionReason"]
    answer, [told] = await run(saying(said, on_failure="allow"))
    assert (answer, told.decision) == ({}, "none")
    answer, [told] = await run(saying(said, on_failure="stop"))
    assert (answer["continue"], told.decision) == (False, "stop")


async def test_a_decision_that_cannot_be_logged_is_a_denial() -> None:
    def broken(run: HookRun) -> None:
        raise OSError("no log")

    [registered] = HookRuns([saying(allow())], "talk", broken).registered()["PreToolUse"]
    for data in (BASH, "nonsense"):
        answer = await registered.callback(data, "c1", None)
        assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"


async def test_an_answer_is_plain_json() -> None:
    answer, _ = await run(saying({"hookSpecificOutput": {"updatedInput": {"a": float("nan")}}}))
    assert answer == before_tool(updatedInput={"a": None})


@pytest.mark.parametrize("event", ["PostToolUse", "Stop", "SubagentStop", "Notification"])
async def test_a_failed_hook_of_a_past_event_lets_claude_go_on(
    event: str,
) -> None:
    answer, [told] = await run(saying(raises, event), event=event)
    assert (answer, told.failure) == ({}, "raised")


async def test_a_decision_that_does_not_fit_the_event_is_an_error() -> None:
    _, [told] = await run(saying(change({"a": 1}), "Stop"), event="Stop")
    assert told.message == "Stop has no input to change"
    _, [told] = await run(
        saying(change(context="x"), "PermissionRequest"), event="PermissionRequest"
    )
    assert told.message == "PermissionRequest cannot tell the model anything"


async def hangs(call: HookCall) -> None:
    await asyncio.Event().wait()


async def test_a_hook_that_hangs_is_abandoned_even_if_it_resists() -> None:
    free = asyncio.Event()
    blocked = threading.Event()

    async def stubborn(call: HookCall) -> None:
        while not free.is_set():
            try:
                await free.wait()
            except asyncio.CancelledError:
                continue

    def blocking(call: HookCall) -> None:
        blocked.wait(60)

    for function in (hangs, stubborn, blocking):
        hooked = hook("PreToolUse", seconds=0.05)(function)
        async with asyncio.timeout(180):
            _, [told] = await run(hooked)
        assert (told.failure, told.decision) == ("timeout", "deny")
    free.set()
    blocked.set()


async def test_a_hook_of_a_stopped_turn_is_cancelled_and_reported() -> None:
    told: list[HookRun] = []
    [registered] = HookRuns([hook("PreToolUse")(hangs)], "talk", told.append).registered()[
        "PreToolUse"
    ]
    task = asyncio.ensure_future(registered.callback(BASH, "c1", None))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [each.failure for each in told] == ["cancelled"]


# --- questions ----------------------------------------------------------------------------------


async def test_a_question_is_kept_from_people_only_by_a_no() -> None:
    question = {"tool_name": "AskUserQuestion", "tool_input": {"questions": []}}
    told: list[HookRun] = []
    for said, forbidden in ((None, False), (allow(), False), (ask(), False), (deny("no"), True)):
        runs = HookRuns([saying(said)], "talk", told.append)
        [registered] = runs.registered()["PreToolUse"]
        assert await registered.callback(question, "q1", None) == {}, "the gate asks it"
        answer = await runs.before_question(question, "q1")
        assert (answer is not None) is forbidden
    assert len(told) == 4, "each was asked once"


# --- how they are given -------------------------------------------------------------------------


@hook("PreToolUse", matcher="Bash")
def quick(call: HookCall) -> Decision | None:
    return deny("no") if "rm" in call.tool_input["command"] else None


SEVERAL = [quick, saying(None)]


def test_hooks_are_given_or_named() -> None:
    assert read_hooks([quick]) == [quick]
    assert [each.name for each in read_hooks([f"{__name__}:quick"])] == ["quick"]
    assert [each.name for each in read_hooks([f"{__name__}:SEVERAL"])] == ["quick", "said"]
    call = HookCall("PreToolUse", "talk", {}, "Bash", {"command": "rm"})
    assert quick(call) == deny("no"), "it can be called as what it is"


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: read_hooks([print]), "is not a hook"),
        (lambda: read_hooks(["no.such:hook"]), "cannot be imported"),
        (lambda: read_hooks(["hook"]), "module:attribute"),
        (lambda: hooks_of_sdk([quick]), "a mapping of events"),  # type: ignore[arg-type]
        (lambda: saying(None, matcher="("), "not a regular expression"),
        (lambda: saying(None, seconds=0), "more than 0"),
        (lambda: saying(None, on_failure="ignore"), "deny, allow, stop"),
        (lambda: saying(None, ""), "PreToolUse, PostToolUse"),
        (lambda: Hook("Stop", 7, "seven"), "not a function"),  # type: ignore[arg-type]
    ],
)
def test_an_invalid_hook_is_named(make: Callable[[], Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        make()


async def test_hooks_in_the_form_of_the_sdk_run_the_same() -> None:
    from claude_agent_sdk import HookMatcher

    async def sees(data: Any, tool_use_id: str | None, context: Any) -> Any:
        assert tool_use_id == "c1"
        return before_tool(permissionDecision="deny") if "ls" in str(data["tool_input"]) else None

    [made] = hooks_of_sdk({"PreToolUse": [HookMatcher("Bash", [sees], 5, "block")]})
    assert (made.name, made.seconds, made.on_failure) == ("sees", 5, "deny")
    answer, _ = await run(made)
    assert answer == before_tool(permissionDecision="deny")
    _, [told] = await run(made, tool_input={"command": "pwd"})
    assert told.failure == "nonsense", "there nothing is no answer"
    [usual] = hooks_of_sdk({"Stop": [HookMatcher(hooks=[sees])]})
    assert usual.on_failure == "allow"
