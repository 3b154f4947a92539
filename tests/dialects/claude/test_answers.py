"""Answers to control requests, as the host that asked reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.helpers.recorded_streams import BOTH_DIRECTIONS
from turnwire.dialects import claude
from turnwire.dialects.claude import answers, control
from turnwire.dialects.claude.answers import read_answer


@pytest.mark.parametrize("path", BOTH_DIRECTIONS, ids=lambda path: path.stem)
def test_every_recorded_answer_is_read_as_the_answer_to_its_request(path: Path) -> None:
    asked: dict[str, Any] = {}
    for raw in path.read_bytes().splitlines():
        message: Any = claude.decode(json.dumps(json.loads(raw)["msg"]).encode()).message
        if isinstance(message, control.ControlRequest):
            asked[message.request_id] = type(message.request)
        elif isinstance(message, control.ControlResponse):
            outcome = message.response
            assert isinstance(outcome, control.ControlSuccess | control.ControlError)
            if isinstance(outcome, control.ControlSuccess):
                answer = read_answer(asked[outcome.request_id], outcome.response)
                assert not isinstance(answer, answers.NoAnswer)


def answer(request: type[msgspec.Struct], said: Any) -> Any:
    return read_answer(request, msgspec.Raw(json.dumps(said).encode()))


def test_the_handshake_lists_the_capabilities_of_the_agent() -> None:
    said = {
        "commands": [{"name": "compact", "argumentHint": "<focus>"}],
        "models": [{"value": "opus", "displayName": "Opus"}],
        "claude_code_version": "2.1.325",
        "pid": 7,
    }
    assert answer(control.Initialize, said) == answers.InitializeAnswer(
        [answers.Named("compact", argument_hint="<focus>")],
        models=[answers.ModelChoice("opus", "Opus")],
        claude_code_version="2.1.325",
        pid=7,
    )


def test_a_decision_on_a_permission_is_one_of_two() -> None:
    allow = answer(control.CanUseTool, {"behavior": "allow", "updatedInput": {"a": 1}})
    assert allow == control.PermissionAllow({"a": 1})
    with pytest.raises(msgspec.ValidationError):
        answer(control.CanUseTool, {"behavior": "shrug"})


def test_a_hook_can_defer_a_tool() -> None:
    output = {"hookEventName": "PreToolUse", "permissionDecision": "defer"}
    said = answer(control.HookCallback, {"hookSpecificOutput": output})
    assert said.hook_specific_output.permission_decision == "defer"


def test_a_request_without_a_specific_answer_has_none() -> None:
    assert read_answer(control.StopTask, msgspec.UNSET) == answers.NoAnswer()
