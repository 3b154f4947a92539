"""The contract check: messages of a recording keep the contract, or the broken rule is named."""

from __future__ import annotations

import json
from typing import Any

from turnwire.cli.recordings.contract_check import CONTRACT_RULES, ContractCheck
from turnwire.core.message_deltas import StartDelta, StartDeltaPayload
from turnwire.dialects import claude

Frame = dict[str, Any]


def assistant(message_id: str, *content: Frame) -> Frame:
    return {"type": "assistant", "message": {"id": message_id, "content": list(content)}}


def user(*content: Frame) -> Frame:
    return {"type": "user", "message": {"content": list(content)}}


CALL = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "done"}


def broken(*frames: Frame) -> list[tuple[str, int]]:
    check, adapter = ContractCheck(), claude.ClaudeStreamAdapter()
    found = []
    for number, frame in enumerate(frames, 1):
        line = claude.decode(json.dumps(frame).encode(), number)
        found += check.feed(adapter.feed(line), number)
    found += check.feed(adapter.finish(), len(frames))
    found += check.finish(len(frames))
    assert all(violation.code in CONTRACT_RULES for violation in found)
    return [(violation.code, violation.line) for violation in found]


def test_a_call_and_its_result_keep_the_contract() -> None:
    assert broken(assistant("m1", CALL), user(RESULT)) == []


def test_a_call_without_a_result_is_no_violation() -> None:
    assert broken(assistant("m1", CALL)) == []


def test_a_second_result_never_reaches_the_log() -> None:
    other = {**RESULT, "content": "something else"}
    assert broken(assistant("m1", CALL), user(RESULT), user(other)) == []


def test_a_notice_between_a_call_and_its_result_keeps_the_contract() -> None:
    news = {"type": "system", "subtype": "compact_boundary"}
    init = {"type": "system", "subtype": "init"}
    assert broken(init, assistant("m1", CALL), news, {"type": "novel"}, user(RESULT)) == []


def test_a_result_of_no_call_is_named() -> None:
    assert broken(user(RESULT)) == [("contract_untraceable_tool_result", 1)]


def test_an_id_used_twice_in_a_turn_is_named_and_in_two_turns_is_not() -> None:
    first, second = assistant("m1", CALL), assistant("m2", CALL)
    ended = {"type": "result", "subtype": "success"}
    assert ("contract_duplicate_tool_call_id", 2) in broken(first, second)
    assert broken(first, user(RESULT), ended, second, user(RESULT), ended) == []


def test_a_stream_of_deltas_that_never_ends_is_named() -> None:
    check = ContractCheck()
    payload = StartDeltaPayload("claude", None, message_id="m1")
    check._assemble(StartDelta("c:1", 1, "2026-01-01T00:00:00Z", payload))
    assert [violation.code for violation in check.finish(7)] == ["contract_no_end"]
